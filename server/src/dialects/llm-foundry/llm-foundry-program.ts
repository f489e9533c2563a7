import { configFile, overridingProgram } from '../launch/overriding-program';
import { llmFoundry } from './llm-foundry';

/** `composer scripts/train/train.py x.yaml max_seq_len=4096`, `llmfoundry train x.yaml`. */
export const foundryProgram = overridingProgram(
  llmFoundry,
  (launch) => {
    if (launch.program[0] === 'composer' && /(^|\/)train\w*\.py$/.test(launch.script ?? '')) return 0.8;
    return launch.program[0] === 'llmfoundry' && launch.program[1] === 'train' ? 0.9 : 0;
  },
  configFile,
);
