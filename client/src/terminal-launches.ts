import { Disposable, l10n, type TerminalShellExecution, type Uri, window } from 'vscode';

/** Of what a command prints so much is kept, the newest of it. A traceback of eight ranks is a tenth. */
const KEPT = 2 ** 20;
/** Programs that paint the whole screen print no messages, and nobody asks about commands that end well. */
const PAINTS_SCREEN = '\u001b[?1049h';

/** A command of the integrated terminal that failed, with what it printed. */
interface FailedLaunch {
  /** The command line and its output, as a log would have them. */
  readonly text: string;
  readonly folder: Uri | undefined;
}

/**
 * Listens to commands of terminals with shell integration: where one ends badly and `isWorth` its output, `titleOf` states in a
 * line what happened, and the person is asked whether to have it explained.
 */
export function watchesLaunches(
  isWorth: (text: string) => boolean,
  titleOf: (text: string) => Promise<string | undefined>,
  explain: (launch: FailedLaunch) => Promise<void>,
): Disposable {
  const running = new Map<TerminalShellExecution, Promise<string>>();
  const offer = async (launch: FailedLaunch): Promise<void> => {
    const title = isWorth(launch.text) ? await titleOf(launch.text) : undefined;
    if (title === undefined) return;
    const show = l10n.t('Explain');
    if ((await window.showInformationMessage(title, show)) === show) await explain(launch);
  };
  return Disposable.from(
    window.onDidStartTerminalShellExecution(({ execution }) => running.set(execution, outputOf(execution))),
    window.onDidEndTerminalShellExecution(async ({ execution, exitCode }) => {
      const output = running.get(execution);
      running.delete(execution);
      if (exitCode === 0 || !output) return;
      const text = `$ ${execution.commandLine.value}\n${await output}`;
      await offer({ text, folder: execution.cwd });
    }),
    new Disposable(() => running.clear()),
  );
}

async function outputOf(execution: TerminalShellExecution): Promise<string> {
  let pieces: string[] = [];
  let length = 0;
  for await (const piece of execution.read()) {
    if (piece.includes(PAINTS_SCREEN)) return '';
    pieces.push(piece);
    length += piece.length;
    if (length < 2 * KEPT) continue;
    const kept = pieces.join('').slice(-KEPT);
    pieces = [kept];
    length = kept.length;
  }
  return pieces.join('');
}
