import type { AdapterSettings } from './trace-settings';
import type { Tensor, Tracer, Weight } from './tracer';

/** One linear layer that gets an adapter: its path, features of the whole layer, and what it computes without one. */
export interface Adapted {
  readonly path: string;
  readonly inFeatures: number;
  readonly outFeatures: number;
  readonly x: Tensor;
  readonly base: Tensor;
}

/**
 * PEFT's adapters beside LoRA (peft 0.21, `tuners/`), as the branch that each adds to a linear layer. Weights are exact;
 * small tensors that do not grow with the tokens are left out of the activations.
 */
export function branch(t: Tracer, adapter: AdapterSettings, layer: Adapted): Tensor {
  switch (adapter.kind) {
    case 'adalora':
      return singularValues(t, adapter, layer);
    case 'vera':
      return sharedProjections(t, adapter, layer);
    case 'loha':
      // Its own operator multiplies the factors under autocast, so that the change is in the lower type at once.
      return ofDelta(t, layer, hadamardWeights(t, adapter, layer), t.settings.autocast);
    case 'lokr':
      return ofDelta(t, layer, kroneckerWeights(t, adapter, layer));
    case 'ia3':
      return scaledOutput(t, layer);
    default:
      return layer.base;
  }
}

/** Adapters that change the input of the layer instead: OFT, BOFT, and IA3 of feed-forward modules. */
export function changedInput(
  t: Tracer,
  adapter: AdapterSettings,
  x: Tensor,
  path: string,
  out: number,
): Tensor {
  const width = x.shape.at(-1) ?? 0;
  if (adapter.kind === 'ia3') {
    if (adapter.feedForward?.(path) !== true) return x;
    const scale = t.adapterWeight(`${path}.ia3_l`, [1, width]);
    return multiplied(t, t.cast(x, adapter.dtype, `${path}.ia3_cast`), scale, x, `${path}.ia3`);
  }
  if (adapter.kind !== 'oft' && adapter.kind !== 'boft') return x;
  const weights =
    adapter.kind === 'oft' ? rotations(t, adapter, path, width) : butterflies(t, adapter, path, width, out);
  // The rotation is a batched product, which autocast lowers.
  const dtype = t.settings.autocast ? t.settings.computeDtype : adapter.dtype;
  const cast = t.cast(x, dtype, `${path}.oft_cast`);
  const rotated = t.fused({
    name: `${path}.oft`,
    inputs: [cast],
    outputs: [{ shape: x.shape, dtype }],
    savesInputs: [cast],
    weights,
    flops: 2 * x.elements * blockOf(adapter),
  });
  return t.cast(rotated, x.dtype, `${path}.oft_result`);
}

function blockOf(adapter: AdapterSettings): number {
  const size = adapter.blockSize ?? 0;
  return size > 0 ? size : adapter.kind === 'boft' ? 4 : 32;
}

/** Skew-symmetric blocks on the diagonal, each stored as its upper triangle (`oft/layer.py`). */
function rotations(t: Tracer, adapter: AdapterSettings, path: string, width: number): Weight[] {
  const block = blockOf(adapter);
  return [t.adapterWeight(`${path}.oft_R.weight`, [Math.ceil(width / block), (block * (block - 1)) / 2])];
}

/** One butterfly factor of whole blocks, and a scale per output (`boft/layer.py`). */
function butterflies(
  t: Tracer,
  adapter: AdapterSettings,
  path: string,
  width: number,
  out: number,
): Weight[] {
  const block = blockOf(adapter);
  return [
    t.adapterWeight(`${path}.boft_R`, [1, Math.ceil(width / block), block, block]),
    t.adapterWeight(`${path}.boft_s`, [out, 1]),
  ];
}

/** `x * vector`: the product keeps `x` for the vector's gradient. */
function multiplied(t: Tracer, x: Tensor, vector: Weight, like: Tensor, name: string): Tensor {
  const product = t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype: vector.dtype }],
    savesInputs: [x],
    weights: [vector],
  });
  return t.cast(product, like.dtype, `${name}_result`);
}

function scaledOutput(t: Tracer, { path, base, outFeatures }: Adapted): Tensor {
  return multiplied(t, base, t.adapterWeight(`${path}.ia3_l`, [outFeatures, 1]), base, `${path}.ia3`);
}

/** AdaLoRA: LoRA with singular values between its factors, folded into the first. */
function singularValues(t: Tracer, adapter: AdapterSettings, layer: Adapted): Tensor {
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
function ranked(t: Tracer, path: string, scaled: Tensor): Tensor {
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

/** VeRA: two frozen random projections that all layers share, and a trained vector after each. */
function sharedProjections(t: Tracer, adapter: AdapterSettings, layer: Adapted): Tensor {
  const { path, inFeatures, outFeatures, x, base } = layer;
  const { rank, dtype } = adapter;
  const inner = t.adapterWeight(`${path}.vera_lambda_d`, [rank]);
  const outer = t.adapterWeight(`${path}.vera_lambda_b`, [outFeatures]);
  const rows = x.elements / inFeatures;
  // The products are autocast's, the vectors are not.
  const product = t.settings.autocast ? t.settings.computeDtype : dtype;
  const cast = t.cast(x, dtype, `${path}.vera_cast`);
  const low = t.fused({
    name: `${path}.vera_A`,
    inputs: [cast],
    outputs: [{ shape: [...x.shape.slice(0, -1), rank], dtype: product }],
    flops: 2 * rows * inFeatures * rank,
  });
  const scaled = multiplied(t, low, inner, low, `${path}.vera_d`);
  const high = t.fused({
    name: `${path}.vera_B`,
    inputs: [scaled],
    outputs: [{ shape: base.shape, dtype: product }],
    flops: 2 * rows * rank * outFeatures,
  });
  const sum = t.add(base, multiplied(t, high, outer, high, `${path}.vera_b`), `${path}.vera_add`);
  return t.cast(sum, base.dtype, `${path}.vera_result`);
}

/** LoHa: the change of the weight is the product, element by element, of two products of low rank. */
function hadamardWeights(t: Tracer, { rank }: AdapterSettings, layer: Adapted): Weight[] {
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
function kroneckerWeights(t: Tracer, { rank, blockSize }: AdapterSettings, layer: Adapted): Weight[] {
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

/** The change of the weight is made whole, and multiplied with the input (`lycoris_utils.py`, `_get_delta_activations`). */
function ofDelta(t: Tracer, layer: Adapted, weights: readonly Weight[], lowered = false): Tensor {
  const { path, inFeatures, outFeatures, x, base } = layer;
  const dtype = weights[0]?.dtype ?? 'fp32';
  const delta = t.fused({
    name: `${path}.delta_weight`,
    inputs: [],
    outputs: [{ shape: [outFeatures, inFeatures], dtype: lowered ? t.settings.computeDtype : dtype }],
    weights,
  });
  // Autocast lowers both factors of the product; what they were is named until it is there.
  const product = t.settings.autocast ? t.settings.computeDtype : dtype;
  const change = t.scope(() => {
    const cast = t.hold(t.cast(x, dtype, `${path}.delta_cast`));
    const input = t.cast(cast, product, `${path}.delta_input`);
    const weight = t.cast(t.hold(delta), product, `${path}.delta_lowered`);
    return t.matmul(input, weight, base.shape, inFeatures, `${path}.delta`);
  });
  return t.cast(t.add(base, change, `${path}.delta_add`), base.dtype, `${path}.delta_result`);
}

/**
 * Weights that make virtual tokens: a table of them, and the encoder that p-tuning and projected prefixes have
 * (`prompt_encoder.py`, `prefix_tuning.py`). `width` is the model's.
 */
export function virtualTokenWeights(t: Tracer, adapter: AdapterSettings, width: number): Weight[] {
  const { virtualTokens = 20, encoderSize, prefixWidth = 2 * width, kind } = adapter;
  const layer = (name: string, from: number, to: number) => [
    t.adapterWeight(`${name}.weight`, [to, from]),
    t.adapterWeight(`${name}.bias`, [to]),
  ];
  const prompt = 'prompt_encoder';
  if (kind === 'prefix-tuning') {
    if (encoderSize === undefined) {
      return [t.adapterWeight(`${prompt}.embedding.weight`, [virtualTokens, prefixWidth])];
    }
    const token = adapter.prefixToken ?? width;
    return [
      t.adapterWeight(`${prompt}.embedding.weight`, [virtualTokens, token]),
      ...layer(`${prompt}.transform.0`, token, encoderSize),
      ...layer(`${prompt}.transform.2`, encoderSize, prefixWidth),
    ];
  }
  const table = t.adapterWeight(`${prompt}.embedding.weight`, [virtualTokens, width]);
  if (kind !== 'p-tuning') return [table];
  const inner = encoderSize ?? width;
  return [
    table,
    ...layer(`${prompt}.mlp_head.0`, width, inner),
    ...layer(`${prompt}.mlp_head.2`, inner, inner),
    ...layer(`${prompt}.mlp_head.4`, inner, width),
  ];
}
