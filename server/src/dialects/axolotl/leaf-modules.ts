import { languageConfig } from '../../model/routed-experts';
import { AXOLOTL, fileIn } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import type { LeafPolicy } from '../leaf-classes';

/** `MOE_ARCH_BLOCK`, read in 0.5.0 to 0.19.0; since 0.16 by the type of the language model inside (`loaders/model.py`). */
export const AXOLOTL_LEAVES: LeafPolicy = {
  name: 'Axolotl',
  of: 'axolotl',
  types: {
    '0.5.0': 'dbrx,jamba,jetmoe,mixtral,qwen2_moe,deepseek_v2',
    '0.9.1': 'qwen3_moe',
    '0.12.0': 'gpt_oss',
    '0.13.0': 'qwen3_vl_moe,deepseek_v3,lfm2_moe',
    '0.13.1': 'afmoe',
    '0.15.0': 'qwen3_5_moe,glm4_moe,glm4_moe_lite,glm_moe_dsa',
    '0.16.0': 'mistral4,nemotron_h',
    '0.18.0': 'minimax_m2',
  },
  layers: /^gl|^gpt/,
  typeOf: (config, release) =>
    isAtLeast(release, '0.16') === false ? undefined : languageConfig(config).model_type,
  source: fileIn(AXOLOTL, 'src/axolotl/common/architectures.py'),
};
