import { differencesOf } from '../features/compare';
import type { Difference } from '../features/protocol';
import type { Category, Spread } from '../results/estimate';
import { compareVerdicts } from '../results/verdict-order';
import type { Problem } from '../text/problem';
import { type Analysis, isPart } from '../workspace/analysis';
import { Workspace } from '../workspace/analyze';
import { runOf } from './check-file';
import type { CheckedRun } from './checked-file';

/** One side of a difference: the files of a commit or of the disk. */
export interface Side {
  readonly workspace: Workspace;
  /** Files that may be configs. */
  readonly candidates: readonly string[];
}

/**
 * Both sides in one workspace: it has the files of the first until `turn` gives it those of the second. An analysis whose questions have
 * the same answers then is the same on both sides, and nothing of it is worked out again.
 */
interface Turn {
  turn(): void;
}

/** A version of a run, with what its time and cost may be: the range is that of the estimate. */
interface RunVersion extends CheckedRun {
  readonly stepSeconds?: number;
  readonly stepSpread?: Spread;
  readonly tokensPerStep?: number;
  /** US dollars for the whole run. */
  readonly costSpread?: Spread;
}

/** What sets two versions of a run apart; the sizes are of one GPU. */
export interface RunDiff {
  readonly kind: 'changed' | 'new' | 'removed';
  /** The config, after the change where there is one. */
  readonly uri: string;
  /** Where it was before. */
  readonly from?: string;
  readonly before?: RunVersion;
  readonly after?: RunVersion;
  /** Bytes that parts gained, the largest change first. */
  readonly parts: readonly { readonly category: Category; readonly bytes: number }[];
  readonly causes: readonly DiffCause[];
  /** Errors and warnings that were not there before, and those that are gone. */
  readonly newProblems: readonly Problem[];
  readonly goneProblems: readonly Problem[];
}

/** Fields that changed together, and the key that states the first of them now. */
export interface DiffCause extends Difference {
  readonly key?: { readonly name: string; readonly uri: string; readonly line: number };
  /** Nobody states it: it is assumed, and the assumption is another now. */
  readonly assumed: boolean;
}

export interface TreeDiff {
  /** The gravest first: verdicts that changed, then peaks by their change. */
  readonly runs: readonly RunDiff[];
  /** Configs whose run is as it was, though a file of it changed. */
  readonly equal: number;
  /** Configs without an estimate on both sides. */
  readonly unknown: number;
}

/**
 * Runs that differ between two sides. `changed`: files that differ; `renamed`: where a file of `after` was before. Only runs that
 * looked at a changed file are compared: the others are equal. With a `turn`, both sides have the same workspace.
 */
export async function diffRuns(
  before: Side,
  after: Side,
  changed: ReadonlySet<string>,
  renamed: ReadonlyMap<string, string>,
  turn?: Turn,
): Promise<TreeDiff> {
  const first = await analysed(before);
  const then = concerned(before, changed);
  turn?.turn();
  const last = await analysed(after, turn && { seen: first, changed });
  const now = concerned(after, changed);
  const runs: RunDiff[] = [];
  let equal = 0;
  let unknown = 0;
  const matched = new Set<string>();
  for (const uri of new Set([...now, ...then.filter((old) => !isRenamed(renamed, old))])) {
    const old = renamed.get(uri) ?? uri;
    if (matched.has(old)) continue;
    matched.add(old);
    const [was, is] = [first.get(old), last.get(uri)];
    if (!was && !is) continue;
    const found = was && was === is ? sameOn(is) : diffOf(uri, old, was, is);
    const shown = is ?? was;
    if (shown && isPart(shown)) {
      // Its run is reported under the file that starts it; what is wrong with the file itself is not.
      if (typeof found === 'string' || found.newProblems.length === 0) continue;
      runs.push({ ...found, parts: [], causes: [] });
    } else if (found === 'equal') equal++;
    else if (found === 'unknown') unknown++;
    else runs.push(found);
  }
  return { runs: runs.sort((a, b) => gravity(b) - gravity(a) || (a.uri < b.uri ? -1 : 1)), equal, unknown };
}

/** What two sides with the same analysis have of a config. */
function sameOn({ estimate }: Analysis): 'equal' | 'unknown' {
  return estimate ? 'equal' : 'unknown';
}

const isRenamed = (renamed: ReadonlyMap<string, string>, old: string) => [...renamed.values()].includes(old);

/** What the side before had, and the files that differ. */
interface Seen {
  readonly seen: ReadonlyMap<string, Analysis | undefined>;
  readonly changed: ReadonlySet<string>;
}

/** Analyses of a side, by config. Most files of a repository are no configs: a look at their text tells, as `check` does it. */
async function analysed(
  { workspace, candidates }: Side,
  before?: Seen,
): Promise<ReadonlyMap<string, Analysis | undefined>> {
  const found = new Map<string, Analysis | undefined>();
  const teaches = [...(before?.changed ?? [])].some((uri) => Workspace.teaches(uri));
  // A YAML file that is no config may be one that another starts from, by now; others are what they were where nobody teaches anew.
  const isSettled = (uri: string) =>
    before !== undefined && !teaches && !before.changed.has(uri) && !/\.ya?ml$/i.test(uri);
  // What is gone takes part in nothing any more.
  for (const uri of before?.seen.keys() ?? []) if (before?.changed.has(uri)) await workspace.analyze(uri);
  for (const uri of candidates) {
    const worth = isSettled(uri) ? before?.seen.has(uri) : await workspace.isWorthChecking(uri);
    if (worth) found.set(uri, await workspace.analyze(uri));
  }
  return found;
}

/** Configs of a side whose analysis may depend on one of the files. */
function concerned({ workspace, candidates }: Side, changed: ReadonlySet<string>): string[] {
  const found = new Set(candidates.filter((uri) => changed.has(uri)));
  for (const file of changed) {
    for (const uri of workspace.dependents(file)) found.add(uri);
  }
  return candidates.filter((uri) => found.has(uri));
}

function diffOf(
  uri: string,
  old: string,
  first: Analysis | undefined,
  last: Analysis | undefined,
): RunDiff | 'equal' | 'unknown' {
  const before = first && sideOf(first);
  const after = last && sideOf(last);
  const newProblems = problemsBeyond(last, first);
  const goneProblems = problemsBeyond(first, last);
  const common = { uri, ...(old === uri ? {} : { from: old }), before, after, newProblems, goneProblems };
  if (!first || !last) return { kind: first ? 'removed' : 'new', ...common, parts: [], causes: [] };
  const isKnown = first.estimate !== undefined || last.estimate !== undefined;
  const same =
    before?.verdict === after?.verdict &&
    before?.peak?.processBytes === after?.peak?.processBytes &&
    before?.stepSeconds === after?.stepSeconds &&
    before?.costUsd === after?.costUsd &&
    newProblems.length + goneProblems.length === 0;
  if (same) return isKnown ? 'equal' : 'unknown';
  const causes = (differencesOf(first, last) ?? []).map((difference) => causeOf(difference, last));
  return { kind: 'changed', ...common, parts: partsOf(before, after), causes };
}

function sideOf(analysis: Analysis): RunVersion {
  const { stepSeconds, costUsd } = analysis.estimate?.compute.time ?? {};
  return {
    ...runOf(analysis),
    costUsd: costUsd?.likely,
    stepSeconds: stepSeconds?.likely,
    stepSpread: stepSeconds,
    tokensPerStep: analysis.estimate?.compute.tokensPerStep,
    costSpread: costUsd,
  };
}

function causeOf(difference: Difference, { resolved }: Analysis): DiffCause {
  const origins = difference.fields.flatMap((field) => resolved.origins[field] ?? []);
  const stated = origins.find(({ location, key }) => location && key !== undefined);
  const key = stated?.location && {
    name: stated.key ?? '',
    uri: stated.location.uri,
    line: stated.location.range.start.line + 1,
  };
  return { ...difference, key, assumed: !stated };
}

function partsOf(before: CheckedRun | undefined, after: CheckedRun | undefined): RunDiff['parts'] {
  if (!before?.peak || !after?.peak) return [];
  const sums = new Map<Category, number>();
  for (const { category, bytes } of after.parts) sums.set(category, (sums.get(category) ?? 0) + bytes);
  for (const { category, bytes } of before.parts) sums.set(category, (sums.get(category) ?? 0) - bytes);
  return [...sums]
    .map(([category, bytes]) => ({ category, bytes }))
    .filter(({ bytes }) => bytes !== 0)
    .sort((a, b) => Math.abs(b.bytes) - Math.abs(a.bytes));
}

/** Errors and warnings of a side that the other lacks; a verdict is reported as such. */
function problemsBeyond(analysis: Analysis | undefined, other: Analysis | undefined): readonly Problem[] {
  const counts = (problem: Problem) =>
    (problem.severity === 'error' || problem.severity === 'warning') &&
    problem.code !== 'does-not-fit' &&
    problem.code !== 'tight';
  const identity = ({ code, message }: Problem) => `${code} ${message}`;
  const known = new Set((other?.problems ?? []).filter(counts).map(identity));
  return (analysis?.problems ?? []).filter((problem) => counts(problem) && !known.has(identity(problem)));
}

/** Whether a run came out worse than it was; a new run that does not fit is worse than none. */
export function isWorse({ before, after }: RunDiff): boolean {
  return after !== undefined && compareVerdicts(after.verdict, before?.verdict ?? 'unknown') > 0;
}

/** Sorts: worse verdicts, then other changed verdicts, then the change of the peak. */
function gravity(diff: RunDiff): number {
  const { before, after } = diff;
  const peak = Math.abs((after?.peak?.processBytes ?? 0) - (before?.peak?.processBytes ?? 0));
  const verdict = isWorse(diff) ? 2 : before?.verdict !== after?.verdict ? 1 : 0;
  return verdict * 2 ** 50 + Math.min(peak, 2 ** 50 - 1);
}
