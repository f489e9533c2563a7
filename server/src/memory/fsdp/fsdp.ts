import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import { emptyLedger, post } from '../ledger';
import { stateBytes, stepTransient } from '../optimizers';
import { elementBytes } from '../quantization';
import {
  frozenShardsOf,
  ledger,
  NONE,
  postStates,
  referenceBytes,
  type Sharding,
  shardGroupSize,
} from '../sharding-scheme';
import { SOURCES } from '../sources';
import type { TracedStage } from '../traced-run';
import { allStepped, bytesPer, ownWeights, stageElements, type WeightSums } from '../weights';
import { fsdpLoading } from './loading';
import { fsdpPlan } from './plan';
import { fsdpSaving } from './saving';
import { addsInPlace, type FsdpSettings, fsdpSettings, meanShards } from './settings';
import { frozenGraded } from './units';

/**
 * FSDP 1 and 2. Weights are held in shards of their own type, gathered per wrapped layer in the compute type, and
 * their gradients reduced to shards when the layer's backward is done. Sources: `_fsdp_param_group.py`,
 * `_fsdp_collectives.py`, `_flat_param.py`, `_runtime_utils.py`, and Accelerate's upcast of trainable weights
 * (`fsdp_utils.py`).
 */
export function fsdp(run: TrainingRun, sums: WeightSums, stages: readonly TracedStage[]): Sharding {
  const settings = fsdpSettings(run, sums, stages);
  const {
    second,
    shards,
    trained: trainedBytes,
    reduce,
    compute,
    offloaded,
    unsynced,
    accumulates,
  } = settings;
  const { trained, frozen } = sums;
  const atRest = emptyLedger();
  const host: { label: string; bytes: number }[] = [];
  const perNode = run['hardware.gpus'] / run['hardware.nodes'];
  // Packed 4-bit weights of bitsandbytes are sharded only where their storage type is that of the other weights.
  const quantizedShards = settings.packed ? shards : 1;
  const frozenShards =
    run['fsdp.strategy'] === 'none' ? 1 : meanShards(run, stages, false, frozenShardsOf(run, sums));
  const weightsShard = (trained * trainedBytes) / shards + (frozen * settings.frozen) / frozenShards;
  // Scales are attributes of a packed weight and no parameters: every GPU has all of them (`Params4bit.quant_state`).
  const kind = run['quantization.kind'];
  const codes = kind === 'none' ? 0 : sums.quantized * elementBytes(kind, run);
  const scales = sums.quantizedBytes - codes;
  const scalesShards = behaviours(run).splitsQuantizedWeights ? shards : 1;
  const graded = trained + frozenGraded(stages, run, settings);
  const gradientShard = (graded * trainedBytes) / shards;
  if (offloaded) {
    host.push(
      {
        label: 'weights',
        bytes:
          (weightsShard + codes / quantizedShards + (scalesShards > 1 ? scales / scalesShards : 0)) * perNode,
      },
      { label: 'gradients', bytes: gradientShard * perNode },
      {
        label: 'optimizer states',
        bytes: (trained / shards) * stateBytes(run, trainedBytes, allStepped(sums)) * perNode,
      },
    );
  } else {
    post(atRest, 'weights', weightsShard);
    post(atRest, 'quantized-weights', codes / quantizedShards + scales / scalesShards);
    postStates(atRest, run, trained / shards, trainedBytes, allStepped(sums));
  }
  // No parameters, so no offload moves them.
  if (offloaded && scalesShards === 1) post(atRest, 'quantized-weights', scales);
  post(atRest, 'reference-model', referenceBytes(run, sums, shards));

  const gradientsBefore = emptyLedger();
  if (unsynced) post(gradientsBefore, 'gradients', graded * (second ? reduce : compute));
  else if (accumulates && !offloaded) post(gradientsBefore, 'gradients', gradientShard);

  const sharing = run['fsdp.strategy'] === 'none' ? 1 : shardGroupSize(run);
  return {
    splits: { weights: sharing, gradients: sharing, states: sharing },
    explains: second
      ? { gathers: SOURCES.fsdp2, reduces: SOURCES.fsdp2 }
      : { gathers: SOURCES.fsdp1, reduces: SOURCES.fsdp1, flat: 'units' },
    atRest,
    throughout: NONE,
    gradientsBefore,
    gradientsAtStep: offloaded ? NONE : ledger(['gradients', gradientShard]),
    duringStep: offloaded
      ? NONE
      : ledger(['optimizer-transients', stepTransient(run, allStepped(sums), trainedBytes, shards)]),
    gradients: addsInPlace(settings) ? 'pass' : 'keep',
    plan: (stages) => fsdpPlan(stages, run, settings),
    host,
    pinned: pinnedBuffers(stages, run, settings),
    loading: fsdpLoading(run, sums, stages),
    saving: fsdpSaving(run, sums, stages),
  };
}

/**
 * FSDP2 pins the shard of each weight and of its gradient (`_fsdp_param.py`, `_fsdp_collectives.py`), FSDP1 those of each unit
 * (`_flat_param.py`).
 */
function pinnedBuffers(
  stages: readonly TracedStage[],
  run: TrainingRun,
  { second, trained: width, frozen }: FsdpSettings,
): Sharding['pinned'] {
  if (run['offload.parameters'] !== 'cpu') return [];
  const shards = shardGroupSize(run);
  const buffers: [number, number][] = [];
  for (const traced of stages) {
    let unit = 0;
    let trained = 0;
    for (const weight of ownWeights(traced)) {
      if (weight.quantization !== 'none') continue;
      const bytes = (weight.localElements * (weight.trainable ? width : frozen)) / shards;
      unit += bytes;
      if (weight.trainable) trained += bytes;
      if (second) buffers.push([bytes, traced.copies * (weight.trainable ? 2 : 1)]);
    }
    if (!second) buffers.push([unit, traced.copies], [trained, traced.copies]);
  }
  return buffers;
}

/**
 * Whole weights of layers that stay gathered while other layers run: those of a pipeline stage's other chunks, where units
 * are not resharded after forward; backward does not either until the last micro batch (PyTorch `pipelining/stage.py`,
 * `backward_maybe_with_nosync`). Bytes.
 */
export function gatheredThroughout(stages: readonly TracedStage[], run: TrainingRun): number {
  const data = run['parallel.data'];
  if (data !== 'fsdp1' && data !== 'fsdp2') return 0;
  const strategy = run['fsdp.strategy'];
  if (strategy !== 'grad-op' && strategy !== 'hybrid-grad-op') return 0;
  const mixed = behaviours(run).castsWhenGathered;
  if (shardGroupSize(run) === 1 && !mixed) return 0;
  const width = bytesPer(run[mixed ? 'precision.compute' : 'precision.weights']);
  let bytes = 0;
  for (const stage of stages) {
    if (stage.stage.role !== 'layer') continue;
    const { trained, frozen } = stageElements(stage, run);
    bytes += stage.copies * (trained + frozen) * width;
  }
  return bytes;
}
