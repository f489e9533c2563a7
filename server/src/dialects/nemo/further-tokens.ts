import { entryOf, nodeAt } from '../../config/lookup';
import type { ConfigNode } from '../../config/node';
import { flagOf, integerOf } from '../../config/scalar';
import type { ReadContext } from '../dialect';
import type { Section } from '../section';

type Config = Readonly<Record<string, unknown>>;

/** Fields of a published config that state how many such layers there are. */
const LAYERS = ['num_nextn_predict_layers', 'mtp_num_hidden_layers'] as const;

/** What the published config states, of the language model where it has several parts. */
function published(config: Config, keys: readonly string[] = LAYERS): number | undefined {
  const text = config.text_config;
  const nested = typeof text === 'object' && text !== null ? (text as Config) : {};
  return keys.map((key) => config[key] ?? nested[key]).find((count) => typeof count === 'number');
}

/** How Megatron-Bridge 0.6.0 takes the layers that predict further tokens, where the config is not all that decides. */
const BRIDGED = {
  /** All of their kind are published with them, whatever is stated of their sizes here. */
  all: /^(?:glm4_moe|glm4_moe_lite|mimo|mimo_v2_flash)$/,
  /** Their bridges drop them (`ernie_45_bridge.py`, `glm5_bridge.py`, `glm_45v_bridge.py`). */
  none: /^(?:ernie4_5_moe|glm_moe_dsa|glm4v_moe)$/,
  /** Their recipes make them, of which the published config has no word (`recipes/qwen/h100/qwen3_next.py`). */
  recipes: /^qwen3_next$/,
};

/**
 * Layers that predict further tokens, which Megatron-Bridge trains of a model of the Hub or of a recipe where nothing turns them off
 * (`models/conversion/model_bridge.py`, `CONFIG_MAPPING`): a whole layer of the decoder and the scores of every token once more, of which
 * the model that is read has none.
 */
export function bringBridgedPrediction(
  section: Section,
  args: Section,
  model: ReadContext['model'],
  hub: readonly string[],
): void {
  const config = model?.config;
  // What the file states itself is read with Megatron's other arguments; a key that is there and blank turns them off.
  if (!config || entryOf(args.root, 'mtp_num_layers') !== undefined) return;
  const named = section.find(hub);
  const at = named ?? section.find(['model', 'train']);
  const type = String(config.model_type);
  const stated = published(config);
  const has = stated === undefined ? BRIDGED.all.test(type) : stated > 0;
  const made = named === undefined && BRIDGED.recipes.test(type);
  if (at && !BRIDGED.none.test(type) && (has || made)) section.bring('multi-token-prediction', at);
}

/**
 * Models that Automodel has classes of its own for, with these layers (v0.5.0, `components/models/*\/model.py`, `mtp_config.enabled`).
 * transformers' classes, which the others are, drop them.
 */
const OWN_CLASSES = /^(?:deepseek_v4|nemotron_h|step3p5|step3p7)$/;

/**
 * The same of NeMo Automodel, whose files may state how many there are. A null is written over what the model's config has and counts for none
 * (v0.5.0, `_transformers/model_init.py`, `get_hf_config`; `components/models/*\/mtp.py`, `int(... or 0)`).
 */
export function bringAutomodelPrediction(section: Section, model: ReadContext['model']): void {
  const places = ['model', 'model.config', 'model.text_config', 'model.config.text_config'];
  const isNull = (node: ConfigNode | undefined) => node?.kind === 'scalar' && node.value === null;
  const left = LAYERS.filter(
    (key) => !places.some((place) => isNull(nodeAt(section.root, `${place}.${key}`))),
  );
  const found = section.find(places.flatMap((place) => LAYERS.map((key) => `${place}.${key}`)));
  const count = integerOf(found?.node);
  if (found && count !== undefined) {
    if (count > 0) section.bring('multi-token-prediction', found);
    return;
  }
  const config = model?.config;
  const forced = flagOf(section.find('model.force_hf')?.node) === true;
  if (!config || forced || !OWN_CLASSES.test(String(config.model_type))) return;
  const at = section.find(['model.pretrained_model_name_or_path', 'model']);
  if (at && (published(config, left) ?? 0) > 0) section.bring('multi-token-prediction', at);
}
