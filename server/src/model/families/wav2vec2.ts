import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { classificationHead, classifies } from '../layers/classification';
import { convolution } from '../layers/convolution';
import { groupNorm } from '../layers/group-norm';
import { postNormLayer, residualLayer } from '../layers/residual';
import { LLAMA_PROJECTIONS, selfAttention } from '../layers/self-attention';
import type { Stage } from '../model';
import { ELEMENT_BYTES, type Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { hiddenStage, layerStages, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';

/** One of the convolutions that make frames of a waveform. */
interface FrameConvolution {
  readonly channels: number;
  readonly kernel: number;
  readonly stride: number;
}

function convolutionsOf(config: ConfigReader): FrameConvolution[] {
  const [channels, kernels, strides] = ['conv_dim', 'conv_kernel', 'conv_stride'].map((name) =>
    (config.list(name) ?? []).map(Number),
  );
  if (!channels || !kernels || !strides || channels.length === 0)
    throw new ConfigError(say('"{0}" is missing', 'conv_dim'));
  if (kernels.length !== channels.length || strides.length !== channels.length)
    throw new ConfigError(
      say('"{0}", "{1}" and "{2}" have different lengths', 'conv_dim', 'conv_kernel', 'conv_stride'),
    );
  return channels.map((width, i) => ({
    channels: width,
    kernel: kernels[i] ?? 1,
    stride: strides[i] ?? 1,
  }));
}

/** Frames that are left of so many values, one at least (`_conv_out_length`). */
const framesOf = (values: number, { kernel, stride }: FrameConvolution): number =>
  Math.max(1, Math.floor((values - kernel) / stride) + 1);

/** Sizes of wav2vec 2.0, by the names of its configuration. */
interface Sizes {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly inner: number;
  readonly vocabulary: number;
  readonly labels: number;
  readonly activation: string;
  readonly frameActivation: string;
  readonly convolutions: readonly FrameConvolution[];
  readonly convolutionBias: boolean;
  /** Norm of the first convolution by channels, or of each over them (`feat_extract_norm`). */
  readonly normsEach: boolean;
  /** Norms before each branch, and one at the end (`do_stable_layer_norm`). */
  readonly stable: boolean;
  readonly positions: { readonly kernel: number; readonly groups: number };
  readonly projector: number;
  /** Width of what stands behind each layer for one language (`adapter_attn_dim` of MMS); 0 where nothing does. */
  readonly adapter: number;
  /** A vector stands for frames that are hidden at random (`masked_spec_embed`). */
  readonly masks: boolean;
  /** Share of the frames that it stands for. */
  readonly masked: number;
  readonly dropout: Readonly<Record<'hidden' | 'activation' | 'attention' | 'feat_proj' | 'final', number>>;
}

function read(config: ConfigReader): Sizes {
  for (const name of ['add_adapter', 'use_weighted_layer_sum'])
    if (config.flag(false, name)) throw new ConfigError(say('"{0}": true is not supported', name));
  const [time, feature] = ['mask_time_prob', 'mask_feature_prob'].map((name) => config.number(0, name));
  return {
    hidden: config.size('hidden_size'),
    layers: config.size('num_hidden_layers'),
    heads: config.size('num_attention_heads'),
    inner: config.size('intermediate_size'),
    vocabulary: config.size('vocab_size'),
    labels: config.labels(2),
    activation: config.text('gelu', 'hidden_act'),
    frameActivation: config.text('gelu', 'feat_extract_activation'),
    convolutions: convolutionsOf(config),
    convolutionBias: config.flag(false, 'conv_bias'),
    normsEach: config.text('group', 'feat_extract_norm') === 'layer',
    stable: config.flag(false, 'do_stable_layer_norm'),
    positions: {
      kernel: config.size('num_conv_pos_embeddings'),
      groups: config.size('num_conv_pos_embedding_groups'),
    },
    projector: config.size('classifier_proj_size'),
    // A layer that norms after its branches has no adapter, whatever the config has (`Wav2Vec2EncoderLayer`).
    adapter: config.has('adapter_attn_dim') ? config.size('adapter_attn_dim') : 0,
    masks: (time ?? 0) > 0 || (feature ?? 0) > 0,
    masked: config.flag(true, 'apply_spec_augment') ? (time ?? 0) : 0,
    dropout: {
      hidden: config.dropout('hidden_dropout'),
      activation: config.dropout('activation_dropout'),
      attention: config.dropout('attention_dropout'),
      feat_proj: config.dropout('feat_proj_dropout'),
      final: config.dropout('final_dropout'),
    },
  };
}

/**
 * A convolution with its norm and activation (`Wav2Vec2GroupNormConvLayer` and its kin). From `[b, from, frames]` to `[b, channels, frames]`;
 * each is a module that checkpointing wraps.
 */
function frameLayer(sizes: Sizes, index: number): Block {
  const own = sizes.convolutions[index] ?? { channels: 1, kernel: 1, stride: 1 };
  return (t, x) => {
    const [batch = 1, from = 1, length = 1] = x.shape;
    const shape = [batch, own.channels, framesOf(length, own)];
    const made = convolution(t, x, {
      name: 'conv',
      kernel: [own.channels, from, own.kernel],
      out: shape,
      bias: sizes.convolutionBias,
    });
    const turned = (y: Tensor) => t.view(y, [batch, shape[2] ?? 1, own.channels]);
    const normed = sizes.normsEach
      ? t.view(layerNormed('layer_norm')(t, turned(made)), shape)
      : index === 0
        ? groupNorm(t, made, {
            name: 'layer_norm',
            channels: own.channels,
            groups: own.channels,
          })
        : made;
    return applyActivation(t, normed, sizes.frameActivation);
  };
}

/** The waveform `[b, 1, values]`, whose gradient is taken, too: `hidden_states.requires_grad = True` (`Wav2Vec2FeatureEncoder.forward`). */
function waveform(): Stage {
  return {
    name: 'feature_extractor',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const { batch, sequence, evaluating, raisesInput } = t.settings;
      const shape = [batch, 1, Math.max(1, sequence)];
      const raises = evaluating !== true && raisesInput?.('feature_extractor') !== false;
      flow.set('hidden', t.input(shape, inputDtype(t.settings), raises, 'input_values'));
    },
  };
}

/**
 * Positions by a grouped convolution over `[b, frames, h]`, whose kernel a norm makes of two weights in each pass
 * (`Wav2Vec2PositionalConvEmbedding`; `_weight_norm_interface` keeps the norms, one for each place of the kernel, in fp32).
 */
function positionsOf(t: Tracer, x: Tensor, { hidden, positions, frameActivation }: Sizes): Tensor {
  const name = 'encoder.pos_conv_embed.conv';
  const { kernel, groups } = positions;
  const [batch = 1, frames = 1] = x.shape;
  const shape = [hidden, hidden / groups, kernel];
  const weights = [
    t.weight({ name: `${name}.parametrizations.weight.original0`, shape: [1, 1, kernel] }),
    t.weight({ name: `${name}.parametrizations.weight.original1`, shape }),
  ];
  const whole = t.fused({
    name: `${name}.weight_norm`,
    inputs: [],
    outputs: [{ shape, dtype: t.settings.weightDtype }],
    weights,
    savesBytes: kernel * ELEMENT_BYTES.fp32,
  });
  const { autocast, computeDtype } = t.settings;
  const [input, filter] = [x, whole].map((y) => (autocast ? t.cast(y, computeDtype, `${name}.cast`) : y));
  if (!input || !filter) return x;
  // An even kernel gives one frame too many, which is cut off.
  const out = [batch, frames + (kernel % 2 === 0 ? 1 : 0), hidden];
  const flops = (2 * batch * (out[1] ?? 1) * hidden * hidden * kernel) / groups;
  const made = t.fused({
    name,
    inputs: [input, filter],
    outputs: [{ shape: out, dtype: input.dtype }],
    savesInputs: [input, filter],
    weights: [t.weight({ name: `${name}.bias`, shape: [hidden] })],
    flops,
    backwardFlops: 2 * flops,
    expensive: true,
  });
  return applyActivation(t, t.slice(made, [batch, frames, hidden]), frameActivation);
}

/** Frames `[b, channels, frames]` to what the layers get, `[b, frames, h]`: norm, linear, hidden frames, positions. */
function projection(sizes: Sizes): Stage {
  return hiddenStage('feature_projection', 'embedding', 1, (t, x) => {
    const [batch = 1, channels = 1, frames = 1] = x.shape;
    const { hidden, dropout } = sizes;
    // The norm makes what it gets contiguous.
    const normed = layerNormed('feature_projection.layer_norm')(t, t.view(x, [batch, frames, channels]));
    const wide = t.linear(normed, { name: 'feature_projection.projection', out: hidden, bias: true });
    const projected = hideFrames(t, t.dropout(wide, dropout.feat_proj, 'projection_dropout'), sizes);
    const placed = t.add(projected, positionsOf(t, projected, sizes), 'positions');
    const first = sizes.stable ? placed : layerNormed('encoder.layer_norm')(t, placed);
    return t.dropout(first, dropout.hidden, 'embedding_dropout');
  });
}

/** A learned vector in place of frames that are chosen at random, written in place: two indices of 8 bytes are kept for each (SpecAugment). */
function hideFrames(t: Tracer, x: Tensor, { hidden, masks, masked }: Sizes): Tensor {
  if (!masks) return x;
  const vector = t.weight({ name: 'masked_spec_embed', shape: [hidden] });
  if (masked === 0 || t.settings.evaluating === true) return x;
  const frames = Math.ceil((x.elements / hidden) * masked);
  return t.fused({
    name: 'masked_spec_embed',
    inputs: [x],
    outputs: [{ shape: x.shape, dtype: x.dtype }],
    savesBytes: 2 * frames * ELEMENT_BYTES.int64,
    weights: [vector],
  });
}

/** What a layer makes and what is added to it; it stays until that is. */
function adapted(t: Tracer, x: Tensor, adapter: Block | undefined): Tensor {
  return adapter ? t.scope(() => t.add(t.hold(x), adapter(t, x), 'adapter_layer.residual')) : x;
}

/** `Wav2Vec2AttnAdapterLayer`: what is added for one language to `[b, frames, h]`. */
function languageAdapter({ hidden, adapter }: Sizes): Block {
  const name = (part: string) => `adapter_layer.${part}`;
  return (t, x) => {
    const normed = layerNormed(name('norm'))(t, x);
    const narrow = t.linear(normed, { name: name('linear_1'), out: adapter, bias: true });
    const active = applyActivation(t, narrow, 'relu');
    return t.linear(active, { name: name('linear_2'), out: hidden, bias: true });
  };
}

/** `Wav2Vec2EncoderLayer`, or with norms before its branches `Wav2Vec2EncoderLayerStableLayerNorm`. `[b, frames, h]` in and out. */
function encoderLayer(sizes: Sizes): Block {
  const { hidden, heads, inner, activation, stable, dropout } = sizes;
  const mixer = selfAttention({
    module: 'attention',
    hidden,
    heads,
    keyValueHeads: heads,
    headDim: hidden / heads,
    projections: LLAMA_PROJECTIONS,
    output: 'out_proj',
    bias: { qkv: true, output: true },
    rotary: 0,
    causal: false,
    dropout: dropout.attention,
    fp32Softmax: false,
  });
  const feedForward: Block = (t, x) => {
    const up = t.linear(x, {
      name: 'feed_forward.intermediate_dense',
      out: inner,
      bias: true,
      split: 'column',
    });
    const active = t.dropout(applyActivation(t, up, activation), dropout.activation, 'activation_dropout');
    return t.linear(active, { name: 'feed_forward.output_dense', out: hidden, bias: true, split: 'row' });
  };
  const norms = [layerNormed('layer_norm'), layerNormed('final_layer_norm')] as const;
  const before: Block = (t, x) =>
    residualLayer(t, x, {
      mixer,
      beforeMixer: norms[0],
      feedForward,
      beforeFeedForward: norms[1],
      dropout: dropout.hidden,
    });
  const adapter = sizes.adapter > 0 ? languageAdapter(sizes) : undefined;
  return (t, x) =>
    stable
      ? adapted(t, before(t, x), adapter)
      : postNormLayer(t, x, {
          mixer,
          mixerNorm: norms[0],
          feedForward,
          feedForwardNorm: norms[1],
          dropout: dropout.hidden,
        });
}

/**
 * Connectionist temporal classification of `[b, frames, vocabulary]`: log-probabilities in fp32, and the sums of all paths to each frame, one
 * for every token of the text and every gap between (`LossCTC.cpp`, `ctc_loss_gpu_template`). No text is longer than the frames.
 */
function pathLoss(t: Tracer, logits: Tensor): Tensor {
  const [batch = 1, frames = 1] = logits.shape;
  const logProbabilities = t.softmax(t.cast(logits, 'fp32', 'loss.float'), 'loss.log_softmax');
  const sums = batch * frames * (2 * Math.min(t.settings.targetSequence, frames) + 1);
  return t.fused({
    name: 'loss.ctc',
    inputs: [logProbabilities],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: [logProbabilities],
    savesBytes: sums * ELEMENT_BYTES.fp32,
    // Backward makes the same sums from the other end.
    backwardScratch: sums * ELEMENT_BYTES.fp32,
  });
}

/** The mean of all frames and a classifier, or the letters of each frame where the run trains for text. */
function head(sizes: Sizes): Stage {
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const hidden = t.enter(take(flow, 'hidden'), 'hidden');
      if (!classifies(t)) {
        const dropped = t.dropout(hidden, sizes.dropout.final, 'head_dropout');
        const logits = t.linear(dropped, {
          name: 'lm_head',
          out: sizes.vocabulary,
          bias: true,
          role: 'head',
          kind: 'logits',
        });
        flow.set('loss', pathLoss(t, logits));
        return;
      }
      const projected = t.linear(hidden, { name: 'projector', out: sizes.projector, bias: true });
      const pooled = t.reduce(projected, [projected.shape[0] ?? 1, sizes.projector], 'mean');
      const labels = t.settings.objective === 'reward' ? 1 : sizes.labels;
      flow.set('loss', classificationHead(t, pooled, { name: 'classifier', labels, bias: true }));
    },
  };
}

function wav2vec2(config: ConfigReader): Architecture {
  const sizes = read(config);
  const { convolutions } = sizes;
  const stride = convolutions.reduce((product, one) => product * one.stride, 1);
  const body = [
    waveform(),
    ...layerStages(
      'feature_extractor.conv_layers',
      convolutions.map((_, index) => frameLayer(sizes, index)),
    ),
    projection(sizes),
    ...layerStages('encoder.layers', new Array<Block>(sizes.layers).fill(encoderLayer(sizes))),
    ...(sizes.stable
      ? [hiddenStage('encoder.layer_norm', 'norm', 1, layerNormed('encoder.layer_norm'))]
      : []),
  ];
  return {
    figures: {
      hiddenSize: sizes.hidden,
      layers: sizes.layers,
      attentionHeads: sizes.heads,
      keyValueHeads: sizes.heads,
      vocabulary: sizes.vocabulary,
    },
    stages: [...body, head(sizes)],
    counted: body,
    notes: [
      say(
        'the length of a sample is counted in values of its waveform, 16,000 of which are a second: {0} of them make a frame',
        String(stride),
      ),
    ],
  };
}

/** Encoders that make frames of a waveform: wav2vec 2.0. */
export const waveforms: ModelFamily = {
  modelTypes: ['wav2vec2'],
  build: wav2vec2,
};
