import { doubtful, ignored, refused } from '../../rules/rule';
import { ACCELERATE, DEEPSPEED, fileIn, TRANSFORMERS } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const accelerate = (path: string) => fileIn(ACCELERATE, `src/accelerate/utils/${path}`);
const deepspeed = (path: string) => fileIn(DEEPSPEED, `deepspeed/runtime/${path}`);
const transformers = (path: string) => fileIn(TRANSFORMERS, `src/transformers/integrations/${path}`);

/** Rules of DeepSpeed. */
export const DEEPSPEED_RULES = {
  'amp-combination': refused(
    'Apex AMP is on beside fp16, bf16 or ZeRO.',
    'Leave one of them.',
    deepspeed('engine.py'),
  ),
  'two-precisions': refused('Two precisions are on at once.', 'Leave one of them.', deepspeed('config.py')),
  'gradient-type': refused(
    'Gradients are to be accumulated in another type than the weights have, without ZeRO.',
    'Leave the type out, or use ZeRO.',
    deepspeed('engine.py'),
  ),
  'parameter-type': refused(
    '`param_dtype` contradicts the precision.',
    'Leave it out.',
    deepspeed('engine.py'),
  ),
  'autocast-quantized': refused(
    '`torch_autocast` and `zero_quantized_weights` are on at once.',
    'Leave one of them.',
    deepspeed('torch_autocast.py'),
  ),
  'zero-stage-needed': refused(
    'A setting needs another ZeRO stage.',
    'Change the stage, or leave the setting out.',
    deepspeed('zero/config.py'),
  ),
  'masters-needed': refused(
    '`bf16_optimizer_states` stands without `bf16_master_weights_and_grads`.',
    'Set both.',
    deepspeed('config.py'),
  ),
  'loss-scale': refused(
    'The loss scale is negative, or a setting of dynamic scaling is not positive.',
    'Write 0 for a dynamic scale, or a positive one.',
    deepspeed('precision_config.py'),
  ),
  'max-grad-norm': refused(
    'The optimizer is given `max_grad_norm`.',
    'Use the top-level `gradient_clipping`.',
    deepspeed('engine.py'),
  ),
  'onebit-zero': refused(
    'A 1-bit optimizer is combined with ZeRO.',
    'Use another optimizer, or stage 0.',
    deepspeed('engine.py'),
  ),
  'removed-optimizer': refused(
    'The optimizer was removed from DeepSpeed.',
    'Use another one, or an older DeepSpeed.',
    deepspeed('config.py'),
  ),
  'lamb-loss-scale': refused(
    'The optimizer needs dynamic loss scaling.',
    'Set `loss_scale` to 0.',
    deepspeed('engine.py'),
  ),
  'untested-optimizer': refused(
    'DeepSpeed has not tested the optimizer with ZeRO and refuses it.',
    'Set `zero_allow_untested_optimizer` to true.',
    deepspeed('engine.py'),
  ),
  'gradient-sum': refused(
    '`gradient_allreduce_op: sum` stands beside a setting that it excludes.',
    'Leave one of them.',
    deepspeed('config.py'),
  ),
  'predivide-stage3': refused(
    '`gradient_predivide_factor` does not work with ZeRO stage 3 and reduce-scatter.',
    'Leave it at 1.',
    deepspeed('zero/stage3.py'),
  ),
  'prescale-stage3': refused(
    '`prescale_gradients` does not work with ZeRO stage 3 and reduce-scatter.',
    'Switch it off.',
    deepspeed('zero/stage3.py'),
  ),
  'odd-bucket': refused(
    '`allgather_bucket_size` is odd at ZeRO stage 1 or 2.',
    'Write an even size.',
    deepspeed('zero/stage_1_and_2.py'),
  ),
  'batch-positive': refused('A batch size is not above 0.', 'Write one that is.', deepspeed('config.py')),
  'batch-missing': doubtful(
    'Neither `train_batch_size` nor `train_micro_batch_size_per_gpu` is set.',
    'State one, unless the caller does.',
    deepspeed('config.py'),
  ),
  'old-and-new-key': refused(
    'An old and a new spelling of one setting stand together.',
    'Remove the old one.',
    deepspeed('zero/config.py'),
  ),
  'legacy-zero': doubtful(
    'The boolean form of `zero_optimization` is old.',
    'Write `{"stage": 1}`.',
    deepspeed('zero/config.py'),
    {
      severity: 'information',
    },
  ),
  'legacy-stage1': refused('`legacy_stage1` was removed.', 'Leave it out.', deepspeed('engine.py')),
  'nvme-path-missing': refused(
    'Offloading to NVMe needs an `nvme_path`.',
    'State the path.',
    deepspeed('zero/partition_parameters.py'),
  ),
  'relaxed-json': doubtful(
    'The file has comments or trailing commas, which only DeepSpeed itself reads.',
    'Remove them where Accelerate or the Trainer reads the file.',
    accelerate('deepspeed.py'),
    { severity: 'hint' },
  ),
  'checkpointing-not-switched-on': ignored(
    '`activation_checkpointing` tunes checkpointing, but does not switch it on.',
    'Switch it on in the training script, such as by `gradient_checkpointing=True`.',
    'https://www.deepspeed.ai/docs/config-json/#activation-checkpointing',
    { severity: 'information' },
  ),
  'replaced-optimizer': ignored(
    "The optimizer of the DeepSpeed file is built, and not the Trainer's.",
    'Remove one of the two.',
    transformers('deepspeed.py'),
    { severity: 'information' },
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof DEEPSPEED_RULES, true> {}
}
