import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { batchNorm } from '../layers/batch-norm';
import { layerNormed } from '../layers/block';
import { convolution } from '../layers/convolution';
import type { Flow, Stage } from '../model';
import { ELEMENT_BYTES, type Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { spectrogramLoss } from './spectrogram-loss';
import { attendedSum, fedSum, type LayerSizes } from './speecht5-attention';

type Side = 'encoder' | 'decoder';

/** Sizes of SpeechT5 that speaks, by the names of its configuration. */
interface Sizes {
  readonly hidden: number;
  readonly vocabulary: number;
  readonly layers: Readonly<Record<Side, number>>;
  readonly layer: Readonly<Record<Side, LayerSizes>>;
  readonly positionalDropout: number;
  /** Distances on either side that have a vector of their own. */
  readonly distances: number;
  /** Longest text in tokens, and longest speech in steps of the decoder. */
  readonly longest: Readonly<Record<Side, number>>;
  readonly bins: number;
  /** Frames of a step of the decoder. */
  readonly reduction: number;
  readonly speaker: number;
  readonly prenet: { readonly layers: number; readonly units: number };
  readonly postnet: {
    readonly layers: number;
    readonly units: number;
    readonly kernel: number;
    readonly dropout: number;
  };
  /** Heads of each layer whose attention is guided; undefined where none is. */
  readonly guided: number | undefined;
}

function read(config: ConfigReader): Sizes {
  const hidden = config.size('hidden_size');
  const layer = (side: Side): LayerSizes => ({
    hidden,
    heads: config.size(`${side}_attention_heads`),
    inner: config.size(`${side}_ffn_dim`),
    activation: config.text('gelu', 'hidden_act'),
    dropout: {
      hidden: config.dropout('hidden_dropout'),
      activation: config.dropout('activation_dropout'),
      attention: config.dropout('attention_dropout'),
    },
  });
  return {
    hidden,
    vocabulary: config.size('vocab_size'),
    layers: { encoder: config.size('encoder_layers'), decoder: config.size('decoder_layers') },
    layer: { encoder: layer('encoder'), decoder: layer('decoder') },
    positionalDropout: config.dropout('positional_dropout'),
    distances: config.size('encoder_max_relative_position'),
    longest: { encoder: config.size('max_text_positions'), decoder: config.size('max_speech_positions') },
    bins: config.size('num_mel_bins'),
    reduction: config.size('reduction_factor'),
    speaker: config.size('speaker_embedding_dim'),
    prenet: {
      layers: config.size('speech_decoder_prenet_layers'),
      units: config.size('speech_decoder_prenet_units'),
    },
    postnet: {
      layers: config.size('speech_decoder_postnet_layers'),
      units: config.size('speech_decoder_postnet_units'),
      kernel: config.size('speech_decoder_postnet_kernel'),
      dropout: config.dropout('speech_decoder_postnet_dropout'),
    },
    guided: config.flag(true, 'use_guided_attention_loss')
      ? config.number(2, 'guided_attention_loss_num_heads')
      : undefined,
  };
}

const tokensOf = ({ settings }: Tracer, { longest }: Sizes) => Math.min(settings.sequence, longest.encoder);

/** Steps of the decoder. */
const stepsOf = ({ settings }: Tracer, { longest }: Sizes) =>
  Math.min(settings.targetSequence, longest.decoder);

/** Sines, which a learned number scales, added to `[b, n, h]` (`SpeechT5ScaledPositionalEncoding`). */
function placed(t: Tracer, x: Tensor, module: string, rows: number, dropout: number): Tensor {
  const name = `${module}.encode_positions`;
  const [, length = 1, hidden = 1] = x.shape;
  t.ownBuffer(`${name}.pe`, rows * hidden, t.settings.weightDtype);
  const alpha = t.weight({ name: `${name}.alpha`, shape: [1] });
  const scaled = t.fused({
    name,
    inputs: [],
    outputs: [{ shape: [1, length, hidden], dtype: t.settings.weightDtype }],
    weights: [alpha],
    // The product of all of it with the gradient, before its sum.
    backwardScratch: length * hidden * ELEMENT_BYTES.fp32,
  });
  return t.dropout(t.add(x, scaled, 'positions'), dropout, `${name}.dropout`);
}

/** A mask of `[b, 1, queries, keys]` in the type of the embeddings. */
function maskOf(t: Tracer, queries: number, keys: number, name: string): Tensor {
  const { batch, weightDtype } = t.settings;
  return t.fused({ name, inputs: [], outputs: [{ shape: [batch, 1, queries, keys], dtype: weightDtype }] });
}

/** Tokens to `[b, n, h]`, a mask, and a vector for each pair of tokens (`SpeechT5RelativePositionalEncoding`). */
function textStage(sizes: Sizes): Stage {
  const { hidden, vocabulary, longest, distances, layer, positionalDropout } = sizes;
  return {
    name: 'encoder.prenet',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const tokens = tokensOf(t, sizes);
      const ids = t.input([t.settings.batch, tokens], 'int64', false, 'input_ids');
      t.input([t.settings.batch, tokens], 'int64', false, 'attention_mask');
      const table = {
        name: 'encoder.prenet.embed_tokens',
        rows: vocabulary,
        columns: hidden,
        tokens: true,
      };
      const embedded = t.embedding(ids, table);
      const x = placed(t, embedded, 'encoder.prenet', longest.encoder, positionalDropout);
      flow.set('text_mask', maskOf(t, tokens, tokens, 'encoder.mask'));
      const normed = layerNormed('encoder.layer_norm')(t, x);
      flow.set('hidden', t.dropout(normed, layer.encoder.dropout.hidden, 'encoder.dropout'));
      const pairs = t.fused({
        name: 'encoder.distances',
        inputs: [],
        outputs: [{ shape: [tokens, tokens], dtype: 'int64' }],
      });
      const columns = hidden / layer.encoder.heads;
      const spec = { name: 'encoder.embed_positions.pe_k', rows: 2 * distances, columns };
      flow.set('positions', t.embedding(pairs, spec));
    },
  };
}

/** What is returned and never differentiated. */
const unread = (x: Tensor): Tensor => ({ ...x, requiresGrad: false });

/** `[b, n, h]` in and out; the attention weights leave as `encoder.N` where the class returns them. */
function encoderLayer(sizes: Sizes, index: number): Stage['trace'] {
  const own = sizes.layer.encoder;
  return (t, flow) =>
    t.scope(() => {
      const x = t.enter(take(flow, 'hidden'), 'hidden');
      const mask = t.enter(take(flow, 'text_mask'), 'text_mask');
      const positions = t.enter(take(flow, 'positions'), 'positions');
      const spec = { module: 'attention', norm: 'layer_norm', mask, positions };
      const { out, weights } = attendedSum(t, t.hold(x), own, spec);
      flow.set('hidden', fedSum(t, out, own));
      if (sizes.guided !== undefined) flow.set(`encoder.${index}`, unread(weights));
    });
}

/** Half of all values at random, the same of each sample, also where the model is evaluated (`_consistent_dropout`). */
function halvedAtRandom(t: Tracer, x: Tensor, name: string): Tensor {
  const kept = t.fused({
    name: `${name}.where`,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype: x.dtype }],
    savesBytes: x.elements * ELEMENT_BYTES.bool,
    forwardScratch: x.elements * ELEMENT_BYTES[x.dtype],
  });
  return t.scale(t.scale(kept, `${name}.mul`), `${name}.div`);
}

/** Frames of the step before to `[b, steps, h]`, with the speaker's vector beside each (`SpeechT5SpeechDecoderPrenet`). */
function speechStage(sizes: Sizes): Stage {
  const { hidden, bins, speaker, prenet, longest } = sizes;
  const module = 'decoder.prenet';
  return {
    name: module,
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const { batch } = t.settings;
      const steps = stepsOf(t, sizes);
      const dtype = inputDtype(t.settings);
      flow.set('encoder', t.enter(take(flow, 'hidden'), 'hidden'));
      const voice = t.batchInput([batch, speaker], dtype, 'speaker_embeddings');
      // Frames that are known, one step later: made of the labels.
      const before = { shape: [batch, steps, bins], dtype };
      const frames = t.fused({ name: 'decoder_input_values', inputs: [], outputs: [before] });
      let x = t.holdInModel(frames);
      for (let i = 0; i < prenet.layers; i++) {
        const name = `${module}.layers.${i}`;
        const wide = t.linear(x, { name, out: prenet.units, bias: true });
        x = halvedAtRandom(t, applyActivation(t, wide, 'relu'), name);
      }
      const own = t.linear(x, { name: `${module}.final_layer`, out: hidden, bias: true });
      const there = placed(t, own, module, longest.decoder, sizes.positionalDropout);
      const voices = t.expand(t.scale(voice, 'normalize'), [batch, steps, speaker]);
      const joined = t.concat([there, voices], [batch, steps, hidden + speaker], `${module}.speakers`);
      const mixed = t.linear(joined, { name: `${module}.speaker_embeds_layer`, out: hidden, bias: true });
      flow.set('hidden', applyActivation(t, mixed, 'relu'));
      flow.set('causal_mask', maskOf(t, steps, steps, 'decoder.mask'));
      flow.set('cross_mask', maskOf(t, steps, tokensOf(t, sizes), 'decoder.cross_mask'));
    },
  };
}

/** `[b, steps, h]` in and out, beside the text; both attention weights leave where the class returns them. */
function decoderLayer(sizes: Sizes, index: number): Stage['trace'] {
  const own = sizes.layer.decoder;
  return (t, flow) =>
    t.scope(() => {
      const entered = (name: string) => t.enter(take(flow, name), name);
      const x = entered('hidden');
      const [mask, crossMask, source] = [entered('causal_mask'), entered('cross_mask'), entered('encoder')];
      const first = attendedSum(t, t.hold(x), own, {
        module: 'self_attn',
        norm: 'self_attn_layer_norm',
        mask,
      });
      const second = attendedSum(t, t.hold(first.out), own, {
        module: 'encoder_attn',
        norm: 'encoder_attn_layer_norm',
        mask: crossMask,
        source,
      });
      flow.set('hidden', fedSum(t, second.out, own));
      if (sizes.guided === undefined) return;
      flow.set(`decoder.${index}`, unread(first.weights));
      flow.set(`cross.${index}`, second.weights);
    });
}

/** Convolutions over frames `[b, frames, bins]`, and their sum with them (`SpeechT5SpeechDecoderPostnet.postnet`). */
function refined(t: Tracer, frames: Tensor, { bins, postnet }: Sizes): Tensor {
  const [batch = 1, length = 1] = frames.shape;
  let x = t.view(frames, [batch, bins, length]);
  for (let i = 0; i < postnet.layers; i++) {
    const isLast = i === postnet.layers - 1;
    const name = `speech_decoder_postnet.layers.${i}`;
    const out = isLast ? bins : postnet.units;
    const made = convolution(t, x, {
      name: `${name}.conv`,
      kernel: [out, i === 0 ? bins : postnet.units, postnet.kernel],
      out: [batch, out, length],
    });
    const normed = batchNorm(t, made, `${name}.batch_norm`, out);
    const active = isLast ? normed : applyActivation(t, normed, 'tanh');
    x = t.dropout(active, postnet.dropout, `${name}.dropout`);
  }
  return t.add(frames, t.view(x, frames.shape), 'postnet.residual');
}

/** All attention weights that layers left: the class returns them, so that they are there until the loss is. */
function attentionsOf(t: Tracer, flow: Flow, { layers, guided }: Sizes): Tensor[] {
  if (guided === undefined) return [];
  const all = (of: string, count: number) =>
    Array.from({ length: count }, (_, i) => t.hold(t.enter(take(flow, `${of}.${i}`), `${of}.${i}`)));
  all('encoder', layers.encoder);
  all('decoder', layers.decoder);
  return all('cross', layers.decoder);
}

/** Frames, their refinement and the ends of speech, and what they are compared by. */
function headStage(sizes: Sizes): Stage {
  const { bins, reduction, guided } = sizes;
  return {
    name: 'speech_decoder_postnet',
    role: 'head',
    count: 1,
    trace: (t, flow) =>
      t.scope(() => {
        const hidden = t.hold(t.enter(take(flow, 'hidden'), 'hidden'));
        const attentions = attentionsOf(t, flow, sizes);
        const [batch = 1, steps = 1] = hidden.shape;
        const labels = t.batchInput([batch, reduction * steps, bins], inputDtype(t.settings), 'labels');
        const project = (part: string, out: number) =>
          t.linear(hidden, { name: `speech_decoder_postnet.${part}`, out, bias: true, role: 'head' });
        const frames = reduction * steps;
        const before = t.hold(t.view(project('feat_out', bins * reduction), [batch, frames, bins]));
        const after = t.hold(refined(t, before, sizes));
        const stops = t.hold(t.view(project('prob_out', reduction), [batch, frames]));
        flow.set('loss', spectrogramLoss(t, { labels, before, after, stops }, attentions, guided ?? 0));
      }),
  };
}

function speechT5(config: ConfigReader): Architecture {
  const sizes = read(config);
  const { layers, longest, layer } = sizes;
  const stack = (side: Side, of: (sizes: Sizes, index: number) => Stage['trace']): Stage[] =>
    sizes.guided === undefined
      ? [{ name: `${side}.wrapped_${side}.layers`, role: 'layer', count: layers[side], trace: of(sizes, 0) }]
      : Array.from({ length: layers[side] }, (_, index) => ({
          name: `${side}.wrapped_${side}.layers`,
          role: 'layer',
          count: 1,
          trace: of(sizes, index),
        }));
  return {
    figures: {
      hiddenSize: sizes.hidden,
      layers: layers.encoder + layers.decoder,
      decoder: { layers: layers.decoder },
      attentionHeads: layer.encoder.heads,
      keyValueHeads: layer.encoder.heads,
      vocabulary: sizes.vocabulary,
      maxPositions: longest.encoder,
      sampleLength: {
        tokens: longest.encoder,
        bounds: true,
        note: () => say('the longest text that the model takes'),
      },
      targetLength: {
        tokens: longest.decoder,
        bounds: true,
        note: () =>
          say(
            'the longest speech that the model takes: {0} steps of {1} frames each',
            longest.decoder,
            sizes.reduction,
          ),
      },
    },
    stages: [
      textStage(sizes),
      ...stack('encoder', encoderLayer),
      speechStage(sizes),
      ...stack('decoder', decoderLayer),
      headStage(sizes),
    ],
    notes: [say('layers that are left out at random are counted: a step that leaves out none needs most')],
  };
}

/** SpeechT5 as it is trained to speak: text in, frames of a spectrogram out. */
export const speechT5Family: ModelFamily = {
  modelTypes: ['speecht5'],
  build: speechT5,
};
