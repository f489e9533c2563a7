import { MEGATRON_OPTIMIZERS, spellingIn } from '../optimizer-names';
import { type Words, word } from '../words';

/** Megatron-Bridge: names of optimizers are Megatron's, and no checkpoints are moved to host memory. */
export const megatronBridgeWords: Words = {
  'activations.offload': () => undefined,
  'optimizer.name': (value) => {
    const name = spellingIn(MEGATRON_OPTIMIZERS, value);
    return name === undefined ? undefined : [word('optimizer.optimizer', name)];
  },
};
