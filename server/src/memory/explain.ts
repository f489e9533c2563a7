import type { Category, Part } from '../estimate-types';
import type { Accelerator } from '../hardware/accelerator';
import type { TrainingRun } from '../run/fields';
import { formatBytes, formatInteger } from '../wording/figures';
import { communicators, HANDLES, outsideAllocator, workspaceBytes } from './device';
import { OPTIMIZER_COSTS, stateBytes } from './optimizers';
import { LAYOUTS } from './quantization';
import { frozenCopies, frozenDtype } from './reference-models';
import { shardGroupSize } from './sharding';
import { dataParallelSize } from './sharding-scheme';
import { SOURCES, type Source } from './sources';
import { allStepped, bytesPer, type WeightSums } from './weights';

export interface Context {
  readonly run: TrainingRun;
  readonly sums: WeightSums;
  readonly accelerator: Accelerator;
}

/** The formula of a part with this run's numbers, and what it follows. */
export interface Explanation {
  readonly formula: string;
  readonly source: Source;
}

/** Parts with the formula behind each, in this run's numbers, and its source. */
export function explained(parts: readonly Part[], context: Context): Part[] {
  return parts.map((part) => {
    const { formula, source } = explanationOf(part.category, context);
    return { ...part, formula, source: source.url };
  });
}

/** What one part is, as a whole; `detail/` tells its tensors. */
export function explanationOf(category: Category, context: Context): Explanation {
  return EXPLANATIONS[category](context);
}

/** Elements for people: `8.03 G`. */
function count(elements: number): string {
  if (elements >= 1e9) return `${(elements / 1e9).toFixed(2)} G`;
  if (elements >= 1e6) return `${(elements / 1e6).toFixed(1)} M`;
  return `${Math.round(elements)}`;
}

/** Frozen models beside the trained one, in words: copies of it, and parameters of others. */
function frozenModels(run: TrainingRun, sums: WeightSums): string {
  const dtype = frozenDtype(run);
  const copies = frozenCopies(run);
  const own = `${copies} frozen ${copies === 1 ? 'copy' : 'copies'} of ${count(sums.loaded + sums.quantized)} parameters`;
  const others = `${count(run['method.frozenParameters'])} parameters of other frozen models`;
  const parts = [...(copies > 0 ? [own] : []), ...(run['method.frozenParameters'] > 0 ? [others] : [])];
  return `${parts.join(' and ')} in ${dtype}`;
}

function quantizedSource(run: TrainingRun): Source {
  const kind = run['quantization.kind'];
  return kind === 'none'
    ? SOURCES.bitsandbytes
    : { label: `layout of ${kind} weights`, url: LAYOUTS[kind].source };
}

function tokens(run: TrainingRun): string {
  return `micro batch ${run['batch.micro']} x ${run['batch.sequence']} tokens`;
}

/** GPUs that share what the run shards at this level: ZeRO from a stage on, FSDP by its strategy. */
export function shards(run: TrainingRun, zeroStage: number): number {
  const data = run['parallel.data'];
  if (run['precision.scheme'] === 'megatron' && data !== 'zero')
    return zeroStage === 1 && run['parallel.distributedOptimizer'] ? dataParallelSize(run) : 1;
  if (data === 'zero') return run['zero.stage'] >= zeroStage ? shardGroupSize(run) : 1;
  if (data !== 'fsdp1' && data !== 'fsdp2') return 1;
  const strategy = run['fsdp.strategy'];
  if (strategy === 'none') return 1;
  return shardGroupSize(run);
}

/** What the process holds outside the allocator, and how surely. */
export function contextFormula(run: TrainingRun): string {
  const { lower, upper } = outsideAllocator(run);
  const groups = communicators(run);
  const nccl =
    groups > 0 ? `, NCCL buffers of ${groups} ${groups === 1 ? 'communicator' : 'communicators'}` : '';
  return `CUDA context and kernels${nccl}: between ${formatBytes(lower)} and ${formatBytes(upper)}`;
}

function over(n: number): string {
  return n > 1 ? ` / ${n} GPUs` : '';
}

function masterWidth(run: TrainingRun): number {
  const scheme = run['precision.scheme'];
  if (scheme === 'deepspeed' || scheme === 'megatron' || scheme === 'fsdp')
    return bytesPer(run['precision.masterWeights']);
  return bytesPer(run['precision.weights']);
}

const EXPLANATIONS: Readonly<Record<Category, (context: Context) => Explanation>> = {
  weights: ({ run, sums }) => {
    const scheme = run['precision.scheme'];
    const lowered = scheme === 'deepspeed' || scheme === 'megatron';
    const bytes =
      scheme === 'fsdp'
        ? masterWidth(run)
        : bytesPer(lowered ? run['precision.compute'] : run['precision.weights']);
    const base = sums.trained + sums.frozen - (run['parallel.data'] === 'zero' ? 0 : sums.adapters);
    return {
      formula: `${bytes} B x ${count(base)} parameters${over(shards(run, 3))}`,
      source: SOURCES.modules,
    };
  },
  'quantized-weights': ({ sums, run }) => ({
    formula: `${(sums.quantizedBytes / Math.max(1, sums.quantized)).toFixed(4)} B x ${count(sums.quantized)} quantized parameters, scales included (${run['quantization.kind']})`,
    source: quantizedSource(run),
  }),
  adapters: ({ sums, run }) => ({
    formula: `${bytesPer(run['lora.dtype'])} B x ${count(sums.adapters)} adapter parameters (rank ${run['lora.rank']})`,
    source: SOURCES.lora,
  }),
  'master-weights': ({ sums, run }) => ({
    formula: `${masterWidth(run)} B x ${count(sums.trained)} trainable parameters${over(shards(run, 1))}`,
    source: run['precision.scheme'] === 'megatron' ? SOURCES.megatron : SOURCES.zero12,
  }),
  gradients: ({ sums, run }) => ({
    formula: `gradients of ${count(sums.trained)} trainable parameters${over(shards(run, 2))}, as far as they exist at that moment`,
    source: SOURCES.autograd,
  }),
  'optimizer-states': ({ sums, run }) => ({
    formula: `${stateBytes(run, masterWidth(run), allStepped(sums))
      .toFixed(2)
      .replace(
        /\.?0+$/,
        '',
      )} B x ${count(sums.trained)} trainable parameters${over(shards(run, 1))} (${run['optimizer.name']})`,
    source: {
      label: `optimizer ${run['optimizer.name']}`,
      url: OPTIMIZER_COSTS[run['optimizer.name']].source,
    },
  }),
  'optimizer-transients': ({ sums, run }) => ({
    formula: `temporary copies during the optimizer step of ${count(sums.trained)} trainable parameters${over(shards(run, 1))}`,
    source: SOURCES.adamw,
  }),
  activations: ({ run }) => ({
    formula: `tensors that autograd keeps, operator by operator, and what is in use at that moment: ${tokens(run)}`,
    source: SOURCES.autograd,
  }),
  checkpoints: ({ run }) => ({
    formula: `input of every checkpointed segment: ${tokens(run)}`,
    source: SOURCES.checkpoint,
  }),
  'logits-and-loss': ({ run }) => ({
    formula: `logits, their fp32 copies and gradients: ${tokens(run)} x vocabulary`,
    source: SOURCES.loss,
  }),
  'gathered-parameters': ({ run }) => ({
    formula: `whole weights gathered from ${shardGroupSize(run)} shards while their layers run`,
    source:
      run['parallel.data'] === 'zero'
        ? SOURCES.zeroParameters
        : run['parallel.data'] === 'fsdp2'
          ? SOURCES.fsdp2
          : SOURCES.fsdp1,
  }),
  'communication-buffers': ({ run, sums }) =>
    run['parallel.data'] === 'zero'
      ? {
          formula: `reduction buckets of ${count(run['zero.reduceBucket'])} elements x ${bytesPer(run['precision.compute'])} B, allocated whole`,
          source: run['zero.stage'] === 3 ? SOURCES.zero3 : SOURCES.zero12,
        }
      : {
          formula: `reduction buffers of ${count(sums.trained)} trainable parameters over ${dataParallelSize(run)} GPUs`,
          source:
            run['parallel.data'] === 'fsdp2'
              ? SOURCES.fsdp2
              : run['parallel.data'] === 'fsdp1'
                ? SOURCES.fsdp1
                : SOURCES.ddp,
        },
  'autocast-cache': ({ run }) => ({
    formula: `${run['precision.compute']} copies of linear weights, cached until autocast exits`,
    source: SOURCES.autocast,
  }),
  'reference-model': ({ run, sums }) => ({
    formula: `${frozenModels(run, sums)}${run['method.frozenSharded'] === false ? '' : over(shards(run, 3))}`,
    source: SOURCES.modules,
  }),
  workspaces: ({ accelerator }) => ({
    formula:
      workspaceBytes(accelerator) > 0
        ? `cuBLAS workspaces of ${HANDLES} handles, the forward thread's and autograd's: ${HANDLES} x ${formatInteger(workspaceBytes(accelerator))} B on ${accelerator.architecture}`
        : 'no workspace inside the allocator',
    source: SOURCES.cublasWorkspace,
  }),
  'reserved-for-others': ({ run }) => ({
    formula: `${Math.round(run['hardware.reservedFraction'] * 100)} % of the GPU, taken by something else (hardware.reservedFraction)`,
    source: SOURCES.memoryStatistics,
  }),
  'allocator-overhead': ({ run }) => ({
    formula: run['batch.varied']
      ? 'blocks that the allocator keeps of batches of other lengths, found by playing nine steps on it'
      : 'rounded, split and cached blocks of the allocator, found by playing two steps on it',
    source: SOURCES.allocator,
  }),
  'cuda-context': ({ run }) => ({
    formula: contextFormula(run),
    source: SOURCES.cudaContext,
  }),
};
