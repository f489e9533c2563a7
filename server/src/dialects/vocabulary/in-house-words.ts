import { type Words, word } from '../words';

/** The in-house flags: who holds what is stated by two switches. */
export const inHouseWords: Words = {
  'activations.checkpointing': (value) =>
    value === 'elementwise' ? [word('memory_optimization', 'recomputation')] : undefined,
  'zero.stage': (value) =>
    value === 1
      ? [word('split_opt_state', true)]
      : value === 2
        ? [word('split_opt_state', true), word('split_grad_accum', true)]
        : undefined,
};
