import type { EstimateInput } from '../../estimate';
import { findAccelerator } from '../../hardware/catalog';
import { oncePer } from '../../memo/remembered';
import { evenDataParallelSize } from '../../run/derive';
import { FIELD_PATHS, type FieldPath, type RunValues } from '../../run/fields';
import { type Fact, fact } from '../../run/origin';
import { isAssumed, type Resolution, resolveRun, sameValue } from '../../run/resolve';
import type { Assembled } from './assembled';
import { read } from './read';
import { resolve } from './resolve';

/** What `derive` works out of the rest: worked out anew where nobody stated it. */
const DERIVED: readonly FieldPath[] = [
  'batch.global',
  'batch.accumulation',
  'hardware.nodes',
  'parallel.virtualStages',
];

/** Fields that move how the data is shared out. */
const MOVES_DATA: readonly FieldPath[] = [
  'parallel.tensor',
  'parallel.context',
  'hardware.gpus',
  'zero.stage',
];

/**
 * The run if it had other values, joined and derived as files would be; nothing is estimated. What its files mean then, such as
 * the types of weights under another way of sharding, follows: they are read as if the values were known. Undefined where the
 * values do not make a run: GPUs that do not divide, a GPU that is not known.
 */
export function alternative(assembled: Assembled, changes: RunValues): EstimateInput | undefined {
  const { collected, known, resolved } = assembled;
  const { model } = known.finding;
  // Values are asked for by name: those that are not changed need no copy.
  const values: RunValues = Object.assign(
    Object.create(known.values) as RunValues,
    changes,
    joinedVersions(resolved.resolution, changes),
  );
  const again = read(collected, { ...known, values }, assembled.read);
  const { resolution, accelerator } = again === assembled.read ? resolved : resolve(collected, known, again);
  const { run } = resolveRun(changedFacts(resolution, changes), resolution.needs);
  if (!run || evenDataParallelSize(run) === undefined) return undefined;
  const another = changes['hardware.gpu'];
  const card = another === undefined ? accelerator : findAccelerator(another);
  return model && card && { run, model, accelerator: card };
}

/** Releases that stand together: with another of the one the other may be another, too. */
function joinedVersions(resolution: Resolution, changes: RunValues): RunValues {
  const joined = ['version.trl', 'version.transformers'] as const;
  if (!joined.some((field) => changes[field] !== undefined)) return {};
  const { values } = resolveRun(changedFacts(resolution, changes), resolution.needs);
  return Object.fromEntries(joined.map((field) => [field, values[field]]));
}

function isBroken(conditions: RunValues, changes: RunValues): boolean {
  return FIELD_PATHS.some(
    (field) =>
      conditions[field] !== undefined && field in changes && !sameValue(changes[field], conditions[field]),
  );
}

/** Fields that `derive` works out where they have no value at all: one that the vocabulary gave stays. */
const DERIVED_UNLESS_THERE: readonly FieldPath[] = ['parallel.sequence', 'precision.autocast'];

/**
 * What a run states and takes for granted, each with whose it is: the same facts for every alternative that is tried. What the
 * vocabulary gives where nobody states anything is most of it, and is given again.
 */
const factsOf = oncePer(({ origins, values }: Resolution): readonly Fact[] =>
  FIELD_PATHS.flatMap((field) => {
    const origin = origins[field];
    const again = isAssumed(origin) && !DERIVED_UNLESS_THERE.includes(field);
    if (values[field] === undefined || !origin || again) return [];
    return [fact(field, values[field] as never, origin)];
  }),
);

function changedFacts(resolution: Resolution, changes: RunValues): Fact[] {
  const { origins } = resolution;
  const facts: Fact[] = [];
  const stated = changes as Readonly<Record<string, unknown>>;
  const movesData = MOVES_DATA.some((field) => field in stated);
  for (const own of factsOf(resolution)) {
    const { field, value, origin } = own;
    if (field in stated) continue;
    const follows = origin.kind === 'inferred' || origin.kind === 'default';
    if (follows && DERIVED.includes(field)) continue;
    if (
      origin.kind === 'inferred' &&
      field === 'parallel.data' &&
      movesData &&
      (value === 'ddp' || value === 'none')
    )
      continue;
    // What DeepSpeed overlaps by default depends on the stage.
    if (follows && field === 'zero.overlapCommunication' && 'zero.stage' in stated) continue;
    // Another card has its own memory.
    if (field === 'hardware.gpuMemory' && 'hardware.gpu' in stated) continue;
    // What was measured of this run is not known of that one.
    if (origin.while && isBroken(origin.while, changes)) continue;
    const length = field === 'batch.sequence' ? origins['batch.longestSequence']?.while : undefined;
    const whole = origin.before !== undefined && length && isBroken(length, changes);
    facts.push(whole ? fact(field, origin.before as never, origin) : own);
  }
  for (const [field, value] of Object.entries(stated))
    facts.push(fact(field as FieldPath, value as never, { kind: 'command-line' }));
  return facts;
}
