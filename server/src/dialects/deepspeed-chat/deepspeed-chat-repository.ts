import type { Repository } from '../../sources/repositories';

export const DEEPSPEED_EXAMPLES: Repository = {
  name: 'deepspeedai/DeepSpeedExamples',
  at: '45b4b7156c8794a3452a5a7d03dbd8d797068569',
};
