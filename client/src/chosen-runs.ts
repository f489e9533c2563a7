import { l10n, type Memento, type QuickPickItem, type Uri, window } from 'vscode';
import type { RunOption } from '../../server/src/shared/protocol';
import { formatBytes, verdictAt, verdictLabel } from '../../server/src/shared/words';
import { knownConfigLabel } from './known-configs';
import type { LanguageServer } from './language-server';

const KEY = 'oomlint.chosenRuns';

interface RunItem extends QuickPickItem {
  /** Absent: the worst, whichever that is. */
  readonly root?: string;
}

/** Which of its runs a file is shown in, remembered with the workspace. */
export class RememberedRuns {
  readonly #memory: Memento;

  constructor(memory: Memento) {
    this.#memory = memory;
  }

  all(): Readonly<Record<string, string>> {
    return this.#memory.get<Record<string, string>>(KEY, {});
  }

  async remember(uri: string, root: string | undefined): Promise<void> {
    const { [uri]: _before, ...others } = this.all();
    await this.#memory.update(KEY, root === undefined ? others : { ...others, [uri]: root });
  }
}

/** `Oomlint: Choose Run...`: a list of the runs that use a file, each with its peak and verdict. */
export async function chooseRun(
  server: LanguageServer,
  chosen: RememberedRuns,
  uri: Uri | undefined,
): Promise<void> {
  if (uri === undefined) {
    await window.showInformationMessage(l10n.t('Open a training config first.'));
    return;
  }
  const found = await server.runs(uri.toString()).catch(() => null);
  if (!found || found.runs.length === 0) {
    await window.showInformationMessage(l10n.t('No other file of this workspace uses this one.'));
    return;
  }
  const items = [
    ...found.runs.map((run) => itemOf(run, found.shown)),
    { label: l10n.t('Worst case'), description: l10n.t('automatic'), root: undefined },
  ];
  const picked = await window.showQuickPick<RunItem>(items, {
    title: l10n.t('Show as Part of Run'),
    matchOnDescription: true,
  });
  if (picked) await choose(server, chosen, uri, picked.root);
}

async function choose(
  server: LanguageServer,
  chosen: RememberedRuns,
  uri: Uri,
  root: string | undefined,
): Promise<void> {
  await chosen.remember(uri.toString(), root);
  await server.chooseRun(uri.toString(), root);
}

function itemOf(run: RunOption, shown: string | undefined): RunItem {
  const { root, verdict, peakBytes, capacityBytes } = run;
  const known = peakBytes !== undefined && capacityBytes !== undefined;
  const peak = known
    ? l10n.t(
        '{0} of {1}, {2}',
        formatBytes(peakBytes),
        formatBytes(capacityBytes),
        verdictAt(verdict, peakBytes, capacityBytes),
      )
    : verdictLabel(verdict);
  return {
    label: knownConfigLabel(run),
    description: root === shown ? l10n.t('{0}, shown', peak) : peak,
    root,
  };
}
