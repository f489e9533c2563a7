import { maySegmentsGrow } from '../advice/growing-segments';
import { isRefused, precisionUnderFsdp } from '../advice/moves';
import { trainingTakes } from '../advice/training-takes';
import { acceleratorNames, findAccelerator } from '../hardware/catalog';
import { onDemand } from '../memo/on-demand';
import { evenDataParallelSize, modelParallelSize } from '../run/derive';
import type { FieldPath, RunValues } from '../run/fields';
import { sameValue } from '../run/resolve';
import { RANKED_ADAPTERS } from '../terms/adapters';
import { isFsdp } from '../terms/data-parallel';
import type { OptimizerName } from '../terms/optimizers';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { ChoiceKnob, Knob, KnobId, NumberKnob, Turned } from './protocol';

/** One position of a knob, and what it stands for. */
interface Option {
  readonly id: string;
  readonly label: string;
  /** Heading that it stands below in a long list. */
  readonly group?: string;
  readonly values: RunValues;
}

/** Optimizers that people weigh against each other; the others are reached by the file. */
const OPTIMIZERS: readonly OptimizerName[] = [
  'adamw',
  'adamw-8bit',
  'paged-adamw',
  'paged-adamw-8bit',
  'adam-mini',
  'adafactor',
  'lion',
  'lion-8bit',
  'muon',
  'galore-adamw',
  'apollo-adamw',
  'sgd-momentum',
  'sgd',
];

/** Powers of two in a range, and where the run stands. */
function doublings(from: number, to: number, present: number): number[] {
  const steps = new Set([present]);
  for (let step = from; step <= to; step *= 2) steps.add(step);
  return [...steps].sort((a, b) => a - b);
}

/** Powers of two by which the GPUs can be split once more, and how they are split. */
function splits(gpus: number, others: number, present: number): number[] {
  return doublings(1, gpus, present).filter((step) => step === present || gpus % (step * others) === 0);
}

/** A way to split the model is a knob where the run uses it, or its family has a key for it that it can use. */
function isSplitBy(field: 'parallel.tensor' | 'parallel.pipeline', analysis: Analysis): boolean {
  const { resolved, dialect, reading } = analysis;
  const { run } = resolved;
  if (!run || run[field] > 1) return run !== undefined;
  // A script has the keys of the program that it starts.
  const keys = [...dialect.keys, ...(reading.keys ?? []).flatMap(({ rows }) => rows)];
  return keys.some(({ fields }) => fields?.includes(field)) && !isRefused({ ...run, [field]: 2 }, analysis);
}

function numbers(analysis: Analysis): NumberKnob[] {
  const { model } = analysis;
  const { values } = analysis.resolved;
  const knobs: NumberKnob[] = [];
  const add = (
    id: KnobId,
    value: number | undefined,
    steps: (present: number) => number[],
    needs?: NumberKnob['needs'],
  ) => {
    if (value !== undefined) knobs.push({ id, kind: 'number', value, steps: steps(value), needs });
  };
  const split = modelParallelSize(values);
  add('micro-batch', values['batch.micro'], (present) => doublings(1, 256, present));
  add('accumulation', values['batch.accumulation'], (present) => doublings(1, 512, present));
  const longest = Math.max(131_072, model?.maxPositions ?? 0);
  add('sequence', values['batch.sequence'], (present) => doublings(256, longest, present));
  add('rank', values['lora.rank'], (present) => doublings(1, 512, present), {
    knob: 'method',
    values: ['lora', 'qlora', 'as-is'],
  });
  for (const [id, field] of [
    ['tensor', 'parallel.tensor'],
    ['pipeline', 'parallel.pipeline'],
  ] as const) {
    const ways = values[field] ?? 1;
    const gpus = values['hardware.gpus'] ?? 1;
    if (isSplitBy(field, analysis)) add(id, ways, (present) => splits(gpus, split / ways, present));
  }
  add('gpus', values['hardware.gpus'], (present) => doublings(split, 1024 * split, present));
  return knobs;
}

const option = (id: string, label: string, values: RunValues): Option => ({ id, label, values });

function methods(values: RunValues): Option[] {
  const full = option('full', say('full'), { 'method.kind': 'full', 'quantization.kind': 'none' });
  const lora = option('lora', 'LoRA', { 'method.kind': 'lora', 'quantization.kind': 'none' });
  const qlora = option('qlora', 'QLoRA (nf4)', { 'method.kind': 'lora', 'quantization.kind': 'nf4' });
  // Another kind of adapter has the weights of its own kind, so only full training is beside it.
  return (values['lora.kind'] ?? 'lora') === 'lora' ? [full, lora, qlora] : [full];
}

/** Who lowers the precision belongs to the framework that runs; the type is what a person chooses. */
function precisions(values: RunValues): Option[] {
  const scheme = values['precision.scheme'];
  const data = values['parallel.data'];
  const pure = option('bf16-pure', say('bf16, weights too'), {
    'precision.scheme': 'native',
    'precision.compute': 'bf16',
    'precision.weights': 'bf16',
  });
  const inType = (type: 'bf16' | 'fp16', by: RunValues['precision.scheme'], weights: boolean) =>
    option(type, say('{0} mixed', type), {
      'precision.scheme': by,
      'precision.compute': type,
      ...(weights ? { 'precision.weights': type } : {}),
    });
  const single = option('fp32', 'fp32', {
    'precision.scheme': 'native',
    'precision.compute': 'fp32',
    'precision.weights': 'fp32',
  });
  if (scheme === 'megatron') return [inType('bf16', 'megatron', true), inType('fp16', 'megatron', true)];
  if (scheme === 'deepspeed' || data === 'zero') {
    return [single, inType('bf16', 'deepspeed', true), inType('fp16', 'deepspeed', true)];
  }
  if (isFsdp(data)) {
    return [single, inType('bf16', 'fsdp', false), inType('fp16', 'fsdp', false), pure];
  }
  return [single, inType('bf16', 'autocast', false), inType('fp16', 'autocast', false), pure];
}

/** By maker, NVIDIA first, each from the smallest memory up: a person looks for the next larger one. */
const gpus = onDemand((): readonly Option[] =>
  acceleratorNames()
    .flatMap((name) => findAccelerator(name) ?? [])
    .sort(
      (a, b) =>
        Number(b.vendor === 'NVIDIA') - Number(a.vendor === 'NVIDIA') ||
        a.vendor.localeCompare(b.vendor) ||
        a.usableBytes - b.usableBytes ||
        a.name.localeCompare(b.name),
    )
    .map(({ name, vendor }) => ({ ...option(name, name, { 'hardware.gpu': name }), group: vendor })),
);

const STAGES = [0, 1, 2, 3] as const;

function shardings(values: RunValues): Option[] {
  const data = values['parallel.data'];
  // A run that is split already has its precision; one that is to be split gets what its framework makes of it.
  const along = isFsdp(data) ? {} : precisionUnderFsdp(values);
  const fsdp = (kind: 'fsdp1' | 'fsdp2') => [
    option(`${kind}-full`, say('{0} full shard', kind === 'fsdp1' ? 'FSDP' : 'FSDP2'), {
      'parallel.data': kind,
      'fsdp.strategy': 'full',
      ...along,
    }),
    option(`${kind}-grad-op`, say('{0} gradients and states', kind === 'fsdp1' ? 'FSDP' : 'FSDP2'), {
      'parallel.data': kind,
      'fsdp.strategy': 'grad-op',
      ...along,
    }),
  ];
  if (isFsdp(data)) return fsdp(data);
  if (data === 'zero')
    return STAGES.map((stage) => option(`zero-${stage}`, `ZeRO-${stage}`, { 'zero.stage': stage }));
  if (data === 'horovod' || values['precision.scheme'] === 'megatron') return [];
  const mixed: RunValues =
    values['precision.scheme'] === 'autocast' && values['precision.compute'] !== 'fp32'
      ? { 'precision.scheme': 'deepspeed', 'precision.weights': values['precision.compute'] }
      : {};
  return [
    option('ddp', say('none (DDP)'), { 'parallel.data': data === 'none' ? 'none' : 'ddp' }),
    ...STAGES.slice(1).map((stage) =>
      option(`zero-${stage}`, `ZeRO-${stage}`, { 'parallel.data': 'zero', 'zero.stage': stage, ...mixed }),
    ),
    ...fsdp('fsdp2'),
  ];
}

function offloads(values: RunValues): Option[] {
  const none = option('none', say('none'), { 'offload.optimizer': 'none', 'offload.parameters': 'none' });
  const optimizer = option('optimizer', say('optimizer to CPU'), {
    'offload.optimizer': 'cpu',
    'offload.parameters': 'none',
  });
  const both = option('all', say('optimizer and weights to CPU'), {
    'offload.optimizer': 'cpu',
    'offload.parameters': 'cpu',
  });
  const data = values['parallel.data'];
  if (isFsdp(data)) return [none, both];
  return data === 'zero' ? [none, optimizer, both] : [];
}

const FIELD_OF: Partial<Record<KnobId, FieldPath>> = {
  'micro-batch': 'batch.micro',
  accumulation: 'batch.accumulation',
  sequence: 'batch.sequence',
  rank: 'lora.rank',
  tensor: 'parallel.tensor',
  pipeline: 'parallel.pipeline',
  gpus: 'hardware.gpus',
};

function optionsOf(id: KnobId, values: RunValues): readonly Option[] {
  switch (id) {
    case 'checkpointing':
      return [
        option('none', say('none'), { 'activations.checkpointing': 'none' }),
        option('selective', say('selective'), { 'activations.checkpointing': 'selective' }),
        option('full', say('full'), { 'activations.checkpointing': 'full' }),
      ];
    case 'optimizer':
      return OPTIMIZERS.map((name) => option(name, name, { 'optimizer.name': name }));
    case 'method':
      return methods(values);
    case 'precision':
      return precisions(values);
    case 'sharding':
      return shardings(values);
    case 'offload':
      return offloads(values);
    case 'allocator':
      return [
        option('off', say('off'), { 'allocator.expandableSegments': false }),
        option('on', say('on'), { 'allocator.expandableSegments': true }),
      ];
    case 'gpu':
      return gpus();
    default:
      return [];
  }
}

const holds = (option: Option, values: RunValues) =>
  Object.entries(option.values).every(([field, value]) => values[field as FieldPath] === value);

/** How the present state is called where it is none of the options. */
function presentLabel(id: KnobId, values: RunValues): string {
  switch (id) {
    case 'checkpointing':
      return values['activations.checkpointing'] ?? '';
    case 'optimizer':
      return values['optimizer.name'] ?? '';
    case 'method': {
      const quantized = values['quantization.kind'] ?? 'none';
      const kind = values['method.kind'] === 'lora' ? (values['lora.kind'] ?? 'lora') : values['method.kind'];
      return quantized === 'none' ? (kind ?? '') : say('{0} on {1}', kind ?? '', quantized);
    }
    case 'precision':
      return say(
        '{0} ({1}, weights {2})',
        values['precision.compute'] ?? '',
        values['precision.scheme'] ?? '',
        values['precision.weights'] ?? '',
      );
    case 'sharding':
      return `${values['parallel.data'] ?? 'none'}${/^fsdp/.test(values['parallel.data'] ?? '') ? ` ${values['fsdp.strategy'] ?? ''}` : ''}`;
    case 'offload':
      return say(
        'optimizer {0}, weights {1}',
        values['offload.optimizer'] ?? 'none',
        values['offload.parameters'] ?? 'none',
      );
    default:
      return values['hardware.gpu'] ?? '';
  }
}

const AS_IS = 'as-is';
const CHOICES: readonly KnobId[] = [
  'checkpointing',
  'optimizer',
  'method',
  'precision',
  'sharding',
  'offload',
  'allocator',
  'gpu',
];

/** Knobs whose positions are those of the framework: what it has no word for is no choice of its runs. */
const BY_THE_FRAMEWORK: readonly KnobId[] = ['checkpointing', 'optimizer', 'method'];

function isChoice(analysis: Analysis, id: KnobId, option: Option): boolean {
  const { values } = analysis.resolved;
  if (!BY_THE_FRAMEWORK.includes(id) || holds(option, values)) return true;
  const fields = (Object.keys(option.values) as FieldPath[]).filter(
    (field) => !sameValue(values[field], option.values[field]),
  );
  return trainingTakes(analysis, option.values, fields);
}

/** What others choose, or stop on, is nothing to turn. */
const isAllocatorOpen = ({ accelerator, resolved }: Analysis): boolean =>
  accelerator !== undefined && maySegmentsGrow({ accelerator, resolved });

function choice(id: KnobId, analysis: Analysis): ChoiceKnob | undefined {
  const { values } = analysis.resolved;
  if (id === 'allocator' && !isAllocatorOpen(analysis)) return undefined;
  const options = optionsOf(id, values).filter((one) => isChoice(analysis, id, one));
  const present = options.find((candidate) => holds(candidate, values));
  if (options.length === 0 || (present && options.length === 1)) return undefined;
  const all = present ? options : [option(AS_IS, presentLabel(id, values), {}), ...options];
  return {
    id,
    kind: 'choice',
    value: present?.id ?? AS_IS,
    options: all.map(({ id: name, label, group }) => ({ id: name, label, ...(group && { group }) })),
  };
}

/** What can be turned in a run; none where there is no estimate to start from. */
export function knobsOf(analysis: Analysis): readonly Knob[] {
  if (!analysis.estimate) return [];
  const choices = CHOICES.flatMap((id) => choice(id, analysis) ?? []);
  // A run that trains all weights, and cannot be turned to an adapter, has no rank, nor have adapters of some kinds.
  const { values } = analysis.resolved;
  const hasRank =
    values['method.kind'] === 'lora'
      ? RANKED_ADAPTERS.has(values['lora.kind'] ?? 'lora')
      : choices.some(({ id }) => id === 'method');
  return [...numbers(analysis).filter(({ id }) => id !== 'rank' || hasRank), ...choices];
}

/** GPUs of a machine where nothing states how many it has. */
const USUAL_MACHINE = 8;

/** What a global batch follows from: how many GPUs make up one copy of the data decides how many copies there are. */
const BATCH_FACTORS = [
  'batch.micro',
  'batch.accumulation',
  'hardware.gpus',
  'parallel.tensor',
  'parallel.pipeline',
] as const;

/** What has to change along, for files that state it: a global batch is a product, and machines keep their size. */
function followers({ resolved }: Analysis, changes: RunValues): RunValues {
  const { values: before, origins } = resolved;
  const values = { ...before, ...changes };
  const isStated = (field: FieldPath) =>
    origins[field] !== undefined && !['inferred', 'default'].includes(origins[field]?.kind ?? '');
  const found: Record<string, unknown> = {};
  const gpus = values['hardware.gpus'];
  const had = before['hardware.gpus'];
  if (gpus !== undefined && had !== undefined && gpus !== had) {
    const nodes = before['hardware.nodes'] ?? 1;
    const each = nodes > 1 ? had / nodes : Math.max(USUAL_MACHINE, had);
    const needed = Math.max(1, Math.ceil(gpus / each));
    if (isStated('hardware.nodes') && needed !== nodes) found['hardware.nodes'] = needed;
  }
  const turned = BATCH_FACTORS.some((field) => changes[field] !== undefined);
  // Where the accumulation follows from the global batch, it goes on to follow.
  const accumulates = isStated('batch.accumulation') || changes['batch.accumulation'] !== undefined;
  const copies = evenDataParallelSize(values);
  const micro = values['batch.micro'];
  if (turned && accumulates && isStated('batch.global') && copies !== undefined && micro !== undefined) {
    found['batch.global'] = micro * (values['batch.accumulation'] ?? 1) * copies;
  }
  return found as RunValues;
}

/** What turned knobs stand for; one that is turned to what it stands at stands for nothing. */
export function valuesOf(analysis: Analysis, turned: Turned): RunValues {
  const { values } = analysis.resolved;
  let result: Record<string, unknown> = {};
  for (const knob of knobsOf(analysis)) {
    const to = turned[knob.id];
    if (to === undefined || to === knob.value) continue;
    const field = FIELD_OF[knob.id];
    if (field && typeof to === 'number') {
      result[field] = to;
    } else {
      const chosen = optionsOf(knob.id, { ...values, ...result } as RunValues).find(({ id }) => id === to);
      result = { ...result, ...chosen?.values };
    }
  }
  result = { ...result, ...followers(analysis, result as RunValues) };
  // Only what changes is reported.
  return Object.fromEntries(
    Object.entries(result).filter(([field, value]) => values[field as FieldPath] !== value),
  ) as RunValues;
}
