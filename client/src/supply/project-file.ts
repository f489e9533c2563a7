import { l10n, Position, Uri, WorkspaceEdit, window, workspace } from 'vscode';
import type { RunValues } from '../../../server/src/shared/fields';
import type { NoteParams } from '../../../server/src/shared/protocol';
import { readTypedValue } from './read-value';

const PROJECT_FILE = 'oomlint.yaml';

/** Who writes the text of a project file: the server. */
export interface Notes {
  note(params: NoteParams): Promise<string | null>;
}

/**
 * States facts in the project file next to the config or above it; makes one in the workspace folder. For this config alone, or for
 * every config of the project. The person stays where the answer shows.
 */
export async function writeProjectFile(
  notes: Notes,
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
  const after = await notes.note({
    project: { uri: uri.toString(), ...(before === undefined ? {} : { text: before }) },
    ...(scope === 'config' ? { config: config.toString() } : {}),
    values: valuesOf(facts),
  });
  if (after === null) throw new Error(l10n.t('{0} could not be read.', PROJECT_FILE));
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
