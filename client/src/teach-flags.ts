import { commands, l10n, Position, Uri, WorkspaceEdit, window, workspace } from 'vscode';

const VOCABULARY_FILE = 'oomlint-flags.yaml';

/** A vocabulary to start from; what each line is for stands beside it. */
export const FIRST_VOCABULARY = `# ${l10n.t('Flags of your own trainer. Files that use them are estimated like any other config.')}
id: our-trainer
name: Our trainer

detect:
  markers: [our_batch, our_mode] # ${l10n.t('flags that nobody else has')}
  atLeast: 1

keys:
  our_batch:
    type: integer
    doc: Samples per GPU.
    sets: batch.micro # ${l10n.t('the field of a run that the flag sets')}
  our_length:
    type: integer
    default: 2048
    doc: Tokens per sample.
    sets: batch.sequence
  our_mode:
    values: [plain, sharded]
    default: plain
    sets: # ${l10n.t('several fields, by what the flag says')}
      parallel.data: { plain: ddp, sharded: zero }
      zero.stage: { sharded: 3 }
`;

/** `Oomlint: Teach Your Own Flags`: opens the vocabulary of the workspace, or a first one to save. */
export async function teachFlags(): Promise<void> {
  const folder = workspace.workspaceFolders?.[0]?.uri;
  if (folder === undefined) {
    const open = l10n.t('Open Folder...');
    const picked = await window.showInformationMessage(
      l10n.t(
        'No folder is open. Your flags are taught in a file {0} in the folder of your configs.',
        VOCABULARY_FILE,
      ),
      open,
    );
    if (picked === open) {
      await commands.executeCommand('workbench.action.files.openFolder');
    }
    return;
  }
  const uri = Uri.joinPath(folder, VOCABULARY_FILE);
  const exists = await workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
  if (!exists) {
    const edit = new WorkspaceEdit();
    edit.createFile(uri, { ignoreIfExists: true });
    edit.insert(uri, new Position(0, 0), FIRST_VOCABULARY);
    await workspace.applyEdit(edit);
  }
  await window.showTextDocument(await workspace.openTextDocument(uri), { preview: false });
}
