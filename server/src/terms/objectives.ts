/** What a run trains for. */
export const OBJECTIVES = [
  'lm',
  'classification',
  'token-classification',
  'question-answering',
  'multiple-choice',
  'segmentation',
  'detection',
  'dpo',
  'ipo',
  'kto',
  'bco',
  'orpo',
  'cpo',
  'simpo',
  'reward',
  'grpo',
  'rloo',
  'online-dpo',
  'ppo',
  'distillation',
] as const;
export type Objective = (typeof OBJECTIVES)[number];
