import type { RunValues } from '../../server/src/run/fields';
import type { DType } from '../../server/src/terms/dtypes';
import { zeroStage } from './express-parallel';
import { lower, type MeasuredRow, NotExpressed } from './row';

/** The first type that a text names. A type ends where no letter or digit follows: `bf16_autocast`, `16-mixed`. */
function dtypeIn(text: string): DType | undefined {
  if (/\bbf(loat)?16(?![a-z\d])/.test(text)) return 'bf16';
  if (/\b(f(p|loat)16(?![a-z\d])|half\b)/.test(text)) return 'fp16';
  if (/\b(f(p|loat)32(?![a-z\d])|tf32\b|single precision)/.test(text)) return 'fp32';
  // "16-bit" of the last years is bf16; both 16-bit types take the same memory.
  if (/\b16-(bit|mixed|true)\b/.test(text)) return 'bf16';
  return undefined;
}

/** Types of weights, computation, gradients and what keeps them. */
export function precision(row: MeasuredRow): RunValues {
  return { ...dtypes(row), ...quantization(row) };
}

/** Only the norms are in fp32 beside 16-bit weights (TRL's `peft_module_casting_to_bf16`). */
function normsAlone(weights: string): boolean {
  return /\bnorms?(?: weights)?(?: in)? (fp32|float32)\b|casting_to_bf16/.test(weights);
}

function dtypes(row: MeasuredRow): RunValues {
  const weightText = lower(row.weights_dtype);
  const computeText = lower(row.compute_dtype);
  const weights = dtypeIn(weightText.replace(/\b(mx|n|f)p?4\b[^+]*\+|\bint\d\b[^+]*\+/, ''));
  const compute = dtypeIn(computeText) ?? weights;
  if (!weights || !compute) throw new NotExpressed('the types of weights and computation are not stated');
  const base = { 'precision.weights': weights, 'precision.compute': compute } as const;
  if (zeroStage(row) !== undefined) {
    return { ...base, 'precision.scheme': 'deepspeed' };
  }
  const data = lower(row.parallel?.fsdp);
  // Through Accelerate, FSDP 1 lowers the weights and autocast runs around what it wraps; trained weights are upcast.
  if (data !== '' && !/fsdp ?2/.test(data) && TRAINERS.test(lower(row.framework)) && lowers(computeText)) {
    return {
      ...base,
      'precision.scheme': 'fsdp',
      'precision.autocast': true,
      'precision.masterWeights': 'fp32',
    };
  }
  if (/fsdp\d? param_dtype|mixedprecision/.test(computeText)) {
    const reduce = /reduce (fp32|bf16|fp16)/.exec(computeText)?.[1];
    return {
      ...base,
      'precision.scheme': 'fsdp',
      'precision.masterWeights': weights,
      ...(reduce ? { 'precision.reduce': dtypeIn(reduce) ?? 'fp32' } : {}),
    };
  }
  // FSDP computes sharded fp32 weights in the lower type itself; torchtitan reduces in fp32 by default (`job_config.py`).
  const sharded = data !== '' && !/autocast|amp\b/.test(computeText);
  if (sharded && weights === 'fp32' && compute !== 'fp32') {
    return {
      ...base,
      'precision.scheme': 'fsdp',
      'precision.masterWeights': weights,
      ...(/torchtitan/.test(lower(row.framework)) ? { 'precision.reduce': 'fp32' as const } : {}),
    };
  }
  if (/megatron/.test(lower(row.framework))) return { ...base, 'precision.scheme': 'megatron' };
  const automatic = /autocast|amp\b|mixed/.test(computeText) && !/no (amp|autocast)/.test(computeText);
  if (automatic || (weights === 'fp32' && compute !== 'fp32'))
    return { ...base, 'precision.scheme': 'autocast' };
  return { ...base, 'precision.scheme': 'native' };
}

/** Frameworks that prepare models with Accelerate. */
const TRAINERS = /\bhf\b|trainer|\btrl\b|axolotl|llama-?factory|swift|accelerate/;

function lowers(compute: string): boolean {
  return /autocast|amp\b|mixed/.test(compute) && !/no (amp|autocast)/.test(compute);
}

/** Kinds of quantized weights by the names that rows use; bitsandbytes' int8 last, as others say `int8` too. */
const KINDS: readonly (readonly [RegExp, NonNullable<RunValues['quantization.kind']>])[] = [
  [/gptq/, 'gptq'],
  [/awq/, 'awq'],
  [/aqlm/, 'aqlm'],
  [/hqq/, 'hqq'],
  [/eetq/, 'eetq'],
  [/quanto/, 'quanto'],
  [/mxfp4/, 'mxfp4'],
  [/(torchao|\bao\b).*int4|int4.*(torchao|\bao\b)/, 'ao-int4'],
  [/(torchao|\bao\b).*int8|int8.*(torchao|\bao\b)/, 'ao-int8'],
  [/nf4/, 'nf4'],
  [/fp4/, 'fp4'],
  [/int8|8-?bit/, 'int8'],
  // What states no more is QLoRA's own; `fp4` takes as much.
  [/4-?bit|int4|qlora|^(bnb|bitsandbytes)$/, 'nf4'],
];

function quantization(row: MeasuredRow): RunValues {
  const stated = lower(row.quantization);
  const text = stated === '' && /^qlora\b/.test(lower(row.method)) ? 'qlora' : stated;
  const weightText = lower(row.weights_dtype);
  if (/int8 \(quantized training\)/.test(weightText)) {
    throw new NotExpressed('training of int8 weights is not in the vocabulary');
  }
  // fp8 products cast on the fly and keep 16-bit tensors: published runs with and without differ by less than 0.5 %.
  if (text === '' || text === 'none' || /^(mx)?f(p|loat)8/.test(text)) return {};
  const kind = KINDS.find(([pattern]) => pattern.test(text))?.[1];
  if (!kind) throw new NotExpressed(`quantization "${row.quantization}" is not understood`);
  const bits = /(?:int|w|\b)(\d)(?:-?bit\b|\b)/.exec(text)?.[1];
  const group = /group(?:[ _-]?size)?[ :=]*(\d+)|\bg(\d+)\b/.exec(text);
  return {
    'quantization.kind': kind,
    ...(bits && kind !== 'nf4' && kind !== 'fp4' && kind !== 'int8'
      ? { 'quantization.bits': Number(bits) }
      : {}),
    ...(group ? { 'quantization.groupSize': Number(group[1] ?? group[2]) } : {}),
    // torchao quantizes its scales too (`nf4tensor.py`, `scaler_block_size=256`).
    'quantization.double': /double|\bdq\b|torchao/.test(text) && !/(no|without) double/.test(text),
    // `prepare_model_for_kbit_training` leaves fp32 beside the packed weights; a row that states 16 bits did not call it.
    // TRL then cast embedding and head back, so that norms alone stay in fp32.
    'quantization.prepared': !/16/.test(weightText) || normsAlone(weightText),
    'quantization.recast': normsAlone(weightText),
    'quantization.storage': storage(text),
    'quantization.head': quantizesHead(row),
  };
}

/** The type that packed weights are stored as, which FSDP shards where it is that of the others. */
function storage(text: string): NonNullable<RunValues['quantization.storage']> {
  const stated = /quant_storage[ =:]+(?:torch\.)?(\w+)/.exec(text)?.[1] ?? '';
  const type = dtypeIn(stated);
  return type === undefined || type === 'fp8' ? 'uint8' : type;
}

/** Lightning's plugin replaces every linear, the head among them (`plugins/precision/bitsandbytes.py`). */
function quantizesHead(row: MeasuredRow): boolean {
  return /lit-?gpt/.test(lower(row.framework)) && !/head not quantized/.test(lower(row.quantization));
}
