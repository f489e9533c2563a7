import { refused } from './rule';

/** Rules of Transformers and TRL. */
export const HUGGING_FACE_RULES = {
  'checkpointing-twice': refused(
    'Checkpointing is on in the Trainer and in `fsdp_config`.',
    'Leave it in `fsdp_config`.',
  ),
  'fsdp-offload-alone': refused(
    '`fsdp: offload` needs a sharding strategy beside it.',
    'Write `full_shard offload`.',
  ),
  'two-fsdp-strategies': refused('Two sharding strategies are named.', 'Keep one.'),
  'two-shardings': refused('FSDP and DeepSpeed are both on.', 'Keep one.'),
  'two-wrap-policies': refused('Two wrap policies are named.', 'Keep one.'),
  'two-quantizations': refused('Weights are to be loaded in 8 and in 4 bits.', 'Keep one.'),
  'two-generation-sizes': refused(
    '`generation_batch_size` and `steps_per_generation` are both stated.',
    'Keep one: the other follows.',
  ),
  'generation-groups': refused(
    '`generation_batch_size` holds no whole groups of completions.',
    'Write a multiple of `num_generations`.',
  ),
  'too-few-generations': refused(
    'GRPO compares completions of a prompt and needs at least two.',
    'Raise `num_generations`.',
  ),
  'auto-batch-generation': refused('GRPO does not work with `auto_find_batch_size`.', 'Switch it off.'),
  'packing-without-length': refused('Packing needs a length: it is that of every row.', 'State it.'),
};
