import type { DType, TrainingRun } from '../run/fields';
import {
  ELEMENT_BYTES,
  type GradRule,
  type Operation,
  type QuantizationKind,
  type Storage,
  type StorageKind,
  type Tape,
  type Tensor,
  type TensorDType,
  type Weight,
} from './tape';

export type { Tensor, Weight } from './tape';

/** Whose code runs the model. */
export type ModelCode = TrainingRun['model.code'];

/** Low-rank adapters as the tracer needs them. */
export interface AdapterSettings {
  readonly rank: number;
  readonly dropout: number;
  readonly dtype: DType;
  readonly dora: boolean;
  /** Whether the linear layer of that module path gets an adapter. */
  readonly targets: (modulePath: string, role: LinearRole) => boolean;
}

/** What a forward pass depends on beside the architecture. Sizes are per GPU and micro step. */
export interface TraceSettings {
  readonly batch: number;
  readonly sequence: number;
  readonly targetSequence: number;
  readonly images: number;
  /** Type of the weights that operators read. */
  readonly weightDtype: DType;
  /** Type that matrices are multiplied in. Differs from the weights' only under autocast. */
  readonly computeDtype: DType;
  readonly autocast: boolean;
  readonly attention: 'eager' | 'sdpa' | 'flash2' | 'flash3' | 'flex';
  /** A mask reaches the kernel: SDPA takes its memory-efficient path and repeats keys and values. */
  readonly attentionMask: boolean;
  readonly liger: boolean;
  readonly loss:
    | 'full'
    | 'full-shifted'
    | 'full-upcast'
    | 'full-autocast'
    | 'native'
    | 'compiled'
    | 'chunked'
    | 'row-chunks'
    | 'head-chunks'
    | 'linear-chunked'
    | 'liger'
    | 'cut'
    | 'vocab-parallel';
  /** Default `transformers`. */
  readonly code?: ModelCode;
  /** How long the training loop keeps the logits. */
  readonly keptLogits?: 'none' | 'backward' | 'next-step';
  /** torch.compile fuses elementwise operators and recomputes them in backward. */
  readonly compiled?: boolean;
  readonly objective: 'lm' | 'classification' | 'dpo' | 'reward' | 'grpo' | 'ppo';
  readonly tensorParallel: number;
  readonly sequenceParallel: boolean;
  readonly contextParallel: number;
  readonly expertParallel: number;
  readonly quantization: QuantizationKind;
  /** The output projection is quantized too. */
  readonly quantizedHead?: boolean;
  /** 4-bit products keep their input for backward though only a frozen weight's gradient would need it. */
  readonly quantizedKeepsInput?: boolean;
  readonly adapter?: AdapterSettings;
  /**
   * The embedded tokens are made to require a gradient though nothing below is trained, so that checkpointed layers have
   * one to give (transformers' `enable_input_require_grads`).
   */
  readonly inputRequiresGrad?: boolean;
  /** Whether a base weight is trained. */
  readonly trainable: (name: string) => boolean;
}

/** How tensor parallelism splits a weight: by output, by input, by vocabulary rows, or not at all. */
export type Split = 'column' | 'row' | 'vocabulary' | 'none';

/** Heads and routers are neither quantized nor adapted by `all-linear`. */
export type LinearRole = 'matrix' | 'head' | 'router';

export interface LinearSpec {
  /** Module path inside the stage, for example `self_attn.q_proj`. */
  readonly name: string;
  /** Output features over all ranks. */
  readonly out: number;
  readonly bias?: boolean;
  readonly split?: Split;
  readonly role?: LinearRole;
  /** Name of the weight it shares, for a head tied to the embedding. */
  readonly tiedTo?: string;
  readonly kind?: StorageKind;
}

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
  readonly kind?: StorageKind;
}

function product(shape: readonly number[]): number {
  let elements = 1;
  for (const size of shape) elements *= size;
  return elements;
}

const PROMOTION: readonly TensorDType[] = ['uint8', 'bool', 'int64', 'fp8', 'bf16', 'fp16', 'fp32'];

/** Result type of an elementwise operator, as PyTorch promotes: bf16 with fp16, or any with fp32, gives fp32. */
function promote(a: TensorDType, b: TensorDType): TensorDType {
  if (a === b) return a;
  if ((a === 'bf16' && b === 'fp16') || (a === 'fp16' && b === 'bf16')) return 'fp32';
  return PROMOTION.indexOf(a) > PROMOTION.indexOf(b) ? a : b;
}

/**
 * Plays a forward pass on shapes alone and records, per operator, what PyTorch's autograd would keep, what it would
 * allocate, and what it computes. Families describe their layers by calling it, in the order of the reference code.
 *
 * The rules of what is kept follow `tools/autograd/derivatives.yaml` of PyTorch: a linear keeps its input only for
 * the weight's gradient, a product keeps each factor for the other's gradient, sums keep nothing.
 */
export class Tracer {
  readonly settings: TraceSettings;
  private operations: Operation[] = [];
  private weights: Weight[] = [];
  private entry: Tensor[] = [];
  private origins: (Tensor | undefined)[] = [];
  private exit: Tensor[] = [];
  private held: Tensor[][] = [];
  private copies = new Map<string, Storage>();
  private keptBytes = 0;
  private graphHeld = new Set<Storage>();
  private heldByModel = new Set<Storage>();
  private nextTensor = 0;
  private nextStorage = 0;

  constructor(settings: TraceSettings) {
    this.settings = settings;
  }

  /** Tokens per micro step on this GPU. */
  get tokens(): number {
    return this.settings.batch * this.settings.sequence;
  }

  // --- tensors and weights ---------------------------------------------------------------------------------------

  private storage(bytes: number, name: string, kind: StorageKind, quadratic = false): Storage {
    return { id: this.nextStorage++, bytes, kind, name, quadratic };
  }

  private tensor(
    shape: readonly number[],
    dtype: TensorDType,
    requiresGrad: boolean,
    name: string,
    kind: StorageKind = 'activation',
  ): Tensor {
    const elements = product(shape);
    return {
      id: this.nextTensor++,
      shape,
      elements,
      dtype,
      requiresGrad,
      storage: this.storage(elements * ELEMENT_BYTES[dtype], name, kind, isScores(shape)),
    };
  }

  private viewOf(x: Tensor, shape: readonly number[]): Tensor {
    return { ...x, id: this.nextTensor++, shape, elements: product(shape) };
  }

  /** A tensor that enters the stage from outside. */
  input(shape: readonly number[], dtype: TensorDType, requiresGrad: boolean, name = 'input'): Tensor {
    const x = this.tensor(shape, dtype, requiresGrad, name);
    this.entry.push(x);
    this.origins.push(undefined);
    return x;
  }

  /** Re-enters a tensor of another stage's tape as an input of this one. */
  enter(outer: Tensor, name: string): Tensor {
    const x = this.input(outer.shape, outer.dtype, outer.requiresGrad, name);
    this.origins[this.origins.length - 1] = outer;
    return x;
  }

  /** Marks what leaves the stage. */
  output(...tensors: readonly Tensor[]): void {
    this.exit.push(...tensors);
  }

  /**
   * Registers a parameter of the stage. `local` is the shape on one tensor- or expert-parallel rank.
   */
  weight(spec: {
    readonly name: string;
    readonly shape: readonly number[];
    readonly local?: readonly number[];
    readonly role?: Weight['role'];
    readonly quantizable?: boolean;
    readonly activeShare?: number;
    readonly expert?: boolean;
    readonly tiedTo?: string;
    readonly trainable?: boolean;
    readonly dtype?: DType;
  }): Weight {
    const { quantization, weightDtype } = this.settings;
    const quantized = spec.quantizable === true && quantization !== 'none';
    const weight: Weight = {
      name: spec.name,
      shape: spec.shape,
      elements: product(spec.shape),
      localElements: product(spec.local ?? spec.shape),
      dtype: spec.dtype ?? weightDtype,
      quantization: quantized ? quantization : 'none',
      trainable: !quantized && (spec.trainable ?? this.settings.trainable(spec.name)),
      role: spec.role ?? (spec.shape.length > 1 ? 'matrix' : 'vector'),
      activeShare: spec.activeShare ?? 1,
      expert: spec.expert ?? false,
      tiedTo: spec.tiedTo,
    };
    this.weights.push(weight);
    return weight;
  }

  // --- lifetimes -------------------------------------------------------------------------------------------------

  /**
   * A Python function body: tensors that `hold` names inside stay allocated until it returns, as local variables do,
   * even after their last use.
   */
  scope<R>(body: () => R): R {
    this.held.push([]);
    const result = body();
    const locals = this.held.pop() ?? [];
    if (locals.length > 0)
      this.record({ name: 'return', inputs: locals, gradRules: locals.map(() => 'none') });
    return result;
  }

  /** Names a tensor that lives until the current `scope` ends. */
  hold<T extends Tensor | readonly Tensor[]>(x: T): T {
    const locals = this.held.at(-1);
    if (locals) locals.push(...((Array.isArray(x) ? x : [x]) as Tensor[]));
    return x;
  }

  /** Names a tensor that lives until the outermost `scope` ends: a layer keeps the names of what its parts return. */
  holdInLayer(x: Tensor): void {
    this.held[0]?.push(x);
  }

  /** Names a tensor in the model's own forward, so that it lives until that returns. */
  holdInModel(x: Tensor): Tensor {
    this.heldByModel.add(x.storage);
    return x;
  }

  /** The training loop keeps a result of this size in a variable of its own. */
  keep(bytes: number): void {
    this.keptBytes += bytes;
  }

  private record(operation: Partial<Operation> & Pick<Operation, 'name' | 'inputs'>): void {
    this.operations.push({
      gradRules: operation.inputs.map((x) => (x.requiresGrad ? 'new' : 'none')),
      outputs: [],
      saves: [],
      forwardScratch: 0,
      backwardScratch: 0,
      weightGrads: [],
      weights: [],
      weightCopies: [],
      flops: 0,
      backwardFlops: 0,
      expensive: false,
      ...operation,
    });
  }

  /** An operator described in full, for fused kernels and whatever has no method of its own. */
  custom(spec: CustomSpec): Tensor[] {
    const weights = spec.weights ?? [];
    const grad = spec.inputs.some((x) => x.requiresGrad) || weights.some((w) => w.trainable);
    const outputs = spec.outputs.map((o) =>
      this.tensor(o.shape, o.dtype, grad && isFloat(o.dtype), spec.name, o.kind ?? spec.kind),
    );
    const saves: Storage[] = [];
    if (grad) {
      for (const x of spec.savesInputs ?? []) saves.push(x.storage);
      for (const index of spec.savesOutputs ?? []) {
        const out = outputs[index];
        if (out) saves.push(out.storage);
      }
      if (spec.savesBytes) saves.push(this.storage(spec.savesBytes, spec.name, spec.kind ?? 'activation'));
    }
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
    });
    return outputs;
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
    const outputs = sizes.map((size) => this.viewOf(x, [...x.shape.slice(0, -1), size]));
    this.record({ name: 'split', inputs: [x], outputs, gradRules: [x.requiresGrad ? 'new' : 'none'] });
    return outputs;
  }

  /** Broadcast without a copy (`expand`); backward sums into a new tensor. */
  expand(x: Tensor, shape: readonly number[]): Tensor {
    return this.alias('expand', x, shape, 'new');
  }

  // --- elementwise -----------------------------------------------------------------------------------------------

  /** Copy into contiguous memory or into another shape (`contiguous`, `repeat_interleave`); keeps nothing. */
  copy(x: Tensor, shape: readonly number[] = x.shape, name = 'copy'): Tensor {
    const out = this.tensor(shape, x.dtype, x.requiresGrad, name, x.storage.kind);
    this.record({ name, inputs: [x], outputs: [out] });
    return out;
  }

  /** `x.to(dtype)`: nothing where the type is already right. */
  cast(x: Tensor, dtype: TensorDType, name = 'cast'): Tensor {
    if (x.dtype === dtype) return x;
    const out = this.tensor(x.shape, dtype, x.requiresGrad, name, x.storage.kind);
    this.record({ name, inputs: [x], outputs: [out] });
    return out;
  }

  /** Elementwise sum; keeps nothing, gradients pass through. */
  add(a: Tensor, b: Tensor, name = 'add'): Tensor {
    const dtype = promote(a.dtype, b.dtype);
    const out = this.tensor(larger(a, b).shape, dtype, a.requiresGrad || b.requiresGrad, name);
    const rule = (x: Tensor): GradRule =>
      !x.requiresGrad ? 'none' : x.dtype === dtype && x.elements === out.elements ? 'alias' : 'new';
    this.record({ name, inputs: [a, b], outputs: [out], gradRules: [rule(a), rule(b)] });
    return out;
  }

  /** Elementwise product; keeps each factor that the other's gradient needs. */
  mul(a: Tensor, b: Tensor, name = 'mul'): Tensor {
    const dtype = promote(a.dtype, b.dtype);
    const big = larger(a, b);
    const out = this.tensor(big.shape, dtype, a.requiresGrad || b.requiresGrad, name, big.storage.kind);
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
    });
    return out;
  }

  /** Product or sum with a Python number, or negation: a new tensor, nothing kept. */
  scale(x: Tensor, name = 'scale'): Tensor {
    return this.copy(x, x.shape, name);
  }

  /** Elementwise function that keeps its input (silu, gelu, pow). */
  keepInput(x: Tensor, name: string, backwardScratch = 0): Tensor {
    const out = this.tensor(x.shape, x.dtype, x.requiresGrad, name, x.storage.kind);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      saves: x.requiresGrad ? [x.storage] : [],
      backwardScratch,
    });
    return out;
  }

  /** `x.pow(n)`. Backward makes `x.pow(n - 1)`, its multiple and the product (`FunctionsManual.cpp`, `pow_backward`). */
  power(x: Tensor, name: string): Tensor {
    return this.keepInput(x, name, 2 * x.elements * ELEMENT_BYTES[x.dtype]);
  }

  /** Elementwise function that keeps its result (relu, tanh, sigmoid, exp, softmax, rsqrt). */
  keepOutput(
    x: Tensor,
    name: string,
    shape: readonly number[] = x.shape,
    scratch: { readonly forwardScratch?: number } = {},
  ): Tensor {
    const out = this.tensor(shape, x.dtype, x.requiresGrad, name, x.storage.kind);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      saves: x.requiresGrad ? [out.storage] : [],
      ...scratch,
    });
    return out;
  }

  /** Mean or sum over some dimensions; keeps nothing. */
  reduce(x: Tensor, shape: readonly number[], name = 'mean'): Tensor {
    const out = this.tensor(shape, x.dtype, x.requiresGrad, name);
    this.record({ name, inputs: [x], outputs: [out] });
    return out;
  }

  /**
   * Dropout: nothing at p = 0, else a mask of one byte per element. litgpt, torchtune and torchtitan train without the
   * dropout that a transformers config may state; that of an adapter is theirs too.
   */
  dropout(x: Tensor, p: number, name = 'dropout', of: 'model' | 'adapter' = 'model'): Tensor {
    const { code } = this.settings;
    if (of === 'model' && (code === 'litgpt' || code === 'torchtune' || code === 'torchtitan')) return x;
    if (!(p > 0)) return x;
    const [out] = this.custom({
      name,
      inputs: [x],
      outputs: [{ shape: x.shape, dtype: x.dtype }],
      savesBytes: x.elements,
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
    });
    return out;
  }

  /** A parameter used as a tensor (norm gains, gates, positions). Costs no activation memory. */
  parameter(weight: Weight): Tensor {
    return {
      id: this.nextTensor++,
      shape: weight.shape,
      elements: weight.localElements,
      dtype: weight.dtype,
      requiresGrad: false,
      storage: this.storage(0, weight.name, 'activation'),
    };
  }

  /** Elementwise product with a trainable vector: keeps `x` for the vector's gradient. */
  mulWeight(x: Tensor, weight: Weight, name: string): Tensor {
    const dtype = promote(x.dtype, weight.dtype);
    const grad = x.requiresGrad || weight.trainable;
    const out = this.tensor(x.shape, dtype, grad, name);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      saves: weight.trainable ? [x.storage] : [],
      weights: [weight],
      weightGrads: weight.trainable ? [gradOf(weight, weight.dtype)] : [],
      backwardScratch: weight.trainable ? out.elements * ELEMENT_BYTES[dtype] : 0,
    });
    return out;
  }

  /** Sum with a parameter (learned positions, biases outside a linear). */
  addWeight(x: Tensor, weight: Weight, name: string): Tensor {
    const dtype = promote(x.dtype, weight.dtype);
    const out = this.tensor(x.shape, dtype, x.requiresGrad || weight.trainable, name);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      gradRules: [x.requiresGrad ? (x.dtype === dtype ? 'alias' : 'new') : 'none'],
      weights: [weight],
      weightGrads: weight.trainable ? [gradOf(weight, weight.dtype)] : [],
    });
    return out;
  }

  // --- matrix products -------------------------------------------------------------------------------------------

  /** Batched matrix product of two activations: `[.., m, k] x [.., k, n]`. */
  matmul(
    a: Tensor,
    b: Tensor,
    shape: readonly number[],
    inner: number,
    name = 'bmm',
    kind?: StorageKind,
  ): Tensor {
    const out = this.tensor(shape, a.dtype, a.requiresGrad || b.requiresGrad, name, kind);
    const saves: Storage[] = [];
    if (b.requiresGrad) saves.push(a.storage);
    if (a.requiresGrad) saves.push(b.storage);
    const flops = 2 * out.elements * inner;
    this.record({
      name,
      inputs: [a, b],
      outputs: [out],
      saves,
      flops,
      backwardFlops: (a.requiresGrad ? flops : 0) + (b.requiresGrad ? flops : 0),
      expensive: true,
    });
    return out;
  }

  /** Type that a matrix product runs in: the compute type under autocast, else the input's own. */
  private matrixDtype(x: Tensor): TensorDType {
    return this.settings.autocast ? this.settings.computeDtype : x.dtype;
  }

  /** The low-precision copy of a weight: cached by autocast for trainable leaves, made per call for frozen ones. */
  private weightCopy(weight: Weight): Storage {
    const known = this.copies.get(weight.name);
    if (known) return known;
    const bytes = weight.localElements * ELEMENT_BYTES[this.settings.computeDtype];
    const copy = this.storage(bytes, weight.name, 'weight-copy');
    if (weight.trainable) this.copies.set(weight.name, copy);
    return copy;
  }

  /**
   * Copies of a quantized weight while it is unpacked: Lightning quantizes from fp16 whatever the compute type is
   * (`plugins/precision/bitsandbytes.py`, `dtype=torch.half`), so it is unpacked to fp16 and then cast.
   */
  get unpackedCopies(): number {
    return this.settings.code === 'litgpt' && this.settings.computeDtype !== 'fp16' ? 2 : 1;
  }

  /** Product with a registered weight, of which `inFeatures x outFeatures` take part on this rank. */
  private multiply(
    x: Tensor,
    weight: Weight,
    bias: Weight | undefined,
    outFeatures: number,
    name: string,
    kind?: StorageKind,
    ownType = false,
  ): Tensor {
    // bitsandbytes multiplies in its compute type and returns the input's (`Linear4bit.forward`).
    const quantized = weight.quantization !== 'none';
    let dtype = quantized ? this.settings.computeDtype : this.matrixDtype(x);
    if (ownType && !quantized) dtype = weight.dtype;
    // What a module is called with stays until it returns, beside the copy that autocast makes of it.
    if (x.dtype !== dtype && !quantized) {
      return this.scope(() =>
        this.multiply(
          this.cast(this.hold(x), dtype, `${name}.cast`),
          weight,
          bias,
          outFeatures,
          name,
          kind,
          ownType,
        ),
      );
    }
    const input = this.cast(x, dtype, `${name}.cast`);
    const shape = [...x.shape.slice(0, -1), outFeatures];
    const trainable = weight.trainable || (bias?.trainable ?? false);
    const grad = x.requiresGrad || trainable;
    const out = this.tensor(shape, dtype, grad, name, kind);
    const flops = 2 * out.elements * (x.shape.at(-1) ?? 0);
    const saves: Storage[] = [];
    const weightCopies: Storage[] = [];
    let forwardScratch = 0;
    let backwardScratch = 0;
    const keepsInput = quantized && x.requiresGrad && this.settings.quantizedKeepsInput === true;
    if (weight.trainable || keepsInput) saves.push(input.storage);
    if (keepsInput) this.graphHeld.add(input.storage);
    const computeBytes = weight.localElements * ELEMENT_BYTES[dtype];
    if (quantized) {
      // Only the packed weight is kept, and unpacked again in backward (`MatMul4Bit`).
      forwardScratch = computeBytes * this.unpackedCopies;
      if (x.requiresGrad) backwardScratch = forwardScratch;
    } else if (weight.dtype !== dtype) {
      const copy = this.weightCopy(weight);
      if (weight.trainable) weightCopies.push(copy);
      else if (!x.requiresGrad) forwardScratch = copy.bytes;
      if (x.requiresGrad) saves.push(copy);
    }
    const weightGrads = [weight, ...(bias ? [bias] : [])]
      .filter((w) => w.trainable)
      .map((w) => gradOf(w, dtype));
    this.record({
      name,
      inputs: [input],
      outputs: [out],
      saves,
      forwardScratch,
      backwardScratch,
      weights: bias ? [weight, bias] : [weight],
      weightGrads,
      weightCopies,
      flops,
      backwardFlops: (x.requiresGrad ? flops : 0) + (weight.trainable ? flops : 0),
      expensive: true,
    });
    return quantized ? this.cast(out, x.dtype, `${name}.result`) : out;
  }

  /** Product with a weight registered before, of `out` features on this rank (stacked experts, factored weights). */
  linearWith(
    x: Tensor,
    weight: Weight,
    spec: {
      readonly name: string;
      readonly out: number;
      readonly bias?: Weight;
      /** Autocast does not know the product: it runs in the weight's type. */
      readonly ownType?: boolean;
    },
  ): Tensor {
    return this.multiply(x, weight, spec.bias, spec.out, spec.name, undefined, spec.ownType);
  }

  /**
   * Linear layer on the last dimension of `x`, with its adapter where the run adapts it. `x` holds the features that
   * are on this rank; `out` counts those of all ranks.
   */
  linear(x: Tensor, spec: LinearSpec): Tensor {
    const { adapter } = this.settings;
    const { base, localOut, rows, columns } = this.project(x, spec);
    if (!adapter?.targets(spec.name, spec.role ?? 'matrix')) return base;
    return this.adapt(x, base, spec, localOut, rows, columns);
  }

  /** Linear layer without an adapter. */
  plainLinear(x: Tensor, spec: LinearSpec): Tensor {
    return this.project(x, spec).base;
  }

  private project(
    x: Tensor,
    spec: LinearSpec,
  ): { base: Tensor; localOut: number; rows: number; columns: number } {
    const { tensorParallel } = this.settings;
    const split = spec.split ?? 'none';
    const columns = split === 'column' || split === 'vocabulary' ? tensorParallel : 1;
    const rows = split === 'row' ? tensorParallel : 1;
    const localIn = x.shape.at(-1) ?? 0;
    const localOut = spec.out / columns;
    const role = spec.role ?? 'matrix';
    const weight = this.weight({
      name: `${spec.name}.weight`,
      shape: [spec.out, localIn * rows],
      local: [localOut, localIn],
      role: role === 'head' ? 'head' : 'matrix',
      quantizable: role === 'matrix' || (role === 'head' && this.settings.quantizedHead === true),
      tiedTo: spec.tiedTo,
    });
    const bias = spec.bias
      ? this.weight({ name: `${spec.name}.bias`, shape: [spec.out], local: [localOut] })
      : undefined;
    const base = this.multiply(x, weight, bias, localOut, spec.name, spec.kind);
    return { base, localOut, rows, columns };
  }

  /** A trained weight of an adapter, in the adapter's type. */
  adapterWeight(name: string, shape: readonly number[], local: readonly number[] = shape): Weight {
    const dtype = this.settings.adapter?.dtype;
    return this.weight({ name, shape, local, role: 'adapter', trainable: true, dtype });
  }

  /** PEFT's LoRA branch: `result + lora_B(lora_A(dropout(x))) * scaling`, in the adapter's type. */
  private adapt(
    x: Tensor,
    base: Tensor,
    spec: LinearSpec,
    out: number,
    rows: number,
    columns: number,
  ): Tensor {
    const { adapter } = this.settings;
    if (!adapter) return base;
    const { rank, dtype } = adapter;
    const localIn = x.shape.at(-1) ?? 0;
    const a = this.adapterWeight(`${spec.name}.lora_A.weight`, [rank, localIn * rows], [rank, localIn]);
    const b = this.adapterWeight(`${spec.name}.lora_B.weight`, [out * columns, rank], [out, rank]);
    if (adapter.dora) {
      this.weight({
        name: `${spec.name}.lora_magnitude_vector`,
        shape: [out * columns],
        local: [out],
        role: 'adapter',
        trainable: true,
        dtype,
      });
    }
    // `peft/tuners/lora/layer.py`, `Linear.forward`: the input and its copy are named until it returns.
    return this.scope(() => {
      const cast = this.hold(this.cast(this.hold(x), dtype, `${spec.name}.lora_cast`));
      const low = this.scope(() => {
        const dropped = this.hold(
          this.dropout(cast, adapter.dropout, `${spec.name}.lora_dropout`, 'adapter'),
        );
        return this.multiply(dropped, a, undefined, rank, `${spec.name}.lora_A`);
      });
      const high = this.multiply(low, b, undefined, out, `${spec.name}.lora_B`);
      const scaled = this.scale(high, `${spec.name}.lora_scaling`);
      const sum = this.add(base, scaled, `${spec.name}.lora_add`);
      return this.cast(sum, base.dtype, `${spec.name}.lora_result`);
    });
  }

  /** Token, position or type embedding. Backward makes a dense gradient of the whole table. */
  embedding(
    ids: Tensor,
    spec: {
      readonly name: string;
      readonly rows: number;
      readonly columns: number;
      readonly split?: Split;
      /** Name of the weight it shares, for a decoder that embeds with the encoder's table. */
      readonly tiedTo?: string;
      /** The model's table of tokens (`get_input_embeddings`). */
      readonly tokens?: boolean;
    },
  ): Tensor {
    const ranks = spec.split === 'vocabulary' ? this.settings.tensorParallel : 1;
    const weight = this.weight({
      name: `${spec.name}.weight`,
      shape: [spec.rows, spec.columns],
      local: [spec.rows / ranks, spec.columns],
      role: 'embedding',
      tiedTo: spec.tiedTo,
    });
    // A leaf that requires a gradient is held by the graph.
    const leaf = spec.tokens === true && !weight.trainable && this.settings.inputRequiresGrad === true;
    const out = this.tensor([...ids.shape, spec.columns], weight.dtype, weight.trainable || leaf, spec.name);
    this.record({
      name: spec.name,
      inputs: [ids],
      gradRules: ['none'],
      outputs: [out],
      saves: weight.trainable ? [ids.storage] : leaf ? [out.storage] : [],
      weights: [weight],
      weightGrads: weight.trainable ? [gradOf(weight, weight.dtype)] : [],
    });
    return out;
  }

  /** Finishes the stage. */
  finish(): Tape {
    return {
      operations: this.operations,
      weights: this.weights,
      entry: this.entry,
      origins: this.origins,
      exit: this.exit,
      keptBytes: this.keptBytes,
      graphHeld: [...this.graphHeld],
      heldByModel: [...this.heldByModel],
    };
  }
}

function isFloat(dtype: TensorDType): boolean {
  return dtype === 'fp32' || dtype === 'bf16' || dtype === 'fp16' || dtype === 'fp8';
}

/** `[batch, heads, queries, keys]` of a sequence with itself. */
function isScores(shape: readonly number[]): boolean {
  return shape.length === 4 && shape[2] === shape[3];
}

function larger(a: Tensor, b: Tensor): Tensor {
  return a.elements >= b.elements ? a : b;
}

/** Gradient of a weight, computed in `from` and delivered in the weight's own type. */
function gradOf(weight: Weight, from: TensorDType): Operation['weightGrads'][number] {
  const bytes = weight.localElements * ELEMENT_BYTES[weight.dtype];
  return {
    weight,
    bytes,
    castFromBytes: from === weight.dtype ? 0 : weight.localElements * ELEMENT_BYTES[from],
  };
}
