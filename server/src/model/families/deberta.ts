import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { classificationHead, scoresTokens, tokenHead } from '../layers/classification';
import { languageModelHead } from '../layers/loss';
import { postNormLayer } from '../layers/residual';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { encoderEmbedding, firstToken } from './bert';
import { take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { figuresOf, readSizes, type Sizes } from './sizes';

interface Relative {
  /** Positions on either side; the table has twice as many rows. */
  readonly span: number;
  readonly sharedKeys: boolean;
  readonly kinds: ReadonlySet<unknown>;
}

/**
 * Disentangled attention (`DisentangledSelfAttention`): scores between contents plus content-to-position and
 * position-to-content scores, each gathered from a product with the table of relative positions. Eager only.
 */
function disentangled(
  t: Tracer,
  x: Tensor,
  table: Tensor | undefined,
  sizes: Sizes,
  relative: Relative,
): Tensor {
  const { hidden } = sizes;
  const [b = 1, s = 1] = x.shape;
  const heads = sizes.heads / t.settings.tensorParallel;
  const dim = sizes.headDim;
  return t.scope(() => {
    const project = (name: string) => {
      const out = t.linear(x, { name: `attention.self.${name}`, out: hidden, bias: true, split: 'column' });
      return t.hold(t.copy(out, out.shape, `${name}.transpose`));
    };
    const q = project('query_proj');
    const k = project('key_proj');
    const v = project('value_proj');
    const square = [b * heads, s, s];
    let scores = t.matmul(q, t.scale(k, 'scale'), square, dim, 'attention.scores');
    if (table) {
      const positions = (name: 'query' | 'key') => positionHeads(t, table, name, sizes, b, relative);
      const wide = [b * heads, s, 2 * relative.span];
      // What is gathered has a name in the function that adds up the relations.
      const relations = t.scope(() => {
        const gathered = (from: Tensor, heading: Tensor, name: string) => {
          const product = t.matmul(from, heading, wide, dim, `attention.${name}`);
          const out = t.fused({
            name: `attention.${name}.gather`,
            inputs: [product],
            outputs: [{ shape: square, dtype: product.dtype }],
            // `gather` keeps what it reads from beside its indices, though only its shape is needed (`derivatives.yaml`).
            savesInputs: [product],
            savesBytes: 8 * s * s,
          });
          return t.scale(t.hold(out), `attention.${name}.scale`);
        };
        const content = relative.kinds.has('c2p') ? gathered(q, positions('key'), 'c2p') : undefined;
        const sum = content && t.copy(content, square, 'relations');
        if (!relative.kinds.has('p2c')) return sum;
        const position = gathered(k, positions('query'), 'p2c');
        return sum ? t.addInto(sum, position, 'relations') : t.copy(position, square, 'relations');
      });
      if (relations) scores = t.add(scores, relations);
    }
    // `masked_fill` keeps its mask, which each layer makes for itself.
    const masked = t.fused({
      name: 'attention.mask',
      inputs: [scores],
      outputs: [{ shape: scores.shape, dtype: scores.dtype }],
      savesBytes: b * s * s,
    });
    const softmax = t.keepOutput(t.settings.autocast ? t.cast(masked, 'fp32') : masked, 'attention.softmax');
    const dropped = t.dropout(softmax, sizes.attentionDropout, 'attention.dropout');
    const probabilities = t.settings.autocast ? t.cast(dropped, v.dtype) : dropped;
    const context = t.matmul(probabilities, v, [b, s, heads * dim], s, 'attention.values');
    return t.linear(t.copy(context), {
      name: 'attention.output.dense',
      out: hidden,
      bias: true,
      split: 'row',
    });
  });
}

/** Relative positions through the query or key projection, repeated for every sample. */
function positionHeads(
  t: Tracer,
  table: Tensor,
  kind: 'query' | 'key',
  sizes: Sizes,
  batch: number,
  relative: Relative,
): Tensor {
  const rows = 2 * relative.span;
  const local = sizes.hidden / t.settings.tensorParallel;
  if (!relative.sharedKeys) {
    const own = t.linear(table, {
      name: `attention.self.pos_${kind}_proj`,
      out: sizes.hidden,
      bias: true,
      split: 'column',
    });
    return t.copy(own, [batch, rows, local], `positions.${kind}`);
  }
  // The content's own projection: the same weight, registered once above.
  const out = t.fused({
    name: `attention.self.${kind}_proj.positions`,
    inputs: [table],
    outputs: [{ shape: [rows, local], dtype: table.dtype }],
    savesInputs: [table],
    flops: 2 * rows * sizes.hidden * local,
  });
  return t.copy(out, [batch, rows, local], `positions.${kind}`);
}

function build(config: ConfigReader): Architecture {
  if (config.count(0, 'conv_kernel_size') > 0) {
    throw new ConfigError(say('DeBERTa with a convolution layer ("conv_kernel_size") is not supported'));
  }
  const pooler = config.stated('pooler_hidden_size');
  if (typeof pooler === 'number' && pooler !== config.size('hidden_size')) {
    throw new ConfigError(
      say('"{0}" that differs from "{1}" is not supported', 'pooler_hidden_size', 'hidden_size'),
    );
  }
  const sizes: Sizes = { ...readSizes(config), tied: config.flag(true, 'tie_word_embeddings') };
  const dropout = config.dropout('hidden_dropout_prob');
  const uses = config.flag(false, 'relative_attention');
  const buckets = config.number(-1, 'position_buckets');
  const furthest = config.number(-1, 'max_relative_positions');
  const span = buckets > 0 ? buckets : furthest > 0 ? furthest : config.size('max_position_embeddings');
  const types = config.count(0, 'type_vocab_size');
  const named = config.texts('pos_att_type') ?? config.list('pos_att_type') ?? [];
  const relative: Relative = {
    span,
    sharedKeys: config.flag(false, 'share_att_key'),
    kinds: new Set(named),
  };
  const tables = {
    words: 'embeddings.word_embeddings',
    positions: config.flag(true, 'position_biased_input')
      ? { name: 'embeddings.position_embeddings', rows: config.size('max_position_embeddings') }
      : undefined,
    types: types > 0 ? { name: 'embeddings.token_type_embeddings', rows: types } : undefined,
    norm: 'embeddings.LayerNorm',
    width: sizes.hidden,
  };
  const embedding: Stage = {
    name: 'embeddings',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      flow.set('hidden', encoderEmbedding(t, tables, sizes, dropout));
      if (!uses) return;
      const index = t.input([2 * span], 'int64', false, 'relative_ids');
      const table = t.embedding(index, {
        name: 'encoder.rel_embeddings',
        rows: 2 * span,
        columns: sizes.hidden,
      });
      const normed = config.text('none', 'norm_rel_ebd').includes('layer_norm');
      flow.set('relative', normed ? layerNormed('encoder.LayerNorm')(t, table) : table);
    },
  };
  const feedForward: Block = (t, y) => {
    const up = t.linear(y, { name: 'intermediate.dense', out: sizes.inner, bias: true, split: 'column' });
    const activated = applyActivation(t, up, sizes.activation);
    return t.linear(activated, { name: 'output.dense', out: sizes.hidden, bias: true, split: 'row' });
  };
  const layers: Stage = {
    name: 'encoder.layer',
    role: 'layer',
    count: sizes.layers,
    trace: (t, flow) => {
      const outer = flow.get('relative');
      const table = outer && t.enter(outer, 'relative');
      const hidden = postNormLayer(t, t.enter(take(flow, 'hidden'), 'hidden'), {
        mixer: (tracer, x) => disentangled(tracer, x, table, sizes, relative),
        mixerNorm: layerNormed('attention.output.LayerNorm'),
        feedForward,
        feedForwardNorm: layerNormed('output.LayerNorm'),
        dropout,
      });
      flow.set('hidden', hidden);
    },
  };
  const head = headOf(sizes, dropout);
  return {
    figures: figuresOf(sizes),
    stages: [embedding, layers, head],
    counted: [embedding, layers],
    scoresTokens: true,
  };
}

/** The head that guesses masked tokens, or the one that classifies a sample by its first token. */
function headOf(sizes: Sizes, dropout: number): Stage {
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const hidden = t.enter(take(flow, 'hidden'), 'hidden');
      if (scoresTokens(t)) {
        flow.set('loss', tokenHead(t, hidden, { classifier: 'classifier', answer: 'qa_outputs', dropout }));
        return;
      }
      const loss =
        t.settings.objective === 'lm' ? maskedLoss(t, hidden, sizes) : classLoss(t, hidden, sizes, dropout);
      flow.set('loss', loss);
    },
  };
}

function maskedLoss(t: Tracer, hidden: Tensor, sizes: Sizes): Tensor {
  const dense = t.linear(hidden, { name: 'cls.predictions.transform.dense', out: sizes.hidden, bias: true });
  const normed = layerNormed('cls.predictions.transform.LayerNorm')(
    t,
    applyActivation(t, dense, sizes.activation),
  );
  // Untied, the bias beside the decoder's is one that nobody reads.
  if (!sizes.tied) t.weight({ name: 'cls.predictions.bias', shape: [sizes.vocabulary] });
  return languageModelHead(t, normed, {
    name: 'cls.predictions.decoder',
    vocabulary: sizes.vocabulary,
    bias: true,
    ownType: true,
    tiedTo: sizes.tied ? 'embeddings.word_embeddings.weight' : undefined,
  });
}

function classLoss(t: Tracer, hidden: Tensor, sizes: Sizes, dropout: number): Tensor {
  const dense = t.linear(firstToken(t, hidden), { name: 'pooler.dense', out: sizes.hidden, bias: true });
  const pooled = t.dropout(applyActivation(t, dense, 'gelu'), dropout, 'classifier_dropout');
  return classificationHead(t, pooled, { name: 'classifier', bias: true });
}

export const deberta: ModelFamily = { modelTypes: ['deberta-v2'], build };
