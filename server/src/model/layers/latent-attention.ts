import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { attend } from './attention';
import type { Block } from './block';
import { rmsNorm } from './norm';
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
}

export function latentAttention(spec: LatentAttentionSpec): Block {
  return (t, x) => t.scope(() => run(t, x, spec));
}

function run(t: Tracer, x: Tensor, spec: LatentAttentionSpec): Tensor {
  const { module, plainDim, rotaryDim, valueDim } = spec;
  const heads = spec.heads / t.settings.tensorParallel;
  const headDim = plainDim + rotaryDim;
  const lead = x.shape.slice(0, -1);

  const queries = t.hold(project(t, x, spec, headDim));
  const [queryPass = queries, queryTurn = queries] = t.split(queries, [heads * plainDim, heads * rotaryDim]);

  const compressed = t.linear(x, {
    name: `${module}.kv_a_proj_with_mqa`,
    out: spec.keyValueRank + rotaryDim,
    bias: spec.bias,
  });
  t.hold(compressed);
  const [latent = compressed, keyTurn = compressed] = t.split(compressed, [spec.keyValueRank, rotaryDim]);
  const normed = rmsNorm(t, latent, { name: `${module}.kv_a_layernorm`, style: 'llama' });

  const turnedQuery = rotary(t, queryTurn, `${module}.rotary_q`);
  const turnedKey = t.hold(rotary(t, keyTurn, `${module}.rotary_k`));
  const q = t.hold(t.concat([queryPass, turnedQuery], [...lead, heads * headDim], `${module}.query`));

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
  });
  return t.linear(context, { name: `${module}.o_proj`, out: spec.hidden, bias: spec.bias, split: 'row' });
}

function project(t: Tracer, x: Tensor, spec: LatentAttentionSpec, headDim: number): Tensor {
  const { module, queryRank } = spec;
  const out = spec.heads * headDim;
  if (queryRank === undefined) return t.linear(x, { name: `${module}.q_proj`, out, split: 'column' });
  const latent = t.linear(x, { name: `${module}.q_a_proj`, out: queryRank, bias: spec.bias });
  const normed = rmsNorm(t, latent, { name: `${module}.q_a_layernorm`, style: 'llama' });
  return t.linear(normed, { name: `${module}.q_b_proj`, out, split: 'column' });
}
