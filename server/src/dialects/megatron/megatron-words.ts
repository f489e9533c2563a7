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
  // What Megatron-DeepSpeed calls so, Megatron-LM does not have.
  'activations.offload': (value, { run }) =>
    run.framework === 'megatron-deepspeed' ? [word('checkpoint_in_cpu', value)] : undefined,
  // The optimizer has to be aware of its precision, which the distributed one alone is (`arguments.py`, `validate_args`).
  'offload.optimizer': (value, { run, changes }) => {
    const isAway = value === 'cpu';
    if (value === 'nvme') return undefined;
    if (run.framework === 'megatron-deepspeed') return [word('cpu_optimizer', isAway)];
    if (!isAway) return [word('optimizer_cpu_offload', false)];
    return (changes['parallel.distributedOptimizer'] ?? run['parallel.distributedOptimizer'])
      ? [word('optimizer_cpu_offload', true), word('use_precision_aware_optimizer', true)]
      : undefined;
  },
  'parallel.distributedOptimizer': (value) => [word('use_distributed_optimizer', value)],
  'parallel.tensor': (value) => [word('tensor_model_parallel_size', value)],
  'parallel.context': (value) => [word('context_parallel_size', value)],
  'parallel.sequence': (value) => [word('sequence_parallel', value)],
  'parallel.userBuffers': (value) => [word('tp_comm_overlap', value)],
  'optimizer.name': (value) => {
    const name = spellingIn(MEGATRON_OPTIMIZERS, value);
    return name === undefined ? undefined : [word('optimizer', name)];
  },
};
