import { type Words, word } from '../words';

/** GPT-NeoX, which moves checkpoints alone to host memory. */
export const gptNeoxWords: Words = {
  'activations.offload': (value, { run, changes }) =>
    (changes['activations.checkpointing'] ?? run['activations.checkpointing']) === 'none'
      ? undefined
      : [word('checkpoint_in_cpu', value)],
};
