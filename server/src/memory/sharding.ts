import { ELEMENT_BYTES } from '../model/tape';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { fileIn, PYTORCH } from '../sources/repositories';
import { say } from '../wording/say';
import { fsdp } from './fsdp/fsdp';
import { horovod } from './horovod';
import { bytesOf, combine, post, totalOf } from './ledger';
import { megatronReplicas } from './megatron';
import { OPTIMIZER_COSTS, stepTransient } from './optimizers';
import {
  dataParallelSize,
  type Loading,
  ledger,
  marked,
  NONE,
  postStates,
  REPLICAS,
  referenceBytes,
  residentBytes,
  type Sharding,
  shardGroupSize,
  UNSPLIT,
  unplanned,
} from './sharding-scheme';
import type { TracedStage } from './traced-run';
import { bytesPer, type WeightSums } from './weights';
import { zero } from './zero/zero';

export { shardGroupSize };

/** The scheme of a run. */
export function shardingOf(run: TrainingRun, sums: WeightSums, stages: readonly TracedStage[]): Sharding {
  switch (run['parallel.data']) {
    case 'zero':
      return zero(run, sums);
    case 'fsdp1':
    case 'fsdp2':
      return fsdp(run, sums, stages);
    case 'horovod':
      return horovod(run, sums);
    default:
      return behaviours(run).flattensIntoBuffers
        ? megatronReplicas(run, sums)
        : replicated(run, sums, stages);
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
 * Bytes of split embeddings' gradients on a tensor-parallel rank: its own rows, and what whole ones have beyond those. DTensor leaves such a
 * gradient a partial sum (`tensor/_ops/_embedding_ops.py`), which the optimizer step alone reduces, to another tensor, where no
 * data-parallel scheme does.
 */
function partialGradients(stages: readonly TracedStage[]): {
  readonly rows: number;
  readonly beyond: number;
} {
  let [rows, beyond] = [0, 0];
  for (const { tape, copies } of stages) {
    for (const { weight, bytes } of tape.operations.flatMap(({ weightGrads }) => weightGrads)) {
      const own = weight.localElements * ELEMENT_BYTES[weight.dtype];
      if (weight.role !== 'embedding' || bytes <= own) continue;
      rows += copies * own;
      beyond += copies * (bytes - own);
    }
  }
  return { rows, beyond };
}

/** Bytes of what lies in fp32 beyond what it would take in the model's type; its gradients differ by as much. */
function beyond(elements: number, weightBytes: number): number {
  return elements * (bytesPer('fp32') - weightBytes);
}

/**
 * One GPU, or DDP. DDP's reducer holds flat buckets of every gradient from its making on, beside `.grad` unless
 * gradients are views of them (`reducer.cpp`, `initialize_buckets`; `gradient_as_bucket_view` is off by default).
 */
function replicated(run: TrainingRun, sums: WeightSums, stages: readonly TracedStage[]): Sharding {
  const weightBytes = residentBytes(run);
  const adapterBytes = bytesPer(run['lora.dtype']);
  const base = sums.trained - sums.adapters;
  const adapters = sums.adapters * adapterBytes + beyond(sums.wideAdapters, adapterBytes);
  const { raised } = sums;
  const ranks = dataParallelSize(run);
  const atRest = ledger(
    [
      'weights',
      (base + sums.frozen - sums.hosted) * weightBytes -
        2 * sums.lowered +
        ofScaled(sums, weightBytes).weights +
        beyond(raised.trained + raised.frozen, weightBytes),
    ],
    ['quantized-weights', sums.quantizedBytes],
    ['adapters', adapters],
    ['reference-model', referenceBytes(run, sums, 1)],
  );
  // DDP leaves MS-AMP's weights to it (`msamp/nn/linear.py`, `LinearReplacer.replace`).
  const wider = beyond(raised.trained, weightBytes);
  const bucketed = (base - sums.scaled.trained) * weightBytes + adapters + wider;
  const partial = partialGradients(stages);
  const gradient =
    base * weightBytes + adapters + ofScaled(sums, weightBytes).gradients + wider + partial.beyond;
  // Apex O2 (`amp/_process_optimizer.py`): fp32 masters are stepped, with gradients of their own.
  // So does BAdam with the block that is trained (`badam/block_optim.py`).
  const block = run['method.kind'] === 'block' && weightBytes < 4;
  const masters = block || behaviours(run).copiesLoweredWeights;
  const stepBytes = masters ? 4 : weightBytes;
  if (masters) post(atRest, 'master-weights', 4 * base);
  const stepsWide = stepBytes === 4 ? 0 : raised.trained;
  postStates(atRest, run, base - stepsWide, stepBytes, sums.stepped);
  postStates(atRest, run, stepsWide, 4, sums.stepped);
  postStates(atRest, run, sums.adapters - sums.wideAdapters, adapterBytes, sums.steppedAdapters);
  postStates(atRest, run, sums.wideAdapters, bytesPer('fp32'), sums.steppedAdapters);
  if (ranks > 1 && run['parallel.data'] === 'ddp') post(atRest, 'communication-buffers', bucketed);
  // Gradients that are views of the buckets are copied there one by one; `zero_grad` drops the views, not the buckets.
  const views = ranks > 1 && run['parallel.data'] === 'ddp' && run['ddp.gradientAsBucketView'];
  const stepsInBackward = run['optimizer.inBackward'] || OPTIMIZER_COSTS[run['optimizer.name']].inBackward;
  // Until torch 2.0 `zero_grad` filled gradients with zeros and kept them (`set_to_none=False`).
  const kept = behaviours(run).zeroesGradients;
  // Views begin with the last micro step: before it `no_sync` accumulates gradients apart.
  const accumulates = run['batch.accumulation'] > 1;
  const accumulated = (accumulates || (kept && !views)) && !stepsInBackward;
  const gone = stepsInBackward || views;
  // AOTAutograd's backward returns all gradients at its end, beside those of earlier micro batches. DDP cuts the graph at
  // its buckets (`_dynamo/backends/distributed.py`, `DDPOptimizer`).
  const atOnce =
    accumulated &&
    run['kernels.compile'] &&
    ranks === 1 &&
    behaviours(run).compilesWholeModel &&
    !run['kernels.unsloth'];
  const transient =
    stepTransient(run, sums.stepped, stepBytes) +
    stepTransient(run, sums.steppedAdapters, adapterBytes) +
    (masters ? 4 * base : 0);
  return {
    splits: UNSPLIT,
    explains: REPLICAS,
    atRest,
    throughout: NONE,
    gradientsBefore: accumulated ? ledger(['gradients', gradient]) : NONE,
    ...(run['optimizer.lateZero'] && !accumulated && !gone
      ? { gradientsThroughForward: ledger(['gradients', gradient]) }
      : {}),
    gradientsAtStep: gone ? NONE : ledger(['gradients', gradient]),
    duringStep: stepsInBackward ? NONE : ledger(['optimizer-transients', Math.max(transient, partial.rows)]),
    gradients: gone || (accumulated && !atOnce) ? 'pass' : 'keep',
    plan: unplanned,
    host: [],
    loading: ranks > 1 && run['parallel.data'] === 'ddp' ? broadcast() : undefined,
  };
}

/**
 * DDP makes ranks agree on the weights in buckets of 250 MiB (`nn/parallel/distributed.py`, `broadcast_bucket_size`), two
 * of them on their way at a time (`torch/csrc/distributed/c10d/comm.cpp`, `broadcast_coalesced`, `max_in_flight`).
 */
const BROADCAST_BYTES = 2 * 250 * 2 ** 20;

function broadcast(): Loading {
  return {
    moments: ({ constant, weights }) => {
      const own = totalOf(weights) - bytesOf(weights, 'reference-model');
      const there = combine(constant, weights);
      const bytes = Math.min(own, BROADCAST_BYTES);
      return marked(say('first broadcast'), there, 'communication-buffers', bytes, {
        name: say('buckets of the first broadcast'),
        formula: say('2 × 250 MiB, at most the weights'),
        source: fileIn(PYTORCH, 'torch/nn/parallel/distributed.py'),
      });
    },
    readsOnce: false,
    host: [],
  };
}
