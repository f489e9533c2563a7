import { modelParallelSize } from '../run/derive';
import type { TrainingRun } from '../run/fields';
import type { DType } from '../terms/dtypes';
import { emptyLedger, post } from './ledger';
import {
  dataParallelSize,
  ledger,
  NONE,
  postStates,
  referenceBytes,
  residentBytes,
  type Sharding,
  UNSPLIT,
  unplanned,
} from './sharding-scheme';
import { adapterDtype, expertTensorParallel } from './traced-run';
import { allStepped, bytesPer, type WeightSums } from './weights';

/**
 * Type of the main gradients: Megatron accumulates in fp32 under bf16 whatever is set but `--grad-reduce-in-bf16`, and
 * in the weights' type else (`training/arguments.py`, `accumulate_allreduce_grads_in_fp32`).
 */
export function mainGradient(run: TrainingRun): DType {
  const stated = run['precision.gradientAccumulation'] ?? run['precision.reduce'];
  return stated ?? (run['precision.compute'] === 'bf16' ? 'fp32' : run['precision.compute']);
}

/** GPUs that the distributed optimizer shards a dense weight over: data and context parallel ranks of one instance. */
function denseShards(run: TrainingRun): number {
  if (!run['parallel.distributedOptimizer']) return 1;
  const ranks = dataParallelSize(run) * run['parallel.context'] * run['parallel.ulysses'];
  return Math.max(1, Math.floor(ranks / run['parallel.replicate']));
}

/**
 * GPUs that hold copies of an expert's weight. Expert and expert-tensor parallel ranks are cut out of all ranks of a
 * pipeline stage (`parallel_state.py`, `expert_decoder_rank_generator`), so these are world / (etp x ep x pp).
 */
export function expertCopies(run: TrainingRun): number {
  const stage = (dataParallelSize(run) * modelParallelSize(run)) / Math.max(1, run['parallel.pipeline']);
  return Math.max(1, Math.floor(stage / (run['parallel.expert'] * expertTensorParallel(run))));
}

/** GPUs that it shards an expert's weight over. */
export function expertShards(run: TrainingRun): number {
  if (!run['parallel.distributedOptimizer']) return 1;
  return Math.max(1, Math.floor(expertCopies(run) / run['parallel.replicate']));
}

/**
 * Megatron's data parallelism (`core/distributed/param_and_grad_buffer.py`, `core/optimizer`): whole weights on every
 * replica, contiguous main gradients that live for the whole run, main weights and states that the distributed optimizer
 * shards. Its overlaps of gathers and reductions work in these buffers and need none of their own. In bytes per parameter
 * and with d shards: bf16 6 + 12 / d, fp16 4 + 12 / d and a copy of the gradients of 4 / d while it steps, fp32 8 + 8 / d.
 *
 * Its optimizers are fused and need no lists of temporaries.
 */
export function megatronReplicas(run: TrainingRun, sums: WeightSums): Sharding {
  const base = sums.trained - sums.adapters;
  const dense = sums.trained - sums.expertTrained;
  const sharded = dense / denseShards(run) + sums.expertTrained / expertShards(run);
  const gradient = mainGradient(run);
  const low = run['precision.compute'] !== 'fp32';
  const master = low ? bytesPer(run['precision.masterWeights']) : 4;
  const offloaded = run['offload.optimizer'] === 'none' ? 0 : run['offload.optimizerRatio'];
  const onGpu = sharded * (1 - offloaded);
  const atRest = ledger(
    ['weights', (base + sums.frozen) * residentBytes(run)],
    ['quantized-weights', sums.quantizedBytes],
    ['adapters', sums.adapters * bytesPer(adapterDtype(run))],
    ['reference-model', referenceBytes(run, sums, 1)],
    ['gradients', sums.trained * bytesPer(gradient)],
  );
  if (low) post(atRest, 'master-weights', onGpu * master);
  postStates(atRest, run, onGpu, master, allStepped(sums));
  const duringStep = emptyLedger();
  // `main_param.grad = main_grad.float()` copies what is not fp32.
  if (gradient !== 'fp32') post(duringStep, 'optimizer-transients', onGpu * 4);
  const states = emptyLedger();
  postStates(states, run, sharded * offloaded, 4, allStepped(sums));
  const perNode = run['hardware.gpus'] / run['hardware.nodes'];
  const offload = sharded * offloaded * perNode;
  return {
    splits: { ...UNSPLIT, states: denseShards(run) },
    atRest,
    throughout: NONE,
    gradientsBefore: NONE,
    gradientsAtStep: NONE,
    duringStep,
    gradients: 'pass',
    plan: unplanned,
    loading: run['parallel.data'] === 'ddp' ? 'into-buffers' : undefined,
    host:
      offloaded > 0
        ? [
            { label: 'master weights', bytes: offload * 4 },
            { label: 'optimizer states', bytes: states.reduce((sum, bytes) => sum + bytes, 0) * perNode },
            { label: 'gradients', bytes: offload * 4 },
          ]
        : [],
  };
}
