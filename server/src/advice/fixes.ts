import type { Verdict } from '../results/estimate';
import { fitsAsRead } from '../results/verdict-order';
import { evenDataParallelSize } from '../run/derive';
import type { FieldPath, RunValues, TrainingRun } from '../run/fields';
import { sameValue } from '../run/resolve';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { isWeak, planValues } from './apply-plan';
import { hasLine } from './by-hand';
import { cutsImages, type Estimated, isEstimated, type Trial, tryChanges } from './changed-run';
import { freshProblems } from './fresh-problems';
import { learningRateRule, shownRate, withLearningRate } from './learning-rate';
import { changesOf, isRefused, type Move, movesOf, PRICES } from './moves';
import { nextTurn } from './next-turn';
import { recipesFor } from './recipes';
import { sourcesOf } from './run-sources';
import { type RelativeTime, relativeTime, speedWords } from './speed';
import type { World } from './world';
import { type NewConfigs, newConfigsOf } from './write/new-config';
import type { SourceFile } from './write/source-file';
import { type WrittenFile, writeChanges } from './write/write';

/** A change that is known to fit: written, read again and estimated. */
export interface Fix {
  readonly title: string;
  /** What it changes: the title without the figures. */
  readonly name: string;
  /** Kinds of its moves, joined: `checkpointing+offload`. */
  readonly kind: string;
  readonly moves: readonly Move[];
  readonly changes: RunValues;
  readonly files: readonly WrittenFile[];
  /** What has to be changed by hand, as sentences: no file of the run has a key for it. */
  readonly byHand: readonly string[];
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

/** What changes may be written into: files of the run, and one that it may be given. */
interface Places {
  readonly files: readonly SourceFile[];
  readonly newConfigs?: NewConfigs;
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
  const places: Places = { files, newConfigs: await newConfigsOf(analysis, world) };
  const written = writableMoves(analysis, run, files, places.newConfigs);
  const offered = movesOf(analysis).filter((move) => written(move) || isByHand(analysis, run, move, places));
  const singles = await tried(analysis, offered, pause);
  const chosen = firstOfEach(singles.filter(fits));
  // With enough to choose from, combinations would only change more.
  const free = chosen.filter(({ price }) => price === PRICES.none);
  const combined =
    free.length >= ENOUGH
      ? []
      : await combinations(analysis, run, places, new Set(chosen.map(nameOf)), pause);
  const ranked = [...chosen, ...combined].sort(byCost);
  const fixes: Fix[] = [];
  for (const [index, candidate] of ranked.entries()) {
    if (fixes.length >= MOST_OFFERED || index >= MOST_WRITTEN) break;
    const fix = await proven(analysis, run, candidate, places, world);
    if (fix) fixes.push(...fix);
    await pause();
  }
  return fixes;
}

const fits = ({ trial }: Candidate) =>
  fitsAsRead(trial.estimate) && trial.estimate.host.verdict !== 'exceeds' && !cutsImages(trial);

/** Moves that some file of the run has words for. */
export function writableMoves(
  analysis: Estimated,
  run: TrainingRun,
  files: readonly SourceFile[],
  newConfigs?: NewConfigs,
) {
  const { origins } = analysis.resolved;
  return ({ changes, fields }: Move) => {
    const written = writeChanges({ files, run, origins, changes, fields, newConfigs });
    return written !== undefined && written.length > 0;
  };
}

/** Moves whose fields nobody states and no file has words for, while the training takes them as an argument. */
function isByHand(
  { resolved: { origins } }: Estimated,
  run: TrainingRun,
  { changes, fields }: Move,
  { files, newConfigs }: Places,
): boolean {
  return fields.every(
    (field) =>
      (isWeak(origins[field]) && hasLine(field, changes, run, files)) ||
      (writeChanges({ files, run, origins, changes, fields: [field], newConfigs })?.length ?? 0) > 0,
  );
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
  if (!trial || isRefused(trial.run, analysis)) return undefined;
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

/** Recipes of several changes, by what each needs of the others; those of one change are known. */
async function combinations(
  analysis: Estimated,
  run: TrainingRun,
  places: Places,
  known: ReadonlySet<string>,
  pause: () => Promise<void>,
): Promise<Candidate[]> {
  const { origins } = analysis.resolved;
  const found = await recipesFor(analysis, {
    pause,
    canSay: (move, changes, touched) => {
      const count = (fields: readonly FieldPath[]) =>
        writeChanges({ ...places, run, origins, changes, fields })?.length;
      const own = count(move.fields);
      // What a block states that another move writes has no words of its own.
      const stated = own === 0 ? (count(touched) ?? 0) > 0 : own !== undefined;
      return stated || isByHand(analysis, run, { ...move, changes }, places);
    },
  });
  return found
    .map(({ moves, changes, trial }) => ({
      moves,
      changes,
      trial,
      price: moves.reduce((sum, move) => sum + move.price, 0),
      relativeTime: relativeTime(trial, { estimate: analysis.estimate }),
    }))
    .filter((recipe) => !known.has(nameOf(recipe)));
}

const nameOf = ({ moves }: Pick<Candidate, 'moves'>) => moves.map(({ name }) => name).join(', ');

/** Writes a candidate, reads the files again, and makes a fix of it where they say what was meant and the run fits. */
async function proven(
  analysis: Estimated,
  run: TrainingRun,
  { moves, changes }: Candidate,
  places: Places,
  world: World,
): Promise<Fix[] | undefined> {
  const { origins } = analysis.resolved;
  const fields = [...new Set(moves.flatMap((move) => move.fields))];
  const all = withGlobal(analysis, run, changes);
  const stated = withGlobalField(analysis, run, changes, fields);
  const spoken = writeChanges({ ...places, run, origins, changes: all, fields: stated });
  // A key of a config states what follows from it, too; a note for Oomlint alone states each of the values.
  const plan = spoken ? { files: spoken, byHand: [] } : await planned(analysis, all, world);
  const written = plan?.files ?? [];
  if (!plan || written.length === 0) return undefined;
  const after = await world.preview(analysis.uri, sourceTextsOf(written));
  if (!after || !isEstimated(after) || !holds(analysis, after, changes, fields)) return undefined;
  if (!(await leavesOthersWell(analysis, written, world))) return undefined;
  const fix = fixOf(analysis, after, moves, changes, plan);
  if (!fix) return undefined;
  const scaled = await scaledFix(analysis, fix, after, places.files, world);
  return scaled ? [fix, scaled] : [fix];
}

/** What no file has words for is noted beside, with what is to be done by hand; undefined where something is left over. */
async function planned(
  analysis: Estimated,
  changes: RunValues,
  world: World,
): Promise<{ files: readonly WrittenFile[]; byHand: readonly string[] } | undefined> {
  const { files, note, byHand, left } = await planValues(analysis, changes, world);
  return left.length > 0 ? undefined : { files: [...files, ...(note ? [note] : [])], byHand };
}

/** The other files that are written have no problem that they did not have: each is looked at by itself. */
async function leavesOthersWell(
  { uri: own }: Estimated,
  written: readonly WrittenFile[],
  world: World,
): Promise<boolean> {
  for (const { uri } of written) {
    if (uri === own) continue;
    const before = await world.preview(uri, new Map());
    const after = await world.preview(uri, sourceTextsOf(written));
    if (before && after && freshProblems(before, after).length > 0) return false;
    // A file that is new has none at all.
    const found = before ? [] : (after?.problems ?? []);
    if (found.some(({ severity }) => severity === 'error' || severity === 'warning')) return false;
  }
  return true;
}

function sourceTextsOf(files: readonly WrittenFile[]): Map<string, string> {
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
  const copies = evenDataParallelSize(next);
  if (copies === undefined) return undefined;
  const global = next['batch.micro'] * next['batch.accumulation'] * copies;
  return global === run['batch.global'] ? undefined : global;
}

/** The files say what was meant, and nothing that was right before is wrong now. */
function holds(
  before: Estimated,
  after: Estimated,
  changes: RunValues,
  fields: readonly FieldPath[],
): boolean {
  const run = after.resolved.run;
  const isStated = fields.every((field) => sameValue(run?.[field], changes[field]));
  return isStated && after.dialect.id === before.dialect.id && freshProblems(before, after).length === 0;
}

function fixOf(
  before: Estimated,
  after: Estimated,
  moves: readonly Move[],
  changes: RunValues,
  { files, byHand }: Pick<Fix, 'files' | 'byHand'>,
): Fix | undefined {
  const { estimate } = after;
  if (!fitsAsRead(estimate) || estimate.host.verdict === 'exceeds') return undefined;
  const time = relativeTime({ estimate }, { estimate: before.estimate });
  const bytes = [before.estimate.peak.processBytes, estimate.peak.processBytes] as const;
  const [first = '', ...others] = moves.map(({ name }) => name);
  const steps = changes['batch.accumulation'];
  const accumulated = steps === undefined ? [] : [say('{0} accumulation {0|step|steps}', steps)];
  const name = [first, ...others.map(inSentence), ...accumulated].join(', ');
  const outcome = estimate.verdict === 'fits' ? say('fits') : say('fits as far as it is read');
  const words = [figures(bytes[0], bytes[1]), outcome, speedWords(time)].filter((word) => word !== undefined);
  return {
    title: `${name}: ${words.join(', ')}`,
    name,
    byHand,
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
    const read = await world.preview(before.uri, sourceTextsOf(all));
    if (!fitsAsRead(read?.estimate)) return undefined;
    const rates = say(
      'learning rate {0} → {1} ({2} rule)',
      shownRate(scaled.before),
      shownRate(scaled.after),
      rule.name === 'linear' ? say('linear') : say('square root'),
    );
    const words = { title: `${fix.title}, ${rates}`, name: `${fix.name}, ${rates}` };
    return { ...fix, ...words, files: all, scalesLearningRate: true };
  }
  return undefined;
}

/** Gives others their turn when enough time has gone by. */
export function pauses(): () => Promise<void> {
  let since = Date.now();
  return async () => {
    if (Date.now() - since < SLICE) return;
    await nextTurn();
    since = Date.now();
  };
}
