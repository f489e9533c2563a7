import { isAccelerated } from '../behaviours/accelerated';
import { isAtLeast } from '../terms/version';
import { say } from '../wording/say';
import type { FieldPath, FieldValue } from './fields';
import { type Fact, fact, isStated } from './origin';

/** Statements by field, as far as they are settled; rules add `inferred` ones. */
type Winners = Map<FieldPath, Fact>;

function settled<P extends FieldPath>(winners: Winners, field: P): FieldValue<P> | undefined {
  return winners.get(field)?.value as FieldValue<P> | undefined;
}

const wasStated = (winners: Winners, field: FieldPath): boolean => isStated(winners.get(field)?.origin);

function infer<P extends FieldPath>(winners: Winners, field: P, value: FieldValue<P>, note: string): void {
  winners.set(field, fact(field, value, { kind: 'inferred', note }));
}

/** GPUs that hold one copy of the data together: tensor x pipeline x context x Ulysses. */
export function modelParallelSize(values: { readonly [P in FieldPath]?: FieldValue<P> }): number {
  return (
    (values['parallel.tensor'] ?? 1) *
    (values['parallel.pipeline'] ?? 1) *
    (values['parallel.context'] ?? 1) *
    (values['parallel.ulysses'] ?? 1)
  );
}

/** Copies of the data: GPUs over everything that splits one copy. Undefined where it does not divide. */
export function evenDataParallelSize(
  values: { readonly [P in FieldPath]?: FieldValue<P> },
): number | undefined {
  const gpus = values['hardware.gpus'];
  const size = gpus === undefined ? Number.NaN : gpus / modelParallelSize(values);
  return Number.isInteger(size) && size >= 1 ? size : undefined;
}

/** Why the GPUs of a run cannot be laid out as it asks, as a sentence; undefined where they can, or are not known. */
export function unevenLayout(
  values: {
    readonly [P in FieldPath]?: FieldValue<P>;
  },
): string | undefined {
  const gpus = values['hardware.gpus'];
  if (gpus === undefined || evenDataParallelSize(values) !== undefined) return undefined;
  return unevenGroups(gpus, modelParallelSize(values), {
    tensor: values['parallel.tensor'],
    pipeline: values['parallel.pipeline'],
    context: values['parallel.context'],
    ulysses: values['parallel.ulysses'],
  });
}

/** What the data is split over, and the GPUs of an encoder beside it. */
interface GroupSizes {
  readonly tensor?: number | undefined;
  readonly pipeline?: number | undefined;
  readonly context?: number | undefined;
  readonly ulysses?: number | undefined;
  readonly encoder?: number;
}

/** That GPUs cannot be divided into groups that hold one copy of the data, with the sizes that make such a `group`. */
export function unevenGroups(
  gpus: number,
  group: number,
  { tensor = 1, pipeline = 1, context = 1, ulysses = 1, encoder = 0 }: GroupSizes,
): string {
  const product = [
    ...(tensor > 1 ? [say('tensor {0}', tensor)] : []),
    ...(pipeline > 1 ? [say('pipeline {0}', pipeline)] : []),
    ...(context > 1 ? [say('context {0}', context)] : []),
    ...(ulysses > 1 ? [say('Ulysses {0}', ulysses)] : []),
  ].join(' × ');
  const sizes = encoder > 0 ? say('{0}, and {1} of the encoder', product || '1', encoder) : product;
  return say('{0} GPUs cannot be divided into groups of {1} ({2}).', String(gpus), String(group), sizes);
}

/** Copies of the data by what is settled so far. */
function copiesOf(winners: Winners): number | undefined {
  return evenDataParallelSize({
    'hardware.gpus': settled(winners, 'hardware.gpus'),
    'parallel.tensor': settled(winners, 'parallel.tensor'),
    'parallel.pipeline': settled(winners, 'parallel.pipeline'),
    'parallel.context': settled(winners, 'parallel.context'),
    'parallel.ulysses': settled(winners, 'parallel.ulysses'),
  });
}

/**
 * Where a mask is there because samples differ in length, a batch of samples that all have the longest there is has none, be they cut or not
 * (`masking_utils.py`, `_ignore_causal_mask_sdpa`). Rows of several samples without padding keep theirs: it holds these apart.
 */
function inferUnmaskedBatches(winners: Winners): void {
  const mask = winners.get('attention.mask');
  if (mask?.value !== true || mask.origin.kind !== 'inferred' || winners.has('attention.unmaskedBatches'))
    return;
  if (settled(winners, 'batch.paddingFree') === true) return;
  infer(winners, 'attention.unmaskedBatches', true, say('batches that nothing fills up have no padding'));
}

/** Packed rows are full, and rows without padding have none: a mask that is there because samples differ in length is not. */
function dropMask(winners: Winners): void {
  const mask = winners.get('attention.mask');
  if (mask?.value !== true || mask.origin.kind !== 'inferred') return;
  if (settled(winners, 'batch.packed') === true)
    infer(winners, 'attention.mask', false, say('packed rows have no padding'));
}

/** How data-parallel GPUs share state, where the files imply it without saying so. */
function inferDataParallel(winners: Winners): void {
  const field = 'parallel.data';
  if (wasStated(winners, field) && settled(winners, field) !== 'none') {
    return;
  }
  const current = settled(winners, field);
  const stage = settled(winners, 'zero.stage');
  if (
    (current === undefined || current === 'none') &&
    stage !== undefined &&
    stage > 0 &&
    wasStated(winners, 'zero.stage')
  ) {
    infer(winners, field, 'zero', say('a ZeRO stage of {0} is set', stage));
    return;
  }
  const copies = copiesOf(winners);
  if ((current === undefined || current === 'none') && copies !== undefined && copies > 1) {
    infer(winners, field, 'ddp', say('{0} copies of the data and no sharding', copies));
  }
}

/**
 * Batch triangle: global = micro x accumulation x data-parallel size. Two sides give the third; a global batch alone
 * means no accumulation, as in DeepSpeed.
 */
function inferBatch(winners: Winners): void {
  const copies = copiesOf(winners);
  const global = settled(winners, 'batch.global');
  const micro = settled(winners, 'batch.micro');
  const accumulation = settled(winners, 'batch.accumulation');
  if (copies === undefined) {
    return;
  }
  if (global === undefined) {
    if (micro !== undefined) {
      infer(
        winners,
        'batch.global',
        micro * (accumulation ?? 1) * copies,
        say('micro batch × accumulation × data-parallel size'),
      );
    }
    return;
  }
  if (!wasStated(winners, 'batch.global')) {
    return;
  }
  if (micro !== undefined && !wasStated(winners, 'batch.accumulation')) {
    const steps = Math.floor(global / (micro * copies));
    if (steps >= 1) {
      infer(
        winners,
        'batch.accumulation',
        steps,
        say('global batch {0} over micro batch {1} × {2}', String(global), String(micro), copies),
      );
    }
  } else if (micro === undefined) {
    const samples = Math.floor(global / ((accumulation ?? 1) * copies));
    if (samples >= 1) {
      infer(
        winners,
        'batch.micro',
        samples,
        say('global batch {0} over {1} × {2}', String(global), String(accumulation ?? 1), copies),
      );
    }
  }
}

/**
 * A single machine is meant where the GPUs of a run fit one; beyond eight, machines of eight are assumed, and where more than the
 * largest machine holds (16) are not a multiple of it, machines of the most that divide them.
 */
function inferNodes(winners: Winners): void {
  const gpus = settled(winners, 'hardware.gpus');
  if (gpus === undefined || gpus <= 8 || winners.has('hardware.nodes')) return;
  if (gpus % 8 === 0) infer(winners, 'hardware.nodes', gpus / 8, say('eight GPUs per machine assumed'));
  else if (gpus > 16 && Number.isInteger(gpus)) {
    const each = [7, 6, 5, 4, 3, 2, 1].find((size) => gpus % size === 0) ?? 1;
    infer(winners, 'hardware.nodes', gpus / each, say('at most eight GPUs per machine assumed'));
  }
}

/**
 * Megatron's precision scheme comes with its model code; torchtitan's tensor parallelism with sequence parallelism, and its
 * schedules of several stages with two (`pipeline_parallel.py`, `stages_per_rank`).
 */
function inferModelCode(winners: Winners): void {
  if (settled(winners, 'precision.scheme') === 'megatron' && !wasStated(winners, 'model.code')) {
    infer(winners, 'model.code', 'megatron', say('Megatron trains its own modules'));
  }
  const tensor = settled(winners, 'parallel.tensor') ?? 1;
  const titan = settled(winners, 'model.code') === 'torchtitan';
  if (titan && tensor > 1 && !winners.has('parallel.sequence')) {
    infer(winners, 'parallel.sequence', true, say('torchtitan: `enable_sequence_parallel` is on by default'));
  }
  const schedule = settled(winners, 'parallel.pipelineSchedule');
  const several = schedule === 'interleaved' || schedule === 'looped-bfs' || schedule === 'zero-bubble';
  if (titan && several && !wasStated(winners, 'parallel.virtualStages')) {
    infer(winners, 'parallel.virtualStages', 2, say('torchtitan gives a rank two stages of such a schedule'));
  }
}

/**
 * Accelerate wraps the forward of an FSDP 1 model in autocast, not that of an FSDP 2 one (`accelerator.py`, `prepare_model`); before
 * transformers 4.30 the Trainer does so itself (`trainer.py`, `autocast_smart_context_manager`).
 */
function inferAutocast(winners: Winners): void {
  const field = 'precision.autocast';
  const lowered = settled(winners, 'precision.scheme') === 'fsdp';
  if (!lowered || settled(winners, 'parallel.data') !== 'fsdp1' || winners.has(field)) return;
  if (!isAccelerated(settled(winners, 'framework'))) return;
  const itself = isAtLeast(settled(winners, 'version.transformers'), '4.30') === false;
  infer(
    winners,
    field,
    true,
    itself
      ? say('the Trainer runs autocast around the forward pass')
      : say('Accelerate runs autocast around the forward pass of FSDP 1'),
  );
}

/** Batches that are padded to their own longest sample are no longer than the longest sample of the data. */
function limitLength(winners: Winners): void {
  const longest = winners.get('batch.longestSequence');
  const stated = winners.get('batch.sequence');
  if (longest?.field !== 'batch.longestSequence' || stated?.field !== 'batch.sequence') return;
  const padded = settled(winners, 'batch.varied') === true && settled(winners, 'batch.packed') !== true;
  if (!padded || longest.value >= stated.value) return;
  const limit = say('no sample is longer than {0} tokens', String(longest.value));
  const note = stated.origin.note === undefined ? limit : `${stated.origin.note}; ${limit}`;
  winners.set(
    'batch.sequence',
    fact('batch.sequence', longest.value, { ...stated.origin, note, before: stated.value }),
  );
}

/**
 * Without mixed precision matrices are multiplied in the type that weights are in. Packed ones are unpacked to what comes in, 4-bit ones of
 * bitsandbytes to a type of their own; where a model is prepared for adapters all else is raised to fp32, and with it what comes in.
 */
function inferCompute(winners: Winners): void {
  const scheme = settled(winners, 'precision.scheme');
  const weights = settled(winners, 'precision.weights');
  const packed = settled(winners, 'quantization.kind') ?? 'none';
  if (winners.has('precision.compute') || scheme !== 'native') return;
  if (packed === 'nf4' || packed === 'fp4') return;
  if (packed !== 'none' && settled(winners, 'quantization.prepared') === true) return;
  // Unsloth keeps parts of such models in fp32, attention among them.
  if (settled(winners, 'precision.wideActivations') === true) return;
  if (weights === 'bf16' || weights === 'fp16')
    infer(winners, 'precision.compute', weights, say('no mixed precision: that of the weights'));
}

/**
 * Adds what follows from the statements, with origin `inferred`. Stated values are never changed, but for a length that no sample
 * reaches.
 */
export function derive(winners: Winners): void {
  inferNodes(winners);
  dropMask(winners);
  inferUnmaskedBatches(winners);
  inferModelCode(winners);
  inferDataParallel(winners);
  inferBatch(winners);
  inferAutocast(winners);
  inferCompute(winners);
  limitLength(winners);
}
