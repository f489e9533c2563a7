/** Sizes of a factory: width, layers, heads, heads of keys and values (0: as many), factor of the MLP, what its width is a multiple of. */
type Sizes = readonly [
  d: number,
  layers: number,
  heads: number,
  keys?: number,
  factor?: number,
  multiple?: number,
];

/** `TransformerConfig.olmo2_*`; `olmo3_*` are the same with windows (`nn/transformer/config.py`). */
const OLMO: Readonly<Record<string, Sizes>> = {
  '1M': [12, 4, 4, 0, 1],
  '14M': [128, 4, 8],
  '30M': [256, 4, 8],
  '60M': [384, 8, 8, 0, 1.5],
  '100M': [512, 12, 8, 0, 1.5],
  '190M': [768, 12, 12, 0, 1.5],
  '370M': [1024, 16, 16, 0, 1.5],
  '600M': [1344, 16, 16, 0, 1.5],
  '760M': [1536, 16, 16, 0, 1.5],
  '1B': [2048, 18, 16, 0, 1.5],
  '1B_v2': [2048, 16, 16, 0, 1.5],
  '3B': [3328, 16, 16, 0, 1.5],
  '7B': [4096, 32, 32],
  '13B': [5120, 40, 40],
  '32B': [5120, 64, 40, 8, 27648 / ((8 * 5120) / 3), 512],
};
const LLAMA: Readonly<Record<string, Sizes>> = {
  llama2_271M: [1024, 16, 8],
  llama2_1B: [2048, 18, 16],
  llama2_7B: [4096, 32, 32],
  llama2_13B: [5120, 40, 40],
  llama2_26B: [5120, 80, 40],
  llama2_70B: [8192, 80, 64, 8, 1.3, 4096],
  llama3_1B: [2048, 16, 32, 8, 1.5],
  llama3_8B: [4096, 32, 32, 8, 1.3, 1024],
  llama3_70B: [8196, 80, 64, 8, 1.3, 4096],
  llama3_405B: [16_384, 126, 128, 8, 1.2, 4096],
};
/** The same with the width of the MLP in the place of its factor. */
const QWEN: Readonly<Record<string, Sizes>> = {
  qwen3_0_6B: [1024, 28, 16, 8, 3072],
  qwen3_1_7B: [2048, 28, 16, 8, 6144],
  qwen3_4B: [2560, 36, 32, 8, 9728],
  qwen3_8B: [4096, 36, 32, 8, 12_288],
  qwen3_14B: [5120, 48, 40, 8, 17_408],
  qwen3_32B: [5120, 64, 40, 8, 25_600],
};
const GEMMA: Readonly<Record<string, Sizes>> = {
  gemma3_1B: [2304, 26, 8, 4, 9216],
  gemma3_4B: [2560, 34, 16, 4, 10_240],
  gemma3_12B: [3840, 48, 24, 8, 15_360],
  gemma3_27B: [5376, 62, 32, 16, 21_504],
};
/** Windows of `olmo3_*`, over and over. */
const OLMO_WINDOWS = [4096, 4096, 4096, -1];
const GEMMA_WINDOWS = [...Array.from({ length: 5 }, () => 1024), -1];

/** What a factory passes to `llama_like`, by the names of its arguments; `hidden_size` where it has the width of the MLP itself. */
export type CoreArguments = Readonly<Record<string, unknown>>;

const REORDERED = { block_name: 'reordered_norm', qk_norm: true };

function sized(
  [d_model, n_layers, n_heads, keys = 0, factor, multiple]: Sizes,
  isWidth = false,
): CoreArguments {
  return {
    d_model,
    n_layers,
    n_heads,
    ...(keys > 0 ? { n_kv_heads: keys } : {}),
    ...(factor === undefined ? {} : isWidth ? { hidden_size: factor } : { hidden_size_multiplier: factor }),
    ...(multiple === undefined ? {} : { hidden_size_multiple_of: multiple }),
  };
}

const own = <V>(table: Readonly<Record<string, V>>, key: string): V | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** What a factory of `TransformerConfig` builds; undefined of one whose model is not played. */
export function coreFactory(name: string): CoreArguments | undefined {
  if (name === 'llama_like') return {};
  const [, generation, size = ''] = /^olmo([23])_(\w+)$/.exec(name) ?? [];
  const olmo = own(OLMO, generation === '3' && size === '1B' ? '1B_v2' : size);
  if (generation === '2' && olmo) return olmoOf(olmo, size);
  if (generation === '3' && olmo && size !== '1B_v2')
    return {
      ...olmoOf(olmo, size),
      ...(size === '600M' ? { d_model: 1280 } : {}),
      windows: OLMO_WINDOWS,
      full_attention_on_first_layer: false,
      attn_backend: 'flash_2',
    };
  const llama = own(LLAMA, name);
  if (llama) return sized(llama);
  const qwen = own(QWEN, name);
  if (qwen)
    return {
      ...sized(qwen, true),
      head_dim: 128,
      qk_norm: true,
      use_head_qk_norm: true,
      rope_full_precision: false,
      layer_norm_name: 'qwen_rms',
      tie_word_embeddings: qwen[0] < 4096,
    };
  const gemma = own(GEMMA, name);
  return (
    gemma && {
      ...sized(gemma, true),
      vocab_size: 262_208,
      block_name: 'peri_norm',
      qk_norm: true,
      use_head_qk_norm: true,
      activation: 'gelu_tanh',
      embed_scale: true,
      windows: GEMMA_WINDOWS,
      full_attention_on_first_layer: false,
      full_attention_on_last_layer: false,
    }
  );
}

const olmoOf = (sizes: Sizes, size: string): CoreArguments => ({
  ...sized(sizes),
  ...REORDERED,
  ...(size === '1M' ? { head_dim: 4 } : {}),
});

const numberOf = (value: unknown, byDefault: number): number =>
  typeof value === 'number' ? value : byDefault;

/** The model of these arguments in the words of its family (`llama_like`). */
export function coreModel(given: CoreArguments): Readonly<Record<string, unknown>> {
  const d = numberOf(given.d_model, 0);
  // `int(8 * d_model / 3)`, times the factor, rounded up.
  const base = Math.trunc((8 * d) / 3);
  const factor = given.hidden_size_multiplier;
  const wide = typeof factor === 'number' ? Math.trunc(factor * base) : base;
  const multiple = numberOf(given.hidden_size_multiple_of, 256);
  const norm = given.qk_norm === true ? (given.use_head_qk_norm === true ? 'head' : 'full') : undefined;
  const values: Record<string, unknown> = {
    model_type: 'olmo_core',
    d_model: d,
    n_layers: given.n_layers,
    n_heads: given.n_heads,
    n_kv_heads: given.n_kv_heads,
    head_dim: given.head_dim,
    hidden_size: numberOf(given.hidden_size, multiple * Math.ceil(wide / multiple)),
    vocab_size: given.vocab_size,
    block: given.block_name ?? 'default',
    qk_norm: norm,
    gate: given.gate,
    layer_norm: given.layer_norm_name,
    activation: given.activation,
    embed_scale: given.embed_scale,
    rope_full_precision: given.rope_full_precision,
    tie_word_embeddings: given.tie_word_embeddings,
    sliding_window_pattern: given.windows,
    full_attention_on_first_layer: given.full_attention_on_first_layer,
    full_attention_on_last_layer: given.full_attention_on_last_layer,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
