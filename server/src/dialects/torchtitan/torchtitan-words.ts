import { type Words, word } from '../words';

/** torchtitan's TOML. */
export const torchtitanWords: Words = {
  'activations.checkpointing': (value, wish) => {
    const mode = value === 'elementwise' ? undefined : value;
    if (mode === undefined) return undefined;
    const option = mode === 'selective' ? [word('activation_checkpoint.selective_ac_option', 'op')] : [];
    return [
      word('activation_checkpoint.mode', mode),
      ...(mode === 'selective' && wish.text('activation_checkpoint.selective_ac_option') ? [] : option),
    ];
  },
  'offload.parameters': (value) => [word('training.enable_cpu_offload', value === 'cpu')],
  'offload.optimizer': (value) => [word('training.enable_cpu_offload', value === 'cpu')],
  'fsdp.strategy': (value, { run, text }) => {
    const block =
      text('experimental.fsdp_reshard_after_forward') === undefined ? 'parallelism' : 'experimental';
    // By default layers are kept under pipelines alone, and what ends the model always is.
    const pipelined = run['parallel.pipeline'] > 1;
    return value === 'full' || value === 'grad-op'
      ? [
          word(
            `${block}.fsdp_reshard_after_forward`,
            value === 'grad-op' ? 'never' : pipelined ? 'always' : 'default',
          ),
        ]
      : undefined;
  },
  'parallel.tensor': (value, { text }) => [word(titanDegree('tensor_parallel_degree', text), value)],
  'parallel.context': (value, { text }) => [word(titanDegree('context_parallel_degree', text), value)],
};

/** Degrees moved from `training` and `experimental` to `parallelism` over the versions. */
function titanDegree(name: string, text: (key: string) => string | undefined): string {
  const block = ['parallelism', 'training', 'experimental'].find((at) => text(`${at}.${name}`) !== undefined);
  return `${block ?? 'parallelism'}.${name}`;
}
