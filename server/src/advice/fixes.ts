import type { Verdict } from '../estimate';
import type { FieldPath, RunValues, TrainingRun } from '../run/fields';
import { sameValue } from '../run/resolve';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { type Estimated, isEstimated, type Trial, tryChanges } from './changed-run';
import { learningRateRule, shownRate, withLearningRate } from './learning-rate';
import { changesOf, isRefused, type Move, movesOf, PRICES } from './moves';
import { type RelativeTime, relativeTime, speedWords } from './speed';
import type { World } from './world';
import { eachOnce, type SourceFile, withParts } from './write/source-file';
import { type WrittenFile, writeChanges } from './write/write';

/** A change that is known to fit: written, read again and estimated. */
export interface Fix {
  readonly title: string;
  /** Kinds of its moves, joined: `checkpointing+offload`. */
  readonly kind: string;
  readonly moves: readonly Move[];
  readonly changes: RunValues;
  readonly files: readonly WrittenFile[];
  readonly verdict: Verdict;
  readonly beforeBytes: number;
  readonly afterBytes: number;
  readonly relativeTime?: RelativeTime;
  /** What it costs beside time; see `PRICES`. */
  readonly price: number;
  /** A change that belongs to another fix: the learning rate for a changed global batch. */
  readonly scalesLearningRate?: boolean;
}

/** Offered at most: a list that can be read. */
const MOST_OFFERED = 8;
/** Single changes at no price that make combinations needless. */
const ENOUGH = 2;
/** Candidates that are written and read again at most. */
const MOST_WRITTEN = 24;
/** Estimates of combinations at most. */
const MOST_COMBINED = 160;
/** Milliseconds of work before others get their turn. */
const SLICE = 8;

const kept = new WeakMap<Analysis, Promise<readonly Fix[]>>();

/**
 * Fixes for a run that does not fit or is tight, cheapest in quality and speed first. Each was written into the files' texts
 * and read again: the verdict and the figures in its title are those of the changed files. Remembered per analysis.
 */
export function fixesFor(analysis: Analysis, world: World): Promise<readonly Fix[]> {
  const known = kept.get(analysis);
  if (known) return known;
  const fixes = isEstimated(analysis) ? search(analysis, world) : Promise.resolve([]);
  kept.set(analysis, fixes);
  return fixes;
}

interface Candidate {
  readonly moves: readonly Move[];
  readonly changes: RunValues;
  readonly trial: Trial;
  readonly price: number;
  readonly relativeTime?: RelativeTime;
}

async function search(analysis: Estimated, world: World): Promise<readonly Fix[]> {
  const { verdict } = analysis.estimate;
  const { run } = analysis.resolved;
  if (!run || (verdict !== 'exceeds' && verdict !== 'tight')) return [];
  const pause = pauses();
  const files = await sourcesOf(analysis, world);
  if (files.length === 0) return [];
  const written = writableMoves(analysis, run, files);
  const singles = await tried(analysis, movesOf(analysis).filter(written), pause);
  const chosen = firstOfEach(singles.filter(fits));
  // With enough to choose from, combinations would only change more.
  const free = chosen.filter(({ price }) => price === PRICES.none);
  const combined = free.length >= ENOUGH ? [] : await combinations(analysis, singles, pause);
  const ranked = [...chosen, ...combined].sort(byCost);
  const fixes: Fix[] = [];
  for (const [index, candidate] of ranked.entries()) {
    if (fixes.length >= MOST_OFFERED || index >= MOST_WRITTEN) break;
    const fix = await proven(analysis, run, candidate, files, world);
    if (fix) fixes.push(...fix);
    await pause();
  }
  return fixes;
}

const fits = ({ trial }: Candidate) =>
  trial.estimate.verdict === 'fits' && trial.estimate.host.verdict !== 'exceeds';

/** The files of the run that hold keys, the one at hand first. */
export async function sourcesOf(analysis: Analysis, world: World): Promise<SourceFile[]> {
  const sources = await Promise.all(analysis.files.map((uri) => world.source(uri)));
  return eachOnce(
    sources.flatMap((source, index) =>
      source ? withParts({ ...source, uri: analysis.files[index] ?? source.uri }) : [],
    ),
  );
}

/** Moves that some file of the run has words for. */
export function writableMoves(analysis: Estimated, run: TrainingRun, files: readonly SourceFile[]) {
  const { origins } = analysis.resolved;
  return ({ changes, fields }: Move) => {
    const files_ = writeChanges({ files, run, origins, changes, fields });
    return files_ !== undefined && files_.length > 0;
  };
}

async function tried(
  analysis: Estimated,
  moves: readonly Move[],
  pause: () => Promise<void>,
): Promise<Candidate[]> {
  const found: Candidate[] = [];
  for (const move of moves) {
    const candidate = candidateOf(analysis, [move]);
    // What does not lower the peak cannot be part of a fix.
    if (candidate && candidate.trial.estimate.peak.upperBytes < analysis.estimate.peak.upperBytes)
      found.push(candidate);
    else if (candidate && fits(candidate)) found.push(candidate);
    await pause();
  }
  return found;
}

function candidateOf(analysis: Estimated, moves: readonly Move[]): Candidate | undefined {
  const { run } = analysis.resolved;
  const changes = run && changesOf(moves, run);
  const trial = changes && tryChanges(analysis, changes);
  if (!trial || isRefused(trial.run)) return undefined;
  const price = moves.reduce((sum, move) => sum + move.price, 0);
  return {
    moves,
    changes,
    trial,
    price,
    relativeTime: relativeTime(trial, { estimate: analysis.estimate }),
  };
}

/** Of a kind the first that fits: moves come with the smallest change first. Optimizers and methods are all shown. */
function firstOfEach(candidates: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return candidates.filter(({ moves }) => {
    const kind = moves[0]?.kind ?? '';
    if (kind === 'optimizer' || kind === 'method') return true;
    const fresh = !seen.has(kind);
    seen.add(kind);
    return fresh;
  });
}

/** Each further change has to be worth so much of a step's time. */
const ONE_MORE_CHANGE = 0.15;

/** Quality first, then speed and how much is changed. An unknown time counts as a fifth more. */
function byCost(a: Candidate, b: Candidate): number {
  const effort = ({ relativeTime: time, moves }: Candidate) =>
    Math.max(1, time?.worst ?? 1.2) + ONE_MORE_CHANGE * (moves.length - 1);
  return a.price - b.price || effort(a) - effort(b);
}

/** The lowest of each kind, in pairs, then threes, then fours: only sets of which no smaller part fits. */
async function combinations(
  analysis: Estimated,
  singles: readonly Candidate[],
  pause: () => Promise<void>,
): Promise<Candidate[]> {
  const helpful = singles.filter(
    (single) => !fits(single) && (single.moves[0]?.price ?? 0) !== PRICES.hardware,
  );
  const byKind = new Map<string, Candidate[]>();
  for (const single of helpful) {
    const kind = single.moves[0]?.kind ?? '';
    byKind.set(kind, [...(byKind.get(kind) ?? []), single]);
  }
  // The first and the lowest of a kind: the least change, and the one that goes furthest.
  const parts = [...byKind.values()].flatMap((all) => {
    const lowest = [...all].sort((a, b) => peakOf(a) - peakOf(b))[0];
    // Two kinds of FSDP are no two ways out, and a sequence is only halved in company.
    const one = all[0]?.moves[0]?.kind === 'sequence' || all[0]?.changes['parallel.data'] !== undefined;
    return [...new Set(one ? [all[0]] : [all[0], lowest])].flatMap((part) => part ?? []);
  });
  const ordered = parts.sort((a, b) => a.price - b.price || peakOf(a) - peakOf(b)).slice(0, 12);
  const found: Candidate[] = [];
  let left = MOST_COMBINED;
  for (const size of [2, 3, 4]) {
    for (const set of subsets(ordered, size)) {
      if (left-- <= 0) return found;
      if (found.some(({ moves }) => moves.every((move) => set.some((part) => part.moves[0] === move))))
        continue;
      const moves = set.flatMap((part) => part.moves);
      const candidate = candidateOf(analysis, moves);
      if (candidate && fits(candidate)) found.push(candidate);
      await pause();
    }
    if (found.length >= 3) return found;
  }
  return found;
}

const peakOf = ({ trial }: Candidate) => trial.estimate.peak.processBytes;

function* subsets(parts: readonly Candidate[], size: number, from = 0): Generator<Candidate[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let index = from; index < parts.length; index++) {
    const part = parts[index];
    if (!part) continue;
    for (const rest of subsets(parts, size - 1, index + 1)) {
      const kinds = new Set([part, ...rest].map(({ moves }) => moves[0]?.kind));
      if (kinds.size === size) yield [part, ...rest];
    }
  }
}

/** Writes a candidate, reads the files again, and makes a fix of it where they say what was meant and the run fits. */
async function proven(
  analysis: Estimated,
  run: TrainingRun,
  { moves, changes }: Candidate,
  files: readonly SourceFile[],
  world: World,
): Promise<Fix[] | undefined> {
  const { origins } = analysis.resolved;
  const fields = [...new Set(moves.flatMap((move) => move.fields))];
  const written = writeChanges({
    files,
    run,
    origins,
    changes: withGlobal(analysis, run, changes),
    fields: withGlobalField(analysis, run, changes, fields),
  });
  if (!written || written.length === 0) return undefined;
  const after = await world.preview(analysis.uri, textsOf(written));
  if (!after || !isEstimated(after) || !holds(analysis, after, changes, fields)) return undefined;
  const fix = fixOf(analysis, after, moves, changes, written);
  if (!fix) return undefined;
  const scaled = await scaledFix(analysis, fix, after, files, world);
  return scaled ? [fix, scaled] : [fix];
}

export function textsOf(files: readonly WrittenFile[]): Map<string, string> {
  return new Map(files.map(({ uri, after }) => [uri, after]));
}

/** A global batch that a file states follows the rest, or the triangle of the batch would not close. */
function withGlobal(analysis: Estimated, run: TrainingRun, changes: RunValues): RunValues {
  const global = globalAfter(analysis, run, changes);
  return global === undefined ? changes : { ...changes, 'batch.global': global };
}

function withGlobalField(
  analysis: Estimated,
  run: TrainingRun,
  changes: RunValues,
  fields: readonly FieldPath[],
): readonly FieldPath[] {
  return globalAfter(analysis, run, changes) === undefined ? fields : [...fields, 'batch.global'];
}

function globalAfter(analysis: Estimated, run: TrainingRun, changes: RunValues): number | undefined {
  const origin = analysis.resolved.origins['batch.global'];
  const trial = tryChanges(analysis, changes);
  if (!trial || origin?.kind === 'inferred' || origin === undefined) return undefined;
  const { run: next } = trial;
  const split =
    next['parallel.tensor'] * next['parallel.pipeline'] * next['parallel.context'] * next['parallel.ulysses'];
  const global = next['batch.micro'] * next['batch.accumulation'] * (next['hardware.gpus'] / split);
  return Number.isInteger(global) && global !== run['batch.global'] ? global : undefined;
}

/** The files say what was meant, and nothing that was right before is wrong now. */
function holds(
  before: Estimated,
  after: Estimated,
  changes: RunValues,
  fields: readonly FieldPath[],
): boolean {
  const run = after.resolved.run;
  const said = fields.every((field) => sameValue(run?.[field], changes[field]));
  if (!said || after.dialect.id !== before.dialect.id) return false;
  const known = new Set(before.problems.map(({ code, message }) => `${code} ${message}`));
  const counts = (problems: Analysis['problems'], code: string) =>
    problems.filter((found) => found.code === code).length;
  return after.problems.every(
    ({ code, severity, message }) =>
      (severity !== 'error' && severity !== 'warning') ||
      known.has(`${code} ${message}`) ||
      (severity === 'warning' && counts(after.problems, code) <= counts(before.problems, code)),
  );
}

function fixOf(
  before: Estimated,
  after: Estimated,
  moves: readonly Move[],
  changes: RunValues,
  files: readonly WrittenFile[],
): Fix | undefined {
  const { estimate } = after;
  if (estimate.verdict !== 'fits' || estimate.host.verdict === 'exceeds') return undefined;
  const time = relativeTime({ estimate }, { estimate: before.estimate });
  const bytes = [before.estimate.peak.processBytes, estimate.peak.processBytes] as const;
  const [first = '', ...others] = moves.map(({ name }) => name);
  const steps = changes['batch.accumulation'];
  const accumulated = steps === undefined ? [] : [say('{0} accumulation {0|step|steps}', steps)];
  const name = [first, ...others.map(inSentence), ...accumulated].join(', ');
  const words = [figures(bytes[0], bytes[1]), say('fits'), speedWords(time)].filter(
    (word) => word !== undefined,
  );
  return {
    title: `${name}: ${words.join(', ')}`,
    kind: moves.map(({ kind }) => kind).join('+'),
    moves,
    changes,
    files,
    verdict: estimate.verdict,
    beforeBytes: bytes[0],
    afterBytes: bytes[1],
    relativeTime: time,
    price: moves.reduce((sum, move) => sum + move.price, 0),
  };
}

/** Names that are no names of things begin small behind a comma. */
function inSentence(name: string): string {
  return /^(?:Liger|FlashAttention|Adafactor)/.test(name)
    ? name
    : name.replace(/^\p{Lu}(?=\p{Ll}{2})/u, (letter) => letter.toLowerCase());
}

/** `61.2 → 38.4 GiB`. */
function figures(before: number, after: number): string {
  const [old, now] = [formatBytes(before), formatBytes(after)];
  const unit = / \S+$/.exec(now)?.[0] ?? '';
  return old.endsWith(unit) ? `${old.slice(0, -unit.length)} → ${now}` : `${old} → ${now}`;
}

/** The same fix with the learning rate of the new global batch: a choice of its own. */
async function scaledFix(
  before: Estimated,
  fix: Fix,
  after: Estimated,
  files: readonly SourceFile[],
  world: World,
): Promise<Fix | undefined> {
  const [old, now] = [before.resolved.run, after.resolved.run];
  const rule = old && now && learningRateRule(old, now);
  if (!rule) return undefined;
  for (const file of files) {
    const present = fix.files.find(({ uri }) => uri === file.uri);
    const scaled = withLearningRate(file.uri, present?.after ?? file.text, rule.factor);
    if (!scaled) continue;
    const changed: WrittenFile = { uri: file.uri, before: file.text, after: scaled.text };
    const all = [...fix.files.filter(({ uri }) => uri !== file.uri), changed];
    const read = await world.preview(before.uri, textsOf(all));
    if (read?.estimate?.verdict !== 'fits') return undefined;
    const rates = say(
      'learning rate {0} → {1} ({2} rule)',
      shownRate(scaled.before),
      shownRate(scaled.after),
      rule.name === 'linear' ? say('linear') : say('square root'),
    );
    return { ...fix, title: `${fix.title}, ${rates}`, files: all, scalesLearningRate: true };
  }
  return undefined;
}

/** Gives others their turn when enough time has gone by. */
export function pauses(): () => Promise<void> {
  let since = Date.now();
  return async () => {
    if (Date.now() - since < SLICE) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    since = Date.now();
  };
}
