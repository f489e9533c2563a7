import type { TrainingRun } from '../../run/fields';
import type { StepRequests } from '../sharding-scheme';
import type { TracedStage } from '../traced-run';
import { ownWeights } from '../weights';
import { addsInPlace, type FsdpSettings } from './settings';
import { type FsdpUnit, leftByReduction, type Wrapped } from './units';

/**
 * What lies on streams of FSDP's own (`_fsdp_collectives.py`, `_fsdp_param_group.py`; FSDP 1: `_flat_param.py`,
 * `_runtime_utils.py`): what is gathered, and shards of gradients. FSDP 2 gathers the root into one buffer, which goes when
 * the first layer's is copied out; then two layers' lie there, and the copies lie among the activations. FSDP 1 gathers into
 * the weights themselves: the root stays, and two layers are in flight.
 */
export function fsdpRequests(
  stages: readonly TracedStage[],
  run: TrainingRun,
  {
    root,
    outer,
    units,
    left: toRoot,
  }: Pick<Wrapped, 'left'> & {
    readonly root: FsdpUnit;
    readonly outer: FsdpUnit;
    readonly units: ReadonlyMap<TracedStage, FsdpUnit>;
  },
  settings: FsdpSettings,
): StepRequests {
  const { second, reshards, shards } = settings;
  const left = addsInPlace(settings) ? () => 0 : leftByReduction(run, settings, { left: toRoot });
  let layer = 0;
  let resident = root.whole + outer.whole;
  let reduced = root.reduced;
  let reductions = 0;
  for (const stage of stages) {
    for (const weight of ownWeights(stage)) if (weight.trainable) reductions += stage.copies * left(weight);
    const unit = units.get(stage);
    if (!unit) continue;
    if (stage.stage.role !== 'layer') {
      resident = Math.max(resident, unit.whole);
      reduced = Math.max(reduced, unit.reduced);
    } else if (reshards) layer = Math.max(layer, unit.whole);
    else resident += stage.copies * unit.whole;
  }
  const gathering = second ? Math.max(resident + layer, 2 * layer) : resident + 2 * layer;
  return {
    otherStreams: gathering + reductions,
    gathered: second ? resident : 0,
    atEnd: second && shards > 1 ? reduced : 0,
  };
}
