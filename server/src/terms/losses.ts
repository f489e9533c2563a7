/** How logits and their loss are computed. */
export const LOSSES = [
  'full',
  'full-shifted',
  'full-upcast',
  'full-autocast',
  'full-log-softmax',
  'native',
  'compiled',
  'compiled-chunks',
  'chunked',
  'row-chunks',
  'head-chunks',
  'linear-chunked',
  'liger',
  'cut',
  'budgeted-chunks',
  'free-chunks',
  'half-free-chunks',
  'fused-chunks',
  'vocab-parallel',
  'vocab-parallel-compiled',
  'log-probabilities',
  'log-probabilities-chunked',
  'checkpointed-chunks',
  'checkpointed-chunks-fp32',
  'in-place',
  'divergence-chunks',
] as const;
export type LossKind = (typeof LOSSES)[number];
/** What distillation takes of the logits of teacher and student. */
export const DIVERGENCES = ['forward', 'mixture', 'reverse'] as const;
export type Divergence = (typeof DIVERGENCES)[number];
/** How long the training loop itself keeps the logits. */
export const LOGIT_HOLDS = ['none', 'backward', 'backward-with-softmax', 'next-step'] as const;
export type LogitHold = (typeof LOGIT_HOLDS)[number];
