/** Who multiplies in fp8. */
export const FP8_RECIPES = [
  'none',
  'transformer-engine',
  'torchao',
  'blockwise',
  'ms-amp-o1',
  'ms-amp-o2',
] as const;
export type Fp8Recipe = (typeof FP8_RECIPES)[number];
