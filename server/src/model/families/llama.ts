import { attend } from '../layers/attention';
import { languageModelHead } from '../layers/loss';
import { gatedMlp } from '../layers/mlp';
import { rmsNorm } from '../layers/norm';
import { rotary } from '../layers/rotary';
import type { Flow, Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

/** What sets Llama's descendants apart. */
export interface LlamaShape {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  readonly inner: number;
  readonly vocabulary: number;
  readonly activation: string;
  readonly tied: boolean;
  readonly attentionBias: { readonly qkv: boolean; readonly output: boolean };
  readonly mlpBias: boolean;
  /** Norm on every query and key head (Qwen3, Gemma 3). */
  readonly headNorm: boolean;
  readonly normStyle: 'llama' | 'gemma';
  readonly attentionDropout: number;
  readonly window?: number;
}

/** Self-attention block body on normed input: projections, rotary positions, kernel, output projection. */
export function llamaAttention(t: Tracer, x: Tensor, shape: LlamaShape): Tensor {
  const ranks = t.settings.tensorParallel;
  const heads = shape.heads / ranks;
  const keyValueHeads = Math.max(1, shape.keyValueHeads / ranks);
  const { headDim } = shape;
  return t.scope(() => {
    const project = (name: string, count: number) =>
      t.linear(x, {
        name: `self_attn.${name}`,
        out: count * headDim,
        bias: shape.attentionBias.qkv,
        split: 'column',
      });
    let q = project('q_proj', shape.heads);
    if (shape.headNorm) q = headNorm(t, q, 'self_attn.q_norm', headDim, shape);
    let k = project('k_proj', shape.keyValueHeads);
    if (shape.headNorm) k = headNorm(t, k, 'self_attn.k_norm', headDim, shape);
    const v = t.hold(project('v_proj', shape.keyValueHeads));
    q = t.hold(rotary(t, q, 'self_attn.rotary_q'));
    k = t.hold(rotary(t, k, 'self_attn.rotary_k'));
    const context = attend(t, {
      name: 'self_attn.attention',
      q,
      k,
      v,
      heads,
      keyValueHeads,
      headDim,
      causal: true,
      window: shape.window,
      dropout: shape.attentionDropout,
    });
    return t.linear(context, {
      name: 'self_attn.o_proj',
      out: shape.hidden,
      bias: shape.attentionBias.output,
      split: 'row',
    });
  });
}

function headNorm(t: Tracer, x: Tensor, name: string, headDim: number, shape: LlamaShape): Tensor {
  const heads = t.view(x, [...x.shape.slice(0, -1), (x.shape.at(-1) ?? 0) / headDim, headDim]);
  return t.view(rmsNorm(t, heads, { name, style: shape.normStyle }), x.shape);
}

/** One pre-norm decoder layer. */
export function llamaLayer(t: Tracer, hidden: Tensor, shape: LlamaShape): Tensor {
  return t.scope(() => {
    const residual = t.hold(hidden);
    const normed = rmsNorm(t, hidden, { name: 'input_layernorm', style: shape.normStyle });
    const attended = t.add(residual, llamaAttention(t, normed, shape), 'residual');
    t.hold(attended);
    const second = rmsNorm(t, attended, { name: 'post_attention_layernorm', style: shape.normStyle });
    const inner = gatedMlp(t, second, {
      name: 'mlp',
      inner: shape.inner,
      activation: shape.activation,
      bias: shape.mlpBias,
    });
    return t.add(attended, inner, 'residual');
  });
}

export function take(flow: Flow, name: string): Tensor {
  const x = flow.get(name);
  if (!x) throw new Error(`a stage before must provide ${name}`);
  return x;
}

/** Embedding, decoder layers, final norm and head of a Llama-like model. */
export function llamaStages(shape: LlamaShape): Stage[] {
  return [
    {
      name: 'embed_tokens',
      role: 'embedding',
      count: 1,
      trace: (t, flow) => {
        const ids = t.input([t.settings.batch, t.settings.sequence], 'int64', false, 'input_ids');
        const hidden = t.embedding(ids, {
          name: 'embed_tokens',
          rows: shape.vocabulary,
          columns: shape.hidden,
          split: 'vocabulary',
        });
        flow.set('hidden', hidden);
      },
    },
    {
      name: 'layers',
      role: 'layer',
      count: shape.layers,
      trace: (t, flow) => {
        flow.set('hidden', llamaLayer(t, t.enter(take(flow, 'hidden'), 'hidden'), shape));
      },
    },
    {
      name: 'head',
      role: 'head',
      count: 1,
      trace: (t, flow) => {
        const hidden = rmsNorm(t, t.enter(take(flow, 'hidden'), 'hidden'), {
          name: 'norm',
          style: shape.normStyle,
        });
        const loss = languageModelHead(t, hidden, {
          name: 'lm_head',
          vocabulary: shape.vocabulary,
          tiedTo: shape.tied ? 'embed_tokens.weight' : undefined,
        });
        flow.set('loss', loss);
      },
    },
  ];
}
