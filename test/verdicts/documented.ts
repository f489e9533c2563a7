import { Workspace } from '../../server/src/workspace/analyze';
import { MemoryHost } from '../../server/src/workspace/memory-host';

/** What became of a run, as whoever started it reported it. */
export type Outcome = 'ran' | 'out-of-memory';

/** A run whose outcome is published, stated as people have it on disk. */
export interface DocumentedRun {
  /** Where the outcome stands. */
  readonly source: string;
  readonly outcome: Outcome;
  /** The config or launch script that is asked about, by its name in `files`. */
  readonly file: string;
  readonly files: Readonly<Record<string, string>>;
}

/**
 * - `right`: `fits` for a run that ran, `exceeds` for one that ran out of memory;
 * - `near`: `tight`, which promises neither;
 * - `withheld`: no verdict, or one that is a warning with what it rests on, such as an assumed length;
 * - `wrong`: given without reserve, and contradicted.
 */
export type Score = 'right' | 'near' | 'withheld' | 'wrong';

export interface Scored extends DocumentedRun {
  readonly verdict: string;
  readonly score: Score;
  readonly peakBytes?: number;
  /** What the person reads of the verdict, or what is not known. */
  readonly reported: string;
}

const ROOT = 'file:///run';

/** The verdict that a person sees on a documented run, beside what happened. */
export async function scored(run: DocumentedRun): Promise<Scored> {
  const files = Object.entries(run.files).map(([name, text]) => [`${ROOT}/${name}`, text] as const);
  const workspace = new Workspace(new MemoryHost(Object.fromEntries(files), { folders: [ROOT] }));
  const analysis = await workspace.analyze(`${ROOT}/${run.file}`);
  const verdict = analysis?.estimate?.verdict ?? 'unknown';
  const problem = analysis?.problems.find(({ code }) => code === 'does-not-fit');
  const unknown = (analysis?.resolved.unknown ?? []).map(({ field }) => field);
  const length = (analysis?.answers ?? []).find(({ field }) => field === 'batch.sequence');
  return {
    ...run,
    verdict,
    score: scoreOf(verdict, problem?.severity === 'error', run.outcome, length !== undefined),
    ...(analysis?.estimate ? { peakBytes: analysis.estimate.peak.processBytes } : {}),
    reported: problem?.message ?? length?.reason ?? unknown.join(', '),
  };
}

/** `certain`: that it does not fit is an error. `anyLength`: it is noted that nothing limits how long a sample is. */
export function scoreOf(verdict: string, certain: boolean, outcome: Outcome, anyLength = false): Score {
  if (verdict === 'tight') return 'near';
  if (verdict === 'fits') return outcome === 'ran' ? 'right' : anyLength ? 'withheld' : 'wrong';
  if (verdict !== 'exceeds') return 'withheld';
  if (outcome === 'out-of-memory') return 'right';
  return certain ? 'wrong' : 'withheld';
}
