import { type Block, layerNormed } from '../layers/block';
import type { HeadSpec } from '../layers/head-spec';
import { plainMlp } from '../layers/mlp';
import { parallelLayer, postNormLayer, residualLayer } from '../layers/residual';
import { selfAttention } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import type { Tracer } from '../tracer';
import { decoderStages, type EmbeddingSpec } from './decoder-model';
import type { Architecture } from './family';
import { figuresOf, layersOfKinds, type Sizes } from './sizes';

/** Decoders of the GPT line: layer norms and, mostly, an MLP of two linears. */
interface PlainDecoder {
  readonly attention: Omit<SelfAttentionSpec, 'hidden' | 'heads' | 'keyValueHeads' | 'headDim' | 'window'>;
  readonly feedForward: Block;
  /** Leaves buffers of a layer's attention. */
  readonly buffers?: (t: Tracer) => void;
  /** Order of norms and sums. */
  readonly order: 'pre' | 'post' | 'parallel';
  /** Norm before (or, with `post`, after) attention, and that of the MLP; parallel layers may share one. */
  readonly norms: readonly [Block, Block?];
  readonly windowOf?: (layer: number) => number | undefined;
  readonly rotates?: (layer: number) => boolean;
  readonly dropout?: number;
  readonly namesMixed?: boolean;
  readonly inlineFeedForward?: boolean;
  readonly embedding: Omit<EmbeddingSpec, 'rows' | 'columns'> & { readonly columns?: number };
  readonly finalNorm?: Block;
  readonly head: Pick<HeadSpec, 'name' | 'bias' | 'scale' | 'ownTypeOnce'>;
  readonly beforeHead?: Block;
  /** Name of the list of layers. */
  readonly layers: string;
}

/** MLP with two linears. */
export function twoLinears(
  name: string,
  projections: { readonly up: string; readonly down: string },
  inner: number,
  activation: string,
  bias: boolean,
): Block {
  return (t, x) => plainMlp(t, x, { name, inner, activation, bias, projections });
}

export const plainLayerNorm = (name: string): Block => layerNormed(name);

export const BIASED = { qkv: true, output: true };

/** Linears of an MLP in Megatron's names. */
export const DENSE = { up: 'dense_h_to_4h', down: 'dense_4h_to_h' };

/** Names of GPT-2 and how its layers run. */
export const GPT2_LAYERS = {
  order: 'pre',
  norms: [plainLayerNorm('ln_1'), plainLayerNorm('ln_2')],
  namesMixed: true,
  finalNorm: plainLayerNorm('ln_f'),
  head: { name: 'lm_head' },
  layers: 'h',
} satisfies Partial<PlainDecoder>;

/** Llama's names around layer norms. */
export const LLAMA_NAMES = {
  norms: [plainLayerNorm('input_layernorm'), plainLayerNorm('post_attention_layernorm')],
  embedding: { name: 'embed_tokens' },
  finalNorm: plainLayerNorm('norm'),
  head: { name: 'lm_head' },
  layers: 'layers',
} satisfies Partial<PlainDecoder>;

/** A decoder of equal layers but for window and rotation: stages from token ids, [batch, sequence], to logits. */
export function plainDecoder(sizes: Sizes, model: PlainDecoder): Architecture {
  const { hidden, heads, keyValueHeads, headDim } = sizes;
  const kinds = Array.from({ length: sizes.layers }, (_, i) => {
    return `${model.windowOf?.(i) ?? 0}/${model.rotates?.(i) ?? true}`;
  });
  const layers = layersOfKinds(kinds, (kind) => {
    const [window, rotates] = kind.split('/');
    const attention = selfAttention({
      ...model.attention,
      hidden,
      heads,
      keyValueHeads,
      headDim,
      window: Number(window) || undefined,
      rotary: rotates === 'true' ? model.attention.rotary : 0,
      dropout: model.attention.dropout ?? sizes.attentionDropout,
    });
    const { buffers } = model;
    if (!buffers) return layerOf(model, attention);
    return layerOf(model, (t, x) => {
      buffers(t);
      return attention(t, x);
    });
  });
  return {
    figures: figuresOf(sizes),
    stages: decoderStages({
      embedding: { columns: hidden, ...model.embedding, rows: sizes.vocabulary },
      layers,
      layersName: model.layers,
      finalNorm: model.finalNorm,
      beforeHead: model.beforeHead,
      head: {
        ...model.head,
        vocabulary: sizes.vocabulary,
        tiedTo: sizes.tied ? `${model.embedding.name}.weight` : undefined,
      },
    }),
  };
}

function layerOf(model: PlainDecoder, attention: Block): Block {
  const { feedForward, dropout } = model;
  const [first, second] = model.norms;
  if (model.order === 'parallel') {
    return (t, x) =>
      parallelLayer(t, x, { attention, feedForward, norm: first, feedForwardNorm: second, dropout });
  }
  const after = second ?? first;
  if (model.order === 'post') {
    return (t, x) =>
      postNormLayer(t, x, {
        mixer: attention,
        mixerNorm: first,
        feedForward,
        feedForwardNorm: after,
        dropout,
      });
  }
  return (t, x) =>
    residualLayer(t, x, {
      beforeMixer: first,
      mixer: attention,
      beforeFeedForward: after,
      feedForward,
      dropout,
      namesMixed: model.namesMixed,
      inlineFeedForward: model.inlineFeedForward,
    });
}
