import { hasBelow, hydraConfig, overridingProgram } from '../launch/overriding-program';
import { verl } from './verl';

/** `python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo ...`, `verl.trainer.sft_trainer`, and scripts of recipes over them. */
export const verlProgram = overridingProgram(
  verl,
  (launch) => {
    const script = launch.script ?? '';
    if (/^verl\.trainer\.(main_ppo|(fsdp_)?sft_trainer)\w*$/.test(script)) return 1;
    return hasBelow(launch, 'actor_rollout_ref') ? 0.95 : 0;
  },
  hydraConfig,
  // Ray's workers are as many as the trainer is given, whatever this process sees.
  (launch) => !/sft_trainer/.test(launch.script ?? ''),
);
