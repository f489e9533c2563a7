import {
  CancellationTokenSource,
  commands,
  l10n,
  type QuickPickItem,
  QuickPickItemKind,
  Uri,
  window,
} from 'vscode';
import type { Planned, WriteRunArguments } from '../../server/src/shared/protocol';
import type { LanguageServer } from './language-server';
import { writeRows } from './write-rows';

interface Decision extends QuickPickItem {
  readonly write?: boolean;
  readonly uri?: string;
}

/** A change of the run that the person chose: shows what it would write, and writes it through the same edits as fixes. */
export async function writeRun(
  server: LanguageServer,
  { uri, values, label }: WriteRunArguments,
  title = l10n.t('Write {0}?', label),
): Promise<void> {
  const plan = await server.plan({ uri, values }, new CancellationTokenSource().token);
  if (!plan) return;
  if (plan.files.length === 0 && plan.left.length > 0) {
    const reasons = plan.left.map(({ reason }) => reason).join('; ');
    await window.showWarningMessage(l10n.t('Not written: {0}.', reasons));
    return;
  }
  if (plan.files.length > 0 && !(await agrees(plan, label, title))) return;
  const { left = [], byHand = [] } = await server.apply(uri, values);
  if (left.length > 0)
    await window.showWarningMessage(l10n.t('Written, except for this: {0}.', left.join('; ')));
  if (byHand.length > 0) {
    const lines = byHand.join(' ').replaceAll('`', '');
    await window.showWarningMessage(l10n.t('Noted. To change the training: {0}', lines));
  }
}

/** Shows every line that would change, in which file, and what is left to do by hand, before anything is written. */
async function agrees(plan: Planned, label: string, title: string): Promise<boolean> {
  const rows = writeRows(plan, label, {
    write: l10n.t('Write'),
    note: l10n.t('Note It'),
    written: l10n.t('What is written'),
    byHand: l10n.t('By hand:'),
    newFile: (name) => l10n.t('{0} (new)', name),
    noteIn: (name) => l10n.t('{0} (a note that only Oomlint reads)', name),
  });
  const items = rows.map(
    (row): Decision => (row.heading ? { label: row.label, kind: QuickPickItemKind.Separator } : row),
  );
  for (;;) {
    const picked = await window.showQuickPick(items, { title });
    if (picked?.uri !== undefined) await commands.executeCommand('vscode.open', Uri.parse(picked.uri));
    // A row of what is done by hand is there to be read.
    if (!picked || picked.write || picked.uri !== undefined) return picked?.write === true;
  }
}
