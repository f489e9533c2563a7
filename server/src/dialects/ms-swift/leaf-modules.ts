import { fileIn, MS_SWIFT } from '../../sources/repositories';
import type { LeafPolicy } from '../leaf-classes';

/** `_deepspeed_set_z3_leaf_modules`, read in 3.9.0 to 4.6.0. */
export const SWIFT_LEAVES: LeafPolicy = {
  name: 'ms-swift',
  of: 'ms-swift',
  types: {
    '3.9.0': 'qwen3_vl_moe,qwen3_omni_moe,qwen2_moe,qwen3_moe,glm4_moe,glm4v_moe,gpt_oss,llama4,qwen3_next',
    '4.0.0': 'glm4_moe_lite,olmoe,qwen3_5_moe,glm_moe_dsa',
    '4.1.1': 'gemma4',
  },
  source: fileIn(MS_SWIFT, 'swift/model/register.py'),
};
