import type { ConfigReader } from '../config';
import { type Block, layerNormed, rms } from '../layers/block';
import { fusedGatedMlp } from '../layers/fused-mlp';
import { languageModelHead } from '../layers/loss';
import { attentionOver } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import type { Flow, Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { embed, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { twoLinears } from './plain-decoder';
import { figuresOf, readSizes, type Sizes } from './sizes';

type Side = 'encoder' | 'decoder';

/** What the layers of both sides share. */
interface Parts {
  readonly sizes: Sizes;
  readonly norm: (name: string) => Block;
  readonly feedForward: Block;
  readonly attention: (module: string, causal: boolean, cross: boolean) => SelfAttentionSpec;
  readonly dropout: number;
}

function partsOf(config: ConfigReader, sizes: Sizes): Parts {
  const rmsNorm = config.text('layernorm', 'normalization') === 'rmsnorm';
  const bias = config.flag(true, 'mlp_bias');
  const mlp = { name: 'mlp', inner: sizes.inner, activation: sizes.activation, bias };
  const names = { up: 'linear_fc1', down: 'linear_fc2' };
  return {
    sizes,
    norm: (name) => (rmsNorm ? rms(name) : layerNormed(name)),
    feedForward: config.flag(false, 'gated_mlp')
      ? fusedGatedMlp({ ...mlp, gateUp: names.up, down: names.down })
      : twoLinears('mlp', names, sizes.inner, sizes.activation, bias),
    attention: (module, causal, cross) => ({
      module,
      hidden: sizes.hidden,
      heads: sizes.heads,
      keyValueHeads: sizes.keyValueHeads,
      headDim: sizes.headDim,
      projections: cross ? { q: 'linear_q', k: 'linear_k', v: 'linear_v' } : 'linear_qkv',
      output: 'linear_proj',
      bias: { qkv: config.flag(true, 'qkv_bias'), output: config.flag(true, 'attention_bias') },
      rotary: config.text('learned', 'position_embedding') === 'rope' && !cross ? 1 : 0,
      causal,
      dropout: sizes.attentionDropout,
    }),
    dropout: config.dropout('hidden_dropout'),
  };
}

function branch(t: Tracer, x: Tensor, { norm, dropout }: Parts, name: string, body: Block): Tensor {
  return t.scope(() => {
    t.hold(x);
    return t.add(x, t.dropout(body(t, norm(name)(t, x)), dropout, 'dropout'), 'residual');
  });
}

function layers(parts: Parts, side: Side, count: number): Stage {
  const decoder = side === 'decoder';
  const self = parts.attention('self_attention', decoder, false);
  const cross = parts.attention('cross_attention', false, true);
  return {
    name: `${side}.layers`,
    role: 'layer',
    count,
    trace: (t, flow) => {
      const encoder = decoder ? t.enter(take(flow, 'encoder'), 'encoder') : undefined;
      let x = t.enter(take(flow, 'hidden'), 'hidden');
      x = branch(t, x, parts, 'input_layernorm', (tracer, y) => attentionOver(tracer, y, self));
      if (encoder)
        x = branch(t, x, parts, 'pre_cross_attn_layernorm', (tracer, y) =>
          attentionOver(tracer, y, cross, { source: encoder }),
        );
      flow.set('hidden', branch(t, x, parts, 'pre_mlp_layernorm', parts.feedForward));
    },
  };
}

function endEncoder(t: Tracer, flow: Flow, norm: Block): void {
  flow.set('encoder', norm(t, t.enter(take(flow, 'hidden'), 'hidden')));
  flow.delete('hidden');
}

/**
 * Megatron's T5 (`megatron/core/models/T5/t5_model.py`): norms before each branch and behind each side, one table of tokens
 * and one of positions for both, a head with a bias where it is tied.
 */
function megatronT5(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const parts = partsOf(config, sizes);
  const learned = config.text('learned', 'position_embedding') === 'learned';
  const rows = learned ? config.size('max_position_embeddings') : 0;
  const embedding = (side: Side): Stage => ({
    name: `${side}.embedding`,
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const { batch, sequence, targetSequence } = t.settings;
      const ids = t.input(
        [batch, side === 'encoder' ? sequence : targetSequence],
        'int64',
        false,
        'input_ids',
      );
      const own = side === 'encoder';
      const spec = {
        name: own ? 'word_embeddings' : 'decoder.word_embeddings',
        rows: sizes.vocabulary,
        columns: sizes.hidden,
        positions: learned && own ? { name: 'position_embeddings', rows } : undefined,
      };
      let hidden = embed(t, ids, spec, own ? undefined : 'word_embeddings.weight');
      if (learned && !own) hidden = sharedPositions(t, hidden, rows, sizes.hidden);
      flow.set('hidden', t.dropout(hidden, parts.dropout, 'embedding_dropout'));
    },
  });
  const head: Stage = {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const hidden = parts.norm('decoder.final_layernorm')(t, t.enter(take(flow, 'hidden'), 'hidden'));
      const spec = {
        name: 'lm_head.output_layer',
        vocabulary: sizes.vocabulary,
        tiedTo: sizes.tied ? 'word_embeddings.weight' : undefined,
        bias: sizes.tied,
      };
      flow.set('loss', languageModelHead(t, hidden, spec));
    },
  };
  const decoderLayers = config.sizeOr(sizes.layers, 'decoder_layers');
  return {
    figures: {
      ...figuresOf(sizes),
      layers: sizes.layers + decoderLayers,
      decoder: { layers: decoderLayers },
    },
    stages: [
      embedding('encoder'),
      layers(parts, 'encoder', sizes.layers),
      {
        name: 'encoder.output',
        role: 'norm',
        count: 1,
        trace: (t, flow) => endEncoder(t, flow, parts.norm('encoder.final_layernorm')),
      },
      embedding('decoder'),
      layers(parts, 'decoder', decoderLayers),
      head,
    ],
  };
}

/** The decoder adds rows of the encoder's table of positions. */
function sharedPositions(t: Tracer, x: Tensor, rows: number, columns: number): Tensor {
  const ids = t.input([1, x.shape[1] ?? 1], 'int64', false, 'position_ids');
  const spec = { name: 'decoder.position_embeddings', rows, columns, tiedTo: 'position_embeddings.weight' };
  return t.add(x, t.embedding(ids, spec), 'positions');
}

export const megatronT5Family: ModelFamily = { modelTypes: ['megatron_t5'], build: megatronT5 };
