import { languageConfig } from '../../model/routed-experts';
import { fileIn, LLAMA_FACTORY } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Section } from '../section';

const SOURCE = fileIn(LLAMA_FACTORY, 'src/llamafactory/model/model_utils/moe.py');

/** Classes that ZeRO 3 is given as leaves, by type of the model, with the release since which (`add_z3_leaf_module`; read in 0.8.0 to 0.9.5). */
const LEAVES: Readonly<Record<string, readonly [since: string, ...classes: string[]]>> = {
  dbrx: ['0.8.0', 'DbrxFFN'],
  jamba: ['0.8.0', 'JambaSparseMoeBlock'],
  jetmoe: ['0.8.0', 'JetMoeMoA', 'JetMoeMoE'],
  mixtral: ['0.8.0', 'MixtralSparseMoeBlock'],
  qwen2_moe: ['0.8.0', 'Qwen2MoeSparseMoeBlock'],
  deepseek_v2: ['0.9.3', 'DeepseekV2MoE'],
  deepseek_v3: ['0.9.3', 'DeepseekV3MoE'],
  kimi_vl: ['0.9.3', 'DeepseekV3MoE'],
  granitemoe: ['0.9.3', 'GraniteMoeMoE'],
  llama4: ['0.9.3', 'Llama4TextMoe'],
  olmoe: ['0.9.3', 'OlmoeSparseMoeBlock'],
  phimoe: ['0.9.3', 'PhimoeSparseMoeBlock'],
  qwen3_moe: ['0.9.3', 'Qwen3MoeSparseMoeBlock'],
  ernie4_5_moe: ['0.9.4', 'Ernie4_5_MoeSparseMoeBlock'],
  glm4_moe: ['0.9.4', 'Glm4MoeMoE'],
  glm4v_moe: ['0.9.4', 'Glm4vMoeTextMoE'],
  gpt_oss: ['0.9.4', 'GptOssMLP'],
  qwen3_vl_moe: ['0.9.4', 'Qwen3VLMoeTextSparseMoeBlock'],
  qwen3_omni_moe: ['0.9.4', 'Qwen3OmniMoeThinkerTextSparseMoeBlock'],
  hy_v3: ['0.9.5', 'HYV3MoE'],
  glm4_moe_lite: ['0.9.5', 'Glm4MoeLiteMoE'],
  qwen3_next: ['0.9.5', 'Qwen3NextSparseMoeBlock'],
  qwen3_5_moe: ['0.9.5', 'Qwen3_5MoeSparseMoeBlock'],
};
/** The one type of a language model beside towers that is looked at, too (InternVL 3.5). */
const TEXT = 'qwen3_moe';

/** What of a mixture of experts ZeRO 3 gathers whole, as LLaMA-Factory has it by the type of the model. */
export function readFactoryLeaves(section: Section, { versions, model }: ReadContext): void {
  const config = model?.config;
  if (config === undefined) return;
  const own = LEAVES[String(config.model_type)];
  const [since, ...classes] = own ?? (languageConfig(config).model_type === TEXT ? LEAVES[TEXT] : []) ?? [];
  if (since === undefined || isAtLeast(versions?.llamafactory?.version, since) === false) return;
  section.assume('zero.leafModules', {
    value: classes,
    note: say('LLaMA-Factory has ZeRO 3 gather experts whole'),
    source: SOURCE,
  });
}
