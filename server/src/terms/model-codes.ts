/** Whose code runs a model. */
export const MODEL_CODES = [
  'transformers',
  'litgpt',
  'torchtune',
  'torchtitan',
  'olmo',
  'olmo-core',
  'megatron',
  'timm',
  'tensorflow',
] as const;
export type ModelCode = (typeof MODEL_CODES)[number];
