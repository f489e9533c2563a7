import { Position, Uri, WorkspaceEdit, window, workspace } from 'vscode';
import { parseDocument } from 'yaml';
import { readValue } from './read-value';
import { shortName } from './short-name';

const PROJECT_FILE = 'oomlint.yaml';

/** States facts in the project file next to the config or above it; makes one in the workspace folder. */
export async function writeProjectFile(config: Uri, facts: ReadonlyMap<string, string>): Promise<void> {
  const existing = await findProjectFile(config);
  const folder = workspace.getWorkspaceFolder(config)?.uri ?? Uri.joinPath(config, '..');
  const uri = existing ?? Uri.joinPath(folder, PROJECT_FILE);
  const edit = new WorkspaceEdit();
  if (existing === undefined) {
    edit.createFile(uri, { ignoreIfExists: true });
    edit.insert(uri, new Position(0, 0), mergeProject('', facts));
  } else {
    const document = await workspace.openTextDocument(uri);
    const end = document.lineAt(document.lineCount - 1).rangeIncludingLineBreak.end;
    edit.replace(
      uri,
      document.validateRange(document.lineAt(0).range.with({ end })),
      mergeProject(document.getText(), facts),
    );
  }
  await workspace.applyEdit(edit);
  const document = await workspace.openTextDocument(uri);
  // Other files read it from the disk.
  await document.save();
  await window.showTextDocument(document, { preview: false });
}

/** A project file's text with the facts set, hardware under `targets`; comments and order stay. */
export function mergeProject(text: string, facts: ReadonlyMap<string, string>): string {
  const document = parseDocument(text);
  for (const [field, typed] of facts) {
    const { value = typed } = readValue(field, typed);
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
