import { ELEMENT_BYTES, type Tensor, type Weight } from '../tape';
import type { Tracer } from '../tracer';
import { withPrefix } from '../virtual-tokens';
import { contextScratch, exchange, headRanks, keyRanks } from './context-exchange';
import { mathAttention } from './math-attention';

export interface AttentionSpec {
  readonly name: string;
  /** Sequences in the tensors; default the micro batch. Vision towers see one per image. */
  readonly batch?: number;
  /** `[b, s, heads, headDim]` in any layout; heads are those on this rank. */
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  readonly valueHeadDim?: number;
  readonly causal: boolean;
  /** Sliding window in tokens; bounds the FLOPs, and eager still keeps the whole score matrix. */
  readonly window?: number;
  /** Logit soft-capping, tanh on the scores: only eager and flex can do it. */
  readonly softcap?: boolean;
  /** Dropout probability on the attention weights. */
  readonly dropout?: number;
  /** A position bias of `[heads, q, k]` is added to the scores (T5, ALiBi), needing a gradient or not. */
  readonly bias?: Tensor;
  /** A mask of the samples' own reaches the kernel whatever the run states, or none does. */
  readonly masked?: boolean;
  /** A learned logit per head joins each row of the softmax (gpt-oss); SDPA cannot do it. */
  readonly sinks?: Weight;
  /** Older releases bound masked scores from below, and have no kernel but the eager one (OPT). */
  readonly boundsScores?: boolean;
  /** Eager attention subtracts the largest score of each row before the softmax, also without sinks. */
  readonly shiftsScores?: boolean;
  /**
   * Kernels that the architecture has: all, all but SDPA, none but the eager one; or it calls SDPA by itself, also in releases
   * whose models have no choice of kernels.
   */
  readonly kernels?: 'all' | 'no-sdpa' | 'eager' | 'calls-sdpa';
  /**
   * How fewer key and value heads reach the kernel: it groups them itself (default), they are repeated before, or the
   * products broadcast them (Falcon 7B), which no fused kernel does (`sdp_utils_cpp.h`).
   */
  readonly grouping?: 'repeat' | 'broadcast';
  /** The product of queries and keys scales and adds the positions itself, and scores keep their names (BLOOM). */
  readonly fusedScores?: boolean;
  /** Its layer returns the weights of eager attention together with its result, and the model's loop names both. */
  readonly returnsWeights?: boolean;
  /** Scores are scaled in place and keep their name (Falcon). */
  readonly scaledInPlace?: boolean;
  /** Queries lie head by head in memory. */
  readonly packedHeads?: boolean;
  /** Queries and keys are raised to fp32 before their product (GPT-J, GPT-Neo); autocast lowers them again. */
  readonly fp32Scores?: boolean;
  /** Softmax in fp32, as most decoders do in eager mode. */
  readonly fp32Softmax?: boolean;
  /** Its keys and values can come after those of a cache, though it looks in both directions (BERT). */
  readonly cached?: boolean;
}

/**
 * FLOPs of scores and weighted values, forward: `2 * q * k * (d + dv)` per head, where a causal mask halves the pairs
 * and a window bounds them. Counted as computed by kernels that skip masked blocks.
 */
export function attentionFlops(
  batch: number,
  heads: number,
  queries: number,
  keys: number,
  dims: number,
  causal: boolean,
  window?: number,
): number {
  let pairs = queries * keys;
  if (causal && queries === keys) {
    pairs = (queries * (queries + 1)) / 2;
    if (window && window < queries) pairs = window * queries - (window * (window - 1)) / 2;
  } else if (window && window < keys) {
    pairs = queries * window;
  }
  return 2 * batch * heads * pairs * dims;
}

/**
 * FLOPs of one rank's share of fused attention. Ranks that split the tokens still pair all of them; packed samples
 * (`documents` tokens each) pair only their own.
 */
function kernelFlops(
  t: Tracer,
  spec: AttentionSpec,
  queries: number,
  keys: number,
  documents = Number.POSITIVE_INFINITY,
): number {
  const { batch, sequence, sequenceRanks = 1 } = t.settings;
  // Tokens of the sequence that ranks share, and not images; with heads exchanged, a rank has more of them.
  const shared = queries === sequence || queries === sequence * headRanks(t.settings);
  const own = shared && (spec.batch === undefined || spec.batch === batch);
  const ranks = own ? Math.max(1, (sequence * sequenceRanks) / queries) : 1;
  const all = queries * ranks;
  const dims = spec.headDim + (spec.valueHeadDim ?? spec.headDim);
  const count = (from: number, to: number) =>
    attentionFlops(spec.batch ?? t.settings.batch, spec.heads, from, to, dims, spec.causal, spec.window);
  if (own && queries === keys && documents < all) {
    return ((all / documents) * count(documents, documents)) / ranks;
  }
  return count(all, keys * ranks) / ranks;
}

/**
 * Scaled dot-product attention, from split heads to `[b, s, heads * valueHeadDim]`.
 *
 * Flash kernels keep q, k, v, the result and one fp32 log-sum-exp per row; their backward needs an fp32 accumulator for
 * dq and, with grouped heads, dk and dv for every query head (`flash_api.cpp`, `mha_bwd`). Eager keeps the fp32 softmax
 * and its low-precision copy.
 */
export function attend(t: Tracer, own: AttentionSpec): Tensor {
  const spec = prefixed(t, own);
  const ranks = headRanks(t.settings);
  return ranks > 1 && isShared(t, spec) ? overHeads(t, spec, ranks) : local(t, spec);
}

/** Prefix tuning: keys and values of every self-attention that a cache can come before follow those of the prefix. */
function prefixed(t: Tracer, spec: AttentionSpec): AttentionSpec {
  const caches = spec.causal || spec.cached === true;
  if (t.settings.adapter?.kind !== 'prefix-tuning' || !caches) return spec;
  const batch = spec.batch ?? t.settings.batch;
  const tokens = spec.q.elements / (batch * spec.heads * spec.headDim);
  const { sequence, targetSequence } = t.settings;
  if (batch !== t.settings.batch || (tokens !== sequence && tokens !== targetSequence)) return spec;
  const k = withPrefix(t, spec.k, { batch, tokens, name: `${spec.name}.k` });
  const v = withPrefix(t, spec.v, { batch, tokens, name: `${spec.name}.v` });
  // Keys of a prefix have no queries of their own: no kernel's causal mask fits (`_ignore_causal_mask_sdpa`).
  return { ...spec, k, v, masked: spec.masked === true || spec.causal };
}

/** Whether the queries are this rank's tokens of the sequence that ranks share, and not images or a source of their own. */
function isShared(t: Tracer, { q, heads, headDim, batch = t.settings.batch }: AttentionSpec): boolean {
  return q.elements === batch * t.settings.sequence * heads * headDim;
}

/**
 * Ulysses: every rank gets all tokens of its share of the heads, and gives its results back. Fewer key heads than ranks are
 * copied first (DeepSpeed `runtime/sequence_parallel/ulysses_sp.py`). The kernel keeps what it was given and its result;
 * the projection after it keeps the exchanged one.
 */
function overHeads(t: Tracer, spec: AttentionSpec, ranks: number): Tensor {
  const { name, keyValueHeads } = spec;
  const keyHeads = Math.max(keyValueHeads, ranks);
  const copied = (x: Tensor, part: string) =>
    keyHeads === keyValueHeads
      ? x
      : t.copy(x, [...x.shape.slice(0, -1), ((x.shape.at(-1) ?? 1) * keyHeads) / keyValueHeads], part);
  return t.scope(() => {
    const q = t.hold(exchange(t, spec.q, ranks, `${name}.exchange_q`));
    const k = t.hold(exchange(t, copied(spec.k, `${name}.copy_k`), ranks, `${name}.exchange_k`));
    const v = t.hold(exchange(t, copied(spec.v, `${name}.copy_v`), ranks, `${name}.exchange_v`));
    const heads = { heads: spec.heads / ranks, keyValueHeads: keyHeads / ranks };
    const context = t.hold(local(t, { ...spec, q, k, v, ...heads }));
    return exchange(t, context, 1 / ranks, `${name}.exchange_back`);
  });
}

function local(t: Tracer, spec: AttentionSpec): Tensor {
  const noSdpa =
    (spec.softcap && t.settings.behaviours.writesCappedAttentionOut) ||
    spec.sinks ||
    spec.kernels === 'no-sdpa' ||
    (spec.boundsScores && t.settings.behaviours.writesBoundedAttentionOut) ||
    (spec.kernels !== 'calls-sdpa' && t.settings.behaviours.writesAttentionOut);
  const sdpa = t.settings.attention === 'sdpa';
  const written = spec.kernels === 'eager' || (noSdpa && sdpa);
  const implementation = written ? 'eager' : t.settings.attention;
  if (implementation === 'eager') return eager(t, spec);
  return sdpa && !runsWide(t, spec) && hasNoKernel(t, spec) ? math(t, spec) : fused(t, spec);
}

/**
 * Whether no fused kernel of SDPA takes the inputs, so that it falls back to plain matrix products (`cuda/sdp_utils.cpp`): grouped heads in
 * fp32, or wide ones, or broadcast ones; before Ampere all grouped heads (transformers' issue 48633), and bf16
 * (`less_than_sm80_mem_efficient_dtypes`). Since torch 2.14 its memory-efficient kernel groups heads.
 */
function hasNoKernel(t: Tracer, spec: AttentionSpec): boolean {
  const {
    autocast,
    computeDtype,
    oldSdpa = false,
    groupsInKernel = false,
    groupsMasked = false,
  } = t.settings;
  const type = autocast ? computeDtype : spec.q.dtype;
  if (oldSdpa && type === 'bf16') return true;
  if (spec.heads === spec.keyValueHeads) return false;
  if (spec.grouping === 'broadcast') return true;
  if (groupsMasked && isMasked(t, spec)) return true;
  if (groupsInKernel || repeatsHeads(t, spec)) return false;
  return type === 'fp32' || spec.headDim > WIDEST_GROUPED || oldSdpa;
}

/**
 * Whether SDPA is given a mask: one of padding, of positions, or of a window that is narrower than the sequence
 * (`masking_utils.py`, `_ignore_causal_mask_sdpa`). Its memory-efficient kernel runs then.
 */
function isMasked(t: Tracer, spec: AttentionSpec): boolean {
  if (t.settings.attention !== 'sdpa') return false;
  const batch = spec.batch ?? t.settings.batch;
  const keys = spec.k.elements / (batch * spec.keyValueHeads * spec.headDim);
  const windowed = spec.window !== undefined && spec.window < keys && t.settings.behaviours.masksWindows;
  return (spec.masked ?? t.settings.attentionMask) || spec.bias !== undefined || windowed;
}

/** Width of the widest heads that FlashAttention groups, and any kernel of SDPA until torch 2.14 (`sdp_utils_cpp.h`, `check_head_dim_size_flash`). */
const WIDEST_GROUPED = 256;

/**
 * Whether keys and values are repeated for every query head before the kernel. transformers lets SDPA group heads only where no mask is passed
 * (`use_gqa_in_sdpa`); torchtune and torchtitan repeat them themselves (`modules/attention.py`; `models/llama/model.py`).
 */
function repeatsHeads(t: Tracer, spec: AttentionSpec): boolean {
  const { repeatsKeysAndValues, repeatsForSdpa, groupsWideHeads } = t.settings.behaviours;
  if (t.settings.groupsMasked) return false;
  const sdpa = t.settings.attention === 'sdpa' && !t.settings.ownLayers;
  const wide = spec.headDim > WIDEST_GROUPED && !groupsWideHeads;
  return (
    isMasked(t, spec) ||
    spec.grouping === 'repeat' ||
    repeatsKeysAndValues ||
    (sdpa && (repeatsForSdpa || wide))
  );
}

/** Width of the heads that Unsloth has a kernel for (`_SUPPORTED_HEAD_DIMS`). */
const UNSLOTH_WIDTH = 512;

/**
 * Whether Unsloth's kernel for wide heads takes SDPA's place (`large_head_attention.py`, `_make_router`): in 16 bits, without dropout. A
 * compiled graph does not read masks, and leaves those calls to SDPA.
 */
function runsWide(t: Tracer, spec: AttentionSpec): boolean {
  const { wideHeads, attention, autocast, computeDtype, compiled } = t.settings;
  const { headDim, valueHeadDim = headDim, q } = spec;
  if (wideHeads !== true || attention !== 'sdpa') return false;
  if (headDim !== UNSLOTH_WIDTH || valueHeadDim !== headDim) return false;
  const half = (q.dtype === 'bf16' || q.dtype === 'fp16') && (!autocast || q.dtype === computeDtype);
  const plain = (spec.dropout ?? 0) === 0 && !spec.bias && !spec.softcap && !spec.sinks;
  return half && plain && !(compiled && isMasked(t, spec));
}

function math(t: Tracer, spec: AttentionSpec): Tensor {
  const { heads, keyValueHeads, headDim, name } = spec;
  const batch = spec.batch ?? t.settings.batch;
  const valueHeadDim = spec.valueHeadDim ?? headDim;
  const repeats = spec.grouping !== 'broadcast';
  const sizes = { name, batch, heads, keyValueHeads, headDim, valueHeadDim, repeats };
  const out = mathAttention(t, half(t, spec.q), half(t, spec.k), half(t, spec.v), sizes);
  const queries = out.elements / (batch * heads * valueHeadDim);
  return t.copy(out, [batch, queries, heads * valueHeadDim], `${name}.contiguous`);
}

function half(t: Tracer, x: Tensor): Tensor {
  // Matrix kernels take the compute type under autocast.
  return t.settings.autocast ? t.cast(x, t.settings.computeDtype, 'attention.cast') : x;
}

/** Keys or values repeated for every query head. */
function repeat(t: Tracer, x: Tensor, spec: AttentionSpec, name: string): Tensor {
  if (spec.heads === spec.keyValueHeads) return x;
  const groups = spec.heads / spec.keyValueHeads;
  const shape = [...x.shape.slice(0, -1), (x.shape.at(-1) ?? 1) * groups];
  // A single head is repeated by a stride of zero (`repeat_kv`: `expand`, then a `reshape` that needs no copy).
  return spec.keyValueHeads === 1 && t.settings.behaviours.expandsSingleHead
    ? t.expand(x, shape)
    : t.copy(x, shape, name);
}

function fused(t: Tracer, spec: AttentionSpec): Tensor {
  const b = spec.batch ?? t.settings.batch;
  const { heads, headDim } = spec;
  const valueDim = spec.valueHeadDim ?? headDim;
  const q = half(t, spec.q);
  let k = half(t, spec.k);
  let v = half(t, spec.v);
  const queries = q.elements / (b * heads * headDim);
  const keys = k.elements / (b * spec.keyValueHeads * headDim);
  const wide = runsWide(t, spec);
  const masked = isMasked(t, spec) && !wide;
  const repeated = repeatsHeads(t, spec) && !wide;
  if (repeated) {
    k = repeat(t, k, spec, `${spec.name}.repeat_k`);
    v = repeat(t, v, spec, `${spec.name}.repeat_v`);
  }
  const bytes = ELEMENT_BYTES[q.dtype];
  // FlashAttention's backward sums the queries' gradient in fp32, in rows and columns that fill its blocks (`flash_api.cpp`, `mha_bwd`).
  const logSumExp = b * heads * queries * ELEMENT_BYTES.fp32;
  // Unsloth's kernel adds up the queries' gradient in its program, and holds one fp32 number per row (`_bwd_impl`, `delta`).
  const delta = logSumExp;
  const paddedRows = Math.ceil(queries / 128) * 128;
  const paddedDim = headDim <= 128 ? Math.ceil(headDim / 32) * 32 : Math.ceil(headDim / 64) * 64;
  const accumulator = b * heads * paddedRows * (paddedDim + 1) * ELEMENT_BYTES.fp32;
  const grouped = spec.heads !== spec.keyValueHeads && !repeated && !wide;
  const expanded = grouped ? b * keys * heads * (headDim + valueDim) * bytes : 0;
  // The memory-efficient kernel keeps the mask as a bias of the query's type.
  const bias = masked && !spec.bias ? b * queries * keys * bytes : 0;
  // A mask is read, not followed: the kernel that takes one computes every pair.
  const unmasked = kernelFlops(t, { ...spec, causal: false, window: undefined }, queries, keys);
  const flops = masked ? unmasked : kernelFlops(t, spec, queries, keys, t.settings.documentTokens);
  const ranks = isShared(t, spec) ? keyRanks(t.settings) : 1;
  const sizes = {
    queries: q.elements,
    keys: k.elements + v.elements,
    results: b * queries * heads * valueDim,
    width: bytes,
  };
  const context = ranks > 1 ? contextScratch(t.settings, ranks, sizes) : { forward: 0, backward: 0 };
  const inputs = spec.bias ? [q, k, v, spec.bias] : [q, k, v];
  const out = t.fused({
    name: spec.name,
    inputs,
    outputs: [{ shape: [b, queries, heads * valueDim], dtype: q.dtype }],
    savesInputs: inputs,
    savesOutputs: [0],
    savesBytes: logSumExp + bias,
    forwardScratch: context.forward,
    backwardScratch: (wide ? delta : accumulator) + expanded + context.backward,
    weights: spec.sinks ? [spec.sinks] : [],
    flops,
    unmaskedFlops: unmasked,
    // The kernel computes the scores again: five matrix products against forward's two.
    backwardFlops: q.requiresGrad || k.requiresGrad || v.requiresGrad ? 2.5 * flops : 0,
    expensive: true,
  });
  // Flash kernels lay their result out as the queries are (`flash_api.cpp`, `empty_like(q)`): token by token, it is a copy.
  const flash = !masked && q.dtype !== 'fp32';
  return spec.packedHeads && flash ? t.copy(out, out.shape, `${spec.name}.contiguous`) : out;
}

/** The mask has the type of the embeddings, so under autocast of fp32 weights masked scores are fp32. */
function mask(t: Tracer, [, , queries = 1, keys = 1]: readonly number[]): Tensor {
  return t.input([1, 1, queries, keys], t.settings.weightDtype, false, 'causal_mask', queries === keys);
}

function eager(t: Tracer, spec: AttentionSpec): Tensor {
  const b = spec.batch ?? t.settings.batch;
  const { heads, headDim } = spec;
  const valueDim = spec.valueHeadDim ?? headDim;
  return t.scope(() => {
    const scored = (x: Tensor) =>
      half(t, spec.fp32Scores ? t.hold(t.cast(x, 'fp32', `${spec.name}.raised`)) : x);
    const q = scored(spec.q);
    const broadcast = spec.grouping === 'broadcast' && heads !== spec.keyValueHeads;
    const grouped = (x: Tensor, name: string) => (broadcast ? x : repeat(t, x, spec, name));
    const k = t.hold(grouped(scored(spec.k), `${spec.name}.repeat_k`));
    const v = t.hold(grouped(half(t, spec.v), `${spec.name}.repeat_v`));
    const single = spec.keyValueHeads === 1 && heads > 1;
    const queries = q.elements / (b * heads * headDim);
    const keys = k.elements / (b * (broadcast ? spec.keyValueHeads : heads) * headDim);
    const shape = [b, heads, queries, keys];
    // With several samples the transposed heads are copied before the batched product, and so is what is broadcast.
    const flat = (x: Tensor, name: string, dim: number) =>
      b > 1 || broadcast || (single && x !== q)
        ? t.copy(x, [b, x === q ? queries : keys, heads * dim], name)
        : x;
    // BLOOM copies all three itself before the product, and names them.
    const folded = (x: Tensor, name: string, dim: number) =>
      spec.fusedScores ? t.hold(flat(x, name, dim)) : flat(x, name, dim);
    const [flatQ, flatK] = [folded(q, `${spec.name}.q`, headDim), folded(k, `${spec.name}.k`, headDim)];
    const flatV = spec.fusedScores ? folded(v, `${spec.name}.v`, valueDim) : undefined;
    let scores = t.matmul(flatQ, flatK, shape, headDim, `${spec.name}.scores`);
    if (t.settings.behaviours.fusesScores)
      return megatronScores(t, spec, scores, flat(v, `${spec.name}.v`, valueDim));
    if (spec.fusedScores) t.hold(scores);
    else if (!spec.scaledInPlace) scores = t.scale(scores, `${spec.name}.scaling`);
    if (spec.softcap) scores = t.scale(t.keepOutput(t.scale(scores), `${spec.name}.softcap`));
    if (spec.bias) scores = t.add(scores, spec.bias, `${spec.name}.bias`);
    const named = scores;
    if (spec.causal || t.settings.attentionMask) scores = t.add(scores, mask(t, shape), `${spec.name}.mask`);
    // `torch.max(attn_weights, torch.tensor(torch.finfo(attn_weights.dtype).min))` keeps what it compares.
    if (spec.boundsScores && t.settings.behaviours.boundsMaskedScores)
      scores = t.keepInput(scores, `${spec.name}.maximum`);
    if (spec.fusedScores) t.hold(scores);
    // `attn_weights` goes on naming the masked scores while those with the sinks are computed.
    const masked = scores;
    if (spec.sinks) {
      const wider = [b, heads, queries, keys + 1];
      const joined = t.concat(
        [scores, t.expand(t.parameter(spec.sinks), [b, heads, queries, 1])],
        wider,
        `${spec.name}.sinks`,
      );
      scores = joined;
    }
    if (spec.sinks || spec.shiftsScores) scores = t.hold(shifted(t, scores, spec.name));
    // The scores keep their name until the probabilities take it: GPT-J's and GPT-Neo's before they are cast.
    const weights = t.scope(() => {
      t.hold(spec.scaledInPlace ? named : scores);
      // MiMo gives their name to the shifted ones.
      if (spec.sinks && !spec.shiftsScores) t.hold(masked);
      if (spec.fp32Softmax === false && !t.settings.autocast) {
        return t.softmax(scores, `${spec.name}.softmax`);
      }
      const wide = t.softmax(t.cast(scores, 'fp32', `${spec.name}.float`), `${spec.name}.softmax`);
      return spec.fp32Scores ? wide : backToOwn(t, wide, q, spec);
    });
    const probabilities =
      spec.fp32Scores && weights.dtype === 'fp32' ? backToOwn(t, weights, q, spec) : weights;
    const dropped = t.hold(t.dropout(probabilities, spec.dropout ?? 0, `${spec.name}.dropout`));
    // Eager attention returns its weights, and layers name them: `hidden_states, _ = self.self_attn(...)`.
    t.holdInLayer(dropped);
    if (spec.returnsWeights && t.settings.behaviours.returnsUnaskedWeights) t.holdUntilNext(dropped);
    const context = t.matmul(
      half(t, dropped),
      flatV ?? flat(v, `${spec.name}.v`, valueDim),
      [b, heads, queries, valueDim],
      keys,
      `${spec.name}.values`,
    );
    return t.copy(context, [b, queries, heads * valueDim], `${spec.name}.contiguous`);
  });
}

/** Probabilities in the type of what they are multiplied with: `.to(query.dtype)`, which autocast has not cast yet. */
function backToOwn(t: Tracer, wide: Tensor, q: Tensor, spec: AttentionSpec): Tensor {
  // gpt-oss, GPT-J and GPT-Neo take the type of the values, which nothing has rotated.
  const ofValues = spec.sinks || spec.shiftsScores || spec.fp32Scores;
  const own = ofValues ? spec.v.dtype : spec.q.dtype;
  return t.cast(wide, t.settings.behaviours.castsProbabilitiesBack ? own : q.dtype, `${spec.name}.to`);
}

/** Scores less the largest of each row. `[b, heads, queries, keys]` in and out. */
function shifted(t: Tracer, scores: Tensor, name: string): Tensor {
  const largest = t.reduce(scores, [...scores.shape.slice(0, -1), 1], `${name}.max`);
  return t.add(scores, largest, `${name}.shift`);
}

/**
 * Megatron without a fused kernel (`dot_product_attention.py`): scale, mask and softmax are one operator that keeps its
 * result in the scores' own type (`fusions/fused_softmax.py`), dropout keeps a mask. Its own modules multiply into a buffer as large as the
 * scores, which one for all layers stays (`matmul_input_buffer`; `GlobalMemoryBuffer`).
 */
function megatronScores(t: Tracer, spec: AttentionSpec, scores: Tensor, v: Tensor): Tensor {
  const [b = 1, heads = 1, queries = 1, keys = 1] = scores.shape;
  const valueDim = spec.valueHeadDim ?? spec.headDim;
  if (t.settings.ownModules) t.ownBuffer('mpu', scores.elements, scores.dtype, true);
  const probabilities = t.keepOutput(scores, `${spec.name}.softmax`);
  const dropped = t.dropout(probabilities, spec.dropout ?? 0, `${spec.name}.dropout`);
  const context = t.matmul(dropped, v, [b, heads, queries, valueDim], keys, `${spec.name}.values`);
  return t.copy(context, [b, queries, heads * valueDim], `${spec.name}.contiguous`);
}
