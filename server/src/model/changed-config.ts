import { classDefaults } from './config';
import type { ModelConfig } from './model';

/** Names that transformers takes for those of a config (`attribute_map` of GPT-2, GPT-J, BLOOM, MPT, DistilBERT and their kin). */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  hidden_size: ['n_embd', 'd_model', 'dim'],
  num_hidden_layers: ['n_layer', 'n_layers', 'num_layers'],
  num_attention_heads: ['n_head', 'n_heads', 'num_heads'],
  max_position_embeddings: ['n_positions'],
  intermediate_size: ['n_inner', 'ffn_dim', 'hidden_dim'],
};

/** How many layers a config has, by any of its names. */
const layersOf = (config: Readonly<Record<string, unknown>>): unknown =>
  ['num_hidden_layers', ...(OTHER_NAMES.num_hidden_layers ?? [])]
    .map((name) => config[name])
    .find((count) => count !== undefined);

/**
 * A model's config with other values of some fields, as `AutoConfig.from_pretrained(name, **changes)` makes it (`configuration_utils.py`,
 * `from_dict`), with what it leaves to its class; lists of an entry for each layer end where the layers do. Of a config that holds that of its text inside, the text's
 * fields are left alone. `missing`: a field that the config does not have, or a list that is too short.
 */
export function changedConfig(
  config: ModelConfig,
  changes: Readonly<Record<string, unknown>>,
): { readonly config: ModelConfig } | { readonly missing: string } {
  const whole: ModelConfig = { ...classDefaults(config.model_type), ...config };
  const changed: Record<string, unknown> = { ...whole };
  for (const [name, value] of Object.entries(changes)) {
    const own = [name, ...(OTHER_NAMES[name] ?? [])].find((one) => Object.hasOwn(whole, one));
    if (own === undefined) return { missing: name };
    changed[own] = value;
  }
  const [before, after] = [layersOf(whole), layersOf(changed)];
  if (typeof before !== 'number' || typeof after !== 'number' || before === after)
    return { config: changed as ModelConfig };
  for (const [name, value] of Object.entries(changed)) {
    if (!Array.isArray(value) || value.length !== before) continue;
    if (after > before) return { missing: name };
    changed[name] = value.slice(0, after);
  }
  return { config: changed as ModelConfig };
}
