import type { Accelerator } from '../hardware/accelerator';
import type { Category, Part } from '../results/estimate';
import { joinWords } from '../results/labels';
import type { Source } from '../results/source';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { type AdapterKind, RANKED_ADAPTERS } from '../terms/adapters';
import { formatBytes, formatCount } from '../wording/figures';
import { say } from '../wording/say';
import { communicators } from './communicators';
import { HANDLES, handleBytes, outsideAllocator, transformerEngineWorkspaces } from './device';
import { mainWeightBytes } from './megatron';
import { OPTIMIZER_COSTS, stateBytes } from './optimizers';
import { otherModels, otherModelWords } from './other-models';
import { LAYOUTS, upcastsRest } from './quantization';
import { frozenCopies, frozenDtype } from './reference-models';
import { shardGroupSize } from './sharding';
import { dataParallelSize, type SchemeWords, type Sharding } from './sharding-scheme';
import { SOURCES } from './sources';
import { adapterDtype } from './traced-run';
import { allStepped, bytesPer, type WeightSums } from './weights';

export interface Context {
  readonly run: TrainingRun;
  readonly sums: WeightSums;
  readonly accelerator: Accelerator;
  readonly hiddenSize: number;
  readonly sharding: Pick<Sharding, 'splits' | 'explains'>;
}

/** The formula of a part with this run's numbers, and what it follows. */
export interface Explanation {
  readonly formula: string;
  readonly source: Source;
}

/** Parts with the formula behind each, in this run's numbers, and its source: put into words when somebody reads them. */
export function explained(parts: readonly Part[], context: Context): Part[] {
  return parts.map((part) => {
    let known: Explanation | undefined;
    const explanation = () => {
      known ??= explanationOf(part.category, context);
      return known;
    };
    return {
      ...part,
      get formula() {
        return explanation().formula;
      },
      get source() {
        return explanation().source.url;
      },
    };
  });
}

/** What one part is, as a whole; `detail/` tells its tensors. */
export function explanationOf(category: Category, context: Context): Explanation {
  return EXPLANATIONS[category](context);
}

/** Frozen models beside the trained one, in words: copies of it, and parameters of others. */
function frozenModels(run: TrainingRun, sums: WeightSums): string {
  const dtype = frozenDtype(run);
  const copies = frozenCopies(run);
  const own = say(
    '{0} frozen {0|copy|copies} of {1} parameters',
    copies,
    formatCount(sums.loaded + sums.quantized),
  );
  const others = say('{0} parameters of other frozen models', formatCount(run['method.frozenParameters']));
  const parts = [...(copies > 0 ? [own] : []), ...(run['method.frozenParameters'] > 0 ? [others] : [])];
  return say('{0} in {1}', joinWords(parts), dtype);
}

function quantizedWords(bytes: number, count: string, run: TrainingRun): string {
  const kind = run['quantization.kind'];
  const plain = run['quantization.plainShare'] ?? 0;
  if (plain === 0)
    return say('{1} quantized parameters × {0} {0|byte|bytes}, scales included ({2})', bytes, count, kind);
  return say(
    '{1} parameters × {0} {0|byte|bytes} in the mean: {3} % of them in 16 bits, the others quantized, scales included ({2})',
    bytes,
    count,
    kind,
    Number((100 * plain).toFixed(1)),
  );
}

function quantizedSource(run: TrainingRun): Source {
  const kind = run['quantization.kind'];
  return kind === 'none'
    ? SOURCES.bitsandbytes
    : { label: say('layout of {0} weights', kind), url: LAYOUTS[kind].source };
}

function tokens(run: TrainingRun): string {
  return say(
    'micro batch {0} × {1} {1|token|tokens}',
    String(run['batch.micro']),
    String(run['batch.sequence']),
  );
}

/** What the process holds outside the allocator, and how surely. */
export function contextFormula(run: TrainingRun, accelerator: Accelerator, hiddenSize: number): string {
  const { lower, upper } = outsideAllocator(run, accelerator, hiddenSize);
  if (run['hardware.outsideAllocator'] !== undefined)
    return say('as measured ({0})', 'hardware.outsideAllocator');
  const groups = communicators(run);
  const between = [formatBytes(lower), formatBytes(upper)];
  if (run['parallel.userBuffers'] && run['parallel.tensor'] > 1)
    return say(
      'CUDA context and kernels, NCCL buffers of {2} {2|communicator|communicators}, user buffers of Transformer Engine: between {0} and {1}',
      ...between,
      groups,
    );
  return groups > 0
    ? say(
        'CUDA context and kernels, NCCL buffers of {2} {2|communicator|communicators}: between {0} and {1}',
        ...between,
        groups,
      )
    : say('CUDA context and kernels: between {0} and {1}', ...between);
}

function over(n: number): string {
  return n > 1 ? ` / ${say('{0} {0|GPU|GPUs}', n)}` : '';
}

/** Elements that are trained, at so many bytes each. */
function trainable(bytes: number, sums: WeightSums): string {
  return say('{1} trainable parameters × {0} {0|byte|bytes}', bytes, formatCount(sums.trained));
}

/** Adapters with those of their weights that stay in fp32 beside narrower ones, where each GPU has all of them: DoRA's magnitudes. */
function widthsOfAdapters(run: TrainingRun, sums: WeightSums, { gathers, flat }: SchemeWords): string {
  const words = adapterWords(run, sums);
  const isWhole = gathers === undefined && flat === undefined;
  return isWhole && sums.wideAdapters > 0
    ? say('{0}, {1} of them in fp32', words, formatCount(sums.wideAdapters))
    : words;
}

/** Elements of adapters, with what sets their number: the rank of those that have one. */
function adapterWords(run: TrainingRun, { adapters }: WeightSums): string {
  const bytes = bytesPer(behaviours(run).flattensIntoBuffers ? adapterDtype(run) : run['lora.dtype']);
  const count = formatCount(adapters);
  const kind = run['lora.kind'];
  if (kind === 'fourierft')
    return say(
      '{1} adapter parameters × {0} {0|byte|bytes} ({2} frequencies)',
      bytes,
      count,
      String(run['lora.rank']),
    );
  if (RANKED_ADAPTERS.has(kind))
    return say(
      '{1} adapter parameters × {0} {0|byte|bytes} (rank {2})',
      bytes,
      count,
      String(run['lora.rank']),
    );
  return PROMPTS.has(kind)
    ? say(
        '{1} adapter parameters × {0} {0|byte|bytes} ({2} {2|virtual token|virtual tokens})',
        bytes,
        count,
        run['lora.virtualTokens'],
      )
    : say('{1} adapter parameters × {0} {0|byte|bytes}', bytes, count);
}

/** Kinds whose weights are made for virtual tokens. */
const PROMPTS: ReadonlySet<AdapterKind> = new Set([
  'prompt-tuning',
  'prefix-tuning',
  'p-tuning',
  'llama-adapter',
  'llama-adapter-v2',
]);

/** Two decimals, without needless zeros. */
const short = (value: number) => Number(value.toFixed(2));

function masterWidth(run: TrainingRun): number {
  if (behaviours(run).stepsMasters) return bytesPer(run['precision.masterWeights']);
  return upcastsRest(run) ? bytesPer('fp32') : bytesPer(run['precision.weights']);
}

/** Bytes of an optimizer's states per trained element: adapters may have another type than what else is trained. */
function stateWidth(run: TrainingRun, sums: WeightSums): number {
  const width = masterWidth(run);
  const { stepsMasters, lowersAdapters } = behaviours(run);
  if (sums.adapters === 0 || stepsMasters || lowersAdapters) return stateBytes(run, width, allStepped(sums));
  const base = sums.trained - sums.adapters;
  const ofBase = base > 0 ? base * stateBytes(run, width, sums.stepped) : 0;
  const ofAdapters = sums.adapters * stateBytes(run, bytesPer(run['lora.dtype']), sums.steppedAdapters);
  return (ofBase + ofAdapters) / sums.trained;
}

const EXPLANATIONS: Readonly<Record<Category, (context: Context) => Explanation>> = {
  weights: ({ run, sums, sharding: { splits, explains } }) => {
    const { castsWhenGathered, keepsMastersBeside } = behaviours(run);
    const bytes = castsWhenGathered
      ? masterWidth(run)
      : keepsMastersBeside
        ? bytesPer(run['precision.compute'])
        : masterWidth(run);
    const base = sums.trained + sums.frozen - (explains.flat === 'partitions' ? 0 : sums.adapters);
    const words = (width: number, count: number) =>
      say('{1} parameters × {0} {0|byte|bytes}', width, formatCount(count));
    const low = bytes === 4 ? sums.lowered : 0;
    const all = low > 0 ? joinWords([words(bytes, base - low), words(2, low)]) : words(bytes, base);
    return {
      formula: `${all}${over(splits.weights)}`,
      source: SOURCES.modules,
    };
  },
  'quantized-weights': ({ sums, run }) => ({
    formula: quantizedWords(
      Number((sums.quantizedBytes / Math.max(1, sums.quantized)).toFixed(4)),
      formatCount(sums.quantized),
      run,
    ),
    source: quantizedSource(run),
  }),
  adapters: ({ sums, run, sharding: { explains } }) => ({
    formula: widthsOfAdapters(run, sums, explains),
    source: SOURCES.lora,
  }),
  'master-weights': ({ sums, run, sharding: { splits } }) => {
    const { flattensIntoBuffers } = behaviours(run);
    const bytes = flattensIntoBuffers ? mainWeightBytes(run) : masterWidth(run);
    return {
      formula: `${trainable(bytes, sums)}${over(splits.states)}`,
      source: flattensIntoBuffers ? SOURCES.megatron : SOURCES.zero12,
    };
  },
  gradients: ({ sums, sharding: { splits } }) => ({
    formula: say(
      'gradients of {0} trainable parameters{1}, as far as they exist at that moment',
      formatCount(sums.trained),
      over(splits.gradients),
    ),
    source: SOURCES.autograd,
  }),
  'optimizer-states': ({ sums, run, sharding: { splits } }) => ({
    formula: `${trainable(short(stateWidth(run, sums)), sums)}${over(splits.states)} (${run['optimizer.name']})`,
    source: {
      label: say('optimizer {0}', run['optimizer.name']),
      url: OPTIMIZER_COSTS[run['optimizer.name']].source,
    },
  }),
  'optimizer-transients': ({ run, sums, sharding: { splits } }) => ({
    formula: say(
      'temporary copies during the optimizer step of {0} trainable parameters{1}',
      formatCount(sums.trained),
      over(splits.states),
    ),
    source: behaviours(run).flattensIntoBuffers ? SOURCES.megatron : SOURCES.adamw,
  }),
  activations: ({ run }) => ({
    formula: say(
      'tensors that autograd keeps, operator by operator, and what is in use at that moment: {0}',
      tokens(run),
    ),
    source: SOURCES.autograd,
  }),
  checkpoints: ({ run }) => ({
    formula: say('input of every checkpointed segment: {0}', tokens(run)),
    source: SOURCES.checkpoint,
  }),
  'logits-and-loss': ({ run }) => ({
    formula: say('logits, their fp32 copies and gradients: {0} × vocabulary', tokens(run)),
    source: SOURCES.loss,
  }),
  'gathered-parameters': ({ run, sharding: { explains } }) => ({
    formula: say(
      'whole weights gathered from {0} {0|shard|shards} while their layers run',
      shardGroupSize(run),
    ),
    source: explains.gathers ?? SOURCES.fsdp1,
  }),
  'communication-buffers': ({ run, sums, sharding: { explains } }) => ({
    formula:
      explains.bucket === undefined
        ? say(
            'reduction buffers of {0} trainable parameters over {1} {1|GPU|GPUs}',
            formatCount(sums.trained),
            dataParallelSize(run),
          )
        : say(
            'reduction buckets of {0} elements × {1} B, allocated whole',
            formatCount(explains.bucket),
            bytesPer(run['precision.compute']),
          ),
    source: explains.reduces,
  }),
  'autocast-cache': ({ run }) => ({
    formula: say('{0} copies of linear weights, cached until autocast exits', run['precision.compute']),
    source: SOURCES.autocast,
  }),
  'reference-model': ({ run, sums, sharding: { splits } }) => ({
    formula: `${frozenModels(run, sums)}${run['method.frozenSharded'] === false ? '' : over(splits.weights)}`,
    source: SOURCES.modules,
  }),
  'other-models': ({ run }) => ({
    formula: joinWords(otherModels(run).map(otherModelWords)),
    source: SOURCES.modules,
  }),
  workspaces: ({ run, accelerator }) => {
    const handle = handleBytes(run, accelerator);
    const own = transformerEngineWorkspaces(run, accelerator);
    const handles = say(
      "cuBLAS workspaces of {0} handles, the forward thread's and autograd's: {0} × {1} on {2}",
      HANDLES,
      formatBytes(handle),
      accelerator.architecture,
    );
    const engine = say('Transformer Engine {0} × {1}', own.length, formatBytes(own[0] ?? 0));
    return {
      formula:
        handle === 0
          ? say('no workspace inside the allocator')
          : own.length > 0
            ? `${handles}; ${engine}`
            : handles,
      source: SOURCES.cublasWorkspace,
    };
  },
  'reserved-for-others': ({ run }) => ({
    formula:
      run['hardware.reservedFraction'] > 0
        ? say(
            '{0} % of the GPU, taken by something else ({1})',
            Math.round(run['hardware.reservedFraction'] * 100),
            'hardware.reservedFraction',
          )
        : say(
            '{0} in use by other processes ({1})',
            formatBytes(run['hardware.otherProcesses']),
            'hardware.otherProcesses',
          ),
    source: SOURCES.memoryStatistics,
  }),
  'allocator-overhead': ({ run }) => ({
    formula: run['batch.varied']
      ? say('caching-allocator fragmentation: blocks kept of batches of other lengths (nine steps simulated)')
      : say('caching-allocator fragmentation: rounded, split and cached blocks (two steps simulated)'),
    source: SOURCES.allocator,
  }),
  'cuda-context': ({ run, accelerator, hiddenSize }) => ({
    formula: contextFormula(run, accelerator, hiddenSize),
    source: SOURCES.cudaContext,
  }),
};
