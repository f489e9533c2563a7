import type { TrainingRun } from '../run/fields';
import { fsdp } from './fsdp';
import { horovod } from './horovod';
import { post } from './ledger';
import { megatronReplicas } from './megatron';
import { OPTIMIZER_COSTS, stepTransient } from './optimizers';
import {
  dataParallelSize,
  ledger,
  NONE,
  postStates,
  referenceBytes,
  residentBytes,
  type Sharding,
  shardGroupSize,
  wrapsEndsApart,
} from './sharding-scheme';
import type { TracedStage } from './traced-run';
import { bytesPer, stageElements, type WeightSums } from './weights';
import { zero } from './zero';

export { shardGroupSize };

/** The scheme of a run. */
export function shardingOf(
  run: TrainingRun,
  sums: WeightSums,
  stages: readonly TracedStage[] = [],
): Sharding {
  switch (run['parallel.data']) {
    case 'zero':
      return zero(run, sums);
    case 'fsdp1':
    case 'fsdp2':
      return fsdp(run, sums, stages);
    case 'horovod':
      return horovod(run, sums);
    default:
      return run['precision.scheme'] === 'megatron' ? megatronReplicas(run, sums) : replicated(run, sums);
  }
}

/** What MS-AMP's linear layers differ by from weights and gradients of the model's type: fp16, and fp8. Bytes. */
function ofScaled({ scaled }: WeightSums, weightBytes: number): { weights: number; gradients: number } {
  return {
    weights: (scaled.trained + scaled.frozen) * (bytesPer('fp16') - weightBytes),
    gradients: scaled.trained * (bytesPer('fp8') - weightBytes),
  };
}

/**
 * One GPU, or DDP. DDP's reducer holds flat buckets of every gradient from its making on, beside `.grad` unless
 * gradients are views of them (`reducer.cpp`, `initialize_buckets`; `gradient_as_bucket_view` is off by default).
 */
function replicated(run: TrainingRun, sums: WeightSums): Sharding {
  const weightBytes = residentBytes(run);
  const adapterBytes = bytesPer(run['lora.dtype']);
  const base = sums.trained - sums.adapters;
  const ranks = dataParallelSize(run);
  const atRest = ledger(
    ['weights', (base + sums.frozen) * weightBytes - 2 * sums.lowered + ofScaled(sums, weightBytes).weights],
    ['quantized-weights', sums.quantizedBytes],
    ['adapters', sums.adapters * adapterBytes],
    ['reference-model', referenceBytes(run, sums, 1)],
  );
  // DDP leaves MS-AMP's weights to it (`msamp/nn/linear.py`, `LinearReplacer.replace`).
  const bucketed = (base - sums.scaled.trained) * weightBytes + sums.adapters * adapterBytes;
  const gradient = base * weightBytes + sums.adapters * adapterBytes + ofScaled(sums, weightBytes).gradients;
  // Apex O2 (`amp/_process_optimizer.py`): fp32 masters are stepped, with gradients of their own.
  // So does BAdam with the block that is trained (`badam/block_optim.py`).
  const block = run['method.kind'] === 'block' && weightBytes < 4;
  const masters = block || run['precision.scheme'] === 'apex-o2';
  const stepBytes = masters ? 4 : weightBytes;
  if (masters) post(atRest, 'master-weights', 4 * base);
  postStates(atRest, run, base, stepBytes, sums.stepped);
  postStates(atRest, run, sums.adapters, adapterBytes, sums.steppedAdapters);
  if (ranks > 1 && run['parallel.data'] === 'ddp') post(atRest, 'communication-buffers', bucketed);
  // Gradients that are views of the buckets are copied there one by one; `zero_grad` drops the views, not the buckets.
  const views = ranks > 1 && run['parallel.data'] === 'ddp' && run['ddp.gradientAsBucketView'];
  const stepsInBackward = run['optimizer.inBackward'] || OPTIMIZER_COSTS[run['optimizer.name']].inBackward;
  // Until torch 2.0 `zero_grad` filled gradients with zeros and kept them (`set_to_none=False`).
  const kept = run['version.torch'].startsWith('1.');
  // Views begin with the last micro step: before it `no_sync` accumulates gradients apart.
  const accumulates = run['batch.accumulation'] > 1;
  const accumulated = (accumulates || (kept && !views)) && !stepsInBackward;
  const gone = stepsInBackward || views;
  const transient =
    stepTransient(run, sums.stepped, stepBytes) +
    stepTransient(run, sums.steppedAdapters, adapterBytes) +
    (masters ? 4 * base : 0);
  return {
    atRest,
    throughout: NONE,
    duringBackward: NONE,
    gradientsBefore: accumulated ? ledger(['gradients', gradient]) : NONE,
    gradientsAtStep: gone ? NONE : ledger(['gradients', gradient]),
    duringStep: stepsInBackward ? NONE : ledger(['optimizer-transients', transient]),
    gradients: gone || accumulated ? 'pass' : 'keep',
    shardAfterStage: false,
    gradientShardBytes: 0,
    stageForward: () => NONE,
    stageBackward: () => NONE,
    host: [],
  };
}

/** What FSDP holds as one unit beside the layers: all of it as the root, or the largest where each is wrapped. */
function atEnds(
  run: TrainingRun,
  stages: readonly TracedStage[],
  bytesOf: (s: TracedStage) => number,
): number {
  const ends = stages.filter((s) => s.stage.role !== 'layer').map((s) => s.copies * bytesOf(s));
  if (wrapsEndsApart(run)) return Math.max(0, ...ends);
  return ends.reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * Input of the reduce-scatter of what is not in a layer, when its backward is over (`_fsdp_param_group.py`,
 * `post_backward`): all trained weights of the unit in the type of the reduction.
 */
export function rootReduceBytes(run: TrainingRun, stages: readonly TracedStage[]): number {
  const data = run['parallel.data'];
  if (data !== 'fsdp1' && data !== 'fsdp2') return 0;
  if (run['fsdp.strategy'] === 'none' || shardGroupSize(run) === 1) return 0;
  const mixed = run['precision.scheme'] === 'fsdp';
  const width = bytesPer(
    run['precision.reduce'] ?? (mixed ? run['precision.compute'] : run['precision.weights']),
  );
  return atEnds(run, stages, (stage) => stageElements(stage, run).trained * width);
}

/** Bytes of what FSDP gathers once and keeps: the root (embedding, head, norms) or everything, from forward on. */
export function rootGatherBytes(run: TrainingRun, stages: readonly TracedStage[]): number {
  const data = run['parallel.data'];
  if (data !== 'fsdp1' && data !== 'fsdp2') return 0;
  const mixed = run['precision.scheme'] === 'fsdp';
  const n = run['fsdp.strategy'] === 'none' ? 1 : shardGroupSize(run);
  if (n === 1 && !mixed) return 0;
  const compute = bytesPer(mixed ? run['precision.compute'] : run['precision.weights']);
  const wholeModel =
    run['fsdp.wrap'] === 'none' ||
    run['fsdp.strategy'] === 'grad-op' ||
    run['fsdp.strategy'] === 'hybrid-grad-op';
  const whole = (stage: TracedStage): number => {
    const { trained, frozen } = stageElements(stage, run);
    return (trained + frozen) * compute;
  };
  let bytes = atEnds(run, stages, whole);
  if (!wholeModel) return bytes;
  for (const stage of stages) if (stage.stage.role === 'layer') bytes += stage.copies * whole(stage);
  return bytes;
}
