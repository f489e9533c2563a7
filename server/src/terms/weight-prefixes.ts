/** What models put before the names of their weights: releases of transformers, families and PEFT differ, and patterns are written for any. */
export const WEIGHT_PREFIXES = [
  '',
  'model.',
  'model.language_model.',
  'language_model.model.',
  'model.decoder.',
  'transformer.',
  'gpt_neox.',
  'base_model.',
] as const;
