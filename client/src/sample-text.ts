import { Uri, window, workspace } from 'vscode';

/** An example that names what is wrong with it. */
const SAMPLE = 'does-not-fit.json';

/** `Oomlint: Open Sample Workspace` where there is no folder to copy it to: one of its files, as a text that is not saved. */
export async function openSampleText(extension: Uri): Promise<void> {
  const file = Uri.joinPath(extension, 'examples', SAMPLE);
  const content = new TextDecoder().decode(await workspace.fs.readFile(file));
  await window.showTextDocument(await workspace.openTextDocument({ language: 'jsonc', content }));
}
