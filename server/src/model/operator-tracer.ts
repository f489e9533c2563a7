import {
  ELEMENT_BYTES,
  type GradRule,
  type Operation,
  type Storage,
  type StorageKind,
  type Tensor,
  type TensorDType,
  type Weight,
} from './tape';
import { gradOf, TapeRecorder } from './tape-recorder';

export interface CustomSpec {
  readonly name: string;
  readonly inputs: readonly Tensor[];
  /** Shapes and types of the results. */
  readonly outputs: readonly {
    readonly shape: readonly number[];
    readonly dtype: TensorDType;
    readonly kind?: StorageKind;
  }[];
  /** Which inputs get a gradient (default: all that require one, as new tensors). */
  readonly gradRules?: readonly GradRule[];
  readonly savesInputs?: readonly Tensor[];
  /** Indices of outputs that are kept. */
  readonly savesOutputs?: readonly number[];
  /** Bytes kept beside inputs and outputs (masks, log-sum-exp, statistics). */
  readonly savesBytes?: number;
  readonly forwardScratch?: number;
  readonly backwardScratch?: number;
  readonly weights?: readonly Weight[];
  readonly flops?: number;
  readonly unmaskedFlops?: number;
  readonly backwardFlops?: number;
  readonly expensive?: boolean;
  readonly fusible?: Operation['fusible'];
  /** Makes the gradients of its inputs and weights in forward and keeps them; backward returns those tensors, or new ones of them. */
  readonly keepsGradients?: 'returned' | 'copied';
  /** Returns gradients of its weights that it made itself (`torch.autograd.Function`): whatever comes later is added to them in place. */
  readonly ownsGradients?: boolean;
  readonly kind?: StorageKind;
  /** Its results have a number for every pair of tokens, though nothing that it reads has. */
  readonly pairs?: boolean;
}

const PROMOTION: readonly TensorDType[] = ['uint8', 'bool', 'int64', 'fp8', 'bf16', 'fp16', 'fp32'];

/** Result type of an elementwise operator, as PyTorch promotes: bf16 with fp16, or any with fp32, gives fp32. */
function promote(a: TensorDType, b: TensorDType): TensorDType {
  if (a === b) return a;
  if ((a === 'bf16' && b === 'fp16') || (a === 'fp16' && b === 'bf16')) return 'fp32';
  return PROMOTION.indexOf(a) > PROMOTION.indexOf(b) ? a : b;
}

function isFloat(dtype: TensorDType): boolean {
  return dtype === 'fp32' || dtype === 'bf16' || dtype === 'fp16' || dtype === 'fp8';
}

function larger(a: Tensor, b: Tensor): Tensor {
  return a.elements >= b.elements ? a : b;
}

/** Whether a result of this shape has a number for each pair of tokens that a tensor has one for. */
function isOverSamePairs({ storage, shape }: Tensor, result: readonly number[]): boolean {
  return storage.quadratic === true && shape.at(-1) === result.at(-1) && shape.at(-2) === result.at(-2);
}

/** Operators that move, view or combine tensors element by element, and fused ones described in full. */
export abstract class OperatorTracer extends TapeRecorder {
  /** An operator described in full, for fused kernels and whatever has no method of its own. */
  custom(spec: CustomSpec): Tensor[] {
    const weights = spec.weights ?? [];
    const grad = spec.inputs.some((x) => x.requiresGrad) || weights.some((w) => w.trainable);
    const outputs = spec.outputs.map(({ shape, dtype, kind = spec.kind }) => {
      const pairs = spec.pairs === true || spec.inputs.some((x) => isOverSamePairs(x, shape));
      return this.tensor(shape, dtype, grad && isFloat(dtype), spec.name, kind, pairs);
    });
    const saves: Storage[] = [];
    if (grad) {
      for (const x of spec.savesInputs ?? []) saves.push(x.storage);
      for (const index of spec.savesOutputs ?? []) {
        const out = outputs[index];
        if (out) saves.push(out.storage);
      }
      const pairs = outputs.some((x) => x.storage.quadratic);
      const { savesBytes, kind = 'activation' } = spec;
      if (savesBytes) saves.push(this.storage(savesBytes, spec.name, kind, pairs));
    }
    const keptGradients = grad && spec.keepsGradients ? this.keptGradients(spec) : undefined;
    if (keptGradients) saves.push(...keptGradients.values());
    this.record({
      name: spec.name,
      inputs: spec.inputs,
      gradRules: spec.gradRules ?? spec.inputs.map((x) => (x.requiresGrad ? 'new' : 'none')),
      outputs,
      saves,
      forwardScratch: spec.forwardScratch ?? 0,
      backwardScratch: spec.backwardScratch ?? 0,
      weights,
      weightGrads: weights.filter((w) => w.trainable).map((w) => gradOf(w, w.dtype)),
      flops: spec.flops ?? 0,
      unmaskedFlops: spec.unmaskedFlops,
      backwardFlops: spec.backwardFlops ?? (grad ? 2 * (spec.flops ?? 0) : 0),
      expensive: spec.expensive ?? false,
      fusible: spec.fusible,
      keptGradients: spec.keepsGradients === 'returned' ? keptGradients : undefined,
      ownsGradients: spec.ownsGradients,
    });
    return outputs;
  }

  /** Like what they are gradients of (`zeros_like`). */
  private keptGradients({
    name,
    inputs,
    weights = [],
    kind = 'activation',
  }: CustomSpec): ReadonlyMap<Tensor | Weight, Storage> {
    const kept = new Map<Tensor | Weight, Storage>();
    for (const x of inputs) {
      const bytes = x.elements * ELEMENT_BYTES[x.dtype];
      if (isFloat(x.dtype)) kept.set(x, this.storage(bytes, name, kind, x.storage.quadratic));
    }
    for (const weight of weights) {
      if (!weight.trainable) continue;
      kept.set(weight, { ...this.storage(gradOf(weight, weight.dtype).bytes, name, kind), fixed: true });
    }
    return kept;
  }

  /** `custom` with one result. */
  fused(spec: CustomSpec): Tensor {
    const [out] = this.custom(spec);
    if (!out) throw new Error(`${spec.name}: a fused operator needs an output`);
    return out;
  }

  // --- views -----------------------------------------------------------------------------------------------------

  private alias(name: string, x: Tensor, shape: readonly number[], gradRule: GradRule): Tensor {
    const out = this.viewOf(x, shape);
    this.record({ name, inputs: [x], outputs: [out], gradRules: [x.requiresGrad ? gradRule : 'none'] });
    return out;
  }

  /** Reshape or transpose without a copy. The number of elements must not change. */
  view(x: Tensor, shape: readonly number[]): Tensor {
    return this.alias('view', x, shape, 'alias');
  }

  /** Part of a tensor: forward is a view, backward fills a whole new gradient. */
  slice(x: Tensor, shape: readonly number[]): Tensor {
    return this.alias('slice', x, shape, 'new');
  }

  /** `split`/`chunk` along the last dimension: views; backward concatenates the gradients into a new tensor. */
  split(x: Tensor, sizes: readonly number[]): Tensor[] {
    let offset = x.offset ?? 0;
    const outputs = sizes.map((size) => {
      const part = { ...this.viewOf(x, [...x.shape.slice(0, -1), size]), offset };
      offset += size;
      return part;
    });
    this.record({ name: 'split', inputs: [x], outputs, gradRules: [x.requiresGrad ? 'new' : 'none'] });
    return outputs;
  }

  /** The same in equal parts along the sequence, the last dimension but one. */
  chunk(x: Tensor, parts: number): Tensor[] {
    const [width = 1, sequence = 1, ...before] = [...x.shape].reverse();
    const shape = [...before.reverse(), sequence / parts, width];
    const outputs = Array.from({ length: parts }, () => this.viewOf(x, shape));
    this.record({ name: 'chunk', inputs: [x], outputs, gradRules: [x.requiresGrad ? 'new' : 'none'] });
    return outputs;
  }

  /** Broadcast without a copy (`expand`); backward sums into a new tensor. */
  expand(x: Tensor, shape: readonly number[]): Tensor {
    return this.alias('expand', x, shape, 'new');
  }

  // --- elementwise -----------------------------------------------------------------------------------------------

  /** Copy into contiguous memory or into another shape (`contiguous`, `repeat_interleave`); keeps nothing. */
  copy(x: Tensor, shape: readonly number[] = x.shape, name = 'copy'): Tensor {
    const out = this.tensor(shape, x.dtype, x.requiresGrad, name, x.storage.kind, x.storage.quadratic);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      fusible: 'pointwise',
      cheap: 'listed',
      asksShapes: true,
    });
    return out;
  }

  /** `x.to(dtype)`: nothing where the type is already right. */
  cast(x: Tensor, dtype: TensorDType, name = 'cast'): Tensor {
    if (x.dtype === dtype) return x;
    const out = this.tensor(x.shape, dtype, x.requiresGrad, name, x.storage.kind, x.storage.quadratic);
    this.record({ name, inputs: [x], outputs: [out], fusible: 'pointwise', cheap: 'listed' });
    return out;
  }

  /** Elementwise sum; keeps nothing, gradients pass through. */
  add(a: Tensor, b: Tensor, name = 'add'): Tensor {
    const dtype = promote(a.dtype, b.dtype);
    const big = larger(a, b);
    const grad = a.requiresGrad || b.requiresGrad;
    const out = this.tensor(big.shape, dtype, grad, name, 'activation', big.storage.quadratic);
    const rule = (x: Tensor): GradRule =>
      !x.requiresGrad ? 'none' : x.dtype === dtype && x.elements === out.elements ? 'alias' : 'new';
    this.record({
      name,
      inputs: [a, b],
      outputs: [out],
      gradRules: [rule(a), rule(b)],
      fusible: 'pointwise',
      cheap: 'unlisted',
      asksShapes: true,
    });
    return out;
  }

  /**
   * `x[i:] += y`, broadcast over what is written: no new tensor. Backward copies the whole gradient (`CopySlices`) and sums
   * that of `y`.
   */
  addInto(x: Tensor, y: Tensor, name: string): Tensor {
    const out = { ...this.viewOf(x, x.shape), requiresGrad: x.requiresGrad || y.requiresGrad };
    this.record({
      name,
      inputs: [x, y],
      outputs: [out],
      gradRules: [x.requiresGrad ? 'new' : 'none', y.requiresGrad ? 'new' : 'none'],
    });
    return out;
  }

  /** `x += y` of one shape: no new tensor, and both gradients pass through. */
  addOnto(x: Tensor, y: Tensor, name: string): Tensor {
    const out = { ...this.viewOf(x, x.shape), requiresGrad: x.requiresGrad || y.requiresGrad };
    const rule = ({ requiresGrad }: Tensor): GradRule => (requiresGrad ? 'alias' : 'none');
    this.record({ name, inputs: [x, y], outputs: [out], gradRules: [rule(x), rule(y)] });
    return out;
  }

  /**
   * `x` as it is, with a second loss that backward reaches through it: the gradient of `x` passes, that of `loss` is made (a function of
   * two arguments that returns the first).
   */
  addAuxiliary(x: Tensor, loss: Tensor, name: string): Tensor {
    const out = this.viewOf(x, x.shape);
    const rule = ({ requiresGrad }: Tensor, made: GradRule): GradRule => (requiresGrad ? made : 'none');
    this.record({
      name,
      inputs: [x, loss],
      outputs: [out],
      gradRules: [rule(x, 'alias'), rule(loss, 'new')],
    });
    return out;
  }

  /** Elementwise product; keeps each factor that the other's gradient needs. */
  mul(a: Tensor, b: Tensor, name = 'mul'): Tensor {
    const dtype = promote(a.dtype, b.dtype);
    const big = larger(a, b);
    const grad = a.requiresGrad || b.requiresGrad;
    const { kind, quadratic } = big.storage;
    const out = this.tensor(big.shape, dtype, grad, name, kind, quadratic);
    const saves: Storage[] = [];
    if (b.requiresGrad) saves.push(a.storage);
    if (a.requiresGrad) saves.push(b.storage);
    // A broadcast factor's gradient is the full product first, then its sum.
    const broadcast = a.elements !== b.elements && (a.elements < b.elements ? a : b).requiresGrad;
    const bytes = out.elements * ELEMENT_BYTES[dtype];
    // The gradient of a factor in a lower type is the full product in the result's type, cast after the node.
    let uncast = 0;
    for (const x of [a, b]) {
      if (x.requiresGrad && x.dtype !== dtype && x.elements === out.elements) {
        uncast += bytes - x.elements * ELEMENT_BYTES[x.dtype];
      }
    }
    this.record({
      name,
      inputs: [a, b],
      outputs: [out],
      saves,
      backwardScratch: (broadcast ? bytes : 0) + uncast,
      fusible: 'pointwise',
      cheap: 'listed',
      asksShapes: true,
    });
    return out;
  }

  /** Product or sum with a Python number, or negation: a new tensor, nothing kept. */
  scale(x: Tensor, name = 'scale'): Tensor {
    return this.copy(x, x.shape, name);
  }

  /** Sum with a number: a new tensor, nothing kept. */
  shift(x: Tensor, name: string): Tensor {
    const out = this.tensor(x.shape, x.dtype, x.requiresGrad, name, x.storage.kind, x.storage.quadratic);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      fusible: 'pointwise',
      cheap: 'unlisted',
      asksShapes: true,
    });
    return out;
  }

  /** Comparison with a number: a byte per element, without a gradient. */
  compare(x: Tensor, name: string): Tensor {
    const out = this.tensor(x.shape, 'bool', false, name, x.storage.kind, x.storage.quadratic);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      gradRules: ['none'],
      fusible: 'pointwise',
      cheap: 'unlisted',
    });
    return out;
  }

  /** Elementwise function that keeps its input (silu, gelu, pow). */
  keepInput(x: Tensor, name: string, backwardScratch = 0): Tensor {
    const out = this.tensor(x.shape, x.dtype, x.requiresGrad, name, x.storage.kind, x.storage.quadratic);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      saves: x.requiresGrad ? [x.storage] : [],
      backwardScratch,
      fusible: 'pointwise',
    });
    return out;
  }

  /** `x.pow(n)`. Backward makes `x.pow(n - 1)`, its multiple and the product (`FunctionsManual.cpp`, `pow_backward`). */
  power(x: Tensor, name: string): Tensor {
    return this.keepInput(x, name, 2 * x.elements * ELEMENT_BYTES[x.dtype]);
  }

  /**
   * `softmax` and `log_softmax` keep their result; before torch 1.11 what they were given, too, though only its type was
   * read (`derivatives.yaml`, `_softmax_backward_data`; pytorch#64000, #65242).
   */
  softmax(x: Tensor, name: string): Tensor {
    if (!this.settings.behaviours.softmaxKeepsInput)
      return this.keepOutput(x, name, x.shape, { fusible: 'reduction' });
    return this.fused({
      name,
      inputs: [x],
      outputs: [{ shape: x.shape, dtype: x.dtype, kind: x.storage.kind }],
      savesInputs: [x],
      savesOutputs: [0],
    });
  }

  /** Elementwise function that keeps its result (relu, tanh, sigmoid, exp, softmax, rsqrt). */
  keepOutput(
    x: Tensor,
    name: string,
    shape: readonly number[] = x.shape,
    more: Pick<CustomSpec, 'forwardScratch' | 'fusible'> = {},
  ): Tensor {
    const out = this.tensor(shape, x.dtype, x.requiresGrad, name, x.storage.kind, x.storage.quadratic);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      saves: x.requiresGrad ? [out.storage] : [],
      fusible: 'pointwise',
      ...more,
    });
    return out;
  }

  /** Mean or sum over some dimensions; keeps nothing. */
  reduce(x: Tensor, shape: readonly number[], name = 'mean'): Tensor {
    const out = this.tensor(shape, x.dtype, x.requiresGrad, name);
    this.record({ name, inputs: [x], outputs: [out], fusible: 'reduction' });
    return out;
  }

  /**
   * Dropout: nothing at p = 0, else a mask of one byte per element. Some code trains without the
   * dropout that a config states; that of an adapter always runs.
   */
  dropout(x: Tensor, p: number, name = 'dropout', of: 'model' | 'adapter' = 'model'): Tensor {
    const { behaviours, evaluating } = this.settings;
    if (evaluating) return x;
    if (of === 'model' && behaviours.ignoresDropout) return x;
    if (!(p > 0)) return x;
    const [out] = this.custom({
      name,
      inputs: [x],
      outputs: [{ shape: x.shape, dtype: x.dtype }],
      savesBytes: x.elements,
      fusible: 'pointwise',
    });
    return out ?? x;
  }

  /** Concatenation along one dimension; backward gives views of the incoming gradient. */
  concat(xs: readonly Tensor[], shape: readonly number[], name = 'cat'): Tensor {
    const dtype = xs.reduce<TensorDType>((d, x) => promote(d, x.dtype), xs[0]?.dtype ?? 'fp32');
    const grad = xs.some((x) => x.requiresGrad);
    const out = this.tensor(shape, dtype, grad, name);
    this.record({
      name,
      inputs: xs,
      outputs: [out],
      gradRules: xs.map((x) => (x.requiresGrad ? 'alias' : 'none')),
      fusible: 'pointwise',
    });
    return out;
  }

  // --- with a weight ---------------------------------------------------------------------------------------------

  /** Elementwise product with a trainable vector: keeps `x` for the vector's gradient. */
  mulWeight(x: Tensor, weight: Weight, name: string): Tensor {
    const dtype = promote(x.dtype, weight.dtype);
    const grad = x.requiresGrad || weight.trainable;
    const out = this.tensor(x.shape, dtype, grad, name, 'activation', x.storage.quadratic);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      saves: weight.trainable ? [x.storage] : [],
      weights: [weight],
      weightGrads: weight.trainable ? [gradOf(weight, weight.dtype)] : [],
      backwardScratch: weight.trainable ? out.elements * ELEMENT_BYTES[dtype] : 0,
      fusible: 'pointwise',
    });
    return out;
  }

  /** Sum with a parameter (learned positions, biases outside a linear). */
  addWeight(x: Tensor, weight: Weight, name: string): Tensor {
    const dtype = promote(x.dtype, weight.dtype);
    const grad = x.requiresGrad || weight.trainable;
    const out = this.tensor(x.shape, dtype, grad, name, 'activation', x.storage.quadratic);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      gradRules: [x.requiresGrad ? (x.dtype === dtype ? 'alias' : 'new') : 'none'],
      fusible: 'pointwise',
      cheap: 'unlisted',
      asksShapes: true,
      weights: [weight],
      weightGrads: weight.trainable ? [gradOf(weight, weight.dtype)] : [],
    });
    return out;
  }

  /** `[.., 1]` times a trainable vector, a tensor of `shape`; both factors are read again. */
  broadcastProduct(x: Tensor, weight: Weight, shape: readonly number[], name: string): Tensor {
    const out = this.tensor(shape, x.dtype, x.requiresGrad || weight.trainable, name);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      saves: weight.trainable ? [x.storage] : [],
      weights: [weight],
      weightGrads: weight.trainable ? [gradOf(weight, x.dtype)] : [],
      fusible: 'pointwise',
      cheap: 'listed',
      asksShapes: true,
    });
    return out;
  }
}
