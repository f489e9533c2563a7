import { type CancellationToken, type Connection, WorkDoneProgress } from 'vscode-languageserver';
import { isEstimated } from '../advice/changed-run';
import { sourcesOf } from '../advice/run-sources';
import { search, searched } from '../advice/search';
import type { World } from '../advice/world';
import type { Found, SearchParams } from '../features/search-protocol';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';

/** Milliseconds between two tellings of progress. */
const REPORTED_EVERY = 100;

/** Runs of a file that fit. Works in slices, tells its progress, and stops when it is cancelled. */
export async function searchRuns(
  analysis: Analysis,
  { maxGpus, instances, workDoneToken }: SearchParams,
  world: World,
  connection: Connection,
  token: CancellationToken,
): Promise<Found | null> {
  if (!isEstimated(analysis)) return null;
  const tell = (value: object) =>
    workDoneToken === undefined
      ? Promise.resolve()
      : connection.sendProgress(WorkDoneProgress.type, workDoneToken, value as never);
  await tell({ kind: 'begin', title: say('Searching what fits'), cancellable: true, percentage: 0 });
  let reported = Date.now();
  try {
    const files = await sourcesOf(analysis, world);
    const steps = search(analysis, { files, mostGpus: maxGpus, instances });
    const found = await searched(
      steps,
      () => token.isCancellationRequested,
      ({ tried, total }) => {
        if (Date.now() - reported < REPORTED_EVERY) return;
        reported = Date.now();
        void tell({ kind: 'report', percentage: Math.round((100 * tried) / Math.max(1, total)) });
      },
    );
    return found ?? null;
  } finally {
    await tell({ kind: 'end' });
  }
}
