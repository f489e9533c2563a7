import { ConfigReader, isObject } from './config';
import type { Model } from './model';
import type { PromptSizes } from './trace-settings';

/**
 * Sizes of virtual tokens as PEFT takes them from a config (0.21.2, `peft/utils/other.py`, `_prepare_prompt_learning_config`): those of the
 * text model, and of a model with a decoder those of its encoder. Where layers differ, prefixes are as wide as the widest. Elements.
 */
export function promptSizes(model: Model): PromptSizes {
  const whole = new ConfigReader(model.config, model.modelType);
  const nests = isObject(model.config.text_config);
  const config = whole.textModel(nests ? `${model.modelType}_text` : model.modelType);
  const width = model.hiddenSize;
  const layers = config.sizeOr(model.layers, 'num_hidden_layers', 'num_layers', 'n_layer', 'encoder_layers');
  if (model.attentionHeads === 0) return { width, layers, keyWidth: 0 };
  const head = config.sizeOr(width / model.attentionHeads, 'head_dim');
  // GPTBigCode's class states one head of keys where its config asks for one.
  if (model.modelType === 'gpt_bigcode') return { width, layers, keyWidth: model.keyValueHeads * head };
  if (!config.has('num_key_value_heads')) return { width, layers, keyWidth: width };
  return { width, layers, keyWidth: widestKeys(config, config.size('num_key_value_heads'), head) };
}

/** Elements of keys on the layers that see everything where these are wider (Gemma 4, `configuration_gemma4.py`), else of so many heads. */
function widestKeys(config: ConfigReader, heads: number, head: number): number {
  if (!config.modelType.startsWith('gemma4')) return heads * head;
  const entries = config.stated('per_layer_config');
  const layers = isObject(entries) ? Object.values(entries).filter(isObject) : [];
  const widths = layers.map((layer) => {
    const own = new ConfigReader(layer, '');
    return { head: own.sizeOr(head, 'head_dim'), heads: own.sizeOr(heads, 'num_key_value_heads') };
  });
  const shares = config.flag(false, 'attention_k_eq_v');
  const fixed = {
    head: config.sizeOr(512, 'global_head_dim'),
    heads: shares ? config.sizeOr(heads, 'num_global_key_value_heads') : heads,
  };
  const kinds = isObject(entries) ? widths : [fixed];
  const widest = kinds.reduce((most, one) => (one.head > most.head ? one : most), { head, heads });
  return widest.head * widest.heads;
}
