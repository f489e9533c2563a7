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
  const isJson = /\.jsonc?$/i.test(uri.path);
  const items: (QuickPickItem & { destination: Destination })[] = [
    {
      label: '$(comment) In this file',
      description: isJson ? '// oomlint: ...' : '# oomlint: ...',
      detail: isJson
        ? 'A comment at the top. DeepSpeed reads JSON with comments; strict JSON readers do not.'
        : 'A comment at the top, which the training framework ignores.',
      destination: { write: (facts) => writeDirective(uri, facts) },
    },
  ];
  const project = {
    label: '$(file) In oomlint.yaml',
    description: folder?.name,
    detail: 'For every config of the project. Commit it, and the whole team gets the same answer.',
    destination: { write: (facts: ReadonlyMap<string, string>) => writeProjectFile(uri, facts) },
  };
  // A comment can break strict readers of JSON, so there the project file is offered first.
  items.splice(isJson ? 0 : 1, 0, project);
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
