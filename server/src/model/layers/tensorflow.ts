import { ELEMENT_BYTES, type Tensor, type TensorDType } from '../tape';
import type { Tracer } from '../tracer';

/**
 * Layers of a BERT written in TensorFlow 1 graphs (google-research/bert, `modeling.py`). There is no list of saved tensors:
 * what an operator gives lives until its last reader has run, and the readers of backward are those that the gradient
 * functions add (`math_grad.py`, `nn_grad.py`): a product reads both factors, `Tanh` and `Softmax` their result, `Pow` its
 * input, sums nothing.
 */

/** Type that activations flow in: the compute type under mixed precision. */
export function flowType(t: Tracer): TensorDType {
  return t.settings.computeDtype;
}

/**
 * `tf.nn.dropout` of TensorFlow 1.15: `x * scale * cast(random_uniform >= rate, x.dtype)`. The product reads the cast mask;
 * the other factor's gradient is all that is asked for. XLA does not compile random numbers together with other operators
 * (`cluster_stateful_rng_ops` is unset), so they come to it from outside, in the type of `x`. Of any shape, `[..., n]` in and
 * out.
 */
export function tensorflowDropout(t: Tracer, x: Tensor, rate: number, name: string): Tensor {
  if (!(rate > 0)) return x;
  const random = t.fused({
    name: `${name}.random_uniform`,
    inputs: [],
    outputs: [{ shape: x.shape, dtype: x.dtype }],
  });
  const mask = t.cast(t.compare(random, `${name}.greater_equal`), x.dtype, `${name}.mask`);
  return t.mul(t.scale(x, `${name}.scale`), mask, name);
}

/**
 * A layer norm as one kernel reads its input and two numbers per row again. Written in operators it is, in fp16,
 * `FusedBatchNorm` with a channel per row, which reads its input and two numbers per row, times `gamma`, which reads the
 * normalized rows (`fused_layer_norm.py` of NVIDIA's BERT); else `tf.contrib.layers.layer_norm`: `nn.moments` takes mean and
 * variance of an fp32 copy (its `SquaredDifference` reads that copy), and `batch_normalization` multiplies by
 * `rsqrt(variance) * gamma`, a tensor of full size. XLA expands the former into the operators of the latter. `[..., h]` in
 * and out.
 */
export function tensorflowLayerNorm(t: Tracer, x: Tensor, name: string): Tensor {
  const width = x.shape.at(-1) ?? 1;
  const rows = [...x.shape.slice(0, -1), 1];
  const gamma = t.weight({ name: `${name}.weight`, shape: [width] });
  const beta = t.weight({ name: `${name}.bias`, shape: [width] });
  const dtype = t.settings.normDtype ?? flowType(t);
  if (t.settings.fusedLayerNorm) {
    return t.fused({
      name,
      inputs: [x],
      outputs: [{ shape: x.shape, dtype: x.dtype }],
      savesInputs: [x],
      savesBytes: (2 * x.elements * ELEMENT_BYTES.fp32) / width,
      weights: [gamma, beta],
    });
  }
  if (dtype === 'fp16' && !t.settings.onePiece) {
    const normalized = t.fused({
      name: `${name}.fused_batch_norm`,
      inputs: [x],
      outputs: [{ shape: x.shape, dtype }],
      savesInputs: [x],
      savesBytes: (2 * x.elements * ELEMENT_BYTES.fp32) / width,
    });
    const scaled = t.broadcastProduct(normalized, gamma, x.shape, `${name}.gamma`);
    return t.cast(t.addWeight(scaled, beta, `${name}.beta`), dtype, `${name}.result`);
  }
  const input = t.cast(x, dtype, `${name}.input`);
  const wide = t.cast(input, 'fp32', `${name}.moments`);
  const mean = t.cast(t.reduce(wide, rows, `${name}.mean`), dtype, `${name}.mean`);
  const variance = t.reduce(t.power(wide, `${name}.squared_difference`), rows, `${name}.variance`);
  const root = t.cast(t.keepOutput(variance, `${name}.rsqrt`), dtype, `${name}.rsqrt`);
  const scale = t.broadcastProduct(root, gamma, x.shape, `${name}.scale`);
  const shift = t.addWeight(t.mul(mean, scale, `${name}.shift`), beta, `${name}.beta`);
  return t.cast(t.add(t.mul(input, scale, `${name}.mul`), shift, name), x.dtype, `${name}.result`);
}

/**
 * `x * (0.5 * (1 + erf(x / sqrt(2))))` as google-research/bert had it first, operator by operator: `Erf` reads its input, the
 * last product both factors. By `tanh`, as it has it now, as much is kept. Fused: the kernel reads its input again. Of any
 * shape, `[..., n]` in and out.
 */
export function tensorflowGelu(t: Tracer, x: Tensor, name: string): Tensor {
  if (t.settings.fusedGelu) return t.keepInput(x, name);
  const erf = t.keepInput(t.scale(x, `${name}.over_root`), `${name}.erf`);
  const cdf = t.scale(t.shift(erf, `${name}.plus_one`), `${name}.cdf`);
  return t.mul(x, cdf, name);
}

/** GELU of one half times the other (GEGLU), from `[.., 2 f]`. The fused kernel keeps its input alone. */
export function tensorflowGeglu(t: Tracer, x: Tensor, name: string): Tensor {
  const half = (x.shape.at(-1) ?? 0) / 2;
  const shape = [...x.shape.slice(0, -1), half];
  if (t.settings.fusedGelu) {
    return t.fused({ name, inputs: [x], outputs: [{ shape, dtype: x.dtype }], savesInputs: [x] });
  }
  // `tf.split` copies, unlike a view.
  const gate = t.copy(x, shape, `${name}.gate`);
  const value = t.copy(x, shape, `${name}.value`);
  return t.mul(tensorflowGelu(t, gate, `${name}.gelu`), value, name);
}

interface TensorflowAttention {
  readonly hidden: number;
  /** Over all ranks. */
  readonly heads: number;
  readonly names: { readonly q: string; readonly k: string; readonly v: string; readonly output: string };
  readonly keyBias: boolean;
  /** Dropout on the attention weights. */
  readonly dropout: number;
}

/**
 * `attention_layer` of `modeling.py` with its output projection: heads are transposed into copies, which both products read
 * again. The softmax runs in fp32 and is cast; fused it is one result in the type of the scores. `[b, s, h]` in and out.
 */
export function tensorflowAttention(t: Tracer, x: Tensor, spec: TensorflowAttention): Tensor {
  const { names } = spec;
  const [batch = 1, length = 1] = x.shape;
  const heads = spec.heads / t.settings.tensorParallel;
  const headDim = spec.hidden / spec.heads;
  const project = (name: string, bias: boolean) => {
    const out = t.linear(x, { name, out: spec.hidden, bias, split: 'column' });
    return t.copy(out, [batch, heads, length, headDim], `${name}.transpose`);
  };
  const q = project(names.q, true);
  const k = project(names.k, spec.keyBias);
  const v = project(names.v, true);
  const shape = [batch, heads, length, length];
  const scores = t.matmul(q, k, shape, headDim, 'attention.scores');
  let probabilities: Tensor;
  if (t.settings.fusedSoftmax) probabilities = t.keepOutput(scores, 'attention.softmax');
  else {
    const mask = t.input([batch, 1, length, length], scores.dtype, false, 'adder', true);
    const masked = t.add(t.scale(scores, 'attention.scaling'), mask, 'attention.adder');
    const wide = t.keepOutput(t.cast(masked, 'fp32', 'attention.float'), 'attention.softmax');
    probabilities = t.cast(wide, scores.dtype, 'attention.half');
  }
  const dropped = tensorflowDropout(t, probabilities, spec.dropout, 'attention.dropout');
  const context = t.matmul(dropped, v, [batch, heads, length, headDim], length, 'attention.values');
  const joined = t.copy(context, [batch, length, heads * headDim], 'attention.transpose');
  return t.linear(joined, { name: names.output, out: spec.hidden, bias: true, split: 'row' });
}

/**
 * Loss of the masked words (`run_pretraining.py`): fp32 logits, `LogSoftmax`, which reads its result, times a one-hot tensor
 * of the same size, which the product reads. From logits `[b, masked, V]` to the loss, `[1]`.
 */
export function tensorflowTokenLoss(t: Tracer, logits: Tensor): Tensor {
  const wide = t.cast(logits, 'fp32', 'loss.float');
  const logProbabilities = t.keepOutput(wide, 'loss.log_softmax');
  return t.fused({
    name: 'loss.one_hot',
    inputs: [logProbabilities],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesBytes: logProbabilities.storage.bytes,
    forwardScratch: logProbabilities.storage.bytes,
    kind: 'logits',
  });
}
