/** How frozen base weights are stored. */
export const QUANTIZATIONS = [
  'none',
  'nf4',
  'fp4',
  'int8',
  'gptq',
  'awq',
  'aqlm',
  'hqq',
  'eetq',
  'quanto',
  'ao-int4',
  'ao-int8',
  'fp8',
  'mxfp4',
] as const;
export type QuantizationKind = (typeof QUANTIZATIONS)[number];

/** Those that bitsandbytes makes on the GPU while a checkpoint is loaded; of others the checkpoint is quantized already. */
export const QUANTIZED_WHILE_LOADED: ReadonlySet<QuantizationKind> = new Set(['nf4', 'fp4', 'int8']);

/** Those that a checkpoint is published in: nothing is quantized while it is loaded (`quantizers/`, `pre_quantized`). */
export const QUANTIZED_BEFORE_LOADED: ReadonlySet<QuantizationKind> = new Set([
  'gptq',
  'awq',
  'aqlm',
  'mxfp4',
]);
