import { say } from '../../wording/say';
import { ConfigError, ConfigReader, isObject } from '../config';
import { type Block, rms } from '../layers/block';
import { gatedMlp } from '../layers/mlp';
import { residualLayer } from '../layers/residual';
import { decoderStages } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { llamaAttention } from './llama-parts';
import { figuresOf, layersOfKinds, readSizes, type Sizes } from './sizes';

/** Widths of MLPs are whole multiples of it (`_find_multiple` in the checkpoints' `configuration_decilm.py`). */
const MULTIPLE = 256;

/** `_ffn_mult_to_intermediate_size`. */
function widthOf(multiplier: number, hidden: number): number {
  const width = Math.floor((2 * multiplier * hidden) / 3);
  return Math.ceil(width / MULTIPLE) * MULTIPLE;
}

/** A part of a layer as `block_configs` has it; undefined where the search left it out. */
function part(entry: unknown, name: 'attention' | 'ffn', index: number): ConfigReader | undefined {
  const own = isObject(entry) ? entry[name] : undefined;
  const read = new ConfigReader(isObject(own) ? own : {}, 'nemotron-nas', `block_configs[${index}].${name}.`);
  const odd = ['replace_with_linear', 'sparsify', 'window_length', 'num_sink_tokens'].find((key) => {
    const value = read.stated(key);
    return value !== undefined && value !== null && value !== false;
  });
  if (odd) throw new ConfigError(say('"{0}" is not supported', read.pathOf(odd)));
  return read.flag(false, 'no_op') ? undefined : read;
}

/** Heads that share a key, and the width of the MLP; 0 where the layer has none. */
interface Kind {
  readonly grouped: number;
  readonly inner: number;
}

function layerOf(sizes: Sizes, { grouped, inner }: Kind): Block {
  const attention = llamaAttention({ ...sizes, keyValueHeads: sizes.heads / grouped });
  const mlp: Block = (t, x) => gatedMlp(t, x, { name: 'mlp', inner, activation: sizes.activation });
  const before = { beforeMixer: rms('input_layernorm'), mixer: attention };
  const behind = rms('post_attention_layernorm');
  if (grouped === 0)
    return (t, x) => (inner === 0 ? x : residualLayer(t, x, { beforeMixer: behind, mixer: mlp }));
  const after = inner === 0 ? {} : { beforeFeedForward: behind, feedForward: mlp };
  return (t, x) => residualLayer(t, x, { ...before, ...after });
}

/** Llama Nemotron Super and Ultra: Llama's layers, of which a search left out attention or narrowed the MLP (`DeciLMForCausalLM`). */
function build(config: ConfigReader): Architecture {
  const blocks = config.list('block_configs') ?? [];
  const sizes = readSizes(config.fixed({ intermediate_size: config.size('hidden_size') }), blocks.length);
  const kinds = blocks.map((entry, i) => {
    const grouped = part(entry, 'attention', i)?.size('n_heads_in_group') ?? 0;
    const multiplier = part(entry, 'ffn', i)?.number(0, 'ffn_mult') ?? 0;
    return `${grouped}/${widthOf(multiplier, sizes.hidden)}`;
  });
  const layers = layersOfKinds(kinds, (kind) => {
    const [grouped = 0, inner = 0] = kind.split('/').map(Number);
    return layerOf(sizes, { grouped, inner });
  });
  return {
    figures: figuresOf(sizes),
    notes: [],
    stages: decoderStages({
      embedding: { name: 'embed_tokens', rows: sizes.vocabulary, columns: sizes.hidden },
      layers,
      finalNorm: rms('norm'),
      head: {
        name: 'lm_head',
        vocabulary: sizes.vocabulary,
        tiedTo: sizes.tied ? 'embed_tokens.weight' : undefined,
      },
    }),
  };
}

export const nemotronNas: ModelFamily = { modelTypes: ['nemotron-nas'], build };
