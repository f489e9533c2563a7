import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { classificationHead, classifies } from '../layers/classification';
import { convolution } from '../layers/convolution';
import { languageModelHead } from '../layers/loss';
import { attentionOver } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import type { Flow, Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { firstToken } from './bert';
import { embed, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';

type Side = 'encoder' | 'decoder';

/** What BART's descendants have beside its layers, by model type. */
interface Habits {
  /** Norms before each branch and at the end of each side. */
  readonly preNorm: boolean;
  /** A norm behind the embeddings. */
  readonly embeddingNorm: boolean;
  /** Learned tables (with two rows more in BART's), frozen tables of sines, or sines that are no parameter. */
  readonly positions: 'learned' | 'learned+2' | 'frozen' | 'buffer';
  /** Default of `scale_embedding`. */
  readonly scaled: boolean;
}

const BART: Habits = { preNorm: false, embeddingNorm: true, positions: 'learned+2', scaled: false };

const HABITS: Readonly<Record<string, Habits>> = {
  bart: BART,
  plbart: { ...BART, scaled: true },
  mbart: { ...BART, preNorm: true },
  pegasus: { preNorm: true, embeddingNorm: false, positions: 'frozen', scaled: false },
  m2m_100: { preNorm: true, embeddingNorm: false, positions: 'buffer', scaled: true },
  marian: { preNorm: false, embeddingNorm: false, positions: 'frozen', scaled: false },
  blenderbot: { preNorm: true, embeddingNorm: false, positions: 'learned', scaled: false },
  'blenderbot-small': { ...BART, positions: 'learned' },
};

/** Sizes and habits of BART and Whisper, which share their layers but for the place of the norms. */
interface Seq2Seq {
  readonly hidden: number;
  readonly vocabulary: number;
  readonly layers: Readonly<Record<Side, number>>;
  readonly heads: Readonly<Record<Side, number>>;
  readonly inner: Readonly<Record<Side, number>>;
  readonly activation: string;
  readonly dropout: number;
  readonly attentionDropout: number;
  readonly activationDropout: number;
  /** Norm before each branch and at the end of each side (Whisper), or after each sum (BART). */
  readonly preNorm: boolean;
  readonly keyBias: boolean;
  /** Heads are made contiguous before the kernel (Whisper). */
  readonly packedHeads: boolean;
  readonly labels: number;
}

function read(config: ConfigReader): Seq2Seq {
  const pair = (name: string) => ({
    encoder: config.size(`encoder_${name}`),
    decoder: config.size(`decoder_${name}`),
  });
  const whisper = config.modelType === 'whisper';
  return {
    hidden: config.size('d_model'),
    vocabulary: config.size('vocab_size'),
    layers: pair('layers'),
    heads: pair('attention_heads'),
    inner: pair('ffn_dim'),
    activation: config.text('gelu', 'activation_function'),
    dropout: config.dropout('dropout'),
    attentionDropout: config.dropout('attention_dropout'),
    activationDropout: config.dropout('activation_dropout'),
    preNorm: whisper || (HABITS[config.modelType]?.preNorm ?? false),
    keyBias: !whisper,
    packedHeads: whisper,
    // `BartConfig` has three.
    labels: config.labels(config.modelType === 'bart' ? 3 : 2),
  };
}

function attention(model: Seq2Seq, side: Side, module: string, causal: boolean): SelfAttentionSpec {
  return {
    module,
    hidden: model.hidden,
    heads: model.heads[side],
    keyValueHeads: model.heads[side],
    headDim: model.hidden / model.heads[side],
    projections: { q: 'q_proj', k: 'k_proj', v: 'v_proj' },
    output: 'out_proj',
    bias: { qkv: true, output: true, key: model.keyBias },
    rotary: 0,
    causal,
    dropout: model.attentionDropout,
    fp32Softmax: false,
    packedHeads: model.packedHeads,
  };
}

function branch(t: Tracer, x: Tensor, model: Seq2Seq, norm: string, body: Block): Tensor {
  return t.scope(() => {
    t.hold(x);
    const input = model.preNorm ? layerNormed(norm)(t, x) : x;
    const sum = t.add(x, t.dropout(body(t, input), model.dropout, 'dropout'), 'residual');
    return model.preNorm ? sum : layerNormed(norm)(t, sum);
  });
}

function layer(model: Seq2Seq, side: Side): Stage['trace'] {
  const decoder = side === 'decoder';
  return (t, flow) => {
    const encoder = decoder ? t.enter(take(flow, 'encoder'), 'encoder') : undefined;
    let x = t.enter(take(flow, 'hidden'), 'hidden');
    const self = attention(model, side, 'self_attn', decoder);
    x = branch(t, x, model, 'self_attn_layer_norm', (tracer, y) => attentionOver(tracer, y, self));
    if (encoder) {
      const cross = attention(model, side, 'encoder_attn', false);
      x = branch(t, x, model, 'encoder_attn_layer_norm', (tracer, y) =>
        attentionOver(tracer, y, cross, { source: encoder }),
      );
    }
    x = branch(t, x, model, 'final_layer_norm', (tracer, y) => {
      const up = tracer.linear(y, { name: 'fc1', out: model.inner[side], bias: true, split: 'column' });
      const activated = applyActivation(tracer, up, model.activation);
      const dropped = tracer.dropout(activated, model.activationDropout, 'activation_dropout');
      return tracer.linear(dropped, { name: 'fc2', out: model.hidden, bias: true, split: 'row' });
    });
    flow.set('hidden', x);
  };
}

function layers(model: Seq2Seq, side: Side): Stage {
  return { name: `${side}.layers`, role: 'layer', count: model.layers[side], trace: layer(model, side) };
}

/** Ends the encoder: its result moves to `encoder`, and `hidden` is free for the decoder. */
function endEncoder(t: Tracer, flow: Flow, norm: string | undefined): void {
  const hidden = t.enter(take(flow, 'hidden'), 'hidden');
  flow.set('encoder', norm ? layerNormed(norm)(t, hidden) : hidden);
  flow.delete('hidden');
}

interface HeadSpec {
  readonly name: string;
  readonly tiedTo?: string;
  readonly norm?: string;
  readonly addsBuffer?: boolean;
  /** Whether the model has a head that reads the last token of the decoder (`BartClassificationHead`). */
  readonly classifies?: boolean;
}

function head(model: Seq2Seq, spec: HeadSpec): Stage {
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      let hidden = t.enter(take(flow, 'hidden'), 'hidden');
      if (spec.norm) hidden = layerNormed(spec.norm)(t, hidden);
      if (spec.classifies && classifies(t)) {
        const labels = t.settings.objective === 'reward' ? 1 : model.labels;
        const last = t.dropout(firstToken(t, hidden), model.dropout, 'classification_head.dropout');
        const dense = t.linear(last, { name: 'classification_head.dense', out: model.hidden, bias: true });
        const activated = t.dropout(
          t.keepOutput(dense, 'tanh'),
          model.dropout,
          'classification_head.dropout',
        );
        flow.set(
          'loss',
          classificationHead(t, activated, { name: 'classification_head.out_proj', labels, bias: true }),
        );
        return;
      }
      const { name, tiedTo } = spec;
      flow.set(
        'loss',
        languageModelHead(t, hidden, {
          name,
          tiedTo,
          vocabulary: model.vocabulary,
          ownType: true,
          addsBuffer: spec.addsBuffer,
        }),
      );
    },
  };
}

/** A table of sines, which is a parameter that is never trained, or none. */
function sines(t: Tracer, hidden: Tensor, name: string, rows: number, frozen: boolean): Tensor {
  const [, length = 1, width = 1] = hidden.shape;
  if (!frozen)
    return t.add(hidden, t.input([1, length, width], hidden.dtype, false, 'positions'), 'positions');
  const table = t.weight({
    name: `${name}.weight`,
    shape: [rows, width],
    role: 'embedding',
    trainable: false,
  });
  return t.addWeight(hidden, table, 'positions');
}

/** BART and its descendants: one token table for encoder, decoder and head. */
function bart(config: ConfigReader): Architecture {
  const model = read(config);
  const habits = HABITS[config.modelType] ?? BART;
  const learned = habits.positions.startsWith('learned');
  const rows = config.size('max_position_embeddings') + (habits.positions === 'learned+2' ? 2 : 0);
  const scaled = config.flag(habits.scaled, 'scale_embedding');
  const tied = config.flag(true, 'tie_word_embeddings');
  if (config.sizeOr(model.vocabulary, 'decoder_vocab_size') !== model.vocabulary) {
    throw new ConfigError(say('a vocabulary of the decoder\'s own ("decoder_vocab_size") is not supported'));
  }
  if (!config.flag(true, 'share_encoder_decoder_embeddings')) {
    throw new ConfigError(say('"{0}": false is not supported', 'share_encoder_decoder_embeddings'));
  }
  const embedding = (side: Side): Stage => ({
    name: `${side}.embed_tokens`,
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const { batch, sequence, targetSequence } = t.settings;
      const length = side === 'encoder' ? sequence : targetSequence;
      const ids = t.input([batch, length], 'int64', false, 'input_ids');
      const spec = {
        name: side === 'encoder' && tied ? 'shared' : `${side}.embed_tokens`,
        rows: model.vocabulary,
        columns: model.hidden,
        positions: learned ? { name: `${side}.embed_positions`, rows } : undefined,
        scaled,
        ofDecoder: side === 'decoder',
        promptSets: 2,
      };
      // Untied, each side has a table of its own, and nobody reads the shared one.
      if (side === 'encoder' && !tied) t.weight({ name: 'shared.weight', shape: [spec.rows, spec.columns] });
      const tokens = embed(t, ids, spec, side === 'decoder' && tied ? 'shared.weight' : undefined);
      const hidden = learned
        ? tokens
        : sines(t, tokens, `${side}.embed_positions`, rows, habits.positions === 'frozen');
      const normed = habits.embeddingNorm ? layerNormed(`${side}.layernorm_embedding`)(t, hidden) : hidden;
      flow.set('hidden', t.dropout(normed, model.dropout, 'embedding_dropout'));
    },
  });
  const boundary: Stage = {
    name: 'encoder.output',
    role: 'norm',
    count: 1,
    trace: (t, flow) => endEncoder(t, flow, habits.preNorm ? 'encoder.layer_norm' : undefined),
  };
  return {
    figures: {
      hiddenSize: model.hidden,
      layers: model.layers.encoder + model.layers.decoder,
      decoder: { layers: model.layers.decoder },
      attentionHeads: model.heads.encoder,
      keyValueHeads: model.heads.encoder,
      vocabulary: model.vocabulary,
      maxPositions: config.size('max_position_embeddings'),
    },
    stages: [
      embedding('encoder'),
      layers(model, 'encoder'),
      boundary,
      embedding('decoder'),
      layers(model, 'decoder'),
      head(model, {
        name: 'lm_head',
        norm: habits.preNorm ? 'decoder.layer_norm' : undefined,
        tiedTo: tied ? 'shared.weight' : undefined,
        addsBuffer: config.modelType !== 'm2m_100',
        classifies: CLASSIFIERS.has(config.modelType),
      }),
    ],
  };
}

/** Types that have a head for sequence classification. */
const CLASSIFIERS = new Set(['bart', 'mbart', 'plbart']);

/** Two convolutions over mel frames `[batch, bins, 2 x length]`, the second of which takes every other one: `[batch, length, hidden]`. */
function framesStage(model: Seq2Seq, bins: number, length: number): Stage {
  return {
    name: 'encoder.conv',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const { batch, weightDtype } = t.settings;
      const { hidden } = model;
      const features = t.input([batch, bins, 2 * length], weightDtype, false, 'input_features');
      const conv = (x: Tensor, name: string, channels: number, length: number) => {
        const kernel = [hidden, channels, 3];
        return applyActivation(
          t,
          convolution(t, x, { name, kernel, out: [batch, hidden, length], bias: true }),
          'gelu',
        );
      };
      const first = conv(features, 'encoder.conv1', bins, 2 * length);
      const second = conv(first, 'encoder.conv2', hidden, length);
      const positions = t.weight({
        name: 'encoder.embed_positions.weight',
        shape: [length, hidden],
        role: 'embedding',
        trainable: false,
      });
      const sum = t.addWeight(t.view(second, [batch, length, hidden]), positions, 'encoder.positions');
      flow.set('hidden', t.dropout(sum, model.dropout, 'embedding_dropout'));
    },
  };
}

/** Whisper: two convolutions over 30 seconds of mel frames, then an encoder and a decoder with norms before. */
function whisper(config: ConfigReader): Architecture {
  const model = read(config);
  const bins = config.size('num_mel_bins');
  const source = config.size('max_source_positions');
  const target = config.size('max_target_positions');
  const tied = config.flag(true, 'tie_word_embeddings');
  const encoderNorm: Stage = {
    name: 'encoder.layer_norm',
    role: 'norm',
    count: 1,
    trace: (t, flow) => endEncoder(t, flow, 'encoder.layer_norm'),
  };
  const tokens: Stage = {
    name: 'decoder.embed_tokens',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const length = Math.min(t.settings.targetSequence, target);
      const ids = t.input([t.settings.batch, length], 'int64', false, 'decoder_input_ids');
      const hidden = embed(t, ids, {
        name: 'decoder.embed_tokens',
        rows: model.vocabulary,
        columns: model.hidden,
        positions: { name: 'decoder.embed_positions', rows: target },
        dropout: model.dropout,
      });
      flow.set('hidden', hidden);
    },
  };
  return {
    figures: {
      hiddenSize: model.hidden,
      layers: model.layers.encoder + model.layers.decoder,
      decoder: { layers: model.layers.decoder, encoded: source },
      attentionHeads: model.heads.encoder,
      keyValueHeads: model.heads.encoder,
      vocabulary: model.vocabulary,
      maxPositions: target,
      sampleLength: {
        tokens: target,
        note: () => say('the longest text that the model takes'),
      },
    },
    stages: [
      framesStage(model, bins, source),
      layers(model, 'encoder'),
      encoderNorm,
      tokens,
      layers(model, 'decoder'),
      head(model, {
        name: 'proj_out',
        norm: 'decoder.layer_norm',
        tiedTo: tied ? 'decoder.embed_tokens.weight' : undefined,
      }),
    ],
    notes: [
      say(
        'the encoder always sees {0} positions; the decoder at most {1} tokens',
        String(source),
        String(target),
      ),
    ],
  };
}

export const bartLike: ModelFamily = {
  modelTypes: [...Object.keys(HABITS), 'whisper'],
  build: (config) => (config.modelType === 'whisper' ? whisper(config) : bart(config)),
};
