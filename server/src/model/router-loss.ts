import { languageConfig, routedExperts } from './routed-experts';

type Config = Readonly<Record<string, unknown>>;

/**
 * Types whose class of transformers takes the balance of its experts into the loss (`load_balancing_loss_func` of their `modeling_*.py`,
 * transformers 5.24). Configs of others may ask for router logits as well (DeepSeek, GLM, Llama 4): nothing is made of them.
 */
const BALANCED: ReadonlySet<string> = new Set(
  `dbrx deepseek_v4 doge ernie4_5_moe ernie4_5_vl_moe flex_olmo flint glm4v_moe glm5_next gpt_oss granitemoe granitemoe_swa granitemoehybrid
  granitemoeshared jamba jetmoe laguna lara_mini mellum minimax minimax_m2 minimax_m3_vl mixtral olmoe phimoe qwen2_moe qwen3_5_moe qwen3_moe
  qwen3_next qwen3_omni_moe qwen3_vl_moe qwen4_exp`.split(/\s+/),
);

/** The type of the language model by its config, without what names the part of a larger one. */
function typeOf(config: Config): string {
  const own = languageConfig(config).model_type ?? config.model_type;
  return String(own ?? '').replace(/_text$/, '');
}

/** Whether the class that a config is of balances its experts by the router logits, once it returns them. */
export const takesRouterLoss = (config: Config | undefined): config is Config =>
  config !== undefined && routedExperts(config) > 0 && BALANCED.has(typeOf(config));

/** What the config itself weighs that loss with; each of those classes has a weight above zero where it states none. */
export const weighsRouterLoss = (config: Config): boolean =>
  languageConfig(config).router_aux_loss_coef !== 0;

/** Whether the config itself asks for the router logits. */
export const asksForRouterLogits = (config: Config): boolean =>
  [config, languageConfig(config)].some(({ output_router_logits: asked }) => asked === true);
