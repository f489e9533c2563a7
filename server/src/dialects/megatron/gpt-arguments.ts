import { textOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Section } from '../section';
import { defaultInner, type GptShape, layerPattern } from './gpt-shape';
import { hybridOf } from './hybrid-arguments';
import { MEGATRON_TABLE } from './megatron-keys';
import { paddedVocabulary, vocabularyOf } from './tokenizer-vocabulary';

/** A shape read, or what keeps it from being one. */
type ShapeReading =
  | { readonly shape: GptShape; readonly note?: string }
  | { readonly missing: 'sizes' | 'vocabulary' | 'architecture' };

const on = (args: Section, name: string): boolean => args.flag(name) === true;

/** The vocabulary that the flags state or whose tokenizer they name; padded. */
function rowsOf(args: Section, usual?: string): { readonly rows: number; readonly note: string } | undefined {
  const padded = args.integer(['padded_vocab_size', 'pad_vocab_size_to']);
  if (padded !== undefined) return { rows: padded, note: say('padded vocabulary as set') };
  const multiple = args.integerOrDefault('make_vocab_size_divisible_by');
  const tensor = args.integerOrDefault('tensor_model_parallel_size');
  const stated = args.integer('vocab_size');
  const type = args.text('tokenizer_type') ?? usual;
  const name = args.text(['tokenizer_model', 'tokenizer_name_or_path', 'tokenizer_name', 'vocab_file']);
  const known =
    stated === undefined ? vocabularyOf(type, name) : { size: stated, note: say('vocabulary as set') };
  if (!known) return undefined;
  // BertWordPieceCase always has its hundred.
  const extra = type === 'BertWordPieceCase' ? 0 : (args.integer('vocab_extra_ids') ?? 0);
  const rows = paddedVocabulary(known.size + extra, multiple, tensor);
  return { rows, note: say('{0}, padded to {1}', known.note, String(rows)) };
}

const POSITIONS: Readonly<Record<string, GptShape['positions']>> = {
  learned_absolute: 'learned',
  absolute: 'learned',
  rope: 'rope',
  rotary: 'rope',
  yarn: 'rope',
  mrope: 'rope',
  none: 'none',
  alibi: 'none',
};

function positionsOf(args: Section): GptShape['positions'] {
  const stated = POSITIONS[args.text('position_embedding_type') ?? ''];
  if (stated) return stated;
  return on(args, 'use_rotary_position_embeddings') ? 'rope' : 'learned';
}

function expertsOf(
  args: Section,
  shape: { readonly layers: number; readonly inner: number },
): GptShape['experts'] {
  const count = args.integer('num_experts');
  if (count === undefined || count < 1) return undefined;
  const interval = args.find('moe_layer_freq') ?? args.find('expert_interval');
  const frequency = textOf(interval?.node);
  const pattern = frequency === undefined ? undefined : layerPattern(frequency, shape.layers);
  // An expression that Megatron does not take, or of another number of layers: which of them have experts is not known.
  if (interval && frequency !== undefined && pattern === undefined) args.leave(interval, ['model.config']);
  return {
    count,
    chosen: args.integerOrDefault(['moe_router_topk', 'topk']),
    inner: args.integer('moe_ffn_hidden_size') ?? shape.inner,
    layers: pattern,
    shared: args.integer('moe_shared_expert_intermediate_size') ?? 0,
    sharedGate: on(args, 'moe_shared_expert_gate'),
    sigmoid: args.text('moe_router_score_function') === 'sigmoid',
    wideRouter: args.has('moe_router_dtype'),
    correction: on(args, 'moe_router_enable_expert_bias'),
    latentWidth: args.integer('moe_latent_size'),
  };
}

/** Defaults are those of `MLATransformerConfig`, and of the flag for the rank of keys and values (`megatron/training/arguments.py`). */
function latentOf(args: Section, flags: boolean): GptShape['latent'] {
  if (!on(args, 'multi_latent_attention')) return undefined;
  return {
    queryRank: args.integer('q_lora_rank'),
    keyValueRank: args.integer('kv_lora_rank') ?? (flags ? 32 : 512),
    plainDim: args.integerOrDefault('qk_head_dim'),
    rotaryDim: args.integerOrDefault('qk_pos_emb_head_dim'),
    valueDim: args.integerOrDefault('v_head_dim'),
  };
}

/** `(width, 0)` or `width,0`. */
function windowOf(args: Section): number | undefined {
  const width = Number(/\d+/.exec(args.text('window_size') ?? '')?.[0]);
  return Number.isInteger(width) && width > 0 ? width + 1 : undefined;
}

export interface ShapeOptions {
  readonly bert: boolean;
  /** Switches must be given; else the values of a config object count. */
  readonly flags: boolean;
  /** Tokenizer where none is named. */
  readonly tokenizer?: string;
}

/**
 * The architecture that Megatron-LM's flags shape, with the defaults of `megatron/training/arguments.py` and
 * `transformer_config.py`. `bert` where `pretrain_bert.py` reads them.
 */
export function shapeOfArguments(section: Section, { bert, flags, tokenizer }: ShapeOptions): ShapeReading {
  const args = section.by(MEGATRON_TABLE);
  const hidden = args.integer('hidden_size');
  const heads = args.integer('num_attention_heads');
  const hybrid = hybridOf(args, hidden);
  if (args.has(['experimental_attention_variant', 'linear_attention_type']) || hybrid === 'unknown')
    return { missing: 'architecture' };
  const layers = hybrid?.pattern.length ?? args.integer(['num_layers', 'encoder_num_layers']);
  if (layers === undefined || hidden === undefined || heads === undefined) return { missing: 'sizes' };
  if (layers < 1 || hidden < 1 || heads < 1) return { missing: 'sizes' };
  const vocabulary = rowsOf(args, tokenizer);
  if (!vocabulary) return { missing: 'vocabulary' };
  const glu = args.text('glu_activation');
  const gated =
    on(args, 'swiglu') || on(args, 'quick_geglu') || on(args, 'gated_linear_unit') || glu !== undefined;
  const inner = args.integer('ffn_hidden_size') ?? defaultInner(hidden, on(args, 'swiglu'));
  const linear = !on(args, 'disable_bias_linear') && args.flag('add_bias_linear') !== false;
  const grouped = on(args, 'group_query_attention') || (!flags && args.has('num_query_groups'));
  const positions = positionsOf(args);
  const shape: GptShape = {
    layers,
    hidden,
    heads,
    groups: grouped ? args.integerOrDefault('num_query_groups') : args.integer('num_key_value_heads'),
    headDim: args.integer('kv_channels'),
    inner,
    gated,
    activation: activationOf(args, glu),
    vocabulary: vocabulary.rows,
    tied: !on(args, 'untie_embeddings_and_output_weights'),
    positions,
    maxPositions:
      args.integer('max_position_embeddings') ?? args.integer(['seq_length', 'encoder_seq_length']),
    rotaryShare: args.number('rotary_percent'),
    ropeLayers: ropeLayers(args, layers),
    norm: /^rms/i.test(args.textOrDefault('normalization')) ? 'rmsnorm' : 'layernorm',
    bias: { qkv: linear || on(args, 'add_qkv_bias'), attention: linear, mlp: linear },
    normsQueries: on(args, 'qk_layernorm'),
    parallelResidual: on(args, 'parallel_attn'),
    embeddingNorm: on(args, 'embed_layernorm'),
    // `TransformerConfig` and the flags alike.
    hiddenDropout: args.numberOrDefault('hidden_dropout'),
    attentionDropout: args.numberOrDefault('attention_dropout'),
    window: windowOf(args),
    experts: expertsOf(args, { layers, inner }),
    hybrid,
    latent: latentOf(args, flags),
    bert: bert ? { binaryHead: !on(args, 'bert_no_binary_head') } : undefined,
    furtherTokens: hybrid ? hybrid.furtherTokens : args.integer('mtp_num_layers'),
    repeatsPrediction: on(args, 'mtp_use_repeated_layer'),
    decoderLayers: isEncoderDecoder(args) ? (args.integer('decoder_num_layers') ?? layers) : undefined,
  };
  if (shape.positions === 'learned' && shape.maxPositions === undefined) return { missing: 'sizes' };
  return { shape, note: vocabulary.note };
}

function activationOf(args: Section, glu: string | undefined): string {
  const named = args.text('activation_func')?.toLowerCase() ?? '';
  if (on(args, 'squared_relu') || /squared_?relu/.test(named)) return 'relu2';
  if (on(args, 'swiglu') || glu === 'swiglu' || /silu|swiglu/.test(named)) return 'silu';
  if (on(args, 'quick_geglu')) return 'quick_gelu';
  return glu === 'reglu' ? 'relu' : 'gelu';
}

/** `--no-rope-freq`: layers without rotary positions are 1 in it. */
function ropeLayers(args: Section, layers: number): readonly number[] | undefined {
  const text = args.text('no_rope_freq');
  if (text === undefined) return undefined;
  const every = Number(text);
  // An integer N leaves out the last of every N layers (`transformer_config.py`, `no_rope_freq`).
  if (Number.isInteger(every) && every >= 1)
    return Array.from({ length: layers }, (_, i) => ((i + 1) % every === 0 ? 0 : 1));
  return layerPattern(text, layers)?.map((without) => (without === 0 ? 1 : 0));
}

/** Whether the flags are those of a T5 (`pretrain_t5.py`): an encoder and a decoder of their own lengths. */
export function isEncoderDecoder(args: Section): boolean {
  return args.has(['decoder_num_layers', 'decoder_seq_length']) && !args.has('hybrid_layer_pattern');
}
