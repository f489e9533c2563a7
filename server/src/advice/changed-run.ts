import type { Estimate, EstimateInput } from '../estimate';
import { estimate } from '../estimate';
import type { Accelerator } from '../hardware/accelerator';
import { findAccelerator } from '../hardware/catalog';
import type { Model } from '../model/model';
import { dataParallelSize } from '../run/derive';
import { FIELD_PATHS, type FieldPath, type RunValues, type TrainingRun } from '../run/fields';
import { type Fact, fact } from '../run/origin';
import { resolveRun } from '../run/resolve';
import type { Analysis } from '../workspace/analysis';

/** A run with some fields changed, and what it needs. */
export interface Trial {
  readonly changes: RunValues;
  readonly run: TrainingRun;
  readonly accelerator: Accelerator;
  readonly estimate: Estimate;
}

/** What `derive` works out of the rest: worked out anew where nobody stated it. */
const DERIVED: readonly FieldPath[] = [
  'batch.global',
  'batch.accumulation',
  'hardware.nodes',
  'parallel.virtualStages',
];

/** An analysis that can be estimated. */
export interface Estimated extends Analysis {
  readonly model: Model;
  readonly accelerator: Accelerator;
  readonly estimate: Estimate;
}

export function isEstimated(analysis: Analysis): analysis is Estimated {
  const { model, accelerator, estimate: found, resolved } = analysis;
  return (
    model !== undefined && accelerator !== undefined && found !== undefined && resolved.run !== undefined
  );
}

/** Trials of an analysis, by what they change. Analyses are immutable, so nothing grows old. */
const trials = new WeakMap<Analysis, Map<string, Trial | undefined>>();

/**
 * The run with other values, joined and derived as files would be, and its estimate by the same engine. Undefined where
 * the values do not make a run: GPUs that do not divide, a GPU that is not known. Some milliseconds where the trace changes,
 * well below one where only sharding, optimizer or hardware do; remembered per analysis.
 */
export function tryChanges(analysis: Estimated, changes: RunValues): Trial | undefined {
  const known = trials.get(analysis) ?? new Map<string, Trial | undefined>();
  trials.set(analysis, known);
  const key = JSON.stringify(changes, Object.keys(changes).sort());
  if (known.has(key)) return known.get(key);
  const trial = reckoned(analysis, changes);
  known.set(key, trial);
  return trial;
}

function reckoned(analysis: Estimated, changes: RunValues): Trial | undefined {
  const input = changedInput(analysis, changes);
  return (
    input && { changes, run: input.run, accelerator: input.accelerator, estimate: rememberedEstimate(input) }
  );
}

/** Neighbours of a few states that typing and undoing move between: some hundred estimates of a few kilobytes each. */
const KEPT = 192;

const estimates = new WeakMap<Model, Map<string, Estimate>>();

/** Edits that leave a run as it is make a new analysis, but no new estimates: those stay with the model. */
function rememberedEstimate(input: EstimateInput): Estimate {
  const known = estimates.get(input.model) ?? new Map<string, Estimate>();
  estimates.set(input.model, known);
  const { name, usableBytes } = input.accelerator;
  const key = JSON.stringify([name, usableBytes, input.run]);
  const found = known.get(key) ?? estimate(input);
  // The latest stay longest.
  known.delete(key);
  known.set(key, found);
  const [oldest] = known.keys();
  if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
  return found;
}

/** What the engine is to estimate for a changed run. */
export function changedInput(analysis: Estimated, changes: RunValues): EstimateInput | undefined {
  const { run } = resolveRun(changedFacts(analysis, changes));
  if (!run || dataParallelSize(run) === undefined) return undefined;
  const another = changes['hardware.gpu'];
  const accelerator = another === undefined ? analysis.accelerator : findAccelerator(another);
  return accelerator && { run, model: analysis.model, accelerator };
}

function changedFacts({ resolved }: Analysis, changes: RunValues): Fact[] {
  const facts: Fact[] = [];
  const stated = changes as Readonly<Record<string, unknown>>;
  const movesData = ['parallel.tensor', 'parallel.context', 'hardware.gpus', 'zero.stage'].some(
    (field) => field in stated,
  );
  for (const field of FIELD_PATHS) {
    const origin = resolved.origins[field];
    const value = resolved.values[field];
    if (field in stated || value === undefined || !origin) continue;
    const follows = origin.kind === 'inferred' || origin.kind === 'default';
    if (follows && DERIVED.includes(field)) continue;
    if (
      origin.kind === 'inferred' &&
      field === 'parallel.data' &&
      movesData &&
      (value === 'ddp' || value === 'none')
    )
      continue;
    // What DeepSpeed overlaps by silence depends on the stage.
    if (follows && field === 'zero.overlapCommunication' && 'zero.stage' in stated) continue;
    // Another card has its own memory.
    if (field === 'hardware.gpuMemory' && 'hardware.gpu' in stated) continue;
    facts.push(fact(field, value as never, origin));
  }
  for (const [field, value] of Object.entries(stated))
    facts.push(fact(field as FieldPath, value as never, { kind: 'command-line' }));
  return facts;
}
