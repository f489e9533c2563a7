import { say } from '../../wording/say';
import { ConfigError, ConfigReader, isObject } from '../config';
import { applyActivation } from '../layers/activation';
import { type Block, rms } from '../layers/block';
import { gatedMlp } from '../layers/mlp';
import { mixtureOfExperts } from '../layers/moe';
import { rmsNorm } from '../layers/norm';
import { LLAMA_PROJECTIONS } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { headStage, take, tokenEmbeddingStage } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { LLAMA_ATTENTION } from './llama-parts';
import { attendSharing, type SharingKind, type Sight, sharingKinds } from './shared-keys';
import { figuresOf, readSizes, type Sizes } from './sizes';

/** Inputs that each layer has of its own, `[b, s, layers x width]` in the flow. */
const PER_LAYER = 'per_layer_inputs';

const gemma = (name: string) => rms(name, 'gemma');

/** Which layers see everything: as `layer_types` states, else every sixth; the last one always (`Gemma4TextConfig`). */
function sights(config: ConfigReader, layers: number): Sight[] {
  const types = config.list('layer_types');
  return Array.from({ length: layers }, (_, i) => {
    const full = types ? types[i] === 'full_attention' : (i + 1) % 6 === 0;
    return full || i === layers - 1 ? 'full' : 'sliding';
  });
}

/** Heads of the layers that see everything. */
interface GlobalHeads {
  readonly headDim: number;
  readonly keyValueHeads: number;
}

/**
 * What the config states of layers that see everything: `global_head_dim` and `num_global_key_value_heads`, or one entry a
 * layer in `per_layer_config`, which is what transformers writes since 5.23 in their place.
 */
function globalHeads(config: ConfigReader, sizes: Sizes, keysAsValues: boolean): GlobalHeads {
  const shared = {
    headDim: config.sizeOr(512, 'global_head_dim'),
    keyValueHeads: keysAsValues
      ? config.sizeOr(sizes.keyValueHeads, 'num_global_key_value_heads')
      : sizes.keyValueHeads,
  };
  const entries = config.stated('per_layer_config');
  if (!isObject(entries)) return shared;
  const full = sights(config, sizes.layers).flatMap((sight, i) => (sight === 'full' ? [String(i)] : []));
  const [first, ...others] = full.map((index) => {
    const entry = new ConfigReader(isObject(entries[index]) ? entries[index] : {}, '');
    return {
      headDim: entry.sizeOr(sizes.headDim, 'head_dim'),
      keyValueHeads: entry.sizeOr(sizes.keyValueHeads, 'num_key_value_heads'),
    };
  });
  const alike = others.every(
    (own) => own.headDim === first?.headDim && own.keyValueHeads === first.keyValueHeads,
  );
  if (!alike || Object.keys(entries).some((index) => !full.includes(index))) {
    throw new ConfigError(
      say('"{0}" tells layers of one kind apart, which is not supported', 'per_layer_config'),
    );
  }
  return first ?? shared;
}

/** Everything that the layers take from the config. */
interface Text {
  readonly sizes: Sizes;
  readonly kinds: readonly SharingKind[];
  readonly window: number;
  readonly global: GlobalHeads;
  readonly keysAsValues: boolean;
  readonly bias: boolean;
  readonly doubled: boolean;
  /** Width of each layer's own input; 0: none. */
  readonly perLayer: number;
  readonly perLayerRows: number;
  readonly experts?: Block;
}

/** `gemma4_unified_text` has neither inputs of each layer nor experts: its class drops the fields (transformers 5.23). */
function readText(config: ConfigReader): Text {
  const sizes = readSizes(config);
  const unified = config.modelType === 'gemma4_unified_text';
  const keysAsValues = config.flag(false, 'attention_k_eq_v');
  return {
    sizes,
    kinds: sharingKinds(config, sights(config, sizes.layers)),
    window: config.count(0, 'sliding_window'),
    global: globalHeads(config, sizes, keysAsValues),
    keysAsValues,
    bias: config.flag(false, 'attention_bias'),
    doubled: config.flag(false, 'use_double_wide_mlp'),
    perLayer: unified ? 0 : config.count(0, 'hidden_size_per_layer_input'),
    perLayerRows: config.sizeOr(sizes.vocabulary, 'vocab_size_per_layer_input'),
    experts: !unified && config.flag(false, 'enable_moe_block') ? experts(config, sizes) : undefined,
  };
}

/** Experts beside the MLP: both read the state before the MLP's norm, each through norms of its own. */
function experts(config: ConfigReader, sizes: Sizes): Block {
  return mixtureOfExperts({
    router: {
      name: 'router.proj',
      score: 'softmax',
      expertScale: 'router.per_expert_scale',
      before: (t, x) => {
        const normed = rmsNorm(t, x, { name: 'router.norm', style: 'gemma', gain: false });
        const scale = t.weight({ name: 'router.scale', shape: [sizes.hidden] });
        return t.scale(t.mulWeight(normed, scale, 'router.scale'), 'router.scalar_root_size');
      },
    },
    experts: {
      name: 'experts',
      count: config.size('num_experts'),
      chosen: config.size('top_k_experts'),
      inner: config.size('moe_intermediate_size'),
      activation: sizes.activation,
      before: gemma('pre_feedforward_layernorm_2'),
    },
  });
}

function attentionOf(text: Text, { sight }: SharingKind): SelfAttentionSpec {
  const { sizes } = text;
  const full = sight === 'full';
  return {
    ...LLAMA_ATTENTION,
    projections: LLAMA_PROJECTIONS,
    hidden: sizes.hidden,
    heads: sizes.heads,
    keyValueHeads: full ? text.global.keyValueHeads : sizes.keyValueHeads,
    headDim: full ? text.global.headDim : sizes.headDim,
    dropout: sizes.attentionDropout,
    bias: { qkv: text.bias, output: text.bias },
    norm: { kind: 'head', style: 'gemma' },
    window: !full && text.window > 0 ? text.window : undefined,
    keysAsValues: full && text.keysAsValues,
    normsValues: true,
  };
}

/** `Gemma4TextDecoderLayer`. */
function layer(text: Text, kind: SharingKind): Stage['trace'] {
  const inner = text.sizes.inner * (text.doubled && kind.sharing === 'reuse' ? 2 : 1);
  const { activation, hidden: width } = text.sizes;
  const mlp: Block = (t, x) => gatedMlp(t, x, { name: 'mlp', inner, activation });
  return (t, flow) => {
    const entered = t.enter(take(flow, 'hidden'), 'hidden');
    const own = text.perLayer > 0 ? t.enter(take(flow, PER_LAYER), PER_LAYER) : undefined;
    const out = t.scope(() => {
      const first = t.hold(entered);
      const attended = t.scope(() => {
        const normed = t.hold(gemma('input_layernorm')(t, first));
        const hasOwn = t.settings.behaviours.keepsProjectionsOfKeysInGemma4;
        return attendSharing(t, normed, attentionOf(text, kind), kind, flow, hasOwn);
      });
      const mixed = gemma('post_attention_layernorm')(t, attended);
      const second = t.hold(t.add(first, mixed, 'residual'));
      const normed = gemma('pre_feedforward_layernorm')(t, second);
      let fed = t.scope(() => mlp(t, t.hold(normed)));
      if (text.experts) {
        const dense = t.hold(gemma('post_feedforward_layernorm_1')(t, fed));
        const sparse = gemma('post_feedforward_layernorm_2')(t, text.experts(t, second));
        fed = t.add(dense, sparse, 'experts_sum');
      }
      const sum = t.add(second, gemma('post_feedforward_layernorm')(t, fed), 'residual');
      return own ? withOwnInput(t, sum, own, text.perLayer, width, activation) : sum;
    });
    flow.set('hidden', out);
  };
}

/** A third branch: a gate of the state times what the layer has of its own, projected back. */
function withOwnInput(
  t: Tracer,
  x: Tensor,
  all: Tensor,
  perLayer: number,
  width: number,
  activation: string,
): Tensor {
  const residual = t.hold(x);
  const gate = t.linear(residual, { name: 'per_layer_input_gate', out: perLayer });
  const own = t.slice(all, [...x.shape.slice(0, -1), perLayer]);
  const product = t.mul(applyActivation(t, gate, activation), own, 'per_layer_product');
  const back = t.linear(product, { name: 'per_layer_projection', out: width });
  return t.add(residual, gemma('post_per_layer_input_norm')(t, back), 'residual');
}

/** The embedding, and each layer's own input: a table of its own beside a projection of the embedding. */
function embedding(text: Text, headTied: boolean): Stage {
  const { sizes, perLayer } = text;
  const plain = tokenEmbeddingStage({
    name: 'embed_tokens',
    rows: sizes.vocabulary,
    columns: sizes.hidden,
    scaled: true,
    headTied,
  });
  if (perLayer === 0) return plain;
  const columns = sizes.layers * perLayer;
  return {
    ...plain,
    trace: (t, flow) => {
      plain.trace(t, flow);
      const hidden = take(flow, 'hidden');
      const rows = hidden.shape.slice(0, -1);
      const ids = t.input([t.settings.batch, t.settings.sequence], 'int64', false, 'input_ids');
      const table = t.embedding(ids, {
        name: 'embed_tokens_per_layer',
        rows: text.perLayerRows,
        columns,
        split: 'vocabulary',
      });
      const looked = t.scale(table, 'embed_tokens_per_layer.scale');
      const projected = t.linear(hidden, { name: 'per_layer_model_projection', out: columns });
      const scaled = t.view(t.scale(projected, 'per_layer_model_projection.scale'), [
        ...rows,
        sizes.layers,
        perLayer,
      ]);
      const normed = t.view(gemma('per_layer_projection_norm')(t, scaled), [...rows, columns]);
      flow.set(PER_LAYER, t.scale(t.add(normed, looked, 'per_layer_inputs'), 'per_layer_input_scale'));
    },
  };
}

/** Runs of layers of a kind, each kind traced once; a layer that leaves its keys stands alone. */
function layerStages(text: Text): Stage[] {
  const traces = new Map<string, Stage['trace']>();
  const stages: Stage[] = [];
  for (const kind of text.kinds) {
    const key = `${kind.sight}/${kind.sharing ?? ''}`;
    const trace = traces.get(key) ?? layer(text, kind);
    traces.set(key, trace);
    const last = stages.at(-1);
    if (last?.trace === trace) stages[stages.length - 1] = { ...last, count: last.count + 1 };
    else stages.push({ name: 'layers', role: 'layer', count: 1, trace });
  }
  return stages;
}

/** Gemma 4's text model: windows with every few layers seeing all, keys shared by the last ones, inputs of each layer. */
function build(config: ConfigReader): Architecture {
  const text = readText(config);
  const { sizes } = text;
  const tiedTo = sizes.tied ? 'embed_tokens.weight' : undefined;
  return {
    figures: figuresOf(sizes),
    stages: [
      embedding(text, sizes.tied),
      ...layerStages(text),
      headStage({
        finalNorm: gemma('norm'),
        head: {
          name: 'lm_head',
          vocabulary: sizes.vocabulary,
          tiedTo,
          softcap: config.has('final_logit_softcapping'),
        },
      }),
    ],
    notes: [],
  };
}

export const gemma4: ModelFamily = { modelTypes: ['gemma4_text', 'gemma4_unified_text'], build };
