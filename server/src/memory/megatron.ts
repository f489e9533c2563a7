import { modelParallelSize } from '../run/derive';
import type { TrainingRun } from '../run/fields';
import { fileIn, MEGATRON } from '../sources/repositories';
import type { DType } from '../terms/dtypes';
import { say } from '../wording/say';
import { elementsWords } from './formula-words';
import { bytesOf, combine, emptyLedger, post, retell } from './ledger';
import { chunksPerStage } from './pipeline-split';
import {
  type BeforeSteps,
  dataParallelSize,
  type Loading,
  type LoadingMoment,
  ledger,
  marked,
  NONE,
  postStates,
  REPLICAS,
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
function mainGradient(run: TrainingRun): DType {
  const stated = run['precision.gradientAccumulation'] ?? run['precision.reduce'];
  return stated ?? (run['precision.compute'] === 'bf16' ? 'fp32' : run['precision.compute']);
}

/**
 * Whether Transformer Engine's Adam steps gradients in their own type and holds the main weights itself (Megatron-Core 0.16,
 * `optimizer_config.py`, `use_precision_aware_optimizer_no_fp8_or_ds_fp8`); of recipes of fp8 only delayed scaling lets it.
 */
const stepsPrecisionAware = (run: TrainingRun): boolean =>
  run['optimizer.precisionAware'] && run['precision.fp8'] === 'none';

/**
 * Bytes of a main weight. Of fp32 ones beside weights in bf16 a precision-aware optimizer keeps the 16 bits that those lack
 * (`optimizer_config.py`, `store_param_remainders`).
 */
export function mainWeightBytes(run: TrainingRun): number {
  const stated = run['precision.masterWeights'];
  const isRest = stepsPrecisionAware(run) && stated === 'fp32' && run['precision.compute'] === 'bf16';
  return isRest ? 2 : bytesPer(stated);
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
function expertShards(run: TrainingRun): number {
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
  if (low) post(atRest, 'master-weights', onGpu * mainWeightBytes(run));
  postStates(atRest, run, onGpu, master, allStepped(sums));
  const duringStep = emptyLedger();
  // `main_param.grad = main_grad.float()` copies what is not fp32, unless the optimizer takes it as it is.
  if (gradient !== 'fp32' && !stepsPrecisionAware(run)) post(duringStep, 'optimizer-transients', onGpu * 4);
  const states = emptyLedger();
  postStates(states, run, sharded * offloaded, 4, allStepped(sums));
  const perNode = run['hardware.gpus'] / run['hardware.nodes'];
  const offload = sharded * offloaded * perNode;
  return {
    splits: { ...UNSPLIT, states: denseShards(run) },
    explains: REPLICAS,
    gathersStepped: run['parallel.distributedOptimizer'] && dataParallelSize(run) > 1,
    atRest,
    throughout: NONE,
    gradientsBefore: NONE,
    gradientsAtStep: NONE,
    duringStep,
    gradients: 'pass',
    plan: unplanned,
    loading: run['parallel.data'] === 'ddp' ? intoBuffers(run, sums) : undefined,
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

const BUFFERS = fileIn(MEGATRON, 'megatron/core/distributed/param_and_grad_buffer.py');

/**
 * Megatron moves trained weights into one buffer of the dense ones, then into one of the experts: each is made whole, with
 * its main gradients, while the weights that go into it are still where they were loaded (`core/distributed/
 * distributed_data_parallel.py`; `param_and_grad_buffer.py`, `param_data` and `grad_data`). Without the distributed
 * optimizer weights stay where they are. Chunks of a pipeline stage move one after the other. Reference models come later (ms-swift, `rlhf_mixin.py`, `prepare_model`).
 */
function intoBuffers(run: TrainingRun, sums: WeightSums): Loading {
  const chunks = chunksPerStage(run);
  const experts = sums.expertTrained / chunks;
  const dense = sums.trained / chunks - experts;
  const others = sums.trained - sums.trained / chunks;
  return {
    moments: (before) =>
      run['parallel.distributedOptimizer']
        ? [...moved(run, before, dense, others), ...moved(run, before, experts, others + dense)]
        : [],
    readsOnce: false,
    host: [],
  };
}

/** The buffer of `elements`, when `earlier` ones have their gradients already. */
function moved(
  run: TrainingRun,
  { constant, weights }: BeforeSteps,
  elements: number,
  earlier: number,
): LoadingMoment[] {
  const weight = bytesPer(run['precision.compute']);
  const gradient = bytesPer(mainGradient(run));
  const there = combine(constant, weights);
  post(there, 'reference-model', -bytesOf(there, 'reference-model'));
  retell(there, 'reference-model', []);
  post(there, 'gradients', gradient * (earlier + elements), {
    name: say('main gradients'),
    formula: elementsWords(earlier + elements, gradient),
    source: BUFFERS,
  });
  return marked(say('weights move into a buffer'), there, 'weights', weight * elements, {
    name: say('weights before they were moved'),
    formula: elementsWords(elements, weight),
    source: BUFFERS,
  });
}
