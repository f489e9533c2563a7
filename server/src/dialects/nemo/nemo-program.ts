import { has, hasBelow, hydraConfig, overridingProgram } from '../launch/overriding-program';
import { nemo } from './nemo';

/** NeMo's training scripts; the names of what they do otherwise (`megatron_gpt_eval.py`) are not among them. */
const NEMO_SCRIPT =
  /(^|\/)megatron_\w*(pretrain|train|finetun|tuning|_sft|_peft|_dpo|_reward|_ppo|_kto|_rpo)\w*\.py$/;

export const nemoProgram = overridingProgram(
  nemo,
  (launch) => {
    if (NEMO_SCRIPT.test(launch.script ?? '')) {
      return hasBelow(launch, 'model') || hasBelow(launch, 'trainer') || has(launch, 'config_name') ? 1 : 0;
    }
    if (hasBelow(launch, 'trainer') && hasBelow(launch, 'model')) return 0.7;
    // Any script under Hydra: what it trains shows in its config.
    return launch.script !== undefined && (has(launch, 'config_name') || has(launch, 'cn')) ? 0.6 : 0;
  },
  hydraConfig,
);
