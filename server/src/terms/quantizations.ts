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
