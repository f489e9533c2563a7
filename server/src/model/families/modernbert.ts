import type { ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, layerNormed } from '../layers/block';
import { classificationHead, scoresTokens, tokenHead } from '../layers/classification';
import { fusedGatedMlp } from '../layers/fused-mlp';
import { languageModelHead } from '../layers/loss';
import { residualLayer } from '../layers/residual';
import { selfAttention } from '../layers/self-attention';
import type { Stage } from '../model';
import { firstToken } from './bert';
import { layerStages, take, tokenEmbeddingStage } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { figuresOf, layersOfKinds, readSizes, type Sizes } from './sizes';

/** A dense layer and a norm, then the masked words of all positions or the class of the first. */
function taskHead(config: ConfigReader, sizes: Sizes, norm: Block): Stage {
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      let hidden = t.enter(take(flow, 'hidden'), 'hidden');
      const masked = t.settings.objective === 'lm';
      if (!masked && !scoresTokens(t)) hidden = firstToken(t, hidden);
      const dense = t.linear(hidden, {
        name: 'head.dense',
        out: sizes.hidden,
        bias: config.flag(false, 'classifier_bias'),
      });
      const normed = norm(t, applyActivation(t, dense, config.text('gelu', 'classifier_activation')));
      if (scoresTokens(t)) {
        const rate = config.dropout('classifier_dropout');
        const spec = { classifier: 'classifier', answer: 'classifier', dropout: rate, answerDropout: rate };
        flow.set('loss', tokenHead(t, normed, spec));
        return;
      }
      const loss = masked
        ? languageModelHead(t, normed, {
            name: 'decoder',
            vocabulary: sizes.vocabulary,
            bias: config.flag(true, 'decoder_bias'),
            tiedTo: sizes.tied ? 'embeddings.tok_embeddings.weight' : undefined,
          })
        : classificationHead(t, normed, { name: 'classifier', bias: true });
      flow.set('loss', loss);
    },
  };
}

/** ModernBERT: rotary positions, gated MLP, windows on two of three layers, no norm before the first attention. */
function build(config: ConfigReader): Architecture {
  const sizes: Sizes = { ...readSizes(config), tied: config.flag(true, 'tie_word_embeddings') };
  const period = config.sizeOr(3, 'global_attn_every_n_layers');
  const types = config.list('layer_types');
  const window = config.count(0, 'local_attention', 'sliding_window');
  const normBias = config.flag(false, 'norm_bias');
  const bias = config.flag(false, 'attention_bias');
  const norm = (name: string) => layerNormed(name, normBias);
  const kinds = Array.from({ length: sizes.layers }, (_, i) => {
    const local = types ? types[i] === 'sliding_attention' : i % period !== 0;
    return `${i === 0 ? 'first' : 'later'}/${local ? 'local' : 'global'}`;
  });
  const layers = layersOfKinds(kinds, (kind): Block => {
    const mixer = selfAttention({
      module: 'attn',
      hidden: sizes.hidden,
      heads: sizes.heads,
      keyValueHeads: sizes.heads,
      headDim: sizes.headDim,
      projections: 'Wqkv',
      output: 'Wo',
      bias: { qkv: bias, output: bias },
      causal: false,
      window: kind.endsWith('local') && window > 0 ? window : undefined,
      dropout: sizes.attentionDropout,
      outputDropout: sizes.attentionDropout,
    });
    const feedForward = fusedGatedMlp({
      name: 'mlp',
      inner: sizes.inner,
      activation: sizes.activation,
      gateUp: 'Wi',
      down: 'Wo',
      bias: config.flag(false, 'mlp_bias'),
      dropout: config.dropout('mlp_dropout'),
    });
    return (t, x) =>
      residualLayer(t, x, {
        beforeMixer: kind.startsWith('first') ? undefined : norm('attn_norm'),
        mixer,
        beforeFeedForward: norm('mlp_norm'),
        feedForward,
      });
  });
  const finalNorm: Stage = {
    name: 'final_norm',
    role: 'norm',
    count: 1,
    trace: (t, flow) => {
      flow.set('hidden', norm('final_norm')(t, t.enter(take(flow, 'hidden'), 'hidden')));
    },
  };
  const embedding = tokenEmbeddingStage({
    name: 'embeddings.tok_embeddings',
    rows: sizes.vocabulary,
    columns: sizes.hidden,
    after: norm('embeddings.norm'),
  });
  const body = [embedding, ...layerStages('layers', layers), finalNorm];
  return {
    figures: figuresOf(sizes),
    stages: [...body, taskHead(config, sizes, norm('head.norm'))],
    counted: body,
    scoresTokens: true,
  };
}

export const modernbert: ModelFamily = { modelTypes: ['modernbert'], build };
