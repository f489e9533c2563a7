import { behaviours, lacksKernel, languageType } from '../run/behaviours';
import type { FieldPath, FieldValue, RunValues, TrainingRun } from '../run/fields';
import { sameValue } from '../run/resolve';
import { writesLayers } from '../run/written-layers';
import { RANKED_ADAPTERS } from '../terms/adapters';
import { isFsdp } from '../terms/data-parallel';
import type { OptimizerName } from '../terms/optimizers';
import type { QuantizationKind } from '../terms/quantizations';
import { formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import type { Estimated } from './changed-run';
import { maySegmentsGrow } from './growing-segments';
import { patchedByLiger } from './liger-models';

/** A value that a person may turn to, with what comes along. */
export interface Setting {
  /** As people read it in a table. */
  readonly label: string;
  readonly changes: RunValues;
}

/** One thing that a person turns. */
export interface Lever {
  readonly field: FieldPath;
  /** For people: the first column of a table. */
  readonly name: string;
  /** Neighbouring values in order of what they take, the present one among them. */
  readonly settings: (analysis: Estimated) => readonly Setting[];
  /** What a wrong expectation would be, as a sentence. */
  /** The values are all that there are: a table that leaves one out would be asked for that one. */
  readonly isClosed?: boolean;
  readonly doesNot?: (run: TrainingRun) => string | undefined;
  /** What a change costs besides memory and time: nothing where left out. */
  readonly costs?: string;
}

const set = <P extends FieldPath>(field: P, value: FieldValue<P>, label = String(value)): Setting => ({
  label,
  changes: { [field]: value } as RunValues,
});

/** A quarter, half, the same, double, four times (of what matters little, half and double): whole numbers from one on. */
function around(present: number, least = 1, little = false): number[] {
  const factors = little ? [1 / 2, 1, 2] : [1 / 4, 1 / 2, 1, 2, 4];
  const values = factors.map((factor) => present * factor);
  return [...new Set(values.map(Math.floor))].filter((value) => value >= least);
}

function integer(
  field: FieldPath,
  name: string,
  more: Partial<Lever> & {
    readonly least?: number;
    readonly little?: boolean;
    readonly hasNone?: (values: RunValues) => boolean;
  } = {},
): Lever {
  const { least, little, hasNone, ...rest } = more;
  return {
    field,
    name,
    settings: ({ resolved }) => {
      const present = resolved.values[field];
      return typeof present === 'number' && !hasNone?.(resolved.values)
        ? around(present, least, little).map((value) =>
            set(field as 'batch.micro', value, formatInteger(value)),
          )
        : [];
    },
    ...rest,
  };
}

const isZero = (run: TrainingRun) => run['parallel.data'] === 'zero';
const isSharded = (run: TrainingRun) => isFsdp(run['parallel.data']);
const isFrozen = (run: TrainingRun) => run['method.kind'] !== 'full';

/** Optimizers worth comparing with one: the same rule with smaller states, then rules with fewer. */
const OPTIMIZERS: readonly OptimizerName[] = [
  'adamw',
  'adamw-8bit',
  'paged-adamw-8bit',
  'adafactor',
  'lion',
  'lion-8bit',
  'sgd',
];

/** FlashAttention 2 has kernels for 16-bit types alone, and for some cards. */
export function takesFlash(analysis: Pick<Estimated, 'accelerator' | 'resolved' | 'model'>): boolean {
  const { accelerator, resolved } = analysis;
  const compute = resolved.values['precision.compute'];
  return (
    isOffered('flash', analysis) && accelerator.supports.flash2 && (compute === 'bf16' || compute === 'fp16')
  );
}

/** transformers has SDPA for most models. */
export const takesSdpa = (analysis: Pick<Estimated, 'resolved' | 'model'>) => isOffered('sdpa', analysis);

function isOffered(
  kernel: 'sdpa' | 'flash',
  { resolved, model }: Pick<Estimated, 'resolved' | 'model'>,
): boolean {
  const { values } = resolved;
  // Layers that Unsloth writes choose their attention, whatever is asked for.
  if (writesLayers(values)) return false;
  if (values['model.code'] !== 'transformers') return true;
  return !lacksKernel(kernel, languageType(model.config), values['version.transformers']);
}

function choices<P extends FieldPath>(field: P, values: readonly FieldValue<P>[]): Lever['settings'] {
  return ({ resolved }) => {
    const present = resolved.values[field];
    const all =
      present === undefined || values.includes(present as FieldValue<P>)
        ? values
        : [present as FieldValue<P>, ...values];
    return all.map((value) => set(field, value));
  };
}

/** Degrees that divide the GPUs of a node: beyond it, the links are too slow for what tensor parallelism sends. */
function degrees(field: 'parallel.tensor' | 'parallel.context' | 'parallel.ulysses'): Lever['settings'] {
  return ({ resolved }) => {
    const { run } = resolved;
    if (!run) return [];
    const perNode = Math.max(1, Math.floor(run['hardware.gpus'] / run['hardware.nodes']));
    return [...new Set([1, 2, 4, 8, run[field]])]
      .filter((degree) => perNode % degree === 0)
      .sort((a, b) => a - b)
      .map((degree) => set(field, degree));
  };
}

/** Every knob by its field. Costs in time come from the estimate itself; `costs` names what no estimate shows. */
export const LEVERS: readonly Lever[] = [
  integer('batch.micro', 'Micro batch', {
    doesNot: (run) =>
      run['batch.accumulation'] > 1
        ? undefined
        : 'Weights, gradients and optimizer states do not depend on it.',
    costs: 'The global batch changes with it, unless accumulation makes up for it.',
  }),
  integer('batch.accumulation', 'Accumulation', {
    doesNot: () =>
      'More accumulation does not lower the peak: each micro batch needs what it needs. It only keeps the global batch when the micro batch shrinks.',
    costs: 'The global batch changes with it.',
  }),
  integer('batch.sequence', 'Sequence', {
    least: 128,
    costs: 'A shorter length cuts or splits longer samples.',
  }),
  {
    field: 'activations.checkpointing',
    name: 'Checkpointing',
    settings: choices('activations.checkpointing', ['none', 'selective', 'full']),
    doesNot: (run) =>
      isZero(run)
        ? 'An `activation_checkpointing` block of DeepSpeed does not switch it on for Hugging Face models: `gradient_checkpointing` does.'
        : 'Saves activations only.',
  },
  {
    field: 'attention.implementation',
    name: 'Attention',
    settings: (analysis) =>
      writesLayers(analysis.resolved.values)
        ? []
        : choices('attention.implementation', [
            'eager',
            ...(takesSdpa(analysis) ? (['sdpa'] as const) : []),
            ...(takesFlash(analysis) ? (['flash2'] as const) : []),
          ])(analysis),
    doesNot: () => 'FlashAttention and SDPA both keep no score matrix: between them the peak hardly moves.',
  },
  {
    field: 'kernels.liger',
    name: 'Liger kernels',
    settings: (analysis) => {
      const { run, values } = analysis.resolved;
      if (!run || run['kernels.unsloth']) return [];
      const loss = values['loss.implementation'] ?? 'full';
      const without: RunValues = {
        'kernels.liger': false,
        'loss.implementation': loss === 'liger' ? 'full' : loss,
      };
      const possible = values['kernels.liger'] === true || patchedByLiger(analysis);
      return [
        { label: say('off'), changes: without },
        ...(possible ? [{ label: say('on'), changes: withLiger(run) }] : []),
      ];
    },
    doesNot: () => 'It saves logits and activations, no weights or states.',
  },
  {
    field: 'loss.implementation',
    name: 'Loss',
    settings: choices('loss.implementation', ['full', 'chunked', 'liger', 'cut']),
    doesNot: () =>
      'It only matters where the peak is at the loss: large vocabularies, long sequences, few layers.',
  },
  {
    field: 'optimizer.name',
    name: 'Optimizer',
    settings: choices('optimizer.name', OPTIMIZERS),
    doesNot: (run) =>
      isFrozen(run) ? 'Only adapters have states here: frozen weights have none to shrink.' : undefined,
    costs:
      '8-bit states round them in blocks (arXiv 2110.02861); Adafactor and SGD are other optimizers with other learning rates.',
  },
  {
    field: 'zero.stage',
    name: 'ZeRO stage',
    isClosed: true,
    settings: ({ resolved }) =>
      resolved.run && isZero(resolved.run) ? [0, 1, 2, 3].map((stage) => set('zero.stage', stage)) : [],
    doesNot: (run) =>
      isFrozen(run)
        ? 'Stages 1 and 2 do not shrink frozen weights; no stage shards activations.'
        : 'No stage shards activations or logits: those follow the micro batch and the sequence.',
  },
  {
    field: 'fsdp.strategy',
    name: 'FSDP strategy',
    settings: (analysis) =>
      analysis.resolved.run && isSharded(analysis.resolved.run)
        ? choices('fsdp.strategy', ['none', 'grad-op', 'full'])(analysis)
        : [],
    doesNot: () => 'FSDP shards weights, gradients and states, never activations.',
  },
  {
    field: 'offload.optimizer',
    name: 'Optimizer offload',
    settings: choices('offload.optimizer', ['none', 'cpu']),
    doesNot: () => 'It moves no activations, and takes the host memory that it saves on the GPUs.',
  },
  {
    field: 'offload.parameters',
    name: 'Weight offload',
    settings: ({ resolved }) => {
      const { run } = resolved;
      if (!run || (isZero(run) && run['zero.stage'] < 3)) return [];
      return [set('offload.parameters', 'none'), set('offload.parameters', 'cpu')];
    },
    doesNot: () => 'A layer is still whole on the GPU while it computes.',
  },
  {
    field: 'method.kind',
    name: 'Method',
    settings: ({ resolved }) => {
      const { values } = resolved;
      const isAdapted = values['method.kind'] === 'lora';
      const rank = isAdapted ? (values['lora.rank'] ?? 16) : 16;
      // A run that has adapters keeps its own: what they are put on, and their scale.
      const adapters: RunValues = isAdapted ? { 'method.kind': 'lora' } : { ...LORA, 'lora.rank': rank };
      const kind = isAdapted ? (values['lora.kind'] ?? 'lora') : 'lora';
      const on = (label: string, base: QuantizationKind): Setting => ({
        label: kind === 'lora' ? label : base === 'none' ? kind : `${kind}, ${base}`,
        changes: { ...adapters, 'quantization.kind': base },
      });
      const present = values['quantization.kind'] ?? 'none';
      const isCommon = present === 'none' || present === 'nf4';
      return [
        { label: say('full'), changes: { 'method.kind': 'full', 'quantization.kind': 'none' } },
        on(say('LoRA, rank {0}', rank), 'none'),
        ...(isAdapted && !isCommon ? [on(say('LoRA, rank {0}, {1}', rank, present), present)] : []),
        on(say('QLoRA, rank {0}', rank), 'nf4'),
      ];
    },
    doesNot: () => 'Activations of frozen layers are still kept where an adapter below them is trained.',
    costs: 'Adapters train another, smaller model: quality differs by task.',
  },
  {
    field: 'quantization.kind',
    name: 'Base weights',
    settings: ({ resolved }) =>
      resolved.values['method.kind'] === 'lora'
        ? choices('quantization.kind', ['none', 'int8', 'nf4'])({ resolved } as Estimated)
        : [],
    doesNot: () => 'It shrinks frozen weights only: adapters, their states and activations stay as they are.',
    costs: 'Weights are rounded to blocks (arXiv 2305.14314).',
  },
  integer('lora.rank', 'Rank', {
    hasNone: ({ 'lora.kind': kind }) => kind !== undefined && !RANKED_ADAPTERS.has(kind),
    doesNot: () => 'The rank moves adapters and their states; activations and frozen weights hardly change.',
    costs: 'A smaller rank can learn less.',
  }),
  {
    field: 'parallel.tensor',
    name: 'Tensor parallel',
    settings: degrees('parallel.tensor'),
    doesNot: () => 'Norms and residuals stay whole on each GPU without sequence parallelism.',
  },
  {
    field: 'parallel.context',
    name: 'Context parallel',
    settings: degrees('parallel.context'),
    doesNot: () => 'It splits activations by tokens; weights and states stay whole.',
  },
  {
    field: 'parallel.ulysses',
    name: 'Ulysses',
    settings: degrees('parallel.ulysses'),
    doesNot: () => 'It splits activations by tokens; weights and states stay whole.',
  },
  integer('hardware.gpus', 'GPUs', {
    doesNot: (run) =>
      run['parallel.data'] === 'ddp' ||
      run['parallel.data'] === 'none' ||
      (isZero(run) && run['zero.stage'] === 0)
        ? 'Replicas hold everything each: more GPUs do not lower the peak of one.'
        : 'More GPUs shrink what is sharded, never the activations of a micro batch.',
    costs: 'The global batch grows with them.',
  }),
  {
    ...integer('zero.reduceBucket', 'Reduce bucket', { little: true }),
    doesNot: () => 'Buckets below some ten million elements cost speed and save little.',
  },
  {
    ...integer('zero.allgatherBucket', 'All-gather bucket', { little: true }),
    doesNot: (run) => (run['zero.stage'] === 3 ? 'Stage 3 does not read it.' : undefined),
  },
  integer('zero.prefetchBucket', 'Prefetch bucket', { little: true }),
  integer('zero.maxLiveParameters', 'Live parameters', { little: true }),
  integer('ddp.bucketCap', 'DDP bucket', { little: true }),
  {
    field: 'activations.offload',
    name: 'Checkpoint offload',
    settings: choices('activations.offload', [false, true]),
    doesNot: () => 'Without checkpointing there is little to move.',
  },
  {
    field: 'allocator.expandableSegments',
    name: 'Expandable segments',
    settings: (analysis) =>
      maySegmentsGrow(analysis) ? choices('allocator.expandableSegments', [false, true])(analysis) : [],
    doesNot: () => 'It shrinks no tensor: what the allocator holds between them is smaller.',
  },
];

/**
 * What comes with Liger's kernels: its loss, where the trainer leaves the loss to the model or takes one of Liger's. Who scores tokens
 * itself, part by part, goes on so.
 */
export function withLiger(run: TrainingRun): RunValues {
  const objective = run['method.objective'];
  const isModels = objective === 'lm' && run['loss.implementation'] !== 'log-probabilities-chunked';
  return isModels || behaviours(run).ligerLosses.includes(objective)
    ? { 'kernels.liger': true, 'loss.implementation': 'liger' }
    : { 'kernels.liger': true };
}

/** Adapters as they are commonly put on: every linear layer, alpha twice the rank. */
export const LORA: RunValues = {
  'method.kind': 'lora',
  'lora.rank': 16,
  'lora.alpha': 32,
  'lora.targets': ['all-linear'],
};

/** Fields that a setting turns by themselves: sizes of adapters and the loss of Liger's kernels come along. */
export function turnedBy({ changes }: Setting, run: TrainingRun): FieldPath[] {
  return (Object.keys(changes) as FieldPath[]).filter(
    (field) =>
      !field.startsWith('lora.') &&
      !(field === 'loss.implementation' && changes['kernels.liger'] !== undefined) &&
      !sameValue(run[field], changes[field]),
  );
}

const byField = new Map(LEVERS.map((knob) => [knob.field, knob]));

export function knobOf(field: FieldPath): Lever | undefined {
  return byField.get(field);
}
