import type { Model } from '../model/model';
import type { HostMemory, HostMoment, HostPart } from '../results/estimate';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import type { DType } from '../terms/dtypes';
import { evaluationBatches, predictionBytes } from './evaluation';
import { liesOnGpu } from './fsdp/loading';
import { OPTIMIZER_COSTS, stateBytes } from './optimizers';
import { rounded } from './play';
import { dataParallelSize, residentBytes, type Sharding } from './sharding-scheme';
import type { TracedStage } from './traced-run';
import { allStepped, bytesPer, type WeightSums } from './weights';

interface HostRun {
  readonly model: Model;
  readonly run: TrainingRun;
  readonly sums: WeightSums;
  /** Stages of one GPU. */
  readonly stages: readonly TracedStage[];
  readonly sharding: Sharding;
  /** Type of the published weights, where there are any. */
  readonly published?: DType;
  /** The same stages as evaluation runs them; undefined where the run does not evaluate. */
  readonly evaluated?: readonly TracedStage[];
}

/**
 * Host memory of one node at the moment that needs most of it. Bytes per node over all its processes. Not counted,
 * because no dependable figure is known: each process's Python and CUDA libraries (a few GiB), data loaders, page cache.
 */
export function hostMemory(host: HostRun): HostMemory {
  const { run } = host;
  const training = trainingParts(host);
  const moments: readonly (readonly [HostMoment, readonly HostPart[]])[] = [
    ['loading', loadingParts(host)],
    ['training', training],
    ['evaluation', [...training, ...evaluationParts(host)]],
    ['saving', [...training, ...savingParts(host)]],
  ];
  let moment: HostMoment = 'training';
  let parts: readonly HostPart[] = [];
  let bytesPerNode = 0;
  for (const [name, all] of moments) {
    const whole = all
      .map(({ label, bytes }) => ({ label, bytes: Math.round(bytes) }))
      .filter(({ bytes }) => bytes > 0);
    const sum = whole.reduce((total, { bytes }) => total + bytes, 0);
    if (sum > bytesPerNode || (sum === bytesPerNode && name === 'training')) {
      bytesPerNode = sum;
      parts = whole;
      moment = name;
    }
  }
  const capacityBytes = run['hardware.hostMemory'];
  const verdict = capacityBytes === undefined ? 'unknown' : bytesPerNode > capacityBytes ? 'exceeds' : 'fits';
  return { bytesPerNode, parts, moment, capacityBytes, verdict };
}

/** Processes of one node: one per GPU. */
function processes(run: TrainingRun): number {
  return run['hardware.gpus'] / run['hardware.nodes'];
}

// --- loading ------------------------------------------------------------------------------------------------------

/**
 * Full copies of the weights on a node while they are read or made. Weights that keep their published type are views of the mapped
 * file, which processes share and the system may drop (`safetensors`; seen as no anonymous memory with transformers 5.23);
 * of another type they are filled in every process. With ZeRO-3 and `zero.Init` only rank 0 reads them (`modeling_utils.py`, `map_location`), with FSDP only the
 * first process of a node (`cpu_ram_efficient_loading`, on by default in Accelerate); quantized and tensor-parallel
 * models are put on the GPU weight by weight. A model that is made from a config is made in every process: nothing is read
 * that one could read for all, and only `zero.Init` splits what is made (`modeling_utils.py`, `_from_config`).
 */
function wholeCopies({ run, published, sharding }: HostRun): number {
  switch (run['loading.hostCopies']) {
    case 'none':
      return 0;
    case 'one':
      return 1;
    case 'every-process':
      return run['quantization.kind'] !== 'none' && liesOnGpu(run) ? 0 : processes(run);
    default:
  }
  const onGpu =
    run['loading.placement'] === 'gpu' || run['parallel.tensor'] > 1 || run['parallel.pipeline'] > 1;
  if (!behaviours(run).fillsWeightsOnHost || run['quantization.kind'] !== 'none' || onGpu) return 0;
  if (run['loading.newWeights']) return sharding.loading?.makesParts ? 0 : processes(run);
  if (published === run['precision.weights']) return 0;
  return sharding.loading?.readsOnce ? 1 : processes(run);
}

/** Weights on their way to the GPU: nothing of training is there yet. */
function loadingParts(host: HostRun): HostPart[] {
  const { run, sums, sharding } = host;
  const elements = sums.trained - sums.adapters + sums.frozen + sums.quantized;
  const bytes = elements * bytesPer(run['precision.weights']) * wholeCopies(host);
  const parts: readonly HostPart[] = [
    run['loading.newWeights']
      ? { label: 'new weights of every process', bytes }
      : { label: 'copies of the checkpoint', bytes },
    ...(sharding.loading?.host ?? []).map(({ label, bytes }) => ({ label, bytes: bytes * processes(run) })),
  ];
  const most = Math.max(...parts.map(({ bytes }) => bytes));
  return parts.filter(({ bytes }) => bytes === most).slice(0, 1);
}

// --- training -----------------------------------------------------------------------------------------------------

function trainingParts(host: HostRun): HostPart[] {
  return [
    ...host.sharding.host,
    { label: 'embedding in host memory', bytes: host.sums.hosted * residentBytes(host.run) },
    { label: 'rounding of pinned buffers', bytes: pinnedRounding(host) },
    { label: 'offloaded checkpoints of activations', bytes: activationBytes(host) },
    { label: 'paged optimizer states, at most', bytes: pagedBytes(host) },
  ];
}

/** PyTorch pins memory in powers of two (`ATen/core/CachingHostAllocator.h`, `PowerOf2Ceil`). */
function pinned(bytes: number): number {
  return bytes > 0 ? 2 ** Math.ceil(Math.log2(Math.ceil(bytes))) : 0;
}

/** What rounding to a power of two adds to each page-locked buffer of offload, over the node. */
function pinnedRounding({ run, sharding }: HostRun): number {
  if (!run['offload.pinMemory']) return 0;
  let bytes = 0;
  for (const [size, count] of sharding.pinned ?? []) bytes += count * (pinned(size) - size);
  return bytes * processes(run);
}

/** What waits for backward on the host: inputs of checkpointed segments, or all that autograd keeps. */
function activationBytes({ run, stages }: HostRun): number {
  if (!run['activations.offload']) return 0;
  if (run['activations.checkpointing'] === 'none') {
    const away = stages.reduce((sum, { tape, copies }) => sum + copies * (tape.awayBytes ?? 0), 0);
    return away * processes(run);
  }
  if (run['activations.checkpointing'] !== 'full') return 0;
  let bytes = 0;
  for (const { stage, tape, copies, consumed } of stages) {
    if (stage.role !== 'layer') continue;
    const entries = new Set(tape.entry.map((x) => x.storage).filter((storage) => consumed.has(storage)));
    const segments = Math.ceil(copies / Math.min(run['activations.checkpointEvery'], copies));
    for (const storage of entries) bytes += segments * rounded(storage.bytes);
  }
  return bytes * processes(run);
}

/** Paged states lie in CUDA managed memory, which the driver moves to the host as far as the GPU is full. */
function pagedBytes({ run, sums }: HostRun): number {
  if (!OPTIMIZER_COSTS[run['optimizer.name']].paged) return 0;
  return sums.trained * stateBytes(run, residentBytes(run), allStepped(sums)) * processes(run);
}

// --- evaluation and saving ----------------------------------------------------------------------------------------

/**
 * Every process gathers the predictions of all (`evaluation_loop`): as fp32 where they were bf16, since NumPy has none
 * (`nested_numpify`), and old and new together where chunks are concatenated (`EvalLoopContainer`).
 */
function evaluationParts({ model, run, evaluated }: HostRun): HostPart[] {
  const batches = evaluationBatches(run);
  const batch = evaluated ? predictionBytes(model, run, evaluated) * dataParallelSize(run) : 0;
  if (batches === undefined || batch === 0) return [];
  const widens = run['evaluation.predictions'] === 'logits' && run['precision.compute'] === 'bf16';
  const already = behaviours(run).returnsFp32;
  const chunks = batches / (run['evaluation.accumulation'] ?? batches);
  const times = (widens && !already ? 2 : 1) * (chunks > 1 && run['evaluation.concatenates'] ? 2 : 1);
  return [{ label: 'predictions of the evaluation', bytes: batches * batch * times * processes(run) }];
}

/**
 * A whole checkpoint on the host of the first node, as the scheme gathers it (`Sharding.saving`); replicas copy the tensors
 * of one file at a time (`safetensors/torch.py`). Shards are written a few megabytes at a time.
 */
function savingParts({ run, sums, sharding: { saving } }: HostRun): readonly HostPart[] {
  if (run['saving.weights'] !== 'full') return [];
  if (saving) return saving.host;
  const saved = run['method.kind'] === 'lora' ? sums.trained : sums.trained + sums.frozen;
  const bytes = saved * residentBytes(run);
  return [{ label: 'file to be saved', bytes: Math.min(bytes, behaviours(run).savedFileBytes) }];
}
