import { MEGATRON_OPTIMIZERS, spellingIn } from '../optimizer-names';
import { type Words, without, word } from '../words';

/** Megatron-LM's arguments. Flash attention and the fused loss are its own defaults. */
export const megatronWords: Words = {
  'activations.checkpointing': (value, wish) => {
    const old = without(
      wish,
      'recompute_activations',
      'checkpoint_activations',
      'checkpoint_num_layers',
      'recompute_modules',
    );
    if (value === 'full')
      return [
        ...old,
        word('recompute_granularity', 'full'),
        word('recompute_method', 'uniform'),
        word('recompute_num_layers', 1),
      ];
    if (value === 'selective')
      return [
        ...old,
        ...without(wish, 'recompute_method', 'recompute_num_layers'),
        word('recompute_granularity', 'selective'),
      ];
    return undefined;
  },
  'attention.implementation': (value) => (value === 'flash2' ? [word('use_flash_attn', true)] : undefined),
  'parallel.distributedOptimizer': (value) => [word('use_distributed_optimizer', value)],
  'parallel.tensor': (value) => [word('tensor_model_parallel_size', value)],
  'parallel.context': (value) => [word('context_parallel_size', value)],
  'parallel.sequence': (value) => [word('sequence_parallel', value)],
  'optimizer.name': (value) => {
    const name = spellingIn(MEGATRON_OPTIMIZERS, value);
    return name === undefined ? undefined : [word('optimizer', name)];
  },
};
