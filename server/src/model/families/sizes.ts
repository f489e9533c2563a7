import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import type { Figures } from './family';

/** Sizes that nearly every transformer has, under their current and older names. */
export interface Sizes {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  readonly inner: number;
  readonly vocabulary: number;
  readonly activation: string;
  readonly tied: boolean;
  readonly maxPositions?: number;
  readonly attentionDropout: number;
}

const HIDDEN = ['hidden_size', 'n_embd', 'd_model', 'dim', 'n_embed'];
const LAYERS = ['num_hidden_layers', 'n_layer', 'num_layers', 'n_layers'];
const HEADS = ['num_attention_heads', 'n_head', 'num_heads', 'n_heads'];
const POSITIONS = [
  'max_position_embeddings',
  'n_positions',
  'n_ctx',
  'max_seq_len',
  'seq_length',
  'model_max_length',
];

/** `layers`: where the config counts them otherwise than by a number. */
export function readSizes(config: ConfigReader, layers?: number): Sizes {
  const hidden = config.size(...HIDDEN);
  const heads = config.size(...HEADS);
  const positions = config.count(0, ...POSITIONS);
  checkHeads(config, hidden, heads);
  return {
    hidden,
    layers: layers ?? config.size(...LAYERS),
    heads,
    keyValueHeads: config.sizeOr(heads, 'num_key_value_heads', 'num_kv_heads'),
    headDim: config.sizeOr(Math.floor(hidden / heads), 'head_dim', 'kv_channels'),
    inner: config.sizeOr(4 * hidden, 'intermediate_size', 'n_inner', 'ffn_dim', 'ffn_hidden_size', 'd_ff'),
    vocabulary: config.size('vocab_size', 'padded_vocab_size'),
    activation: config.text('silu', 'hidden_act', 'hidden_activation', 'activation_function', 'activation'),
    tied: config.flag(false, 'tie_word_embeddings'),
    maxPositions: positions > 0 ? positions : undefined,
    attentionDropout: config.dropout('attention_dropout', 'attn_pdrop', 'attention_probs_dropout_prob'),
  };
}

/**
 * Model types whose heads are the width, evenly divided: their classes stop otherwise (transformers 5.23, the configuration
 * or the attention of each; MPT by llm-foundry, `configuration_mpt.py`).
 */
const EVEN: ReadonlySet<string> = new Set(
  'llama bert roberta xlm-roberta xlm-roberta-xl camembert electra roformer gpt2 gptj gpt_neo gpt_neox gpt_bigcode codegen bloom opt falcon stablelm persimmon biogpt xglm bart mbart plbart pegasus marian blenderbot blenderbot-small megatron-bert modernbert mpt'.split(
    ' ',
  ),
);

/** Throws a `ConfigError` where heads of such sizes cannot be: they would have no width, or queries no keys to go with. */
function checkHeads(config: ConfigReader, hidden: number, heads: number): void {
  // Latent attention gives its heads widths of their own.
  if (config.has('kv_lora_rank')) return;
  const stated = config.has('head_dim', 'kv_channels');
  const uneven = hidden % heads !== 0 && EVEN.has(config.modelType);
  if (!stated && (heads > hidden || uneven)) {
    throw new ConfigError(
      say('a hidden size of {0} cannot be divided among {1} attention heads', String(hidden), String(heads)),
    );
  }
  const keyValueHeads = config.sizeOr(heads, 'num_key_value_heads', 'num_kv_heads');
  if (heads % keyValueHeads !== 0) {
    throw new ConfigError(
      say(
        '{0} attention heads cannot share {1} key and value heads evenly',
        String(heads),
        String(keyValueHeads),
      ),
    );
  }
}

/** What people see of the sizes: widths in elements, positions in tokens. */
export function figuresOf(sizes: Sizes): Figures {
  return {
    hiddenSize: sizes.hidden,
    layers: sizes.layers,
    attentionHeads: sizes.heads,
    keyValueHeads: sizes.keyValueHeads,
    vocabulary: sizes.vocabulary,
    maxPositions: sizes.maxPositions,
  };
}

/**
 * Which layers see a sliding window only: as `layer_types` states, else all but every `period`-th (`period` 1: none;
 * 0: all).
 */
export function slidingLayers(config: ConfigReader, layers: number, period: number): boolean[] {
  const types = config.list('layer_types');
  return Array.from({ length: layers }, (_, i) => {
    const type = types?.[i];
    if (typeof type === 'string') return type === 'sliding_attention' || type === 'chunked_attention';
    return period === 0 || (i + 1) % period !== 0;
  });
}

/**
 * One function per kind of layer, so that layers of a kind are the same object and are traced once.
 */
export function layersOfKinds<K extends string, L>(kinds: readonly K[], make: (kind: K) => L): L[] {
  const made = new Map<K, L>();
  return kinds.map((kind) => {
    const layer = made.get(kind) ?? make(kind);
    made.set(kind, layer);
    return layer;
  });
}
