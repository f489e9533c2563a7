import type { TrainingRun } from '../run/fields';
import { formatInteger } from '../wording/figures';
import { fsdp } from './fsdp';
import { horovod } from './horovod';
import { emptyLedger, post, type Words } from './ledger';
import { megatronReplicas } from './megatron';
import { OPTIMIZER_COSTS, stateBytes, stepTransient } from './optimizers';
import {
  dataParallelSize,
  ledger,
  NONE,
  postStates,
  referenceBytes,
  residentBytes,
  type Sharding,
  shardGroupSize,
} from './sharding-scheme';

import { SOURCES, type Source } from './sources';
import type { TracedStage } from './traced-run';
import { allStepped, bytesPer, stageElements, type WeightSums } from './weights';

export { shardGroupSize };

/** The scheme of a run. */
export function shardingOf(run: TrainingRun, sums: WeightSums): Sharding {
  switch (run['parallel.data']) {
    case 'zero':
      return zero(run, sums);
    case 'fsdp1':
    case 'fsdp2':
      return fsdp(run, sums);
    case 'horovod':
      return horovod(run, sums);
    default:
      return run['precision.scheme'] === 'megatron' ? megatronReplicas(run, sums) : replicated(run, sums);
  }
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
    ['weights', (base + sums.frozen) * weightBytes],
    ['quantized-weights', sums.quantizedBytes],
    ['adapters', sums.adapters * adapterBytes],
    ['reference-model', referenceBytes(run, sums, 1)],
  );
  const gradient = base * weightBytes + sums.adapters * adapterBytes;
  postStates(atRest, run, base, weightBytes, sums.stepped);
  postStates(atRest, run, sums.adapters, adapterBytes, sums.steppedAdapters);
  if (ranks > 1 && run['parallel.data'] === 'ddp') post(atRest, 'communication-buffers', gradient);
  // Gradients that are views of the buckets are copied there one by one; `zero_grad` drops the views, not the buckets.
  const views = ranks > 1 && run['parallel.data'] === 'ddp' && run['ddp.gradientAsBucketView'];
  const stepsInBackward = run['optimizer.inBackward'] || OPTIMIZER_COSTS[run['optimizer.name']].inBackward;
  // Until torch 2.0 `zero_grad` filled gradients with zeros and kept them (`set_to_none=False`).
  const kept = run['version.torch'].startsWith('1.');
  const accumulated = (run['batch.accumulation'] > 1 || kept) && !stepsInBackward && !views;
  const gone = stepsInBackward || views;
  const transient =
    stepTransient(run, sums.stepped, weightBytes) + stepTransient(run, sums.steppedAdapters, adapterBytes);
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

/**
 * DeepSpeed ZeRO, stages 0 to 3, with offload. Sources: `runtime/zero/stage_1_and_2.py` and `stage3.py`: flat buffers,
 * fp32 masters per partition, reduction buckets allocated at full size in elements of the model's type.
 */
function zero(run: TrainingRun, sums: WeightSums): Sharding {
  const stage = run['zero.stage'];
  const shards = shardGroupSize(run);
  const width = bytesPer(run['precision.compute']);
  const { trained } = sums;
  const partition = trained / shards;
  const offloaded = run['offload.optimizer'] !== 'none';
  const offloadShare = offloaded ? (stage === 3 ? run['offload.optimizerRatio'] : 1) : 0;
  const parametersOffloaded = stage === 3 && run['offload.parameters'] !== 'none';
  const lowPrecision = width < 4;
  const host: { label: string; bytes: number }[] = [];
  const accumulating = run['batch.accumulation'] > 1;
  const perNode = run['hardware.gpus'] / run['hardware.nodes'];

  const weightsWhole = trained + sums.frozen;
  const atRest = ledger(['quantized-weights', sums.quantizedBytes]);
  const persistent = sums.persistentTrained + sums.persistentFrozen;
  if (stage === 3) {
    const reference = referenceBytes(run, sums, shards);
    post(atRest, 'reference-model', reference);
    if (parametersOffloaded) {
      host.push({ label: 'weights', bytes: ((width * weightsWhole) / shards) * perNode });
      post(atRest, 'weights', width * persistent);
    } else post(atRest, 'weights', (width * weightsWhole) / shards + width * persistent);
    if (run['zero.hpzPartition'] > 1)
      post(atRest, 'weights', (width * weightsWhole) / run['zero.hpzPartition']);
  } else {
    post(atRest, 'weights', width * weightsWhole);
    post(atRest, 'reference-model', referenceBytes(run, sums, 1));
  }

  // Stage 0 with fp16 or bf16 is FP16_Optimizer: the whole fp32 master and states on every GPU.
  const stepped = stage === 0 ? trained : partition;
  const onGpu = stepped * (1 - offloadShare);
  const masterBytes = bytesPer(run['precision.masterWeights']);
  const hasMasters = lowPrecision || stage > 0;
  const stepBytes = hasMasters ? masterBytes : width;
  if (hasMasters) post(atRest, 'master-weights', onGpu * masterBytes);
  postStates(atRest, run, onGpu, stepBytes, allStepped(sums));
  if (offloaded && run['offload.optimizer'] === 'cpu') {
    const perGpu = stepped * offloadShare;
    host.push(
      { label: 'master weights', bytes: perGpu * masterBytes * perNode },
      { label: 'optimizer states', bytes: perGpu * stateBytes(run, stepBytes, allStepped(sums)) * perNode },
      { label: 'gradients', bytes: perGpu * 4 * perNode },
      { label: 'staging of updated weights', bytes: perGpu * width * perNode },
    );
  } else if (offloaded) {
    host.push({
      label: 'staging buffers for NVMe',
      bytes: 4 * Math.min(partition, run['zero.subGroup']) * 4 * perNode,
    });
  }

  const overlap = run['zero.overlapCommunication'] ?? stage === 3;
  const bucket = run['zero.reduceBucket'] * width;
  const duringBackward = emptyLedger();
  const gradientsBefore = emptyLedger();
  const gradientsAtStep = emptyLedger();
  const duringStep = emptyLedger();
  const throughout = emptyLedger();
  const fp32Accumulation = run['precision.gradientAccumulation'] === 'fp32' && lowPrecision;
  if (stage === 0) {
    const gradient = trained * width;
    post(gradientsAtStep, 'gradients', gradient);
    if (accumulating) post(gradientsBefore, 'gradients', gradient);
    if (lowPrecision) post(duringStep, 'optimizer-transients', trained * 4);
    else post(duringStep, 'optimizer-transients', stepTransient(run, allStepped(sums), width));
  } else if (stage < 3) {
    post(duringBackward, 'communication-buffers', bucket * (overlap ? 2 : 1), {
      name: overlap ? 'two reduction buckets, one filled while the other is sent' : 'reduction bucket',
      formula: `${overlap ? '2 x ' : ''}${width} B x ${formatInteger(run['zero.reduceBucket'])} elements`,
      source: SOURCES.zero12,
    });
    if (stage === 1 && fp32Accumulation && !offloaded && run['precision.compute'] === 'bf16') {
      // BF16_Optimizer keeps a full fp32 gradient buffer on every GPU (`bf16_optimizer.py`).
      post(atRest, 'gradients', trained * 4);
      post(duringBackward, 'gradients', trained * width);
      post(gradientsAtStep, 'gradients', 0);
    } else if (offloaded) {
      post(duringBackward, 'gradients', sums.largest * width, leaving(sums, width, SOURCES.zero12));
      if (accumulating && stage === 1) post(gradientsBefore, 'gradients', trained * width);
    } else {
      post(duringBackward, 'gradients', partition * width);
      post(gradientsAtStep, 'gradients', partition * width);
      if (accumulating) post(gradientsBefore, 'gradients', (stage === 1 ? trained : partition) * width);
      // The partition is flattened, then cast to fp32 while the flat copy lives.
      post(duringStep, 'optimizer-transients', partition * (width + (lowPrecision ? 4 : 0)));
    }
  } else {
    post(atRest, 'communication-buffers', bucket, {
      name: 'reduction bucket',
      formula: `${width} B x ${formatInteger(run['zero.reduceBucket'])} elements`,
      source: SOURCES.zero3,
    });
    // The coalesced reduce-scatter concatenates up to a bucket again while it sends.
    post(duringBackward, 'communication-buffers', Math.min(bucket, trained * width), {
      name: 'what a reduce-scatter sends, joined once more',
      formula: `${width} B x ${formatInteger(Math.min(run['zero.reduceBucket'], trained))} elements`,
      source: SOURCES.zero3,
    });
    const gradientBytes = bytesPer(run['precision.gradientAccumulation'] ?? run['precision.compute']);
    if (!offloaded) post(atRest, 'gradients', partition * gradientBytes);
    else post(duringBackward, 'gradients', sums.largest * width, leaving(sums, width, SOURCES.zero3));
    const group = Math.min(run['zero.subGroup'], partition) * (1 - offloadShare);
    post(duringStep, 'optimizer-transients', group * (width + (lowPrecision ? 4 : 0)));
    // Released weights come back within the reuse distance, so half of it is whole around the turn from forward to
    // backward, and the prefetch bucket on top (`partitioned_param_coordinator.py`).
    const partitioned = weightsWhole - persistent;
    const live = Math.min(
      partitioned,
      run['zero.maxReuseDistance'] / 2 + run['zero.prefetchBucket'] + sums.largest,
    );
    post(throughout, 'gathered-parameters', shards > 1 || parametersOffloaded ? live * width : 0, {
      name: 'weights gathered around the turn from forward to backward',
      formula: `${width} B x min(${formatInteger(partitioned)} weights, ${formatInteger(run['zero.maxReuseDistance'])} reuse distance / 2 + ${formatInteger(run['zero.prefetchBucket'])} prefetched + ${formatInteger(sums.largest)} largest)`,
      source: SOURCES.zeroParameters,
    });
  }
  const keep = stage === 0 && !accumulating;
  return {
    atRest,
    throughout,
    duringBackward,
    gradientsBefore,
    gradientsAtStep,
    duringStep,
    gradients: keep ? 'keep' : 'pass',
    shardAfterStage: false,
    gradientShardBytes: 0,
    stageForward: () => NONE,
    stageBackward: () => NONE,
    host,
  };
}

/** Label of the largest gradient, whole while it is copied to the host. */
function leaving(sums: WeightSums, width: number, source: Source): Words {
  return {
    name: 'largest gradient, on its way to the host',
    formula: `${width} B x ${formatInteger(sums.largest)} elements`,
    source,
  };
}

/** What FSDP holds as one unit beside the layers: all of it as the root, or the largest where each is wrapped. */
function atEnds(
  run: TrainingRun,
  stages: readonly TracedStage[],
  bytesOf: (s: TracedStage) => number,
): number {
  const ends = stages.filter((s) => s.stage.role !== 'layer').map((s) => s.copies * bytesOf(s));
  if (run['fsdp.separateEnds']) return Math.max(0, ...ends);
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
