import { applyActivation } from './activation';
import type { AttentionSpec } from './attention';
import { type Block, layerNormed } from './block';
import { residualLayer } from './residual';
import { LLAMA_PROJECTIONS, selfAttention } from './self-attention';

interface EncoderLayerSpec {
  /** Path before every module of the tower, with its dot: `vision_tower.`. */
  readonly prefix?: string;
  readonly hidden: number;
  readonly heads: number;
  readonly inner: number;
  readonly activation: string;
  readonly dropout?: number;
  readonly attentionDropout?: number;
  readonly causal?: boolean;
  readonly rotary?: number;
  /** Kernels that the attention has; default all. */
  readonly kernels?: AttentionSpec['kernels'];
  readonly fp32Softmax?: boolean;
  /** Of queries, keys and values; default true. */
  readonly bias?: boolean;
  /** Of keys; default as `bias`. */
  readonly keyBias?: boolean;
  readonly names: {
    readonly attention: string;
    readonly projections?: { readonly q: string; readonly k: string; readonly v: string } | string;
    readonly output: string;
    readonly norms: readonly [string, string];
    /** Module of the MLP; empty where its linears stand on their own. */
    readonly mlp: string;
    readonly up: string;
    readonly down: string;
  };
}

/** Names of CLIP's and SigLIP's layers. */
export const CLIP_NAMES: EncoderLayerSpec['names'] = {
  attention: 'self_attn',
  output: 'out_proj',
  norms: ['layer_norm1', 'layer_norm2'],
  mlp: 'mlp',
  up: 'fc1',
  down: 'fc2',
};

/** Names of ViT's and ViLT's layers. */
export const VIT_NAMES: EncoderLayerSpec['names'] = {
  attention: 'attention',
  projections: { q: 'attention.query', k: 'attention.key', v: 'attention.value' },
  output: 'output.dense',
  norms: ['layernorm_before', 'layernorm_after'],
  mlp: '',
  up: 'intermediate.dense',
  down: 'output.dense',
};

/** Pre-norm layer with biases everywhere and an MLP of two linears: ViT, CLIP, SigLIP, Llama 4's and Qwen 2's towers. */
export function encoderLayer(spec: EncoderLayerSpec): Block {
  const prefix = spec.prefix ?? '';
  const { names } = spec;
  const mlp = names.mlp === '' ? prefix : `${prefix}${names.mlp}.`;
  const mixer = selfAttention({
    module: `${prefix}${names.attention}`,
    hidden: spec.hidden,
    heads: spec.heads,
    keyValueHeads: spec.heads,
    headDim: spec.hidden / spec.heads,
    projections: names.projections ?? LLAMA_PROJECTIONS,
    output: names.output,
    bias: { qkv: spec.bias ?? true, output: true, key: spec.keyBias },
    rotary: spec.rotary ?? 0,
    causal: spec.causal ?? false,
    dropout: spec.attentionDropout,
    kernels: spec.kernels,
    fp32Softmax: spec.fp32Softmax,
  });
  return (t, x) =>
    residualLayer(t, x, {
      beforeMixer: layerNormed(`${prefix}${names.norms[0]}`),
      mixer,
      beforeFeedForward: layerNormed(`${prefix}${names.norms[1]}`),
      feedForward: (tracer, y) => {
        const up = tracer.linear(y, {
          name: `${mlp}${names.up}`,
          out: spec.inner,
          bias: true,
          split: 'column',
        });
        const activated = applyActivation(tracer, up, spec.activation);
        return tracer.linear(activated, {
          name: `${mlp}${names.down}`,
          out: spec.hidden,
          bias: true,
          split: 'row',
        });
      },
      dropout: spec.dropout,
    });
}
