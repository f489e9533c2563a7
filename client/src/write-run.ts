import {
  CancellationTokenSource,
  commands,
  l10n,
  type QuickPickItem,
  QuickPickItemKind,
  Uri,
  window,
} from 'vscode';
import type { FileChange, Planned, WriteRunArguments } from '../../server/src/shared/protocol';
import type { LanguageServer } from './language-server';

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

/** Shows every line that would change, and in which file, before anything is written. */
async function agrees({ files }: Planned, label: string, title: string): Promise<boolean> {
  const picked = await window.showQuickPick<Decision>(
    [
      { label: `$(check) ${l10n.t('Write')}`, description: label, write: true },
      { label: l10n.t('What is written'), kind: QuickPickItemKind.Separator },
      ...files.map((file) => ({ label: `$(file) ${file.name}`, detail: linesOf(file), uri: file.uri })),
    ],
    { title },
  );
  if (picked?.uri !== undefined) await commands.executeCommand('vscode.open', Uri.parse(picked.uri));
  return picked?.write === true;
}

/** `− "stage": 2, + "stage": 3,`. */
function linesOf({ removed, added }: FileChange): string {
  const marked = (mark: string, lines: readonly string[]) => lines.map((line) => `${mark} ${line.trim()}`);
  return [...marked('−', removed), ...marked('+', added)].join('  ');
}
