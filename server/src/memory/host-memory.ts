import type { HostMemory, HostMoment, HostPart } from '../estimate-types';
import type { DType, TrainingRun } from '../run/fields';
import { isAtLeast } from '../run/version';
import { evaluationBatches, predictionBytes } from './evaluation';
import { flattensOnGpu, loadsPartitioned } from './initialization';
import { OPTIMIZER_COSTS, stateBytes } from './optimizers';
import { rounded } from './play';
import { shardWidth } from './saving';
import { shardGroupSize } from './sharding';
import { dataParallelSize, residentBytes, type Sharding } from './sharding-scheme';
import type { TracedStage } from './traced-run';
import { allStepped, bytesPer, ownWeights, type WeightSums } from './weights';

export interface HostRun {
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
 * Full copies of the checkpoint on a node while it is read. Weights that keep their published type are views of the mapped
 * file, which processes share and the system may drop (`safetensors`; seen as no anonymous memory with transformers 5.23);
 * of another type they are filled in every process. With ZeRO-3 and `zero.Init` only rank 0 reads them (`modeling_utils.py`, `map_location`), with FSDP only the
 * first process of a node (`cpu_ram_efficient_loading`, on by default in Accelerate); quantized and tensor-parallel
 * models are put on the GPU weight by weight.
 */
function checkpointCopies(run: TrainingRun, published: DType | undefined): number {
  switch (run['loading.hostCopies']) {
    case 'none':
      return 0;
    case 'one':
      return 1;
    case 'every-process':
      return processes(run);
    default:
  }
  const onGpu =
    run['loading.placement'] === 'gpu' || run['parallel.tensor'] > 1 || run['parallel.pipeline'] > 1;
  if (run['model.code'] !== 'transformers' || run['quantization.kind'] !== 'none' || onGpu) return 0;
  if (published === run['precision.weights']) return 0;
  const data = run['parallel.data'];
  if (data === 'fsdp1' || data === 'fsdp2') return 1;
  return data === 'zero' && run['zero.stage'] === 3 && loadsPartitioned(run) ? 1 : processes(run);
}

/** Weights on their way to the GPU: nothing of training is there yet. */
function loadingParts({ run, sums, published }: HostRun): HostPart[] {
  const elements = sums.trained - sums.adapters + sums.frozen + sums.quantized;
  const checkpoint = elements * bytesPer(run['precision.weights']) * checkpointCopies(run, published);
  // ZeRO 1 and 2 of DeepSpeed before 0.19 flatten on the host: the weights and their flat copy, in every process.
  const stage = run['zero.stage'];
  const flattens = run['parallel.data'] === 'zero' && (stage === 1 || stage === 2) && !flattensOnGpu(run);
  const flat = flattens ? 2 * sums.trained * bytesPer(run['precision.compute']) * processes(run) : 0;
  const parts: readonly HostPart[] = [
    { label: 'copies of the checkpoint', bytes: checkpoint },
    { label: 'weights and their flat copy', bytes: flat },
    { label: 'trained weights cast to fp32', bytes: upcastBytes(run, sums) },
  ];
  const most = Math.max(...parts.map(({ bytes }) => bytes));
  return parts.filter(({ bytes }) => bytes === most).slice(0, 1);
}

/**
 * Accelerate casts trained weights to fp32 before FSDP2 shards them, on the host and in every process, those that hold none
 * of the checkpoint too (`fsdp_utils.py`, `fsdp2_prepare_model`).
 */
function upcastBytes(run: TrainingRun, sums: WeightSums): number {
  const mixed = run['parallel.data'] === 'fsdp2' && run['precision.scheme'] === 'fsdp';
  const casts = run['precision.weights'] !== 'fp32' && run['precision.masterWeights'] === 'fp32';
  const onHost = (run['loading.placement'] ?? 'host') === 'host' && run['loading.hostCopies'] !== 'none';
  if (!mixed || !casts || !onHost || run['model.code'] !== 'transformers') return 0;
  return run['quantization.kind'] === 'none' ? 4 * sums.trained * processes(run) : 0;
}

// --- training -----------------------------------------------------------------------------------------------------

function trainingParts(host: HostRun): HostPart[] {
  return [
    ...offloadedParts(host),
    { label: 'rounding of pinned buffers', bytes: pinnedRounding(host) },
    { label: 'offloaded checkpoints of activations', bytes: activationBytes(host) },
    { label: 'paged optimizer states, at most', bytes: pagedBytes(host) },
  ];
}

/** What the scheme itself keeps on the host, with what offload to NVMe keeps there of it. */
function offloadedParts({ run, sums, sharding }: HostRun): HostPart[] {
  const parts = sharding.host.filter(({ label }) => {
    if (label === 'staging buffers for NVMe') return false;
    return label !== 'weights' || run['offload.parameters'] !== 'nvme';
  });
  if (run['parallel.data'] !== 'zero') return parts;
  const perNode = processes(run);
  const shards = shardGroupSize(run);
  const width = bytesPer(run['precision.compute']);
  if (run['offload.optimizer'] === 'nvme') {
    const partition = sums.trained / shards;
    const buffer = Math.min(partition, run['zero.subGroup']) * bytesPer(run['precision.masterWeights']);
    parts.push(
      { label: 'NVMe buffers of the optimizer', bytes: run['offload.optimizerBuffers'] * buffer * perNode },
      // `stage3.py`, `grad_partitions_flat_buffer`, lies where the optimizer does.
      { label: 'gradients', bytes: partition * width * perNode },
    );
  }
  if (run['zero.stage'] === 3 && run['offload.parameters'] === 'nvme') {
    const partition = (sums.trained + sums.frozen) / shards;
    const buffers = run['offload.parameterBuffers'] * run['offload.parameterBufferSize'];
    parts.push(
      { label: 'NVMe buffers of weights', bytes: buffers * width * perNode },
      { label: 'weights', bytes: Math.min(partition, run['offload.parametersInHost']) * width * perNode },
    );
  }
  return parts;
}

/** PyTorch pins memory in powers of two (`ATen/core/CachingHostAllocator.h`, `PowerOf2Ceil`). */
function pinned(bytes: number): number {
  return bytes > 0 ? 2 ** Math.ceil(Math.log2(Math.ceil(bytes))) : 0;
}

/** What rounding to a power of two adds to each page-locked buffer of offload, over the node. */
function pinnedRounding(host: HostRun): number {
  const { run } = host;
  if (!run['offload.pinMemory']) return 0;
  let bytes = 0;
  for (const [size, count] of pinnedBuffers(host)) bytes += count * (pinned(size) - size);
  return bytes * processes(run);
}

/** Page-locked buffers of one process, with how many there are of each size. One parameter group is taken. */
function pinnedBuffers({ run, sums, stages }: HostRun): (readonly [bytes: number, count: number])[] {
  const shards = shardGroupSize(run);
  const data = run['parallel.data'];
  const width = bytesPer(run['precision.compute']);
  if (data === 'zero' && run['offload.optimizer'] === 'cpu') {
    const partition = sums.trained / shards;
    if (run['zero.stage'] < 3) {
      // `stage_1_and_2.py`: master, its low-precision twin, gradient, and one weight's gradient.
      const master = partition * bytesPer(run['precision.masterWeights']);
      return [
        [master, 2],
        [partition * width, 1],
      ];
    }
    // `stage3.py`: the flat gradient, and the fp32 gradients by sub-group (the last one may be smaller).
    const group = Math.min(run['zero.subGroup'], partition);
    const whole = group > 0 ? Math.floor(partition / group) : 0;
    const offloaded = run['offload.optimizerRatio'];
    const buffers: [number, number][] = [
      [partition * width, 1],
      [group * 4, whole * offloaded],
      [(partition - whole * group) * 4, offloaded],
    ];
    if (run['offload.parameters'] === 'cpu') buffers.push([partition * width, 1]);
    return buffers;
  }
  if ((data !== 'fsdp1' && data !== 'fsdp2') || run['offload.parameters'] !== 'cpu') return [];
  // FSDP2 pins the shard of each weight and of its gradient (`_fsdp_param.py`, `_fsdp_collectives.py`), FSDP1 those of
  // each unit (`_flat_param.py`).
  const each = shardWidth(run);
  const frozen = bytesPer(run['precision.weights']);
  const buffers: [number, number][] = [];
  for (const traced of stages) {
    let unit = 0;
    let trained = 0;
    for (const weight of ownWeights(traced)) {
      if (weight.quantization !== 'none') continue;
      const bytes = (weight.localElements * (weight.trainable ? each : frozen)) / shards;
      unit += bytes;
      if (weight.trainable) trained += bytes;
      if (data === 'fsdp2') buffers.push([bytes, traced.copies * (weight.trainable ? 2 : 1)]);
    }
    if (data === 'fsdp1') buffers.push([unit, traced.copies], [trained, traced.copies]);
  }
  return buffers;
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
function evaluationParts({ run, evaluated }: HostRun): HostPart[] {
  const batches = evaluationBatches(run);
  const batch = evaluated ? predictionBytes(run, evaluated) * dataParallelSize(run) : 0;
  if (batches === undefined || batch === 0) return [];
  const widens = run['evaluation.predictions'] === 'logits' && run['precision.compute'] === 'bf16';
  const already = run['precision.scheme'] === 'autocast' || run['precision.scheme'] === 'fsdp';
  const chunks = batches / (run['evaluation.accumulation'] ?? batches);
  const times = (widens && !already ? 2 : 1) * (chunks > 1 && run['evaluation.concatenates'] ? 2 : 1);
  return [{ label: 'predictions of the evaluation', bytes: batches * batch * times * processes(run) }];
}

/** `save_pretrained` writes files of at most so many bytes: `max_shard_size` of transformers 5 and before. */
function fileBytes(run: TrainingRun): number {
  return isAtLeast(run['version.transformers'], '5') ? 50e9 : 5e9;
}

/**
 * A whole checkpoint on the host of the first node: of ZeRO-3 and FSDP all of it on rank 0; ZeRO 1 and 2 clone their
 * weights in every process (`accelerator.py`, `get_state_dict`, `clone_tensors_for_torch_save`); replicas copy the tensors
 * of one file at a time (`safetensors/torch.py`). Shards are written a few megabytes at a time.
 */
function savingParts({ run, sums }: HostRun): HostPart[] {
  if (run['saving.weights'] !== 'full') return [];
  const data = run['parallel.data'];
  const elements = sums.trained + sums.frozen;
  const width = bytesPer(run['precision.compute']);
  if (data === 'zero') {
    const copies = run['zero.stage'] === 3 ? 1 : processes(run);
    return [{ label: 'whole model to be saved', bytes: elements * width * copies }];
  }
  if (data === 'fsdp1' || data === 'fsdp2') {
    if (!run['saving.hostOffload']) return [];
    const each = shardWidth(run);
    const states = run['saving.optimizer'] ? sums.trained * stateBytes(run, each, allStepped(sums)) : 0;
    return [
      { label: 'whole model to be saved', bytes: elements * each },
      { label: 'all optimizer states to be saved', bytes: states },
    ];
  }
  const saved = run['method.kind'] === 'lora' ? sums.trained : elements;
  const bytes = saved * residentBytes(run);
  return [{ label: 'file to be saved', bytes: Math.min(bytes, fileBytes(run)) }];
}
