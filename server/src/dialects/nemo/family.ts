import type { Family } from '../family';
import { nemoAutomodel } from './automodel';
import { automodelProgram } from './automodel-program';
import { megatronBridge } from './megatron-bridge';
import { megatronBridgeProgram } from './megatron-bridge-program';
import { nemo } from './nemo';
import { nemoLauncherProgram } from './nemo-launcher-program';
import { hydraProgram, nemoProgram } from './nemo-program';
import { nemoRl } from './nemo-rl';
import { nemoRlProgram } from './nemo-rl-program';
import { NEMO_RULES } from './nemo-rule-table';

/** NeMo, NeMo-RL, Automodel and Megatron-Bridge. */
export const nemoFamily: Family = {
  dialects: [nemo, nemoRl, nemoAutomodel, megatronBridge],
  programs: [
    nemoRlProgram,
    automodelProgram,
    megatronBridgeProgram,
    nemoLauncherProgram,
    nemoProgram,
    hydraProgram,
  ],
  launches:
    /\bautomodel\b|\brun_(?:grpo|sft|dpo|rm|distillation|ppo)\w*\.py\b|\bmodel\.micro_batch_size=|\b(?:training|fine_tuning|peft)=\w+\/\w/,
  rules: { title: 'NeMo, NeMo-RL and Automodel', table: NEMO_RULES },
};
