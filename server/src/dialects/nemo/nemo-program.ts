import { has, hasBelow, hydraConfig, overridingProgram } from '../launch/overriding-program';
import type { Program } from '../launch/program';
import { nemo } from './nemo';

/** NeMo's training scripts; the names of what they do otherwise (`megatron_gpt_eval.py`) are not among them. */
const NEMO_SCRIPT =
  /(^|\/)megatron_\w*(pretrain|train|finetun|tuning|_sft|_peft|_dpo|_reward|_ppo|_kto|_rpo)\w*\.py$/;

/** Settings that `model` has in NeMo alone; a `trainer` beside a `model` is in every project of Lightning under Hydra. */
const NEMO_MODEL =
  /^model\.(?:micro_batch_size|global_batch_size|\w+_model_parallel_size|encoder_seq_length|restore_from_path|megatron_amp_O2|mcore_gpt|peft\.peft_scheme)$/;

export const nemoProgram = overridingProgram(
  nemo,
  (launch) => {
    if (NEMO_SCRIPT.test(launch.script ?? '')) {
      return hasBelow(launch, 'model') || hasBelow(launch, 'trainer') || has(launch, 'config_name') ? 1 : 0;
    }
    return launch.arguments.entries.some(({ key }) => NEMO_MODEL.test(key)) ? 0.7 : 0;
  },
  hydraConfig,
);

/** Any script under Hydra: what it trains, and whether it does, shows in its config. */
export const hydraProgram: Program = {
  ...overridingProgram(
    nemo,
    (launch) => (launch.script !== undefined && (has(launch, 'config_name') || has(launch, 'cn')) ? 0.6 : 0),
    hydraConfig,
  ),
  joinsOnly: true,
};
