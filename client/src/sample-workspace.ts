import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { commands, l10n, Uri, window, workspace } from 'vscode';

/** Files to try Oomlint on, in a folder of the person's own: whatever they do there harms nothing. */
export async function copySample(extension: Uri): Promise<Uri> {
  const folder = Uri.file(path.join(await mkdtemp(path.join(tmpdir(), 'oomlint-')), 'sample'));
  await workspace.fs.copy(Uri.joinPath(extension, 'examples'), folder, { overwrite: true });
  // The file that states what to look at is what the new window shows.
  const settings = new TextEncoder().encode('{ "workbench.startupEditor": "readme" }\n');
  await workspace.fs.writeFile(Uri.joinPath(folder, '.vscode', 'settings.json'), settings);
  return folder;
}

/** `Oomlint: Open Sample Workspace`. A window that has a folder open keeps it. */
export async function openSample(extension: Uri): Promise<void> {
  try {
    const folder = await copySample(extension);
    const forceNewWindow = workspace.workspaceFolders !== undefined;
    await commands.executeCommand('vscode.openFolder', folder, { forceNewWindow });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const failure = l10n.t('The sample could not be copied to a temporary folder: {0}', reason);
    void window.showErrorMessage(
      `${failure} ${l10n.t('Free some space there, or open any training config instead.')}`,
    );
  }
}
