import { refused } from '../../rules/rule';
import { fileIn, NEMO_RL } from '../../sources/repositories';
import { AUTOMODEL, NEMO } from './nemo-repository';

// Where the frameworks have it, at the release that is described.
const automodel = (path: string) => fileIn(AUTOMODEL, `nemo_automodel/components/training/${path}`);
const nemo = (path: string) => fileIn(NEMO, `nemo/collections/nlp/models/language_modeling/${path}`);
const nemoRl = (path: string) => fileIn(NEMO_RL, `nemo_rl/models/${path}`);

/** Rules of NeMo, NeMo-RL and Automodel. */
export const NEMO_RULES = {
  accumulation: refused(
    'NeMo takes the micro batches from the global batch.',
    'Set `accumulate_grad_batches` to 1.',
    nemo('megatron_base_model.py'),
  ),
  'two-backends': refused(
    'Both backends of NeMo-RL are on, and the command line may switch one off.',
    'Switch one off.',
    nemoRl('policy/lm_policy.py'),
    { severity: 'warning' },
  ),
  'packing-with-dynamic-batches': refused(
    'Dynamic batching and sequence packing exclude each other.',
    'Keep one.',
    nemoRl('policy/lm_policy.py'),
  ),
  'dynamic-batches-with-stages': refused(
    'Dynamic batching works with one pipeline stage only.',
    'Switch it off.',
    nemoRl('policy/lm_policy.py'),
  ),
  'lora-in-first-worker': refused(
    'LoRA needs the second worker of NeMo-RL.',
    'Set `_v2: true`.',
    nemoRl('policy/lm_policy.py'),
  ),
  'lora-kernels-with-tensor-parallel': refused(
    'The Triton kernels of LoRA do not work with tensor parallelism.',
    'Set `use_triton: false`.',
    nemoRl('automodel/setup.py'),
  ),
  'batch-size': refused('A batch size is not above 0.', 'Write one that is.', automodel('step_scheduler.py')),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof NEMO_RULES, true> {}
}
