import { ELEMENT_BYTES, type Tensor, type Weight } from '../tape';
import { sequenceRanks } from '../tensor-parallel';
import type { Tracer } from '../tracer';
import { applyActivation } from './activation';
import type { Block } from './block';
import { type Clamps, clampedGate, clampedProduct, gatedMlp, plainMlp } from './mlp';

interface RouterSpec {
  /** Module path, for example `mlp.gate`. */
  readonly name: string;
  readonly bias?: boolean;
  /** Path of the balancing bias that only chooses; kept, but not trained by the loss. */
  readonly correction?: string;
  /** Input and weight are raised to fp32 for the scores (DeepSeek, GLM, ERNIE). */
  readonly wide?: boolean;
  /** transformers' code leaves the chosen scores in fp32, so that experts' results are weighted and summed in it. */
  readonly fp32Weights?: boolean;
  /** Only where experts are stacked: transformers 4 casts them (Mixtral). */
  readonly fp32WeightsOfStacks?: boolean;
  /** What the layer's input goes through before the scores (Gemma 4). */
  readonly before?: Block;
  /** A factor of each expert that its weight is multiplied by (Gemma 4). */
  readonly expertScale?: string;
  /** `chosen`: softmax over the chosen experts only, in the weights' type (gpt-oss, Granite). */
  readonly score: 'softmax' | 'sigmoid' | 'chosen';
}

export interface MoeSpec {
  readonly router: RouterSpec;
  readonly experts: {
    /** Module path, for example `mlp.experts`. */
    readonly name: string;
    readonly count: number;
    readonly chosen: number;
    readonly inner: number;
    readonly activation: string;
    readonly bias?: boolean;
    /** What the layer's input goes through before the experts (Gemma 4). */
    readonly before?: Block;
    /** Two linear layers without a gate, shared experts too (Megatron without `--swiglu`, Nemotron 3). */
    readonly plain?: boolean;
    /** Linear layers into a narrower width that routed experts work in, and out of it (Nemotron 3 Super). */
    readonly latent?: {
      readonly width: number;
      readonly into: string;
      readonly outOf: string;
      readonly bias?: boolean;
    };
    /** Clamped gate of gpt-oss, `(up + 1) * gate * sigmoid(1.702 gate)`. */
    readonly clamped?: boolean;
    /** Clamped gate of other activations, shared experts too. */
    readonly clamps?: Clamps;
    /** Three weights instead of a joint gate and up projection (DBRX): their names. */
    readonly split?: { readonly gate: string; readonly up: string; readonly down: string };
    readonly names?: { readonly gateUp: string; readonly down: string };
    /** Every expert computes every token (Llama 4 in transformers). */
    readonly dense?: boolean;
  };
  /** The sum with the shared expert is taken in fp32 (Hunyuan 3). */
  readonly wideSum?: boolean;
  /** An expert that every token passes. */
  readonly shared?: {
    readonly name: string;
    readonly inner: number;
    /** Linear to a sigmoid gate on its result. */
    readonly gate?: string;
    /** Runs before the routed experts, so that its result waits for theirs. */
    readonly first?: boolean;
    readonly bias?: boolean;
    /** Names of its two linear layers, where experts have no gate. */
    readonly projections?: { readonly up: string; readonly down: string };
    /** It is another network than a gated MLP (MiniMax M3). */
    readonly block?: Block;
  };
  /** The routed experts' sum is multiplied by a constant before the shared one is added (MiniMax M3, Step 3.5). */
  readonly scaledSum?: boolean;
}

/** Mixture of experts in place of an MLP: router, routed experts, shared expert. */
export function mixtureOfExperts(spec: MoeSpec): Block {
  return (t, x) =>
    t.scope(() => {
      t.hold(x);
      const early = spec.shared?.first ? t.hold(sharedExpert(t, x, spec)) : undefined;
      const scores = route(t, spec.router.before ? spec.router.before(t, x) : x, spec);
      const input = spec.experts.before ? spec.experts.before(t, x) : x;
      const chosen = spec.experts.dense
        ? everyExpert(t, input, scores, spec)
        : inLatentWidth(t, input, spec, (narrow) => chosenExperts(t, narrow, scores, spec));
      const routed = spec.scaledSum ? t.scale(chosen, 'routed_scale') : chosen;
      if (!spec.shared) return routed;
      if (!spec.wideSum) return t.add(routed, early ?? sharedExpert(t, x, spec), 'moe_sum');
      const wide = t.hold(t.cast(t.hold(routed), 'fp32', 'routed.float'));
      const shared = t.cast(early ?? sharedExpert(t, x, spec), 'fp32', 'shared_expert.float');
      return t.cast(t.add(wide, shared, 'moe_sum'), t.settings.computeDtype, 'moe_sum.cast');
    });
}

/** Routed experts between the two linear layers of their own width, where they have one (`NemotronHMoE`). */
function inLatentWidth(
  t: Tracer,
  x: Tensor,
  { experts: { latent } }: MoeSpec,
  routed: (x: Tensor) => Tensor,
): Tensor {
  if (!latent) return routed(x);
  const { into, outOf, bias } = latent;
  const out = routed(t.linear(x, { name: into, out: latent.width, bias }));
  return t.linear(out, { name: outOf, out: x.shape.at(-1) ?? 0, bias });
}

function tokensOf(x: Tensor): number {
  return x.elements / (x.shape.at(-1) ?? 1);
}

function sharedExpert(t: Tracer, x: Tensor, spec: MoeSpec): Tensor {
  const { shared, experts } = spec;
  if (!shared) return x;
  if (shared.block) return shared.block(t, x);
  const { name, inner } = shared;
  const { activation } = experts;
  const projections = shared.projections ?? { up: 'linear_fc1', down: 'linear_fc2' };
  const out = experts.plain
    ? plainMlp(t, x, { name, inner, activation, bias: shared.bias, projections })
    : gatedMlp(t, x, { name, inner, activation, bias: shared.bias, clamps: experts.clamps });
  if (!shared.gate) return out;
  const gate = t.keepOutput(t.linear(x, { name: shared.gate, out: 1 }), `${shared.gate}.sigmoid`);
  return t.mul(gate, out, 'shared_expert_gated');
}

/** Weights of the chosen experts, `[tokens, chosen]` (all experts where `dense`). */
function route(t: Tracer, x: Tensor, spec: MoeSpec): Tensor {
  const { router, experts } = spec;
  const tokens = tokensOf(x);
  const width = x.shape.at(-1) ?? 0;
  const flat = t.view(x, [tokens, width]);
  const weight = t.weight({ name: `${router.name}.weight`, shape: [experts.count, width] });
  const bias = router.bias ? t.weight({ name: `${router.name}.bias`, shape: [experts.count] }) : undefined;
  if (router.correction) {
    t.weight({ name: router.correction, shape: [experts.count], trainable: false, dtype: 'fp32' });
  }
  const input = router.wide ? t.cast(flat, 'fp32', `${router.name}.float`) : flat;
  const scored = t.linearWith(input, weight, { name: router.name, out: experts.count, bias });
  const own = { name: router.name, out: experts.count, role: 'router' } as const;
  const logits = t.withAdapter(input, scored, own, weight);
  if (experts.dense) {
    const scattered = t.copy(logits, logits.shape, `${router.name}.scatter`);
    const sigmoid = t.keepOutput(t.cast(scattered, 'fp32', `${router.name}.float`), `${router.name}.sigmoid`);
    return t.cast(sigmoid, x.dtype, `${router.name}.to`);
  }
  if (router.score === 'chosen') {
    return t.softmax(choose(t, logits, tokens, spec), `${router.name}.softmax`);
  }
  const wide = t.cast(logits, 'fp32', `${router.name}.scores`);
  const scores = t.keepOutput(wide, `${router.name}.${router.score}`);
  const chosen = choose(t, scores, tokens, spec);
  const sum = t.reduce(chosen, [tokens, 1], `${router.name}.sum`);
  const normalized = t.mul(chosen, sum, `${router.name}.normalize`);
  const weights = router.expertScale ? scaledByExpert(t, normalized, spec, router.expertScale) : normalized;
  if (weighsInFp32(t, spec) && t.settings.behaviours.keepsRoutingInFp32) return weights;
  return t.cast(weights, x.dtype, `${router.name}.to`);
}

function weighsInFp32({ settings }: Tracer, { router }: MoeSpec): boolean {
  return (
    router.fp32Weights === true || (router.fp32WeightsOfStacks === true && settings.behaviours.stacksExperts)
  );
}

/** Weights of the chosen experts, each times its expert's own factor (`Gemma4TextRouter`). */
function scaledByExpert(t: Tracer, weights: Tensor, { experts }: MoeSpec, name: string): Tensor {
  const scale = t.weight({ name, shape: [experts.count] });
  const chosen = t.fused({
    name: `${name}.index`,
    inputs: [],
    outputs: [{ shape: weights.shape, dtype: scale.dtype }],
    weights: [scale],
  });
  return t.mul(weights, chosen, `${name}.mul`);
}

/** `topk`: keeps the int64 indices. */
function choose(t: Tracer, scores: Tensor, tokens: number, spec: MoeSpec): Tensor {
  const { chosen } = spec.experts;
  return t.fused({
    name: `${spec.router.name}.topk`,
    inputs: [scores],
    outputs: [{ shape: [tokens, chosen], dtype: scores.dtype }],
    savesBytes: tokens * chosen * ELEMENT_BYTES.int64,
  });
}

/** Tensor-parallel ranks inside experts. */
function expertRanks({ settings }: Tracer): number {
  return settings.expertTensorParallel ?? settings.tensorParallel;
}

/**
 * Pairs of token and expert that this rank computes. Balanced routing is assumed: each rank gets as many as it sends. Where
 * ranks hold parts of the sequence, those that share an expert's matrices gather theirs; a capacity bounds what an expert
 * takes, and is padded to.
 */
function pairsOf(t: Tracer, tokens: number, chosen: number): number {
  const gathered = sequenceRanks(t.settings) > 1 ? expertRanks(t) : 1;
  return Math.ceil(tokens * chosen * gathered * (t.settings.capacityFactor ?? 1));
}

/** Registers a stack of expert matrices, split over expert- and tensor-parallel ranks. */
function stack(t: Tracer, spec: MoeSpec, name: string, shape: readonly number[], splitAt: number): Weight {
  const { count, chosen } = spec.experts;
  const ranks = expertRanks(t);
  const local = shape.map((size, i) => (i === splitAt ? size / ranks : size));
  return t.weight({
    name: `${spec.experts.name}.${name}`,
    shape: [count, ...shape],
    local: [count / t.settings.expertParallel, ...local],
    role: shape.length > 1 ? 'matrix' : 'vector',
    activeShare: chosen / count,
    expert: true,
    viewed: shape.length > 1 && readsViews(t, spec),
  });
}

/**
 * A product takes the transpose of a stack, or an expert of it: transformers' `grouped_mm` and loops do (`integrations/moe.py`,
 * `_grouped_linear`), but not where the stack lies as the product wants it (`is_transposed` of gpt-oss, `bmm` of Llama 4).
 */
function readsViews({ settings }: Tracer, { experts }: MoeSpec): boolean {
  if (settings.linearExperts === true) return false;
  return !(experts.dense === true || (experts.clamped === true && settings.behaviours.stacksExperts));
}

/**
 * Tokens sorted by expert, one grouped product per projection (`integrations/moe.py`, `grouped_mm`, which transformers
 * takes where it can). Over expert-parallel ranks they are sent to their experts and back, each way into a new tensor
 * (Megatron `moe/token_dispatcher.py`; torchtitan `models/common/token_dispatcher.py`).
 */
function chosenExperts(t: Tracer, x: Tensor, scores: Tensor, spec: MoeSpec): Tensor {
  const { experts } = spec;
  const width = x.shape.at(-1) ?? 0;
  const tokens = tokensOf(x);
  const sent = tokens * experts.chosen;
  const pairs = pairsOf(t, tokens, experts.chosen);
  const apart = t.settings.expertParallel > 1 || expertRanks(t) > 1;
  const exchange = (x: Tensor, rows: number, name: string) =>
    apart ? t.copy(x, [rows, x.shape.at(-1) ?? 0], `${experts.name}.${name}`) : x;
  const gather = (from: Tensor, name: string) => {
    const indices = t.fused({
      name: `${experts.name}.${name}_order`,
      inputs: [],
      outputs: [{ shape: [sent], dtype: 'int64' }],
    });
    return t.fused({
      name: `${experts.name}.${name}`,
      inputs: [from, indices],
      outputs: [{ shape: [sent, from.shape.at(-1) ?? 0], dtype: from.dtype }],
      savesInputs: [indices],
    });
  };
  const { behaviours } = t.settings;
  return t.scope(() => {
    const selected = t.hold(exchange(gather(t.view(x, [tokens, width]), 'select'), pairs, 'dispatch'));
    const chosen = gather(t.view(scores, [sent, 1]), 'weights');
    if (behaviours.weighsInsideExperts) return weightedInside(t, x, selected, chosen, spec, exchange, gather);
    const weights = t.hold(exchange(chosen, pairs, 'dispatch_weights'));
    // `grouped_mm` is not among autocast's operators (`integrations/moe.py`, `_grouped_mm`).
    const down = t.hold(expertMlp(t, selected, spec, behaviours.groupedProductsIgnoreAutocast));
    const weighted = t.mul(down, weights, `${experts.name}.weighted`);
    const restored = gather(exchange(weighted, sent, 'combine'), 'restore');
    const sum = t.reduce(t.view(restored, [tokens, experts.chosen, width]), x.shape, `${experts.name}.sum`);
    return weighsInFp32(t, spec) ? t.cast(sum, x.dtype, `${experts.name}.to`) : sum;
  });
}

/**
 * Megatron multiplies by the routing weight inside the experts' activation, which keeps gate, up and weight; the results
 * are sent back, put in order and summed, of which nothing is kept (`fusions/fused_bias_swiglu.py`,
 * `weighted_bias_swiglu_impl`; `moe/moe_utils.py`, `unpermute`).
 */
function weightedInside(
  t: Tracer,
  x: Tensor,
  selected: Tensor,
  chosen: Tensor,
  spec: MoeSpec,
  exchange: (x: Tensor, rows: number, name: string) => Tensor,
  gather: (x: Tensor, name: string) => Tensor,
): Tensor {
  const { name } = spec.experts;
  const rows = selected.shape[0] ?? 1;
  const weights = exchange(chosen, rows, 'dispatch_weights');
  const back = exchange(expertMlp(t, selected, spec, false, weights), chosen.shape[0] ?? 1, 'combine');
  const tokens = tokensOf(x);
  const width = x.shape.at(-1) ?? 0;
  const restored = gather(back, 'restore');
  return t.reduce(t.view(restored, [tokens, spec.experts.chosen, width]), x.shape, `${name}.sum`);
}

/** Every expert runs on every token, weighted by zero where it was not chosen. */
function everyExpert(t: Tracer, x: Tensor, scores: Tensor, spec: MoeSpec): Tensor {
  const { experts } = spec;
  const width = x.shape.at(-1) ?? 0;
  const rows = tokensOf(x) * (experts.count / t.settings.expertParallel);
  const repeated = t.copy(x, [rows, width], `${experts.name}.repeat`);
  const flat = t.view(t.copy(scores, scores.shape, `${experts.name}.scores`), [scores.elements, 1]);
  const weighted = t.mul(repeated, flat, `${experts.name}.weighted`);
  return t.reduce(expertMlp(t, weighted, spec), x.shape, `${experts.name}.sum`);
}

const LINEAR_EXPERTS = { gate: 'gate_projs', up: 'up_projs', down: 'down_projs' };

function expertMlp(t: Tracer, x: Tensor, spec: MoeSpec, ownType = false, weights?: Tensor): Tensor {
  const { experts } = spec;
  const width = x.shape.at(-1) ?? 0;
  const { inner, name } = experts;
  const localInner = inner / expertRanks(t);
  // A linear layer for each expert's gate and up (Axolotl `monkeypatch/models/llama4/modeling.py`).
  const linear = experts.dense && t.settings.linearExperts ? LINEAR_EXPERTS : undefined;
  const split = experts.split ?? linear;
  if (split) {
    const { gate, up, down } = split;
    const gated = t.expertLinear(x, stack(t, spec, gate, [inner, width], 0), {
      name: `${name}.${gate}`,
      out: localInner,
      ownType,
    });
    const activated = applyActivation(t, gated, experts.activation);
    const raised = t.expertLinear(x, stack(t, spec, up, [inner, width], 0), {
      name: `${name}.${up}`,
      out: localInner,
      ownType,
    });
    const plain = t.mul(activated, raised, `${name}.product`);
    const product = weights ? t.mul(plain, weights, `${name}.weighted`) : plain;
    return t.expertLinear(product, stack(t, spec, down, [inner, width], 0), {
      name: `${name}.${down}`,
      out: width,
      ownType,
    });
  }
  const { gateUp, down } = experts.names ?? { gateUp: 'gate_up_proj', down: 'down_proj' };
  const bias = (part: string, size: number, splitAt: number) =>
    experts.bias ? stack(t, spec, `${part}_bias`, [size], splitAt) : undefined;
  const columns = experts.plain ? 1 : 2;
  const joint = t.expertLinear(x, stack(t, spec, gateUp, [columns * inner, width], 0), {
    name: `${name}.${gateUp}`,
    out: columns * localInner,
    ownType,
    bias: bias(gateUp, columns * inner, 0),
  });
  const product = experts.plain
    ? plainProduct(t, joint, weights, spec)
    : gatedExpert(t, t.split(joint, [localInner, localInner]), weights, spec);
  return t.expertLinear(product, stack(t, spec, down, [width, inner], 1), {
    name: `${name}.${down}`,
    out: width,
    ownType,
    bias: bias(down, width, -1),
  });
}

/** The activation, times the routing weight where that is multiplied inside. */
function plainProduct(t: Tracer, up: Tensor, weights: Tensor | undefined, spec: MoeSpec): Tensor {
  const activated = applyActivation(t, up, spec.experts.activation);
  return weights ? t.mul(activated, weights, `${spec.experts.name}.weighted`) : activated;
}

function gatedExpert(
  t: Tracer,
  [gate, up]: readonly Tensor[],
  weights: Tensor | undefined,
  spec: MoeSpec,
): Tensor {
  if (!gate || !up) throw new Error('a gate needs two halves');
  const { name, clamped, clamps, activation } = spec.experts;
  if (weights) return weightedGate(t, gate, up, weights, name);
  if (clamps) return clampedProduct(t, gate, up, activation, { name, clamps });
  return clamped ? clampedGate(t, gate, up, name) : gateOf(t, gate, up, spec);
}

function weightedGate(t: Tracer, gate: Tensor, up: Tensor, weights: Tensor, name: string): Tensor {
  return t.fused({
    name: `${name}.weighted_swiglu`,
    inputs: [gate, up, weights],
    outputs: [{ shape: gate.shape, dtype: gate.dtype }],
    savesInputs: [gate, up, weights],
  });
}

function gateOf(t: Tracer, gate: Tensor, up: Tensor, spec: MoeSpec): Tensor {
  return t.mul(applyActivation(t, gate, spec.experts.activation), up, `${spec.experts.name}.product`);
}
