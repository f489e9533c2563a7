import type { ProductTracer } from './product-tracer';
import type { Tensor, Weight } from './tape';
import { ELEMENT_BYTES } from './tape';
import type { AdapterSettings } from './trace-settings';

/** One linear layer that gets an adapter: its path, features of the whole layer, and what it computes without one. */
interface Adapted {
  readonly path: string;
  readonly inFeatures: number;
  readonly outFeatures: number;
  readonly x: Tensor;
  readonly base: Tensor;
}

/**
 * PEFT's adapters beside LoRA (peft 0.21, `tuners/`), as the branch that each adds to a linear layer. Weights are exact;
 * small tensors that do not grow with the tokens are left out of the activations. From the layer's input `[..., in]` and
 * result `[..., out]` to `[..., out]`.
 */
export function branch(t: ProductTracer, adapter: AdapterSettings, layer: Adapted): Tensor {
  switch (adapter.kind) {
    case 'adalora':
      return singularValues(t, adapter, layer);
    case 'vera':
      return sharedProjections(t, adapter, layer);
    case 'loha':
      return ofDelta(t, layer, hadamardWeights(t, adapter, layer), { lowered: true });
    case 'lokr':
      return ofDelta(t, layer, kroneckerWeights(t, adapter, layer));
    case 'fourierft':
      return ofSpectrum(t, adapter, layer);
    case 'vblora':
      return ofVectorBank(t, adapter, layer);
    case 'miss':
      return ofShards(t, adapter, layer);
    case 'ia3':
      return scaledOutput(t, layer);
    case 'llama-adapter-v2':
      return scaledAndShifted(t, layer.base, layer.path, layer.outFeatures);
    default:
      return layer.base;
  }
}

/**
 * `x * vector`: the product keeps `x` for the vector's gradient. `[..., n]` times `[n]`, or a row or column of as many, is
 * `[..., n]`.
 */
export function multiplied(t: ProductTracer, x: Tensor, vector: Weight, like: Tensor, name: string): Tensor {
  const product = t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype: vector.dtype }],
    savesInputs: [x],
    weights: [vector],
  });
  return t.cast(product, like.dtype, `${name}_result`);
}

function scaledOutput(t: ProductTracer, { path, base, outFeatures }: Adapted): Tensor {
  return multiplied(t, base, t.adapterWeight(`${path}.ia3_l`, [outFeatures, 1]), base, `${path}.ia3`);
}

/**
 * MiSS, Bone before (`miss/layer.py`): the features of the input are added up in groups of as many as the rank, and one trained
 * matrix multiplies the sums. Features that the rank does not divide are padded.
 */
function ofShards(t: ProductTracer, adapter: AdapterSettings, layer: Adapted): Tensor {
  const { path, inFeatures, outFeatures, x, base } = layer;
  const rank = adapter.rankOf?.(path) ?? adapter.rank;
  const block = t.adapterWeight(`${path}.miss_block`, [rank, outFeatures]);
  return t.scope(() => {
    // The caller's name of the input goes on; the function gives its own to the padded and to the cast one.
    const width = Math.ceil(inFeatures / rank) * rank;
    const own = t.hold(x);
    const padded =
      width === inFeatures ? own : t.copy(own, [...x.shape.slice(0, -1), width], `${path}.miss_pad`);
    const cast = t.hold(t.cast(padded, adapter.dtype, `${path}.miss_cast`));
    const dropped = t.dropout(cast, adapter.dropout, `${path}.miss_dropout`, 'adapter');
    const sums = t.reduce(dropped, [...x.shape.slice(0, -1), rank], `${path}.miss_sum`);
    const change = t.linearWith(sums, block, { name: `${path}.miss_block`, out: outFeatures });
    return t.cast(t.add(base, change, `${path}.miss_add`), base.dtype, `${path}.miss_result`);
  });
}

/**
 * LLaMA-Adapter 2: `scale * (linear(x) + bias)` (litgpt `adapter_v2.py`, `AdapterV2Linear`). The sum is kept for the scale's
 * gradient. `[..., out]` in and out.
 */
export function scaledAndShifted(t: ProductTracer, base: Tensor, path: string, out: number): Tensor {
  const bias = t.adapterWeight(`${path}.adapter_bias`, [out]);
  const scale = t.adapterWeight(`${path}.adapter_scale`, [out]);
  return t.mulWeight(t.addWeight(base, bias, `${path}.adapter_add`), scale, `${path}.adapter_mul`);
}

/** AdaLoRA: LoRA with singular values between its factors, folded into the first. */
function singularValues(t: ProductTracer, adapter: AdapterSettings, layer: Adapted): Tensor {
  const { path, inFeatures, outFeatures, x, base } = layer;
  const { rank } = adapter;
  const a = t.adapterWeight(`${path}.lora_A`, [rank, inFeatures]);
  const b = t.adapterWeight(`${path}.lora_B`, [outFeatures, rank]);
  t.adapterWeight(`${path}.lora_E`, [rank, 1]);
  return t.scope(() => {
    const cast = t.hold(t.cast(t.hold(x), adapter.dtype, `${path}.lora_cast`));
    const dropped = t.dropout(cast, adapter.dropout, `${path}.lora_dropout`, 'adapter');
    const low = t.linearWith(dropped, a, { name: `${path}.lora_A`, out: rank });
    const high = t.linearWith(low, b, { name: `${path}.lora_B`, out: outFeatures });
    const scaled = t.scale(high, `${path}.lora_scaling`);
    const sum = t.add(base, ranked(t, path, scaled), `${path}.lora_add`);
    return t.cast(sum, base.dtype, `${path}.lora_result`);
  });
}

/**
 * AdaLoRA divides by the current rank, a parameter of one element. The cast of adapters to fp32 makes it anew, and then it
 * requires a gradient, for which the dividend is kept.
 */
function ranked(t: ProductTracer, path: string, scaled: Tensor): Tensor {
  if (t.settings.weightDtype === 'fp32') return t.scale(scaled, `${path}.ranknum`);
  const ranknum = t.adapterWeight(`${path}.ranknum`, [1]);
  return t.fused({
    name: `${path}.ranknum`,
    inputs: [scaled],
    outputs: [{ shape: scaled.shape, dtype: ranknum.dtype }],
    savesInputs: [scaled],
    weights: [ranknum],
  });
}

/**
 * VeRA (`vera/layer.py`): two frozen random projections that all modules share, as large as the largest of them needs
 * (`vera/model.py`, `_find_dim`), and a trained vector after each. They are buffers, which autocast casts anew in every
 * product; backward keeps these copies.
 */
function sharedProjections(t: ProductTracer, adapter: AdapterSettings, layer: Adapted): Tensor {
  const { path, inFeatures, outFeatures, x, base } = layer;
  const { rank, dtype } = adapter;
  const inner = t.adapterWeight(`${path}.vera_lambda_d`, [rank]);
  const outer = t.adapterWeight(`${path}.vera_lambda_b`, [outFeatures]);
  t.buffer('vera_A', rank * inFeatures, dtype, true);
  t.buffer('vera_B', rank * outFeatures, dtype, true);
  const rows = x.elements / inFeatures;
  // The products are autocast's, the vectors are not.
  const product = t.settings.autocast ? t.settings.computeDtype : dtype;
  const projected = (from: Tensor, shape: readonly number[], features: number, name: string) => {
    const input = t.cast(from, product, `${name}_cast`);
    const copy = product === dtype ? 0 : rank * features * ELEMENT_BYTES[product];
    return t.fused({
      name,
      inputs: [input],
      outputs: [{ shape, dtype: product }],
      savesBytes: copy,
      forwardScratch: input.requiresGrad ? 0 : copy,
      flops: 2 * rows * rank * features,
      backwardFlops: input.requiresGrad ? 2 * rows * rank * features : 0,
    });
  };
  return t.scope(() => {
    const cast = t.hold(t.cast(t.hold(x), dtype, `${path}.vera_cast`));
    const dropped = t.dropout(cast, adapter.dropout, `${path}.vera_dropout`, 'adapter');
    const low = projected(dropped, [...x.shape.slice(0, -1), rank], inFeatures, `${path}.vera_A`);
    const scaled = t.mulWeight(low, inner, `${path}.vera_d`);
    const high = projected(scaled, base.shape, outFeatures, `${path}.vera_B`);
    const change = t.mulWeight(high, outer, `${path}.vera_b`);
    return t.cast(t.add(base, change, `${path}.vera_add`), base.dtype, `${path}.vera_result`);
  });
}

/**
 * FourierFT (`fourierft/layer.py`, `get_delta_weight`): the trained numbers are laid into a spectrum of the weight's size in
 * fp32, whose inverse transform is taken in complex64, copied from the real numbers first. Where they lie is known from two
 * indices each, which are sent to the GPU in every pass.
 */
function ofSpectrum(t: ProductTracer, { rank }: AdapterSettings, layer: Adapted): Tensor {
  const { path, inFeatures, outFeatures } = layer;
  const elements = inFeatures * outFeatures;
  const frequencies = Math.min(rank, elements);
  const complex = 2 * ELEMENT_BYTES.fp32;
  const spectrum = t.adapterWeight(`${path}.fourierft_spectrum`, [frequencies]);
  return ofDelta(t, layer, [spectrum], {
    savesBytes: 2 * frequencies * ELEMENT_BYTES.int64,
    scratch: 2 * complex * elements,
  });
}

/**
 * VB-LoRA (`vblora/layer.py`): both factors are put together of vectors of a bank that all modules share; for every piece of
 * a factor, trained logits weigh the best `topk` (2, its default) of them.
 */
function ofVectorBank(t: ProductTracer, adapter: AdapterSettings, layer: Adapted): Tensor {
  const { path, inFeatures, outFeatures, x, base } = layer;
  const { rank, dtype, vectors = 256, vectorLength = 256 } = adapter;
  const chosen = 2;
  const pieces = (features: number) => Math.ceil(features / vectorLength);
  const weights = [
    t.adapterWeight(`${path}.vblora_logits_A`, [rank, pieces(inFeatures), vectors]),
    t.adapterWeight(`${path}.vblora_logits_B`, [pieces(outFeatures), rank, vectors]),
  ];
  const factor = (logits: Weight, shape: readonly number[], features: number, name: string) =>
    t.fused({
      name,
      inputs: [],
      outputs: [{ shape, dtype }],
      // The chosen vectors, their weights, and where they are.
      savesBytes:
        chosen *
        rank *
        (features * ELEMENT_BYTES[dtype] + pieces(features) * (ELEMENT_BYTES[dtype] + ELEMENT_BYTES.int64)),
      weights: [logits],
    });
  const [logitsA, logitsB] = weights;
  if (!logitsA || !logitsB) return base;
  const product = t.settings.autocast ? t.settings.computeDtype : dtype;
  return t.scope(() => {
    const a = t.hold(factor(logitsA, [rank, inFeatures], inFeatures, `${path}.vblora_A`));
    const b = t.hold(factor(logitsB, [outFeatures, rank], outFeatures, `${path}.vblora_B`));
    const cast = t.hold(t.cast(t.hold(x), dtype, `${path}.vblora_cast`));
    const dropped = t.dropout(cast, adapter.dropout, `${path}.vblora_dropout`, 'adapter');
    const lowered = (from: Tensor, name: string) => t.cast(from, product, `${path}.${name}`);
    const low = t.matmul(
      lowered(dropped, 'vblora_input'),
      lowered(a, 'vblora_A_cast'),
      [...x.shape.slice(0, -1), rank],
      inFeatures,
      `${path}.vblora_low`,
    );
    const high = t.matmul(low, lowered(b, 'vblora_B_cast'), base.shape, rank, `${path}.vblora_high`);
    return t.cast(t.add(base, high, `${path}.vblora_add`), base.dtype, `${path}.vblora_result`);
  });
}

/** The bank of VB-LoRA, one for the model (`VBLoRAConfig`, `num_vectors` and `vector_length`). */
export function vectorBank(t: ProductTracer, { vectors = 256, vectorLength = 256 }: AdapterSettings): Weight {
  return t.adapterWeight('vblora_vector_bank', [vectors, vectorLength]);
}

/** LoHa: the change of the weight is the product, element by element, of two products of low rank. */
function hadamardWeights(t: ProductTracer, { rank }: AdapterSettings, layer: Adapted): Weight[] {
  const { path, inFeatures, outFeatures } = layer;
  return ['w1', 'w2'].flatMap((name) => [
    t.adapterWeight(`${path}.hada_${name}_a`, [outFeatures, rank]),
    t.adapterWeight(`${path}.hada_${name}_b`, [rank, inFeatures]),
  ]);
}

/** Two factors of a number, the first near `factor`, or both near the root where it is -1 (`lokr/layer.py`). */
function factorization(dimension: number, factor: number): [number, number] {
  if (factor > 0 && dimension % factor === 0) return [factor, dimension / factor];
  const limit = factor === -1 ? dimension : factor;
  let small = 1;
  let large = dimension;
  for (let next = 2; next <= Math.sqrt(dimension) && next <= limit; next++) {
    if (dimension % next === 0) [small, large] = [next, dimension / next];
  }
  return [Math.min(small, large), Math.max(small, large)];
}

/** LoKr: a Kronecker product of a small matrix and a large one, which is of low rank where that is smaller. */
function kroneckerWeights(t: ProductTracer, { rank, blockSize }: AdapterSettings, layer: Adapted): Weight[] {
  const { path } = layer;
  const [smallIn, largeIn] = factorization(layer.inFeatures, blockSize ?? -1);
  const [smallOut, largeOut] = factorization(layer.outFeatures, blockSize ?? -1);
  const first = t.adapterWeight(`${path}.lokr_w1`, [smallOut, smallIn]);
  if (rank >= Math.max(largeOut, largeIn) / 2) {
    return [first, t.adapterWeight(`${path}.lokr_w2`, [largeOut, largeIn])];
  }
  return [
    first,
    t.adapterWeight(`${path}.lokr_w2_a`, [largeOut, rank]),
    t.adapterWeight(`${path}.lokr_w2_b`, [rank, largeIn]),
  ];
}

/** What making the change of a weight takes beside the change itself, bytes. */
interface DeltaCosts {
  /** Its own operator multiplies the factors under autocast: the change is in the lower type at once. */
  readonly lowered?: boolean;
  readonly savesBytes?: number;
  readonly scratch?: number;
}

/** The change of the weight is made whole, and multiplied with the input (`lycoris_utils.py`, `_get_delta_activations`). */
function ofDelta(
  t: ProductTracer,
  layer: Adapted,
  weights: readonly Weight[],
  costs: DeltaCosts = {},
): Tensor {
  const { path, inFeatures, outFeatures, x, base } = layer;
  const own = weights[0]?.dtype ?? 'fp32';
  // Autocast lowers both factors of the product; what they were is named until it is there.
  const product = t.settings.autocast ? t.settings.computeDtype : own;
  const dtype = costs.lowered === true ? product : own;
  const delta = t.fused({
    name: `${path}.delta_weight`,
    inputs: [],
    outputs: [{ shape: [outFeatures, inFeatures], dtype }],
    savesBytes: costs.savesBytes,
    forwardScratch: costs.scratch,
    backwardScratch: costs.scratch,
    weights,
  });
  const change = t.scope(() => {
    const cast = t.hold(t.cast(t.hold(x), dtype, `${path}.delta_cast`));
    const input = t.cast(cast, product, `${path}.delta_input`);
    const weight = t.cast(t.hold(delta), product, `${path}.delta_lowered`);
    return t.matmul(input, weight, base.shape, inFeatures, `${path}.delta`);
  });
  return t.cast(t.add(base, change, `${path}.delta_add`), base.dtype, `${path}.delta_result`);
}
