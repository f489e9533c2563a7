/** What models put before the names of their weights: releases of transformers, families and PEFT differ, and patterns are written for any. */
export const WEIGHT_PREFIXES = [
  '',
  'model.',
  'model.language_model.',
  'model.text_model.',
  'language_model.',
  'language_model.model.',
  'text_model.model.',
  'llm.model.',
  'thinker.model.',
  'model.decoder.',
  'transformer.',
  'transformer.encoder.',
  'backbone.',
  'gpt_neox.',
  'base_model.',
] as const;
