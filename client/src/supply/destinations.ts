import { ConfigurationTarget, commands, l10n, type QuickPickItem, type Uri, window, workspace } from 'vscode';
import { fieldTitle } from './ask-value';
import { commentOf, textToNote, writeDirective } from './directive';
import { type Notes, writeProjectFile } from './project-file';
import { asked, type BACK } from './question';
import { readTypedValue } from './read-value';

/** Where a supplied fact is written. */
interface Destination {
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

/** Asks where the facts shall stand, and lists them: what one file, a project, or a workspace states. */
export async function chooseDestination(
  notes: Notes,
  uri: Uri,
  facts: ReadonlyMap<string, string>,
): Promise<Destination | typeof BACK | undefined> {
  const folder = workspace.getWorkspaceFolder(uri);
  // The only folder needs no name.
  const whose = (workspace.workspaceFolders?.length ?? 0) > 1 ? folder?.name : undefined;
  const { languageId } = await textToNote(uri);
  const items: (QuickPickItem & { destination: Destination })[] = [];
  // A comment in plain JSON would stop strict readers from reading the file at all.
  if (languageId !== 'json') {
    items.push({
      label: `$(comment) ${l10n.t('In this file')}`,
      description: `${commentOf(languageId)} oomlint: ...`,
      detail: l10n.t('A comment, which the training framework ignores.'),
      destination: { write: (facts) => writeDirective(uri, facts) },
    });
  }
  items.push({
    label: `$(file) ${l10n.t('In oomlint.yaml, for this config')}`,
    description: whose,
    detail: l10n.t('Other configs of the project stay as they are.'),
    destination: { write: (facts) => writeProjectFile(notes, uri, facts, 'config') },
  });
  items.push({
    label: `$(files) ${l10n.t('In oomlint.yaml, for every config')}`,
    description: whose,
    detail: l10n.t('Commit it, and the whole team gets the same answer.'),
    destination: { write: (facts) => writeProjectFile(notes, uri, facts) },
  });
  if (fitsSettings([...facts.keys()])) {
    items.push({
      label: `$(settings-gear) ${l10n.t('Settings')}`,
      description: folder ? l10n.t('workspace') : l10n.t('user'),
      detail: l10n.t('Used only where no file says otherwise.'),
      destination: { write: (facts) => writeSettings(uri, facts) },
    });
  }
  const pick = window.createQuickPick<(typeof items)[number]>();
  pick.title = l10n.t('Save Where?');
  pick.placeholder = [...facts].map(([field, value]) => `${fieldTitle(field)}: ${value}`).join(' · ');
  pick.items = items;
  return asked(pick, true, () => pick.selectedItems[0]?.destination);
}

/** Whether the settings can hold all of these facts. */
export function fitsSettings(fields: readonly string[]): boolean {
  return fields.every((field) => field in SETTINGS);
}

/** Without a file the facts hold for all runs of the workspace, or of the person; states it, and how to change it. */
export async function writeSettings(uri: Uri | undefined, facts: ReadonlyMap<string, string>): Promise<void> {
  const settings = workspace.getConfiguration('oomlint', uri);
  const target = workspace.workspaceFolders ? ConfigurationTarget.Workspace : ConfigurationTarget.Global;
  const names: string[] = [];
  for (const [field, text] of facts) {
    const setting = SETTINGS[field];
    if (setting) {
      await settings.update(setting.name, setting.numeric ? readTypedValue(field, text).value : text, target);
      names.push(`oomlint.${setting.name}`);
    }
  }
  if (uri === undefined) {
    const open = l10n.t('Open Settings');
    const values = [...facts.values()].join(', ');
    const message = l10n.t('Configs that do not say otherwise are now estimated for {0}.', values);
    void window.showInformationMessage(message, open).then((picked) => {
      if (picked === open) {
        void commands.executeCommand('workbench.action.openSettings', names.join(' '));
      }
    });
  }
}
