import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { attend } from './attention';
import type { Block } from './block';
import { layerNorm, rmsNorm } from './norm';
import { rotary } from './rotary';

/** Multi-head latent attention (DeepSeek V2 and V3): keys and values are expanded from a compressed latent. */
export interface LatentAttentionSpec {
  readonly module: string;
  readonly hidden: number;
  readonly heads: number;
  /** Rank of the query's latent; absent where queries come from one linear. */
  readonly queryRank?: number;
  readonly keyValueRank: number;
  /** Parts of a query or key head without and with rotary positions. */
  readonly plainDim: number;
  readonly rotaryDim: number;
  readonly valueDim: number;
  readonly bias: boolean;
  readonly dropout: number;
  /** Queries are scaled by their position, in a tensor of their own (Mistral 4). */
  readonly scaledQueries?: boolean;
  /** Nothing is rotated: the shared part of the keys is copied as it is (Kimi Linear). */
  readonly unrotated?: boolean;
  /** What chooses the tokens that each one sees (DeepSeek V3.2); without `own`, those that a layer before has chosen. */
  readonly indexer?: IndexerSpec & { readonly own: boolean };
}

/** Small heads of their own, whose scores are ranked and never trained by the loss. */
interface IndexerSpec {
  readonly heads: number;
  readonly dim: number;
  /** Tokens that are chosen. */
  readonly top: number;
}

/** Multi-head latent attention: a block from [batch, sequence, hidden] to the same shape. */
export function latentAttention(spec: LatentAttentionSpec): Block {
  return (t, x) => t.scope(() => run(t, x, spec));
}

function run(t: Tracer, x: Tensor, spec: LatentAttentionSpec): Tensor {
  const { module, plainDim, rotaryDim, valueDim } = spec;
  const heads = spec.heads / t.settings.tensorParallel;
  const headDim = plainDim + rotaryDim;
  const mask = spec.indexer && chosenTokens(t, x, spec, spec.indexer);
  if (mask) t.hold(mask);
  const queries = t.hold(project(t, x, spec, headDim));
  // The whole sequence, also where `x` is this rank's part of it: projections up are split by heads and gather it.
  const lead = queries.shape.slice(0, -1);
  const compressed = t.linear(x, {
    name: `${module}.kv_a_proj_with_mqa`,
    out: spec.keyValueRank + rotaryDim,
    bias: spec.bias,
  });
  t.hold(compressed);
  const [latent = compressed, keyTurn = compressed] = t.split(compressed, [spec.keyValueRank, rotaryDim]);
  const normed = rmsNorm(t, latent, { name: `${module}.kv_a_layernorm`, style: 'llama' });

  const q = spec.unrotated ? queries : t.hold(rotatedQueries(t, queries, spec));
  const shared = t.gatherSequence(keyTurn);
  const turnedKey = spec.unrotated ? shared : t.hold(rotary(t, shared, `${module}.rotary_k`));

  const expanded = t.linear(normed, {
    name: `${module}.kv_b_proj`,
    out: spec.heads * (plainDim + valueDim),
    split: 'column',
  });
  const [keyPass = expanded, values = expanded] = t.split(expanded, [heads * plainDim, heads * valueDim]);
  const v = t.hold(values);
  const everyHead = t.expand(turnedKey, [...lead, heads * rotaryDim]);
  const k = t.hold(t.concat([keyPass, everyHead], [...lead, heads * headDim], `${module}.key`));

  const context = attend(t, {
    name: `${module}.attention`,
    q,
    k,
    v,
    heads,
    keyValueHeads: heads,
    headDim,
    valueHeadDim: valueDim,
    causal: true,
    // The parts of a query are joined head by head; kernels that take values of another size do not follow its layout.
    packedHeads: spec.valueDim === headDim,
    dropout: spec.dropout,
    bias: mask,
  });
  return t.linear(context, { name: `${module}.o_proj`, out: spec.hidden, bias: spec.bias, split: 'row' });
}

/** Queries with their second part rotated, in a tensor of their own. */
function rotatedQueries(t: Tracer, queries: Tensor, spec: LatentAttentionSpec): Tensor {
  const { module } = spec;
  const heads = spec.heads / t.settings.tensorParallel;
  const sizes = [heads * spec.plainDim, heads * spec.rotaryDim];
  const [pass = queries, turn = queries] = t.split(queries, sizes);
  const turned = rotary(t, turn, `${module}.rotary_q`);
  const joined = t.concat([pass, turned], queries.shape, `${module}.query`);
  return spec.scaledQueries ? t.scale(joined, `${module}.query_scaled`) : joined;
}

function project(t: Tracer, x: Tensor, spec: LatentAttentionSpec, headDim: number): Tensor {
  const { module, queryRank } = spec;
  const out = spec.heads * headDim;
  if (queryRank === undefined) return t.linear(x, { name: `${module}.q_proj`, out, split: 'column' });
  const latent = t.linear(x, { name: `${module}.q_a_proj`, out: queryRank, bias: spec.bias });
  const normed = rmsNorm(t, latent, { name: `${module}.q_a_layernorm`, style: 'llama' });
  return t.linear(normed, { name: `${module}.q_b_proj`, out, split: 'column' });
}

/**
 * The indexer runs without gradients (`DeepseekV32Indexer.forward`): products of every query with every key in fp32, their
 * sum over its heads, and the best of them, from which an additive mask is made. Only the mask stays, for the kernel. A
 * layer that takes over another's choice makes the mask anew.
 */
function chosenTokens(
  t: Tracer,
  x: Tensor,
  spec: LatentAttentionSpec,
  indexer: IndexerSpec & { own: boolean },
): Tensor {
  const { heads, dim, top, own } = indexer;
  const [batch = 1, sequence = 1] = x.shape;
  const name = `${spec.module}.indexer`;
  if (own) registerIndexer(t, x, spec, indexer);
  const pairs = batch * sequence * sequence;
  const projections = heads * dim * (spec.queryRank ?? spec.hidden) + (dim + heads) * spec.hidden;
  return t.fused({
    name,
    inputs: [],
    outputs: [{ shape: [batch, 1, sequence, sequence], dtype: x.dtype }],
    // Scores of all heads and their ReLU in fp32, then their sum; the mask is filled from the indices.
    forwardScratch: own
      ? ELEMENT_BYTES.fp32 * pairs * (2 * heads + 1)
      : 4 * batch * sequence * Math.min(top, sequence),
    flops: own ? 2 * batch * sequence * projections + 2 * pairs * heads * (dim + 1) : 0,
  });
}

/** Weights of the indexer, with adapters of its linear layers, as one pass of them over a token would find them. */
function registerIndexer(t: Tracer, x: Tensor, spec: LatentAttentionSpec, { heads, dim }: IndexerSpec): void {
  const name = `${spec.module}.indexer`;
  t.registerWeightsOf((probe) => {
    const token = (width: number) => probe.input([1, 1, width], x.dtype, false, name);
    probe.linear(token(spec.queryRank ?? spec.hidden), { name: `${name}.wq_b`, out: heads * dim });
    const key = probe.linear(token(spec.hidden), { name: `${name}.wk`, out: dim });
    layerNorm(probe, key, { name: `${name}.k_norm` });
    probe.linear(token(spec.hidden), { name: `${name}.weights_proj`, out: heads, listed: true });
  });
}
