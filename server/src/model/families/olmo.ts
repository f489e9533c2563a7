import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { attend } from '../layers/attention';
import type { Block } from '../layers/block';
import { languageModelHead } from '../layers/loss';
import { lossOfReturnedLogits } from '../layers/loss-outside';
import { layerNorm, rmsNorm } from '../layers/norm';
import { rotary } from '../layers/rotary';
import type { Stage } from '../model';
import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { embed, layerStages, take } from './decoder-model';
import type { Architecture, ModelFamily } from './family';

/** `ModelConfig` of allenai/OLMo (`olmo/config.py`), with the defaults of its class. */
interface OlmoSizes {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  /** Width of the first projection of the MLP, both halves of a gated one. */
  readonly projected: number;
  readonly rows: number;
  readonly activation: string;
  readonly bias: boolean;
  readonly normBias: boolean;
  readonly norm: string;
  readonly affine: boolean;
  readonly queryKeyAffine: boolean | undefined;
  readonly clips: boolean;
  readonly rotates: boolean;
  readonly rotatesWide: boolean;
  readonly normsAfter: boolean;
  readonly dropouts: Readonly<Record<'attention' | 'residual' | 'embedding', number>>;
}

/** What the class has where nothing is stated: the sizes of GPT-2, the embedding in whole tiles of 128 rows. */
const STANDARD = { d_model: 768, n_heads: 12, n_layers: 12, vocab_size: 50_257, embedding_size: 50_304 };

function readOlmo(config: ConfigReader): OlmoSizes {
  const hidden = config.sizeOr(STANDARD.d_model, 'd_model');
  const heads = config.sizeOr(STANDARD.n_heads, 'n_heads');
  if (hidden % heads !== 0)
    throw new ConfigError(
      say('a hidden size of {0} cannot be divided among {1} attention heads', String(hidden), String(heads)),
    );
  const bias = config.flag(true, 'include_bias');
  const vocabulary = config.sizeOr(STANDARD.vocab_size, 'vocab_size');
  const activation = config.text('swiglu', 'activation_type');
  return {
    hidden,
    heads,
    layers: config.sizeOr(STANDARD.n_layers, 'n_layers'),
    keyValueHeads: keyValueHeadsOf(config, heads),
    headDim: hidden / heads,
    projected: projectedOf(config, hidden, activation === 'swiglu'),
    // A stated `null` is the vocabulary.
    rows: config.explicitNull('embedding_size')
      ? vocabulary
      : config.sizeOr(STANDARD.embedding_size, 'embedding_size'),
    activation,
    bias,
    normBias: config.flag(bias, 'bias_for_layer_norm'),
    norm: config.text('default', 'layer_norm_type'),
    affine: config.flag(true, 'layer_norm_with_affine'),
    queryKeyAffine: config.flag(false, 'attention_layer_norm')
      ? config.flag(true, 'attention_layer_norm_with_affine')
      : undefined,
    clips: config.has('clip_qkv'),
    rotates: config.flag(false, 'rope'),
    rotatesWide: config.flag(true, 'rope_full_precision'),
    normsAfter: config.flag(false, 'norm_after'),
    dropouts: {
      attention: config.number(0.1, 'attention_dropout'),
      residual: config.number(0.1, 'residual_dropout'),
      embedding: config.number(0.1, 'embedding_dropout'),
    },
  };
}

/** `effective_n_kv_heads` (`olmo/config.py`); each serves as many heads (`_scaled_dot_product_attention`). */
function keyValueHeadsOf(config: ConfigReader, heads: number): number {
  const old = config.has('multi_query_attention')
    ? config.flag(false, 'multi_query_attention')
      ? 1
      : heads
    : undefined;
  const count = config.sizeOr(old ?? heads, 'n_kv_heads');
  if (old !== undefined && count !== old)
    throw new ConfigError(
      say('"{0}" that differs from "{1}" is not supported', 'n_kv_heads', 'multi_query_attention'),
    );
  if (heads % count !== 0)
    throw new ConfigError(
      say('{0} attention heads cannot share {1} key and value heads evenly', String(heads), String(count)),
    );
  return count;
}

/** A gated MLP multiplies halves (`SwiGLU.forward`). */
function projectedOf(config: ConfigReader, hidden: number, gated: boolean): number {
  const projected = config.has('mlp_hidden_size')
    ? config.size('mlp_hidden_size')
    : config.sizeOr(4, 'mlp_ratio') * hidden;
  if (gated && projected % 2 !== 0)
    throw new ConfigError(say('"{0}" is not supported', `mlp_hidden_size: ${projected}`));
  return projected;
}

/** `LayerNormBase.build` (`olmo/model.py`): of low precision it runs in the type of autocast, weights cast with it. */
function normOf(sizes: OlmoSizes, name: string, affine = sizes.affine): Block {
  const { norm, normBias } = sizes;
  if (norm === 'rms')
    return (t, x) => {
      const scaled = rmsNorm(t, x, { name, style: 'llama', gain: affine });
      if (!affine || !normBias) return scaled;
      return t.addWeight(
        scaled,
        t.weight({ name: `${name}.bias`, shape: [x.shape.at(-1) ?? 1] }),
        `${name}.shift`,
      );
    };
  const low = norm === 'low_precision' || norm === 'amd_compatible';
  return (t, x) => (low ? lowNorm : layerNorm)(t, x, { name, gain: affine, bias: normBias });
}

function lowNorm(
  t: Tracer,
  x: Tensor,
  { name, gain, bias }: { name: string; gain: boolean; bias: boolean },
): Tensor {
  const { autocast, computeDtype } = t.settings;
  const input = autocast ? t.cast(x, computeDtype, `${name}.lowered`) : x;
  const width = x.shape.at(-1) ?? 1;
  const parts = gain ? ['weight', ...(bias ? ['bias'] : [])] : [];
  return t.fused({
    name,
    inputs: [input],
    outputs: [{ shape: x.shape, dtype: input.dtype }],
    savesInputs: [input],
    savesBytes: (2 * x.elements * ELEMENT_BYTES.fp32) / width,
    weights: parts.map((part) => t.weight({ name: `${name}.${part}`, shape: [width] })),
    fusible: 'reduction',
  });
}

/** `RotaryEmbedding.forward`: queries and keys, `[b, s, h]`, are raised and lowered again, where it rotates in full precision. */
export function rotated(t: Tracer, q: Tensor, k: Tensor, wide: boolean): readonly [Tensor, Tensor] {
  return t.scope(() => {
    const raised = (x: Tensor, name: string) => t.hold(wide ? t.cast(x, 'fp32', `${name}.float`) : x);
    const [wideQ, wideK] = [raised(q, 'rotary_q'), raised(k, 'rotary_k')];
    const turnedQ = t.hold(rotary(t, wideQ, 'rotary_q'));
    const turnedK = t.hold(rotary(t, wideK, 'rotary_k'));
    return [t.cast(turnedQ, q.dtype, 'rotary_q.type_as'), t.cast(turnedK, k.dtype, 'rotary_k.type_as')];
  });
}

/** `OLMoBlock.attention` from projected queries, keys and values to what the output projection gives. */
function attention(t: Tracer, q: Tensor, k: Tensor, v: Tensor, sizes: OlmoSizes): Tensor {
  const { heads, keyValueHeads, headDim, hidden, queryKeyAffine: affine } = sizes;
  return t.scope(() => {
    let [query, key] = [q, k];
    if (affine !== undefined) {
      query = t.hold(t.cast(normOf(sizes, 'q_norm', affine)(t, query), k.dtype, 'q_norm.to'));
      key = t.hold(t.cast(normOf(sizes, 'k_norm', affine)(t, key), k.dtype, 'k_norm.to'));
    }
    if (sizes.rotates) [query, key] = t.hold(rotated(t, query, key, sizes.rotatesWide));
    const context = attend(t, {
      name: 'attention',
      q: query,
      k: key,
      v,
      heads,
      keyValueHeads,
      headDim,
      causal: true,
      dropout: sizes.dropouts.attention,
      kernels: 'calls-sdpa',
      // Its own repetition stands before PyTorch's kernel; flash-attn groups heads itself.
      ...(t.settings.attention === 'sdpa' ? { grouping: 'repeat' as const } : {}),
    });
    return t.linear(context, { name: 'attn_out', out: hidden, bias: sizes.bias, split: 'row' });
  });
}

/** `OLMoSequentialBlock.forward`. */
function block(sizes: OlmoSizes): Block {
  const { hidden, headDim, keyValueHeads, bias, projected, activation, normsAfter } = sizes;
  const [attentionNorm, mlpNorm] = [normOf(sizes, 'attn_norm'), normOf(sizes, 'ff_norm')];
  const keys = keyValueHeads * headDim;
  const gated = activation === 'swiglu';
  return (t, x) =>
    t.scope(() => {
      const h = t.hold(normsAfter ? x : attentionNorm(t, x));
      let joint = t.linear(h, { name: 'att_proj', out: hidden + 2 * keys, bias, split: 'column' });
      if (sizes.clips) joint = t.keepInput(joint, 'clamp');
      const [q = joint, k = joint, v = joint] = t.hold(t.split(t.hold(joint), [hidden, keys, keys]));
      const attended = attention(t, q, k, v, sizes);
      const mixed = t.hold(normsAfter ? attentionNorm(t, attended) : attended);
      const sum = t.hold(t.add(x, t.dropout(mixed, sizes.dropouts.residual, 'residual_dropout'), 'residual'));
      const entered = normsAfter ? sum : mlpNorm(t, sum);
      const up = t.linear(entered, { name: 'ff_proj', out: projected, bias, split: 'column' });
      const activated = t.scope(() => {
        t.hold(up);
        if (!gated) return applyActivation(t, up, activation, 'act');
        const [value = up, gate = up] = t.split(up, [projected / 2, projected / 2]);
        return t.mul(t.keepInput(gate, 'act_fn'), value, 'gated_product');
      });
      let out = t.linear(activated, { name: 'ff_out', out: hidden, bias, split: 'row' });
      if (normsAfter) out = mlpNorm(t, out);
      return t.add(sum, t.dropout(out, sizes.dropouts.residual, 'residual_dropout'), 'residual');
    });
}

/** Token ids to hidden states: the model's forward gives each result the name of the one before. */
function embeddingStage(sizes: OlmoSizes, config: ConfigReader, tied: boolean): Stage {
  const learned = !sizes.rotates && !config.flag(false, 'alibi');
  const rows = config.sizeOr(1024, 'max_sequence_length');
  return {
    name: 'wte',
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const ids = t.input([t.settings.batch, t.settings.sequence], 'int64', false, 'input_ids');
      let hidden = embed(t, ids, { name: 'wte', rows: sizes.rows, columns: sizes.hidden, headTied: tied });
      if (config.flag(false, 'embedding_layer_norm')) hidden = normOf(sizes, 'emb_norm')(t, hidden);
      if (learned) {
        const places = t.input([1, t.settings.sequence], 'int64', false, 'position_ids');
        const table = t.embedding(places, { name: 'wpe', rows, columns: sizes.hidden });
        hidden = t.add(t.holdInModel(table), hidden, 'positions');
      }
      flow.set('hidden', t.dropout(hidden, sizes.dropouts.embedding, 'embedding_dropout'));
    },
  };
}

function endStage(sizes: OlmoSizes, tied: boolean, scaled: boolean): Stage {
  const head = {
    name: 'ff_out',
    out: sizes.rows,
    bias: !tied && sizes.bias,
    split: 'vocabulary' as const,
    role: 'head' as const,
    tiedTo: tied ? 'wte.weight' : undefined,
    kind: 'logits' as const,
  };
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const normed = normOf(sizes, 'ln_f')(t, t.enter(take(flow, 'hidden'), 'hidden'));
      const { objective, loss } = t.settings;
      if (objective !== 'lm' || !(loss.startsWith('full') || loss === 'compiled')) {
        flow.set('loss', languageModelHead(t, normed, { ...head, vocabulary: head.out, scale: scaled }));
        return;
      }
      const result = t.scope(() => {
        const logits = t.hold(t.scope(() => t.linear(t.hold(normed), head)));
        t.endHead();
        return lossOfReturnedLogits(t, logits);
      });
      flow.set('loss', result);
    },
  };
}

/** OLMo in its own code, as its trainer builds it and as `hf_olmo` loads it. */
function olmo(config: ConfigReader): Architecture {
  const sizes = readOlmo(config);
  const tied = config.flag(true, 'weight_tying');
  const layer = block(sizes);
  const otherBlock = config.text('sequential', 'block_type') !== 'sequential';
  return {
    figures: {
      hiddenSize: sizes.hidden,
      layers: sizes.layers,
      attentionHeads: sizes.heads,
      keyValueHeads: sizes.keyValueHeads,
      vocabulary: sizes.rows,
      maxPositions: config.sizeOr(1024, 'max_sequence_length'),
    },
    stages: [
      embeddingStage(sizes, config, tied),
      ...layerStages('blocks', new Array<Block>(sizes.layers).fill(layer)),
      endStage(sizes, tied, config.flag(false, 'scale_logits')),
    ],
    ...(otherBlock || config.flag(false, 'alibi') ? { unplayed: ['written-out-attention' as const] } : {}),
  };
}

export const ownOlmo: ModelFamily = { modelTypes: ['hf_olmo'], build: olmo };
