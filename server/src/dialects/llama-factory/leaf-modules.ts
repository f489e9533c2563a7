import { languageConfig } from '../../model/routed-experts';
import { fileIn, LLAMA_FACTORY } from '../../sources/repositories';
import type { LeafPolicy } from '../leaf-classes';

/** The one type of a language model beside towers that is looked at, too (InternVL 3.5). */
const TEXT = 'qwen3_moe';

/** `add_z3_leaf_module`, read in 0.8.0 to 0.9.5. */
export const FACTORY_LEAVES: LeafPolicy = {
  name: 'LLaMA-Factory',
  of: 'llamafactory',
  types: {
    '0.8.0': 'dbrx,jamba,jetmoe,mixtral,qwen2_moe',
    '0.9.3': 'deepseek_v2,deepseek_v3,kimi_vl,granitemoe,llama4,olmoe,phimoe,qwen3_moe',
    '0.9.4': 'ernie4_5_moe,glm4_moe,glm4v_moe,gpt_oss,qwen3_vl_moe,qwen3_omni_moe',
    '0.9.5': 'hy_v3,glm4_moe_lite,qwen3_next,qwen3_5_moe',
  },
  typeOf: (config) => (languageConfig(config).model_type === TEXT ? TEXT : undefined),
  source: fileIn(LLAMA_FACTORY, 'src/llamafactory/model/model_utils/moe.py'),
};
