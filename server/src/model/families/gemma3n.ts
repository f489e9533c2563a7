import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { applyActivation } from '../layers/activation';
import { rms } from '../layers/block';
import { gatedMlp } from '../layers/mlp';
import { LLAMA_PROJECTIONS } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import type { Flow, Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { headStage, take, tokenEmbeddingStage } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { GEMMA3N_EMBEDDERS, gemma3nTowers, type SoftEmbedder, softEmbedderOf } from './gemma3n-towers';
import { clipNote } from './heard-tower';
import { LLAMA_ATTENTION } from './llama-parts';
import { mobilenetTower } from './mobilenet-tower';
import { attendSharing, type SharingKind, type Sight, sharingKinds } from './shared-keys';
import { figuresOf, readSizes, type Sizes } from './sizes';

/** A layer: what it sees, whose keys it reads, and whether its gates are cut off below a quantile. */
interface Kind extends SharingKind {
  readonly sparse: boolean;
}

/** Everything that the layers take from the config. */
interface Text {
  readonly sizes: Sizes;
  readonly kinds: readonly Kind[];
  readonly window: number;
  readonly bias: boolean;
  /** States that go through the layers side by side (AltUp). */
  readonly inputs: number;
  readonly laurel: number;
  readonly scales: boolean;
  readonly perLayer: number;
  readonly perLayerRows: number;
}

/** Inputs that each layer has of its own, `[b, s, layers x width]` in the flow. */
const PER_LAYER = 'per_layer_inputs';

const gemma = (name: string) => rms(name, 'gemma');

/** One MLP width for all layers, which a list may state layer by layer. */
function withOneWidth(config: ConfigReader): ConfigReader {
  const widths = config.stated('intermediate_size');
  if (!Array.isArray(widths)) return config;
  if (new Set(widths).size !== 1) {
    throw new ConfigError(
      say('"{0}" tells layers of one kind apart, which is not supported', 'intermediate_size'),
    );
  }
  return config.fixed({ intermediate_size: widths[0] });
}

function kindsOf(config: ConfigReader, layers: number): Kind[] {
  // `Gemma3nTextConfig`: every fifth sees everything.
  const types = config.list('layer_types');
  const sights = Array.from({ length: layers }, (_, i): Sight => {
    const full = types ? types[i] === 'full_attention' : (i + 1) % 5 === 0;
    return full ? 'full' : 'sliding';
  });
  // `Gemma3nTextConfig`: the first ten of more than ten layers, by default.
  const pattern = config.list('activation_sparsity_pattern');
  return sharingKinds(config, sights).map((kind, i) => ({
    ...kind,
    sparse: pattern ? Number(pattern[i]) > 0 : layers > 10 && i < 10,
  }));
}

function readText(stated: ConfigReader): Text {
  const config = withOneWidth(stated);
  const sizes = readSizes(config);
  return {
    sizes,
    kinds: kindsOf(config, sizes.layers),
    window: config.count(0, 'sliding_window'),
    bias: config.flag(false, 'attention_bias'),
    inputs: config.sizeOr(4, 'altup_num_inputs'),
    laurel: config.sizeOr(64, 'laurel_rank'),
    scales: config.flag(true, 'altup_correct_scale'),
    perLayer: config.size('hidden_size_per_layer_input'),
    perLayerRows: config.size('vocab_size_per_layer_input'),
  };
}

function attentionOf({ sizes, bias, window }: Text, { sight }: Kind): SelfAttentionSpec {
  return {
    ...LLAMA_ATTENTION,
    projections: LLAMA_PROJECTIONS,
    hidden: sizes.hidden,
    heads: sizes.heads,
    keyValueHeads: sizes.keyValueHeads,
    headDim: sizes.headDim,
    dropout: sizes.attentionDropout,
    bias: { qkv: bias, output: bias },
    norm: { kind: 'head', style: 'gemma' },
    window: sight === 'sliding' && window > 0 ? window : undefined,
    normsValues: true,
  };
}

/** `compute_router_modalities`: `[b, s, inputs]` of a state. */
function modalities(t: Tracer, x: Tensor, inputs: number): Tensor {
  return t.scope(() => {
    const normed = t.scale(gemma('altup.router_norm')(t, x), 'altup.router_input_scale');
    const routed = t.linear(t.hold(normed), { name: 'altup.modality_router', out: inputs });
    const wide = t.keepOutput(t.cast(routed, 'fp32', 'altup.router_float'), 'altup.tanh');
    return t.cast(wide, x.dtype, 'altup.type_as');
  });
}

/** `predict`: each of the states as a mix of all, by coefficients of the first. */
function predict(t: Tracer, states: Tensor, { inputs }: Text): Tensor {
  return t.scope(() => {
    const [, b = 1, s = 1, h = 1] = states.shape;
    const routed = t.hold(modalities(t, t.slice(states, [b, s, h]), inputs));
    const coefficients = t.hold(t.linear(routed, { name: 'altup.prediction_coefs', out: inputs ** 2 }));
    const { autocast, computeDtype } = t.settings;
    const factor = autocast ? t.cast(states, computeDtype, 'altup.predict_cast') : states;
    const mixed = t.matmul(factor, coefficients, [b, s, h, inputs], inputs, 'altup.predict');
    // Added to in place; back in the order of the states it is made contiguous.
    return t.cast(t.copy(mixed, states.shape, 'altup.contiguous'), states.dtype, 'altup.predict_type_as');
  });
}

/** `correct`: what the layer changed of its state, given to each by a coefficient. */
function correct(t: Tracer, predictions: Tensor, activated: Tensor, { inputs }: Text): Tensor {
  return t.scope(() => {
    const routed = t.hold(t.again(() => modalities(t, activated, inputs)));
    const own = t.slice(predictions, activated.shape);
    const change = t.add(activated, own, 'altup.innovation');
    const repeated = t.hold(t.copy(change, predictions.shape, 'altup.repeat'));
    const raw = t.linear(routed, { name: 'altup.correction_coefs', out: inputs });
    const coefficients = t.hold(t.shift(raw, 'altup.all_coefs'));
    // The predictions are added in place.
    return t.mul(repeated, coefficients, 'altup.corrected');
  });
}

/** `_gaussian_topk`: gates below mean and deviation times a constant become 0. */
function cutGate(t: Tracer, gate: Tensor): Tensor {
  return t.scope(() => {
    t.hold(gate);
    const rows = [...gate.shape.slice(0, -1), 1];
    const mean = t.hold(t.reduce(gate, rows, 'mlp.mean'));
    const deviation = t.fused({
      name: 'mlp.std',
      inputs: [gate],
      outputs: [{ shape: rows, dtype: gate.dtype }],
      savesInputs: [gate],
      savesOutputs: [0],
    });
    const cutoff = t.hold(t.add(mean, t.scale(t.hold(deviation), 'mlp.std_scaled'), 'mlp.cutoff'));
    return t.keepOutput(t.add(gate, cutoff, 'mlp.above'), 'mlp.relu');
  });
}

function mlp(t: Tracer, x: Tensor, { sizes }: Text, sparse: boolean): Tensor {
  const { inner, activation, hidden } = sizes;
  if (!sparse) return gatedMlp(t, x, { name: 'mlp', inner, activation });
  return t.scope(() => {
    const raw = t.linear(x, { name: 'mlp.gate_proj', out: inner, split: 'column' });
    const gate = t.hold(applyActivation(t, cutGate(t, raw), activation));
    const up = t.hold(t.linear(x, { name: 'mlp.up_proj', out: inner, split: 'column' }));
    return t.linear(t.mul(gate, up, 'mlp.product'), { name: 'mlp.down_proj', out: hidden, split: 'row' });
  });
}

/** `Gemma3nTextDecoderLayer`. */
function layer(text: Text, kind: Kind): Stage['trace'] {
  const { hidden: width, activation } = text.sizes;
  return (t, flow) => {
    const states = t.enter(take(flow, 'hidden'), 'hidden');
    const all = t.enter(take(flow, PER_LAYER), PER_LAYER);
    const out = t.scope(() => {
      t.hold(states);
      const predictions = t.hold(predict(t, states, text));
      const [, b = 1, s = 1] = states.shape;
      const active = t.slice(predictions, [b, s, width]);
      const normed = t.hold(gemma('input_layernorm')(t, active));
      const learned = t.hold(laurel(t, normed, text));
      const hasOwn = t.settings.behaviours.keepsProjectionsOfSharedKeys;
      const attended = attendSharing(t, normed, attentionOf(text, kind), kind, flow, hasOwn);
      const mixed = t.hold(gemma('post_attention_layernorm')(t, attended));
      const gated = t.hold(t.add(active, mixed, 'attn_gated'));
      const second = t.hold(t.scale(t.add(gated, learned, 'attn_laurel_sum'), 'attn_laurel'));
      const before = t.hold(gemma('pre_feedforward_layernorm')(t, second));
      const fed = t.hold(t.scope(() => mlp(t, before, text, kind.sparse)));
      const after = t.hold(gemma('post_feedforward_layernorm')(t, fed));
      const sum = t.hold(t.add(second, after, 'attn_ffw_laurel_gated'));
      const corrected = t.hold(correct(t, predictions, sum, text));
      const first = t.copy(t.slice(corrected, [b, s, width]), [b, s, width], 'clone');
      const scaled = text.scales ? corrections(t, first, width) : first;
      if (!text.scales) t.weight({ name: 'altup.correct_output_scale', shape: [width] });
      const gate = t.linear(scaled, { name: 'per_layer_input_gate', out: text.perLayer });
      const own = t.slice(all, [b, s, text.perLayer]);
      const product = t.mul(applyActivation(t, gate, activation), own, 'per_layer_product');
      const back = t.linear(product, { name: 'per_layer_projection', out: width });
      const addition = gemma('post_per_layer_input_norm')(t, back);
      return t.addInto(corrected, addition, 'corrected_predictions');
    });
    flow.set('hidden', out);
  };
}

/** `scale_corrected_output`, in the type of its vector. */
function corrections(t: Tracer, x: Tensor, width: number): Tensor {
  const weight = t.weight({ name: 'altup.correct_output_scale', shape: [width] });
  const product = t.mulWeight(t.cast(x, weight.dtype, 'altup.scale_cast'), weight, 'altup.correct_scale');
  return t.cast(product, x.dtype, 'altup.scale_type_as');
}

/** `Gemma3nTextLaurelBlock`: a residual of low rank. */
function laurel(t: Tracer, x: Tensor, text: Text): Tensor {
  return t.scope(() => {
    const low = t.linear(x, { name: 'laurel.linear_left', out: text.laurel });
    const high = t.linear(low, { name: 'laurel.linear_right', out: text.sizes.hidden });
    const normed = gemma('laurel.post_laurel_norm')(t, high);
    return t.add(x, normed, 'laurel.sum');
  });
}

/** `x ** n`, which autocast takes in fp32. */
const raised = (t: Tracer, x: Tensor, name: string): Tensor =>
  t.power(t.settings.autocast ? t.cast(x, 'fp32', `${name}_cast`) : x, name);

/** A state brought to the magnitude of the first: `x * target / sqrt(mean(x^2))`. */
function matched(t: Tracer, x: Tensor, target: Tensor): Tensor {
  return t.scope(() => {
    t.hold(x);
    const rows = [...x.shape.slice(0, -1), 1];
    const square = t.reduce(raised(t, x, 'altup.square'), rows, 'altup.mean');
    const magnitude = t.hold(t.keepOutput(t.keepInput(square, 'altup.clamp'), 'altup.sqrt'));
    return t.mul(t.mul(x, target, 'altup.matched'), magnitude, 'altup.divided');
  });
}

/** Magnitudes of the rows of the first state, `[b, s, 1]`. */
function magnitudes(t: Tracer, x: Tensor): Tensor {
  const mean = t.reduce(raised(t, x, 'altup.square'), [...x.shape.slice(0, -1), 1], 'altup.mean');
  return raised(t, mean, 'altup.magnitude');
}

/** The other states as projections of the first, all side by side. */
function widened(t: Tracer, x: Tensor, name: string, states: readonly Tensor[]): Tensor {
  return t.scope(() => {
    const [first = x] = states;
    const target = t.hold(magnitudes(t, first));
    const parts = [t.hold(first)];
    for (const [i, state] of states.slice(1).entries()) {
      const projected = t.linear(state, { name: `${name}.${i}`, out: x.shape.at(-1) ?? 1 });
      parts.push(t.hold(matched(t, projected, target)));
    }
    return t.concat(parts, [states.length, ...first.shape], `${name}.stack`);
  });
}

/** Features over the places of their tokens. */
function scattered(t: Tracer, hidden: Tensor, features: Tensor): Tensor {
  return t.fused({
    name: 'masked_scatter',
    inputs: [hidden, features],
    outputs: [{ shape: hidden.shape, dtype: hidden.dtype }],
    savesBytes: hidden.elements,
  });
}

/** What towers give, over the places of its tokens (`masked_scatter`): the first embedder is that of images, the second that of sound. */
function withFeatures(
  t: Tracer,
  flow: Flow,
  hidden: Tensor,
  [images, sound]: readonly SoftEmbedder[],
): Tensor {
  const seen = flow.get('images');
  const heard = flow.get('sound');
  let merged = hidden;
  if (seen && images) merged = scattered(t, merged, images.project(t, t.enter(seen, 'images')));
  if (heard && sound)
    merged = scattered(t, merged, filledClips(t, sound.project(t, t.enter(heard, 'sound'))));
  flow.delete('images');
  flow.delete('sound');
  return merged;
}

/** Clips filled up to the tokens that the processor gives each, of which the longest has all (`torch.where`, `torch.cat`). */
function filledClips(t: Tracer, features: Tensor): Tensor {
  const [batch = 1, tokens = 1] = features.shape;
  const chosen = t.fused({
    name: 'audio_padding',
    inputs: [features],
    outputs: [{ shape: features.shape, dtype: features.dtype }],
    savesBytes: batch * tokens,
  });
  return t.concat([chosen], chosen.shape, 'audio_features');
}

/** Token embedding, inputs of each layer, and the states that go through the layers side by side. */
function embedding(text: Text, headTied: boolean, embedders: readonly SoftEmbedder[]): Stage {
  const { sizes, perLayer, inputs } = text;
  const columns = sizes.layers * perLayer;
  const plain = tokenEmbeddingStage({
    name: 'embed_tokens',
    rows: sizes.vocabulary,
    columns: sizes.hidden,
    scaled: true,
    headTied,
  });
  const ownInputs = (t: Tracer, hidden: Tensor, looked: Tensor) => {
    const rows = hidden.shape.slice(0, -1);
    const projected = t.linear(hidden, { name: 'per_layer_model_projection', out: columns });
    const parts = t.view(projected, [...rows, sizes.layers, perLayer]);
    const normed = t.view(gemma('per_layer_projection_norm')(t, parts), [...rows, columns]);
    return t.scale(t.add(normed, looked, 'per_layer_inputs'), 'per_layer_input_scale');
  };
  return {
    ...plain,
    trace: (t, flow) => {
      plain.trace(t, flow);
      const ids = t.input([t.settings.batch, t.settings.sequence], 'int64', false, 'input_ids');
      const table = { name: 'embed_tokens_per_layer', rows: text.perLayerRows, columns };
      const looked = t.hold(
        t.scale(t.embedding(ids, { ...table, split: 'vocabulary' }), 'embed_tokens_per_layer.scale'),
      );
      const merged = embedders.reduce((x, own) => own.merge(t, x), take(flow, 'hidden'));
      const hidden = withFeatures(t, flow, merged, embedders);
      flow.set(PER_LAYER, ownInputs(t, hidden, looked));
      flow.set('hidden', widened(t, hidden, 'altup_projections', new Array(inputs).fill(hidden)));
    },
  };
}

/** Runs of layers of a kind, each kind traced once; a layer that leaves its keys stands alone. */
function layerStages(text: Text): Stage[] {
  const traces = new Map<string, Stage['trace']>();
  const stages: Stage[] = [];
  for (const kind of text.kinds) {
    const key = `${kind.sight}/${kind.sharing ?? ''}/${kind.sparse}`;
    const trace = traces.get(key) ?? layer(text, kind);
    traces.set(key, trace);
    const last = stages.at(-1);
    if (last?.trace === trace) stages[stages.length - 1] = { ...last, count: last.count + 1 };
    else stages.push({ name: 'layers', role: 'layer', count: 1, trace });
  }
  return stages;
}

/** Gemma 3n's text model: AltUp's states side by side, LAuReL's residuals, keys shared by the last layers, inputs of each layer. */
function textOf(config: ConfigReader, embedders: readonly SoftEmbedder[]): Architecture {
  const text = readText(config);
  const { sizes, inputs } = text;
  const tiedTo = sizes.tied ? 'embed_tokens.weight' : undefined;
  const lowered = (t: Tracer, states: Tensor) => {
    const [, b = 1, s = 1, h = 1] = states.shape;
    const apart = Array.from({ length: inputs }, () => t.slice(states, [b, s, h]));
    const [first = states] = apart;
    const stacked = widened(t, first, 'altup_unembed_projections', apart);
    return gemma('norm')(t, t.reduce(stacked, [b, s, h], 'altup.mean_of_states'));
  };
  return {
    figures: figuresOf(sizes),
    stages: [
      embedding(text, sizes.tied, embedders),
      ...layerStages(text),
      headStage({
        finalNorm: lowered,
        head: { name: 'lm_head', vocabulary: sizes.vocabulary, tiedTo, softcap: true },
      }),
    ],
    notes: [],
  };
}

/** The whole model, with its towers for images and sound. */
function build(config: ConfigReader): Architecture {
  if (config.modelType === 'gemma3n_text') return textOf(config, []);
  const read = config.textModel('gemma3n_text');
  const width = read.size('hidden_size');
  const embedders = GEMMA3N_EMBEDDERS.map((kind) => softEmbedderOf(config, kind, width));
  const text = textOf(read, embedders);
  return {
    ...text,
    stages: [...gemma3nTowers(config), ...text.stages],
    notes: [clipNote()],
    imageNotes: [mobilenetTower().note, { text: say('the sequence length counts image tokens') }],
  };
}

export const gemma3n: ModelFamily = { modelTypes: ['gemma3n_text', 'gemma3n'], build };
