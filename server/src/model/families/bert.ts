import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { classificationHead, scoresTokens, tokenHead } from '../layers/classification';
import type { HeadSpec } from '../layers/head-spec';
import { languageModelHead } from '../layers/loss';
import { plainMlp } from '../layers/mlp';
import { postNormLayer } from '../layers/residual';
import { selfAttention } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import {
  flowType,
  tensorflowAttention,
  tensorflowDropout,
  tensorflowGeglu,
  tensorflowGelu,
  tensorflowLayerNorm,
  tensorflowTokenLoss,
} from '../layers/tensorflow';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { hiddenStage, layerStages, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { attentionSizes } from './llama-parts';
import { figuresOf, readSizes, type Sizes } from './sizes';

/** An encoder in the manner of BERT, in the names of its reference code. */
interface Encoder {
  readonly embedding: EmbeddingTables;
  readonly layer: Block;
  /** Dense layer on the first token; published counts include it. */
  readonly pooler?: string;
  readonly masked: MaskedHead;
  readonly classifier: ClassifierHead;
  readonly layersName: string;
}

interface EmbeddingTables {
  readonly words: string;
  readonly positions?: { readonly name: string; readonly rows: number };
  readonly types?: { readonly name: string; readonly rows: number };
  readonly norm: string;
  /** Width of the tables, and the linear that widens it (ELECTRA small). */
  readonly width: number;
  readonly project?: string;
}

interface MaskedHead {
  readonly transform: string;
  readonly norm: string;
  readonly decoder: string;
  /** The decoder's bias where both are tied. */
  readonly bias?: string;
}

interface ClassifierHead {
  /** Dense layer with activation before the classifier; the pooler where it has its name. */
  readonly dense?: string;
  readonly activation: string;
  readonly classifier: string;
  /** Dropout before the head that looks for an answer. */
  readonly answerDropout?: number;
  /** Answers are chosen by the first token as it is (ELECTRA's `summary_use_proj`). */
  readonly choosesPlain?: boolean;
}

/** Token, type and position tables added, a norm, dropout. The result is `[b, s, width]`. */
export function encoderEmbedding(t: Tracer, tables: EmbeddingTables, sizes: Sizes, dropout: number): Tensor {
  const { batch, sequence } = t.settings;
  const ids = t.input([batch, sequence], 'int64', false, 'input_ids');
  const positions = t.input([1, sequence], 'int64', false, 'position_ids');
  const table = (name: string, rows: number, index: Tensor, tokens = false) =>
    t.embedding(index, { name, rows, columns: tables.width, tokens });
  let hidden = table(tables.words, sizes.vocabulary, ids, true);
  if (tables.types) hidden = t.add(hidden, table(tables.types.name, tables.types.rows, ids), 'types');
  if (tables.positions) {
    hidden = t.add(hidden, table(tables.positions.name, tables.positions.rows, positions), 'positions');
  }
  if (t.settings.behaviours.buildsGraph) {
    // Looked up in the cast table, so what follows is in the type of the activations.
    hidden = tensorflowLayerNorm(t, t.cast(hidden, flowType(t), 'embedding.cast'), tables.norm);
    return tensorflowDropout(t, hidden, dropout, 'embedding_dropout');
  }
  hidden = layerNormed(tables.norm)(t, hidden);
  hidden = t.dropout(hidden, dropout, 'embedding_dropout');
  return tables.project ? t.linear(hidden, { name: tables.project, out: sizes.hidden, bias: true }) : hidden;
}

/** First token of every sequence. From `[b, s, h]` to `[b, h]`. */
export function firstToken(t: Tracer, hidden: Tensor): Tensor {
  return t.slice(hidden, [hidden.shape[0] ?? 1, hidden.shape.at(-1) ?? 1]);
}

/** `get_masked_lm_output` of google-research/bert: the masked words are gathered before anything else is computed. */
function tensorflowHead(
  t: Tracer,
  hidden: Tensor,
  masked: MaskedHead,
  decoder: HeadSpec,
  width: number,
): Tensor {
  const words = Math.max(1, Math.round(t.settings.sequence * (t.settings.tokenShare ?? 1)));
  const gathered = t.copy(hidden, [hidden.shape[0] ?? 1, words, hidden.shape.at(-1) ?? 1], 'gather_indexes');
  const dense = t.linear(gathered, { name: masked.transform, out: width, bias: true });
  const transformed = tensorflowLayerNorm(t, tensorflowGelu(t, dense, 'transform.gelu'), masked.norm);
  const logits = t.linear(transformed, {
    name: decoder.name,
    out: decoder.vocabulary,
    bias: decoder.bias,
    split: 'vocabulary',
    role: 'head',
    tiedTo: decoder.tiedTo,
    kind: 'logits',
  });
  return tensorflowTokenLoss(t, logits);
}

function headStage(encoder: Encoder, sizes: Sizes, dropout: number): Stage {
  const { masked, classifier, embedding } = encoder;
  const decoder: HeadSpec = {
    name: masked.decoder,
    vocabulary: sizes.vocabulary,
    bias: true,
    tiedTo: sizes.tied ? `${embedding.words}.weight` : undefined,
    ownType: true,
  };
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const hidden = t.enter(take(flow, 'hidden'), 'hidden');
      if (t.settings.objective === 'lm' && t.settings.behaviours.buildsGraph) {
        flow.set('loss', tensorflowHead(t, hidden, masked, decoder, embedding.width));
        return;
      }
      if (t.settings.objective === 'lm') {
        // Untied, the bias beside the decoder's is one that nobody reads.
        if (!sizes.tied && masked.bias) t.weight({ name: masked.bias, shape: [sizes.vocabulary] });
        const dense = t.linear(hidden, { name: masked.transform, out: embedding.width, bias: true });
        const transformed = layerNormed(masked.norm)(t, applyActivation(t, dense, sizes.activation));
        flow.set('loss', languageModelHead(t, transformed, decoder));
        return;
      }
      if (scoresTokens(t)) {
        const names = { classifier: 'classifier', answer: 'qa_outputs' };
        flow.set(
          'loss',
          tokenHead(t, hidden, { ...names, dropout, answerDropout: classifier.answerDropout }),
        );
        return;
      }
      let pooled = firstToken(t, hidden);
      const plain = classifier.choosesPlain && t.settings.objective === 'multiple-choice';
      if (classifier.dense && !plain) {
        pooled = t.linear(pooled, { name: classifier.dense, out: sizes.hidden, bias: true });
        pooled = applyActivation(t, pooled, classifier.activation);
      }
      pooled = t.dropout(pooled, dropout, 'classifier_dropout');
      flow.set('loss', classificationHead(t, pooled, { name: classifier.classifier, bias: true }));
    },
  };
}

function encoderArchitecture(encoder: Encoder, sizes: Sizes, dropout: number): Architecture {
  const embedding: Stage = {
    name: 'embeddings',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      flow.set('hidden', encoderEmbedding(t, encoder.embedding, sizes, dropout));
    },
  };
  const body = [
    embedding,
    ...layerStages(encoder.layersName, new Array<Block>(sizes.layers).fill(encoder.layer)),
  ];
  const { pooler } = encoder;
  const pooling: Stage[] = pooler
    ? [
        hiddenStage('pooler', 'head', 1, (t, x) =>
          t.keepOutput(t.linear(firstToken(t, x), { name: pooler, out: sizes.hidden, bias: true }), 'tanh'),
        ),
      ]
    : [];
  return {
    figures: figuresOf(sizes),
    stages: [...body, headStage(encoder, sizes, dropout)],
    counted: [...body, ...pooling],
    scoresTokens: true,
  };
}

/** Attention in both directions, every linear with a bias. */
function encoderAttention(
  sizes: Sizes,
  projections: SelfAttentionSpec['projections'],
  output: string,
  { keyBias = true, cached = false }: { readonly keyBias?: boolean; readonly cached?: boolean } = {},
): Block {
  return selfAttention({
    module: 'attention',
    ...attentionSizes(sizes),
    keyValueHeads: sizes.heads,
    projections,
    output,
    bias: { qkv: true, output: true, key: keyBias },
    rotary: 0,
    causal: false,
    cached,
    fp32Softmax: false,
  });
}

/** GEGLU over the halves of one projection. */
function gatedHalves(t: Tracer, x: Tensor, inner: number): Tensor {
  const [gate, value] = t.split(x, [inner / t.settings.tensorParallel, inner / t.settings.tensorParallel]);
  if (!gate || !value) throw new Error('a split in two has two parts');
  return t.mul(applyActivation(t, gate, 'gelu'), value, 'gated_product');
}

/** What the encoder layers of BERT and its kin are built from. */
interface BertLayer {
  readonly sizes: Sizes;
  readonly dropout: number;
  /** The projection of the keys has a bias. */
  readonly keyBias: boolean;
}

const isGated = ({ activation }: Sizes) => activation === 'geglu';

/** To the inner width: twice of it where one half gates the other. */
function upwards(t: Tracer, x: Tensor, sizes: Sizes): Tensor {
  return t.linear(x, {
    name: 'intermediate.dense',
    out: isGated(sizes) ? 2 * sizes.inner : sizes.inner,
    bias: true,
    split: 'column',
  });
}

function downwards(t: Tracer, x: Tensor, { hidden }: Sizes): Tensor {
  return t.linear(x, { name: 'output.dense', out: hidden, bias: true, split: 'row' });
}

/** The layer of Google's TensorFlow code, operator by operator of its graph. */
function tensorflowLayer({ sizes, dropout, keyBias }: BertLayer): Block {
  return (t, x) => {
    const mixed = tensorflowAttention(t, x, {
      hidden: sizes.hidden,
      heads: sizes.heads,
      names: {
        q: 'attention.self.query',
        k: 'attention.self.key',
        v: 'attention.self.value',
        output: 'attention.output.dense',
      },
      keyBias,
      dropout: sizes.attentionDropout,
    });
    const normedSum = (out: Tensor, residual: Tensor, norm: string) =>
      tensorflowLayerNorm(
        t,
        t.add(tensorflowDropout(t, out, dropout, `${norm}.dropout`), residual, 'residual'),
        norm,
      );
    const attended = normedSum(mixed, x, 'attention.output.LayerNorm');
    const up = upwards(t, attended, sizes);
    const activated = isGated(sizes)
      ? tensorflowGeglu(t, up, 'intermediate.geglu')
      : tensorflowGelu(t, up, 'intermediate.gelu');
    return normedSum(downwards(t, activated, sizes), attended, 'output.LayerNorm');
  };
}

/** The layer of transformers (`BertLayer`). */
function transformersLayer({ sizes, dropout, keyBias }: BertLayer): Block {
  const mixer = encoderAttention(sizes, { q: 'self.query', k: 'self.key', v: 'self.value' }, 'output.dense', {
    keyBias,
    cached: true,
  });
  return (t, x) =>
    postNormLayer(t, x, {
      mixer,
      mixerNorm: layerNormed('attention.output.LayerNorm'),
      feedForward: (tracer, y) => {
        const up = upwards(tracer, y, sizes);
        const activated = isGated(sizes)
          ? gatedHalves(tracer, up, sizes.inner)
          : applyActivation(tracer, up, sizes.activation);
        // `feed_forward_chunk` names it until the norm is done.
        return downwards(tracer, tracer.hold(activated), sizes);
      },
      feedForwardNorm: layerNormed('output.LayerNorm'),
      dropout,
    });
}

/** Names of the head that guesses masked tokens. */
const MASKED_HEADS = {
  bert: {
    transform: 'cls.predictions.transform.dense',
    norm: 'cls.predictions.transform.LayerNorm',
    decoder: 'cls.predictions.decoder',
    bias: 'cls.predictions.bias',
  },
  electra: {
    transform: 'generator_predictions.dense',
    norm: 'generator_predictions.LayerNorm',
    decoder: 'generator_lm_head',
  },
  roberta: {
    transform: 'lm_head.dense',
    norm: 'lm_head.layer_norm',
    decoder: 'lm_head.decoder',
    bias: 'lm_head.bias',
  },
} as const satisfies Record<string, MaskedHead>;

/** BERT, RoBERTa, XLM-RoBERTa and ELECTRA. */
function bert(config: ConfigReader): Architecture {
  const sizes: Sizes = { ...readSizes(config), tied: config.flag(true, 'tie_word_embeddings') };
  const dropout = config.dropout('hidden_dropout_prob');
  const kin = config.modelType === 'bert' || config.modelType === 'electra' ? config.modelType : 'roberta';
  const width = config.sizeOr(sizes.hidden, 'embedding_size');
  const types = config.count(2, 'type_vocab_size');
  const parts: BertLayer = { sizes, dropout, keyBias: config.flag(true, 'use_bias_in_keys') };
  const [graph, modules] = [tensorflowLayer(parts), transformersLayer(parts)];
  return encoderArchitecture(
    {
      embedding: {
        words: 'embeddings.word_embeddings',
        positions: { name: 'embeddings.position_embeddings', rows: config.size('max_position_embeddings') },
        types: types > 0 ? { name: 'embeddings.token_type_embeddings', rows: types } : undefined,
        norm: 'embeddings.LayerNorm',
        width,
        project: width === sizes.hidden ? undefined : 'embeddings_project',
      },
      layer: (t, x) => (t.settings.behaviours.buildsGraph ? graph : modules)(t, x),
      pooler: kin === 'electra' ? undefined : 'pooler.dense',
      masked: MASKED_HEADS[kin],
      classifier:
        kin === 'bert'
          ? { dense: 'pooler.dense', activation: 'tanh', classifier: 'classifier' }
          : {
              dense: 'classifier.dense',
              activation: kin === 'electra' ? 'gelu' : 'tanh',
              classifier: 'classifier.out_proj',
              choosesPlain: kin === 'electra' && !config.flag(true, 'summary_use_proj'),
            },
      layersName: 'encoder.layer',
    },
    sizes,
    dropout,
  );
}

/** DistilBERT: no types, no pooler. */
function distilbert(config: ConfigReader): Architecture {
  const read = readSizes(config);
  const inner = config.sizeOr(4 * read.hidden, 'hidden_dim');
  const sizes: Sizes = { ...read, inner, tied: config.flag(true, 'tie_word_embeddings') };
  const dropout = config.dropout('dropout');
  const attention = encoderAttention(sizes, { q: 'q_lin', k: 'k_lin', v: 'v_lin' }, 'out_lin');
  const layer: Block = (t, x) =>
    postNormLayer(t, x, {
      mixer: attention,
      mixerNorm: layerNormed('sa_layer_norm'),
      feedForward: (tracer, y) => {
        const out = plainMlp(tracer, y, {
          name: 'ffn',
          inner,
          activation: sizes.activation,
          bias: true,
          projections: { up: 'lin1', down: 'lin2' },
        });
        return tracer.dropout(out, dropout, 'ffn.dropout');
      },
      feedForwardNorm: layerNormed('output_layer_norm'),
    });
  return encoderArchitecture(
    {
      embedding: {
        words: 'embeddings.word_embeddings',
        positions: { name: 'embeddings.position_embeddings', rows: config.size('max_position_embeddings') },
        norm: 'embeddings.LayerNorm',
        width: sizes.hidden,
      },
      layer,
      masked: { transform: 'vocab_transform', norm: 'vocab_layer_norm', decoder: 'vocab_projector' },
      classifier: {
        dense: 'pre_classifier',
        activation: 'relu',
        classifier: 'classifier',
        answerDropout: config.dropout('qa_dropout'),
      },
      layersName: 'transformer.layer',
    },
    sizes,
    dropout,
  );
}

const BUILDERS: Readonly<Record<string, (config: ConfigReader) => Architecture>> = {
  bert,
  roberta: bert,
  'xlm-roberta': bert,
  camembert: bert,
  electra: bert,
  distilbert,
};

export const bertLike: ModelFamily = {
  modelTypes: Object.keys(BUILDERS),
  build: (config) => (BUILDERS[config.modelType] ?? bert)(config),
};
