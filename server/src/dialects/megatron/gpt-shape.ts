/** A GPT as Megatron's arguments shape it, whoever spells them. Sizes are of the whole model. */
export interface GptShape {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  /** Groups of key and value heads; as many as heads where absent. */
  readonly groups?: number;
  /** Size of a head; hidden over heads where absent. */
  readonly headDim?: number;
  /** Width of the MLP (of one branch where it is gated). */
  readonly inner: number;
  readonly gated: boolean;
  /** `ACT2FN` name: `gelu`, `silu`, `relu2`. */
  readonly activation: string;
  /** Rows of the embedding, padded. */
  readonly vocabulary: number;
  readonly tied: boolean;
  readonly positions: 'learned' | 'rope' | 'none';
  readonly maxPositions?: number;
  readonly rotaryShare?: number;
  /** Layers with rotary positions, 1 and 0; all where absent. */
  readonly ropeLayers?: readonly number[];
  readonly norm: 'layernorm' | 'rmsnorm' | 'plain';
  readonly bias: { readonly qkv: boolean; readonly attention: boolean; readonly mlp: boolean };
  readonly normsQueries?: boolean;
  readonly parallelResidual?: boolean;
  readonly sharedNorm?: boolean;
  readonly embeddingNorm?: boolean;
  readonly hiddenDropout: number;
  readonly attentionDropout: number;
  readonly window?: number;
  readonly experts?: {
    readonly count: number;
    readonly chosen: number;
    readonly inner: number;
    /** Layers with experts, 1 and 0; all where absent. */
    readonly layers?: readonly number[];
    /** Width of the shared expert; 0: none. */
    readonly shared: number;
    readonly sharedGate: boolean;
    readonly sigmoid: boolean;
    readonly wideRouter: boolean;
    readonly correction: boolean;
    /** Experts without a gate or biases beside MLPs that have them; unset: as those. */
    readonly plain?: boolean;
    readonly bias?: boolean;
    /** Width that the routed experts work in, between linear layers into it and out of it; that of the model where absent. */
    readonly latentWidth?: number;
  };
  /** Layers of one branch each, as letters (`hybrid_layer_allocation.py`), and the sizes of those of Mamba. */
  readonly hybrid?: {
    readonly pattern: string;
    readonly heads: number;
    readonly headDim: number;
    readonly groups: number;
    readonly state: number;
    /** Layers that predict one further token, as letters. */
    readonly predicting?: string;
  };
  readonly latent?: {
    readonly queryRank?: number;
    readonly keyValueRank: number;
    readonly plainDim: number;
    readonly rotaryDim: number;
    readonly valueDim: number;
  };
  /** Token types and the heads of BERT's two tasks. */
  readonly bert?: { readonly binaryHead: boolean };
  /** Layers that predict further tokens, each the one after that of the layer before. */
  readonly furtherTokens?: number;
  /** One layer predicts all of them. */
  readonly repeatsPrediction?: boolean;
  /** Layers of the decoder of a T5, whose encoder has `layers`. */
  readonly decoderLayers?: number;
}

/** Width of a gated MLP that nobody states (`arguments.py`: two thirds of 4h, down to a multiple of 64). */
export function defaultInner(hidden: number, gated: boolean): number {
  return gated ? Math.floor((4 * hidden * 2) / 3 / 64) * 64 : 4 * hidden;
}

/** Whether what is built has the layers that predict further tokens. */
export function predictsFurther(config: Readonly<Record<string, unknown>>): boolean {
  return (
    config.model_type === 'megatron_gpt' &&
    config.token_types === undefined &&
    config.mtp_num_layers !== undefined
  );
}

/** The shape as `model.config` of the family `megatron_gpt`. */
export function configOfShape(shape: GptShape): Readonly<Record<string, unknown>> {
  const { experts, latent, bert, hybrid } = shape;
  const config: Record<string, unknown> = {
    model_type: shape.decoderLayers === undefined ? 'megatron_gpt' : 'megatron_t5',
    hidden_size: shape.hidden,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.groups ?? shape.heads,
    head_dim: shape.headDim ?? Math.floor(shape.hidden / shape.heads),
    intermediate_size: shape.inner,
    gated_mlp: shape.gated,
    hidden_act: shape.activation,
    vocab_size: shape.vocabulary,
    tie_word_embeddings: shape.tied,
    normalization: shape.norm,
    position_embedding: shape.positions,
    qkv_bias: shape.bias.qkv,
    attention_bias: shape.bias.attention,
    mlp_bias: shape.bias.mlp,
    hidden_dropout: shape.hiddenDropout,
    attention_dropout: shape.attentionDropout,
  };
  const optional: Readonly<Record<string, unknown>> = {
    max_position_embeddings: shape.maxPositions,
    partial_rotary_factor: shape.positions === 'rope' ? shape.rotaryShare : undefined,
    rope_layers: shape.ropeLayers,
    qk_norm: shape.normsQueries || undefined,
    parallel_residual: shape.parallelResidual || undefined,
    shared_norm: shape.sharedNorm || undefined,
    embedding_norm: shape.embeddingNorm || undefined,
    sliding_window: shape.window,
    num_experts: experts?.count,
    num_experts_per_tok: experts?.chosen,
    moe_intermediate_size: experts?.inner,
    moe_layers: experts?.layers,
    shared_expert_intermediate_size: experts && experts.shared > 0 ? experts.shared : undefined,
    shared_expert_gate: experts?.sharedGate || undefined,
    scoring_func: experts?.sigmoid ? 'sigmoid' : undefined,
    router_fp32: experts?.wideRouter || undefined,
    router_correction: experts?.correction || undefined,
    expert_gate: experts?.plain === undefined ? undefined : !experts.plain,
    expert_bias: experts?.bias,
    moe_latent_size: experts?.latentWidth,
    hybrid_layer_pattern: hybrid?.pattern,
    mtp_hybrid_pattern: hybrid?.predicting,
    mamba_num_heads: hybrid?.heads,
    mamba_head_dim: hybrid?.headDim,
    mamba_num_groups: hybrid?.groups,
    mamba_state_dim: hybrid?.state,
    q_lora_rank: latent?.queryRank,
    kv_lora_rank: latent?.keyValueRank,
    qk_nope_head_dim: latent?.plainDim,
    qk_rope_head_dim: latent?.rotaryDim,
    v_head_dim: latent?.valueDim,
    token_types: bert ? 2 : undefined,
    masked_head: bert ? true : undefined,
    binary_head: bert?.binaryHead || undefined,
    causal: bert ? false : undefined,
    mtp_num_layers: shape.furtherTokens,
    mtp_use_repeated_layer: (shape.furtherTokens && shape.repeatsPrediction) || undefined,
    decoder_layers: shape.decoderLayers,
  };
  for (const [key, value] of Object.entries(optional)) if (value !== undefined) config[key] = value;
  return config;
}

/**
 * Which layers a pattern means: a number N every N-th from the first one, or a Python list expression such as
 * `([0]*1+[1]*26)` (`arguments.py`, `moe_freq_type`). Undefined where it cannot be read.
 */
export function layerPattern(text: string, layers: number): readonly number[] | undefined {
  const every = Number(text);
  if (Number.isInteger(every) && every >= 1)
    return Array.from({ length: layers }, (_, i) => (i % every === 0 ? 1 : 0));
  const pattern = listExpression(text.replace(/\s/g, ''));
  return pattern?.length === layers ? pattern : undefined;
}

/** Most elements that an expression may make: far above any model's layers. */
const LONGEST = 10_000;

/** `([0]*3+[1]*2)*2`: lists of numbers, sums and repetitions. */
function listExpression(text: string): number[] | undefined {
  let at = 0;
  const sum = (): number[] | undefined => {
    let left = product();
    while (left && text[at] === '+') {
      at++;
      const right = product();
      left = right && left.length + right.length <= LONGEST ? [...left, ...right] : undefined;
    }
    return left;
  };
  const product = (): number[] | undefined => {
    let list = atom();
    while (list && text[at] === '*') {
      const times = /^\*(\d+)/.exec(text.slice(at));
      const count = Number(times?.[1]);
      if (!times || count * list.length > LONGEST) return undefined;
      at += times[0].length;
      list = Array.from({ length: count }, () => list ?? []).flat();
    }
    return list;
  };
  const atom = (): number[] | undefined => {
    if (text[at] === '(') {
      at++;
      const inner = sum();
      if (text[at] !== ')') return undefined;
      at++;
      return inner;
    }
    const items = /^\[(\d*(?:,\d+)*,?)\]/.exec(text.slice(at));
    if (!items) return undefined;
    at += items[0].length;
    return (items[1] ?? '')
      .split(',')
      .filter((item) => item !== '')
      .map(Number);
  };
  const result = sum();
  return at === text.length ? result : undefined;
}
