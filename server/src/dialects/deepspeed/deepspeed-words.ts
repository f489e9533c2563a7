import { DEEPSPEED_OPTIMIZERS, spellingIn } from '../optimizer-names';
import { type Words, word } from '../words';

const ZERO = 'zero_optimization';

function offloaded(block: string, value: string, text: (key: string) => string | undefined) {
  const pinned = text(`${ZERO}.${block}.pin_memory`);
  return [
    word(`${ZERO}.${block}.device`, value),
    ...(value === 'cpu' && pinned === undefined ? [word(`${ZERO}.${block}.pin_memory`, true)] : []),
  ];
}

/** DeepSpeed's JSON. Its `activation_checkpointing` block configures a function that Hugging Face models never call. */
export const deepspeedWords: Words = {
  // DeepSpeed refuses the old key beside the new one (`config_utils.py`): where one stands, it is the one that is written.
  'offload.optimizer': (value, { text }) => {
    const old = text(`${ZERO}.cpu_offload`) !== undefined && value !== 'nvme';
    if (old) return [word(`${ZERO}.cpu_offload`, value === 'cpu')];
    return offloaded('offload_optimizer', value, text);
  },
  'offload.parameters': (value, { text }) => {
    const old = text(`${ZERO}.cpu_offload_param`) !== undefined && value !== 'nvme';
    if (old) return [word(`${ZERO}.cpu_offload_param`, value === 'cpu')];
    return offloaded('offload_param', value, text);
  },
  'optimizer.name': (value, { text }) => {
    const name = spellingIn(DEEPSPEED_OPTIMIZERS, value);
    return name === undefined || text('optimizer.type') === undefined
      ? undefined
      : [word('optimizer.type', name)];
  },
};
