import { refused } from '../../rules/rule';
import { fileIn, TRANSFORMERS, TRL } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const transformers = (path: string) => fileIn(TRANSFORMERS, `src/transformers/${path}`);
const trl = (path: string) => fileIn(TRL, `trl/trainer/${path}`);

/** Rules of Transformers and TRL. */
export const HUGGING_FACE_RULES = {
  'checkpointing-twice': refused(
    'Checkpointing is on in the Trainer and in `fsdp_config`.',
    'Leave it in `fsdp_config`.',
    transformers('trainer.py'),
  ),
  'fsdp-offload-alone': refused(
    '`fsdp: offload` needs a sharding strategy beside it.',
    'Write `full_shard offload`.',
    transformers('training_args.py'),
  ),
  'two-fsdp-strategies': refused(
    'Two sharding strategies are named, which transformers before 5.10 refuses.',
    'Keep one.',
    transformers('training_args.py'),
  ),
  'fsdp1-strategy': refused(
    '`fsdp` names a strategy that FSDP 2 has not.',
    'Write `full_shard` or `shard_grad_op`, or set `version: 1` in `fsdp_config`.',
    transformers('training_args.py'),
  ),
  'two-shardings': refused('FSDP and DeepSpeed are both on.', 'Keep one.', transformers('training_args.py')),
  'two-wrap-policies': refused('Two wrap policies are named.', 'Keep one.', transformers('training_args.py')),
  'two-quantizations': refused(
    'Weights are to be loaded in 8 and in 4 bits.',
    'Keep one.',
    trl('model_config.py'),
  ),
  'two-generation-sizes': refused(
    '`generation_batch_size` and `steps_per_generation` are both set.',
    'Keep one: the other follows.',
    trl('grpo_config.py'),
  ),
  'generation-groups': refused(
    '`generation_batch_size` holds no whole groups of completions.',
    'Write a multiple of `num_generations`.',
    trl('grpo_config.py'),
  ),
  'liger-combination': refused(
    'Liger is on beside what the trainer does not take with it.',
    'Switch Liger off, or leave the other away.',
    trl('dpo_trainer.py'),
  ),
  'too-few-generations': refused(
    'GRPO and RLOO compare completions of a prompt and need at least two.',
    'Raise `num_generations`.',
    trl('grpo_config.py'),
  ),
  'auto-batch-generation': refused(
    'GRPO and RLOO do not work with `auto_find_batch_size`.',
    'Switch it off.',
    trl('grpo_config.py'),
  ),
  'model-saved-alone': refused(
    '`save_only_model` goes with no best model at the end under DeepSpeed or FSDP, and with no sharded state of FSDP.',
    'Switch it off.',
    fileIn(TRANSFORMERS, 'src/transformers/trainer.py'),
  ),
  'packing-without-length': refused(
    'Packing needs a length: it is that of every row.',
    'State it.',
    trl('sft_trainer.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof HUGGING_FACE_RULES, true> {}
}
