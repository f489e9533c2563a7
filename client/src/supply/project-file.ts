import { l10n, Position, Uri, WorkspaceEdit, window, workspace } from 'vscode';
import { parseDocument } from 'yaml';
import { noteForFile, type RunValues } from '../../../server/src/shared/fields';
import { readTypedValue } from './read-value';
import { shortName } from './short-name';

const PROJECT_FILE = 'oomlint.yaml';

/**
 * States facts in the project file next to the config or above it; makes one in the workspace folder. For this config alone, or for
 * every config of the project. The person stays where the answer shows.
 */
export async function writeProjectFile(
  config: Uri,
  facts: ReadonlyMap<string, string>,
  scope: 'config' | 'project' = 'project',
): Promise<void> {
  const existing = await findProjectFile(config);
  const folder = workspace.getWorkspaceFolder(config)?.uri ?? Uri.joinPath(config, '..');
  const uri = existing ?? Uri.joinPath(folder, PROJECT_FILE);
  const edit = new WorkspaceEdit();
  const present = existing && (await workspace.openTextDocument(existing));
  const before = present?.getText();
  const after =
    scope === 'config'
      ? noteForFile({ uri: uri.toString(), text: before }, config.toString(), valuesOf(facts))
      : mergeProject(before ?? '', facts);
  if (after === undefined) throw new Error(l10n.t('{0} could not be read.', PROJECT_FILE));
  if (present) {
    const end = present.lineAt(present.lineCount - 1).rangeIncludingLineBreak.end;
    edit.replace(uri, present.validateRange(present.lineAt(0).range.with({ end })), after);
  } else {
    edit.createFile(uri, { ignoreIfExists: true });
    edit.insert(uri, new Position(0, 0), after);
  }
  await workspace.applyEdit(edit);
  const document = await workspace.openTextDocument(uri);
  // Other files read it from the disk.
  await document.save();
  const open = l10n.t('Open {0}', PROJECT_FILE);
  void window.showInformationMessage(l10n.t('Written to {0}.', PROJECT_FILE), open).then((picked) => {
    if (picked === open) void window.showTextDocument(document, { preview: false });
  });
}

function valuesOf(facts: ReadonlyMap<string, string>): RunValues {
  return Object.fromEntries(
    [...facts].map(([field, typed]) => [field, readTypedValue(field, typed).value ?? typed]),
  ) as RunValues;
}

/** A project file's text with the facts set, hardware under `targets`; comments and order stay. */
export function mergeProject(text: string, facts: ReadonlyMap<string, string>): string {
  const document = parseDocument(text);
  for (const [field, typed] of facts) {
    const { value = typed } = readTypedValue(field, typed);
    const section = field.startsWith('hardware.') ? 'targets' : 'defaults';
    const name = document.hasIn([section, field]) ? field : shortName(field);
    document.setIn([section, name], value);
  }
  return document.toString();
}

async function findProjectFile(config: Uri): Promise<Uri | undefined> {
  const top = workspace.getWorkspaceFolder(config)?.uri.path ?? Uri.joinPath(config, '..').path;
  for (let folder = Uri.joinPath(config, '..'); folder.path.startsWith(top); ) {
    const candidate = Uri.joinPath(folder, PROJECT_FILE);
    const found = await workspace.fs.stat(candidate).then(
      () => true,
      () => false,
    );
    if (found) {
      return candidate;
    }
    const parent = Uri.joinPath(folder, '..');
    if (parent.path === folder.path) {
      break;
    }
    folder = parent;
  }
  return undefined;
}
