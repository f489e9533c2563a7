import { configFile, hasBelow, overridingProgram } from '../launch/overriding-program';
import { nemoAutomodel } from './automodel';

/** `automodel finetune llm -c x.yaml`, and its recipes under a launcher. */
export const automodelProgram = overridingProgram(
  nemoAutomodel,
  (launch) => {
    if (launch.program[0] === 'automodel') return configFile(launch) ? 1 : 0;
    const recipe = /(^|\/)(train_ft|finetune|pretrain|kd|train_seq_cls)\.py$/.test(launch.script ?? '');
    return recipe && (hasBelow(launch, 'step_scheduler') || /nemo_automodel/.test(launch.script ?? ''))
      ? 0.9
      : 0;
  },
  configFile,
);
