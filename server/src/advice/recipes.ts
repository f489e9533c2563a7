import type { FieldPath, RunValues } from '../run/fields';
import { cutsImages, type Estimated, type Trial, tryChanges } from './changed-run';
import { isRefused, type Movable, type Move, movesOf, PRICES } from './moves';
import { relativeTime } from './speed';

/** Changes that are made together, and the run after them. */
interface Recipe {
  readonly moves: readonly Move[];
  readonly changes: RunValues;
  readonly fields: readonly FieldPath[];
  readonly trial: Trial;
}

interface RecipeOptions {
  /** Whether some file states a move, made together with these changes. */
  readonly canSay: (move: Move, changes: RunValues, fields: readonly FieldPath[]) => boolean;
  readonly pause: () => Promise<void>;
}

/** The dearest moves that each pass may make: what costs nothing beside time is looked for first, however near to fitting others are. */
const PASSES = [PRICES.none, PRICES.rounding, PRICES.method] as const;
/** Estimates of a pass at most, most of them below a millisecond. */
const MOST_TRIED = 160;
/** Estimates after the first recipe of a pass: the search goes from the cheapest on, so what is found late costs more. */
const MORE_TRIED = 60;
/** More changes than these are another run. */
const MOST_MOVES = 5;
const ENOUGH = 5;
/** What a change of a price weighs against one doubling of the memory. */
const PRICE_WEIGHT = 0.35;
const MOVE_WEIGHT = 0.12;
const TIME_WEIGHT = 0.15;

/**
 * Several changes that make a run fit only together, by best-first search: from the state that is closest to fitting for what it
 * costs, every move that it leaves open is tried. A move may open others: sharding lets offload follow. Moves of hardware are left out.
 */
export async function recipesFor(
  analysis: Estimated,
  { canSay, pause }: RecipeOptions,
): Promise<readonly Recipe[]> {
  const { run } = analysis.resolved;
  if (!run) return [];
  const start: Recipe = {
    moves: [],
    changes: {},
    fields: [],
    trial: { changes: {}, run, accelerator: analysis.accelerator, estimate: analysis.estimate },
  };
  const found: Recipe[] = [];
  for (const dearest of PASSES) await pass(analysis, { canSay, pause }, start, dearest, found);
  return found;
}

/** One search from the run as it is, by moves of some prices; what earlier passes found is no longer looked for. */
async function pass(
  analysis: Estimated,
  { canSay, pause }: RecipeOptions,
  start: Recipe,
  dearest: number,
  found: Recipe[],
): Promise<void> {
  const open: { readonly recipe: Recipe; readonly rank: number }[] = [
    { recipe: start, rank: rankOf(start, analysis) },
  ];
  const seen = new Set<string>();
  let left = MOST_TRIED;
  while (open.length > 0 && found.length < ENOUGH && left > 0) {
    open.sort((a, b) => b.rank - a.rank);
    const next = open.pop();
    if (!next) break;
    for (const move of movesOf(asChanged(analysis, next.recipe.trial))) {
      if (move.price === PRICES.hardware || move.price > dearest) continue;
      const recipe = extended(analysis, next.recipe, move, seen, canSay);
      if (!recipe) continue;
      left--;
      await pause();
      if (fitsWhole(recipe.trial)) {
        if (found.some((known) => isPartOf(known, recipe))) continue;
        found.push(recipe);
        left = Math.min(left, MORE_TRIED);
      } else if (recipe.moves.length < MOST_MOVES && (goesFurther(recipe, next.recipe) || opens(move)))
        open.push({ recipe, rank: rankOf(recipe, analysis) });
      if (left <= 0) break;
    }
  }
}

const fitsWhole = (trial: Trial) =>
  trial.estimate.verdict === 'fits' && trial.estimate.host.verdict !== 'exceeds' && !cutsImages(trial);

/** More than what is enough already is no recipe of its own, nor is the same in other sizes. */
const isPartOf = (small: Recipe, large: Recipe) =>
  small.moves.every(({ name, kind }) =>
    large.moves.some((move) => move.name === name || (kind !== 'method' && move.kind === kind)),
  );

const goesFurther = (after: Recipe, before: Recipe) =>
  after.trial.estimate.peak.upperBytes < before.trial.estimate.peak.upperBytes ||
  (before.trial.estimate.host.verdict === 'exceeds' &&
    after.trial.estimate.host.bytesPerNode < before.trial.estimate.host.bytesPerNode);

/** Sharding is what offload needs: it may help with it alone. */
const opens = ({ kind }: Move) => kind === 'sharding';

function extended(
  analysis: Estimated,
  { moves, changes, fields }: Recipe,
  move: Move,
  seen: Set<string>,
  canSay: RecipeOptions['canSay'],
): Recipe | undefined {
  if (moves.some(({ kind }) => kind === move.kind)) return undefined;
  const all: RunValues = { ...changes, ...move.changes };
  const key = JSON.stringify(all, Object.keys(all).sort());
  const touched = [...new Set([...fields, ...move.fields])];
  if (seen.has(key) || !canSay(move, all, touched)) return undefined;
  seen.add(key);
  const trial = tryChanges(analysis, all);
  return trial && !isRefused(trial.run, analysis)
    ? { moves: [...moves, move], changes: all, fields: touched, trial }
    : undefined;
}

/** The run after changes, as far as moves look at it. */
function asChanged(analysis: Estimated, { run, accelerator, estimate }: Trial): Movable {
  return {
    dialect: analysis.dialect,
    members: analysis.members,
    model: analysis.model,
    accelerator,
    estimate,
    resolved: { ...analysis.resolved, values: run, run },
  };
}

/** How far a run is from fitting, in doublings of the memory, and what was paid to get there. */
function rankOf({ moves, trial }: Recipe, analysis: Estimated): number {
  const { peak, capacityBytes, host } = trial.estimate;
  const over = Math.max(0, Math.log2(peak.upperBytes / capacityBytes));
  const price = moves.reduce((sum, move) => sum + move.price, 0);
  const worst = relativeTime(trial, { estimate: analysis.estimate })?.worst ?? 1;
  const slower = Number.isFinite(worst) ? Math.max(0, Math.log2(worst)) : 1;
  return (
    over +
    (host.verdict === 'exceeds' ? 1 : 0) +
    PRICE_WEIGHT * price +
    MOVE_WEIGHT * moves.length +
    TIME_WEIGHT * slower
  );
}
