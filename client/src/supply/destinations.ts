import { ConfigurationTarget, type QuickPickItem, type Uri, window, workspace } from 'vscode';
import { writeDirective } from './directive';
import { writeProjectFile } from './project-file';

/** Where a supplied fact is written. */
export interface Destination {
  write(facts: ReadonlyMap<string, string>): Promise<void>;
}

/** Settings exist for the facts that most runs of a workspace share. */
const SETTINGS: Readonly<Record<string, { readonly name: string; readonly numeric: boolean }>> = {
  'hardware.gpu': { name: 'gpu', numeric: false },
  'hardware.gpus': { name: 'gpus', numeric: true },
  'hardware.nodes': { name: 'nodes', numeric: true },
  'model.id': { name: 'model', numeric: false },
  'batch.sequence': { name: 'sequence', numeric: true },
  'batch.micro': { name: 'microBatch', numeric: true },
};

/** Asks where the facts shall stand: what one file, a project, or a workspace says. */
export async function chooseDestination(
  uri: Uri,
  fields: readonly string[],
): Promise<Destination | undefined> {
  const folder = workspace.getWorkspaceFolder(uri);
  const { languageId } = await workspace.openTextDocument(uri);
  const items: (QuickPickItem & { destination: Destination })[] = [];
  // A comment in plain JSON would stop strict readers from reading the file at all.
  if (languageId !== 'json') {
    items.push({
      label: '$(comment) In this file',
      description: languageId === 'yaml' ? '# oomlint: ...' : '// oomlint: ...',
      detail: 'A comment, which the training framework ignores.',
      destination: { write: (facts) => writeDirective(uri, facts) },
    });
  }
  items.push({
    label: '$(file) In oomlint.yaml',
    description: folder?.name,
    detail: 'For every config of the project. Commit it, and the whole team gets the same answer.',
    destination: { write: (facts) => writeProjectFile(uri, facts) },
  });
  if (fields.every((field) => field in SETTINGS)) {
    items.push({
      label: '$(settings-gear) In the settings',
      description: folder ? 'workspace' : 'user',
      detail: 'Weakest: any file that says otherwise wins.',
      destination: { write: (facts) => writeSettings(uri, facts) },
    });
  }
  const picked = await window.showQuickPick(items, { title: 'Where Shall It Be Written?' });
  return picked?.destination;
}

async function writeSettings(uri: Uri, facts: ReadonlyMap<string, string>): Promise<void> {
  const settings = workspace.getConfiguration('oomlint', uri);
  const target = workspace.workspaceFolders ? ConfigurationTarget.Workspace : ConfigurationTarget.Global;
  for (const [field, text] of facts) {
    const setting = SETTINGS[field];
    if (setting) {
      await settings.update(setting.name, setting.numeric ? Number(text) : text, target);
    }
  }
}
