import { configFile, hasBelow, overridingProgram } from '../launch/overriding-program';
import { nemoRl } from './nemo-rl';

/** `uv run examples/run_grpo.py --config x.yaml policy.model_name=...` */
export const nemoRlProgram = overridingProgram(
  nemoRl,
  (launch) => {
    const own = /(^|\/)run_(grpo|sft|dpo|rm|distillation|ppo)\w*\.py$/.test(launch.script ?? '');
    return own && (hasBelow(launch, 'policy') || configFile(launch)) ? 0.95 : 0;
  },
  configFile,
);
