import { isAtLeast } from '../terms/version';
import { say } from '../wording/say';
import type { ReadContext } from './dialect';
import type { Section } from './section';

/** Classes of transformers that frameworks hand to ZeRO 3 as leaves (`set_z3_leaf_modules`), by type of the model. */
const CLASSES: Readonly<Record<string, string>> = {
  afmoe: 'AfmoeMoE',
  dbrx: 'DbrxFFN',
  deepseek_v2: 'DeepseekV2MoE',
  deepseek_v3: 'DeepseekV3MoE',
  ernie4_5_moe: 'Ernie4_5_MoeSparseMoeBlock',
  flex_olmo: 'FlexOlmoSparseMoeBlock',
  gemma4: 'Gemma4TextExperts',
  glm4_moe: 'Glm4MoeMoE',
  glm4_moe_lite: 'Glm4MoeLiteMoE',
  glm4v_moe: 'Glm4vMoeTextMoE',
  glm_moe_dsa: 'GlmMoeDsaMoE',
  gpt_oss: 'GptOssMLP',
  granitemoe: 'GraniteMoeMoE',
  hy_v3: 'HYV3MoE',
  jamba: 'JambaSparseMoeBlock',
  jetmoe: 'JetMoeMoA JetMoeMoE',
  kimi_vl: 'DeepseekV3MoE',
  lfm2_moe: 'Lfm2MoeSparseMoeBlock',
  llama4: 'Llama4TextMoe',
  minimax: 'MiniMaxSparseMoeBlock',
  minimax_m2: 'MiniMaxM2SparseMoeBlock',
  mistral4: 'Mistral4MoE',
  mixtral: 'MixtralSparseMoeBlock',
  nemotron_h: 'NemotronHMoE',
  olmoe: 'OlmoeSparseMoeBlock',
  phimoe: 'PhimoeSparseMoeBlock',
  qwen2_moe: 'Qwen2MoeSparseMoeBlock',
  qwen3_5_moe: 'Qwen3_5MoeSparseMoeBlock',
  qwen3_moe: 'Qwen3MoeSparseMoeBlock',
  qwen3_next: 'Qwen3NextSparseMoeBlock',
  qwen3_omni_moe: 'Qwen3OmniMoeThinkerTextSparseMoeBlock',
  qwen3_vl_moe: 'Qwen3VLMoeTextSparseMoeBlock',
};

/** What a framework hands to ZeRO 3. */
export interface LeafPolicy {
  readonly name: string;
  /** Its package. */
  readonly of: string;
  /** Types of models, between commas, by the release that named them first. */
  readonly types: Readonly<Record<string, string>>;
  /** Where it takes whole layers of them. */
  readonly layers?: RegExp;
  /** The type that it looks at, where that is not the one of the whole model. */
  readonly typeOf?: (config: Readonly<Record<string, unknown>>, release: string | undefined) => unknown;
  readonly source: string;
}

/** Types whose class has a name with this in it. */
export const typesOfClasses = (part: string): string =>
  Object.keys(CLASSES)
    .filter((type) => CLASSES[type]?.includes(part))
    .join();

/** What of a mixture of experts ZeRO 3 gathers whole, as a framework has it by the type of the model. */
export function assumeLeaves(
  section: Section,
  { versions, model, known }: ReadContext,
  { name, of, types, layers, typeOf, source }: LeafPolicy,
  isZero = section.has('deepspeed') || known['parallel.data'] === 'zero',
): void {
  const config = model?.config;
  if (config === undefined || !isZero) return;
  const release = versions?.[of]?.version;
  const type = String(typeOf?.(config, release) ?? config.model_type);
  const since = Object.keys(types).find((one) => types[one]?.split(',').includes(type));
  const classes = CLASSES[type];
  if (since === undefined || classes === undefined || isAtLeast(release, since) === false) return;
  section.assume('zero.leafModules', {
    value: layers?.test(type) ? [classes.replace(/M(?:oE|LP)$/, 'DecoderLayer')] : classes.split(' '),
    note: say('{0} has ZeRO 3 gather experts whole', name),
    source,
  });
}
