import { say } from '../../wording/say';
import { configOfShape, defaultInner, type GptShape } from '../megatron/gpt-shape';
import { paddedVocabulary, vocabularyOf } from '../megatron/tokenizer-vocabulary';
import type { Section } from '../section';

/** `activation` of NeMo (`megatron/utils.py`, `get_activation`): those with a gate, and what they compute. */
const GATED: Readonly<Record<string, string>> = {
  swiglu: 'silu',
  'fast-swiglu': 'silu',
  geglu: 'gelu',
  'fast-geglu': 'gelu',
  reglu: 'relu',
  'fast-reglu': 'relu',
  'openai-geglu': 'gelu',
};
const PLAIN: Readonly<Record<string, string>> = { 'squared-relu': 'relu2', 'openai-gelu': 'gelu' };

interface NemoModel {
  readonly config: Readonly<Record<string, unknown>>;
  readonly note: string;
}

/** What a model of NeMo 1 is made of; what is missing; undefined where it is no GPT. */
export function nemoModel(model: Section): NemoModel | 'vocabulary' | undefined {
  const [layers, hidden, heads] = [
    model.integer('num_layers'),
    model.integer('hidden_size'),
    model.integer('num_attention_heads'),
  ];
  if (layers === undefined || hidden === undefined || heads === undefined) return undefined;
  if (layers < 1 || hidden < 1 || heads < 1) return undefined;
  // Hyena, Retro and vision towers are models of their own; T5 has its sizes in blocks.
  if (model.has(['hyena', 'retro', 'mm_cfg', 'vision', 'mamba_ssm_ngroups'])) return undefined;
  if (model.has('hybrid_override_pattern')) return undefined;
  const vocabulary = rowsOf(model);
  if (!vocabulary) return 'vocabulary';
  const word = model.textOrDefault('activation');
  const gated = Object.hasOwn(GATED, word);
  const bias = model.flagOrDefault('bias');
  const inner = model.integer('ffn_hidden_size') ?? defaultInner(hidden, false);
  const positions = model.textOrDefault('position_embedding_type');
  const experts = model.integer('num_moe_experts') ?? 1;
  const shape: GptShape = {
    layers,
    hidden,
    heads,
    groups: model.integer('num_query_groups'),
    headDim: model.integer('kv_channels'),
    inner,
    gated,
    activation: GATED[word] ?? PLAIN[word] ?? word,
    vocabulary: vocabulary.rows,
    tied: model.flagOrDefault('share_embeddings_and_output_weights'),
    positions: positions === 'rope' ? 'rope' : positions === 'learned_absolute' ? 'learned' : 'none',
    maxPositions: model.integer('max_position_embeddings') ?? model.integer('encoder_seq_length'),
    rotaryShare: model.number('rotary_percentage'),
    norm: /rms/i.test(model.text('normalization') ?? '') ? 'rmsnorm' : 'layernorm',
    bias: { qkv: bias || model.flag('qkv_bias') === true, attention: bias, mlp: bias },
    normsQueries: model.flag('qk_layernorm'),
    // `megatron_gpt_model.py`, `cfg.get`.
    hiddenDropout: model.number('hidden_dropout') ?? 0.1,
    attentionDropout: model.number('attention_dropout') ?? 0.1,
    window: windowOf(model),
    experts:
      experts > 1
        ? {
            count: experts,
            chosen: model.integerOrDefault('moe_router_topk'),
            inner: model.integer('moe_ffn_hidden_size') ?? inner,
            shared: model.integer('moe_shared_expert_intermediate_size') ?? 0,
            sharedGate: false,
            sigmoid: false,
            wideRouter: model.has('moe_router_dtype'),
            correction: false,
          }
        : undefined,
  };
  if (shape.positions === 'learned' && shape.maxPositions === undefined) return undefined;
  return { config: configOfShape(shape), note: vocabulary.note };
}

function windowOf(model: Section): number | undefined {
  const width = model.texts('window_size')?.[0];
  const size = Number(width);
  return width !== undefined && Number.isInteger(size) && size > 0 ? size + 1 : undefined;
}

/**
 * Rows of the embedding: stated, or the tokenizer's vocabulary, padded (`megatron_base_model.py`,
 * `_vocab_size_with_padding`).
 */
function rowsOf(model: Section): { readonly rows: number; readonly note: string } | undefined {
  const stated = model.integer('override_vocab_size') ?? model.integer('tokenizer.vocab_size');
  const words = ['tokenizer.model', 'tokenizer.type', 'tokenizer.tokenizer_model', 'tokenizer.vocab_file'];
  const known =
    stated === undefined
      ? words
          .map((key) => model.text(key))
          .filter((word) => word !== undefined && word !== '???')
          .map((word) => vocabularyOf(word, word))
          .find((found) => found !== undefined)
      : { size: stated, note: say('vocabulary as set') };
  if (!known) return undefined;
  const multiple = model.integerOrDefault('make_vocab_size_divisible_by');
  const rows = paddedVocabulary(known.size, multiple, model.integerOrDefault('tensor_model_parallel_size'));
  return { rows, note: say('{0}, padded to {1}', known.note, String(rows)) };
}
