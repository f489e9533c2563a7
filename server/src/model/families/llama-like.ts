import { say } from '../../wording/say';
import { ConfigError, ConfigReader, type JsonObject } from '../config';
import type { ModelConfig } from '../model';
import type { Architecture } from './family';
import { llamaLike } from './llama';

/** Fields that the reading needs. */
const NEEDED = [
  'hidden_size',
  'num_hidden_layers',
  'num_attention_heads',
  'intermediate_size',
  'vocab_size',
] as const;

/** Fields that the reading takes beside them. */
const READ: readonly string[] = [
  ...NEEDED,
  'num_key_value_heads',
  'head_dim',
  'hidden_act',
  'tie_word_embeddings',
  'max_position_embeddings',
  'attention_bias',
  'qkv_bias',
  'mlp_bias',
  'attention_dropout',
  'sliding_window',
  'layer_types',
  'partial_rotary_factor',
];

/** Fields that shape no weight and no tensor: identity, tokens, numerics, rotary tables, generation. */
const SHAPELESS: readonly string[] = [
  'model_type',
  'architectures',
  'auto_map',
  'name_or_path',
  'transformers_version',
  'tokenizer_class',
  'torch_dtype',
  'dtype',
  'bos_token_id',
  'eos_token_id',
  'pad_token_id',
  'sep_token_id',
  'unk_token_id',
  'decoder_start_token_id',
  'rope_theta',
  'rope_scaling',
  'rope_parameters',
  'rope_local_base_freq',
  'original_max_position_embeddings',
  'rms_norm_eps',
  'norm_eps',
  'initializer_range',
  'pretraining_tp',
  'use_cache',
  'use_return_dict',
  'return_dict',
  'output_attentions',
  'output_hidden_states',
  'torchscript',
  'problem_type',
  'id2label',
  'label2id',
  'num_labels',
  'finetuning_task',
  'task_specific_params',
  'quantization_config',
  'max_window_layers',
  'chunk_size_feed_forward',
  // What transformers 4 wrote of generation into the config of a model.
  'max_length',
  'min_length',
  'num_beams',
  'num_beam_groups',
  'num_return_sequences',
  'temperature',
  'top_k',
  'top_p',
  'typical_p',
  'repetition_penalty',
  'length_penalty',
  'diversity_penalty',
  'encoder_no_repeat_ngram_size',
  'no_repeat_ngram_size',
];

const HARMLESS: ReadonlySet<string> = new Set([...READ, ...SHAPELESS]);

/** Switches whose `false` is what adds something. */
const NEGATED = /^(no|not|without|disable|skip|remove|omit)_|_(off|free|only)$/;

/** A value that states that the model lacks what the field names. */
function isAbsent(name: string, value: unknown): boolean {
  if (value === null || value === undefined || value === 0) return true;
  if (value === false) return !NEGATED.test(name);
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The first field that a Llama-like model would not have, or that states something else of it. */
function foreignField(config: JsonObject): string | undefined {
  const unread = Object.keys(config).find((name) => {
    return !name.startsWith('_') && !HARMLESS.has(name) && !isAbsent(name, config[name]);
  });
  if (unread !== undefined) return unread;
  const { hidden_act: activation, layer_types: types } = config;
  // Gates are the rule with SiLU alone: GELU, ReLU and their like stand in plain MLPs as often.
  if (activation !== undefined && activation !== 'silu' && activation !== 'swish') return 'hidden_act';
  const attention = (kind: unknown) => kind === 'full_attention' || kind === 'sliding_attention';
  return Array.isArray(types) && !types.every(attention) ? 'layer_types' : undefined;
}

/** Every `model_type` of transformers. */
export function ofTransformers(modelType: string): boolean {
  const file = require('../../../data/model-types.json') as { readonly types: readonly string[] };
  return file.types.includes(modelType);
}

/**
 * A type without a builder. One that transformers has is refused: what its code does is known not to be here. Any other
 * is taken for a Llama, and states it, where each of its fields is one that this reading takes or one that shapes nothing.
 */
export function buildUnknown(config: ModelConfig): Architecture {
  const type = config.model_type;
  if (ofTransformers(type)) {
    throw new ConfigError(say('model_type "{0}" of transformers is not supported', type));
  }
  const foreign = foreignField(config);
  const missing = NEEDED.find((field) => typeof config[field] !== 'number');
  if (missing !== undefined || foreign !== undefined) {
    const why =
      foreign !== undefined
        ? say('its field "{0}" is not one of a Llama-like model', foreign)
        : say('it has no "{0}"', String(missing));
    throw new ConfigError(say('model_type "{0}" is not known, and {1}', type, why));
  }
  return llamaLike(new ConfigReader(config, type));
}
