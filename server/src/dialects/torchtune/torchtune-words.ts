import { CLASS_PATHS } from '../optimizer-names';
import { type Words, without, word } from '../words';

/** torchtune. A LoRA builder is another recipe with other keys: it is not written. */
export const torchtuneWords: Words = {
  'activations.checkpointing': (value, wish) =>
    value === 'full' || value === 'none'
      ? [...without(wish, 'ac_mode', 'ac_option'), word('enable_activation_checkpointing', value === 'full')]
      : undefined,
  'optimizer.name': (value, wish) => {
    const path = CLASS_PATHS[value];
    // Classes of bitsandbytes take no `fused`.
    const fused = path?.startsWith('torch.') ? [] : without(wish, 'optimizer.fused');
    return path === undefined ? undefined : [word('optimizer._component_', path), ...fused];
  },
  'loss.implementation': (value) =>
    value === 'chunked'
      ? [word('loss._component_', 'torchtune.modules.loss.CEWithChunkedOutputLoss')]
      : value === 'linear-chunked'
        ? [word('loss._component_', 'torchtune.modules.loss.LinearCrossEntropyLoss')]
        : undefined,
  'offload.parameters': (value) => [word('fsdp_cpu_offload', value === 'cpu')],
  'offload.optimizer': (value) => [word('fsdp_cpu_offload', value === 'cpu')],
};
