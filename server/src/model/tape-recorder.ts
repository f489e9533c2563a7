import type { DType } from '../terms/dtypes';
import type { StatePackage } from '../terms/state-packages';
import {
  type Buffer,
  ELEMENT_BYTES,
  type Operation,
  type Storage,
  type StorageKind,
  type Tape,
  type Tensor,
  type TensorDType,
  type Weight,
} from './tape';
import type { TraceSettings } from './trace-settings';

function product(shape: readonly number[]): number {
  let elements = 1;
  for (const size of shape) elements *= size;
  return elements;
}

/** Gradient of a weight, computed in `from` and delivered in the weight's own type. */
export function gradOf(weight: Weight, from: TensorDType): Operation['weightGrads'][number] {
  const bytes = weight.localElements * ELEMENT_BYTES[weight.scaled === true ? 'fp8' : weight.dtype];
  if (weight.scaled === true)
    return { weight, bytes, castFromBytes: weight.localElements * ELEMENT_BYTES[from] };
  return {
    weight,
    bytes,
    castFromBytes: from === weight.dtype ? 0 : weight.localElements * ELEMENT_BYTES[from],
  };
}

/** The tape while it is written: tensors, weights, how long a name keeps a tensor alive, and operators in order. */
export abstract class TapeRecorder {
  readonly settings: TraceSettings;
  private operations: Operation[] = [];
  private weights: Weight[] = [];
  private buffers: Buffer[] = [];
  private entry: Tensor[] = [];
  private origins: (Tensor | undefined)[] = [];
  private exit: Tensor[] = [];
  private held: Tensor[][] = [];
  private keptBytes = 0;
  private headOperations: number | undefined;
  private headCalls: number | undefined;
  private packages = new Set<StatePackage>();
  private unplayedPackages = new Set<StatePackage>();
  private graphHeld = new Set<Storage>();
  private heldByModel = new Set<Storage>();
  private heldUntilNext = new Set<Storage>();
  private heldByLoop = new Set<Storage>();
  private heldUntilLoss = new Set<Storage>();
  private nextTensor = 0;
  private nextStorage = 0;

  private playsAgain = false;
  private sharedModule: { readonly name: string; readonly owned: boolean } | undefined;

  constructor(settings: TraceSettings) {
    this.settings = settings;
  }

  /** Tokens per micro step on this GPU. */
  get tokens(): number {
    return this.settings.batch * this.settings.sequence;
  }

  // --- tensors and weights ---------------------------------------------------------------------------------------

  protected storage(bytes: number, name: string, kind: StorageKind, quadratic = false): Storage {
    return { id: this.nextStorage++, bytes, kind, name, quadratic };
  }

  /** `pairs`: by what makes it, it has a number for every pair of tokens; a shape alone may be as square by chance. */
  protected tensor(
    shape: readonly number[],
    dtype: TensorDType,
    requiresGrad: boolean,
    name: string,
    kind: StorageKind = 'activation',
    pairs = false,
  ): Tensor {
    const elements = product(shape);
    return {
      id: this.nextTensor++,
      shape,
      elements,
      dtype,
      requiresGrad,
      storage: this.storage(elements * ELEMENT_BYTES[dtype], name, kind, pairs),
    };
  }

  protected viewOf(x: Tensor, shape: readonly number[]): Tensor {
    return { ...x, id: this.nextTensor++, shape, elements: product(shape) };
  }

  /** A tensor that enters the stage from outside. `pairs`: it has a number for every pair of tokens. */
  input(
    shape: readonly number[],
    dtype: TensorDType,
    requiresGrad: boolean,
    name = 'input',
    pairs = false,
  ): Tensor {
    const x = this.tensor(shape, dtype, requiresGrad, name, 'activation', pairs);
    this.entry.push(x);
    this.origins.push(undefined);
    return x;
  }

  /** A part of the batch, which the training loop names: it stays beside what autocast makes of it. */
  batchInput(shape: readonly number[], dtype: TensorDType, name: string): Tensor {
    const x = this.input(shape, dtype, false, name);
    this.heldByLoop.add(x.storage);
    return x;
  }

  /** A tensor that the model's body collects, and names until the loss has been taken. */
  collected(shape: readonly number[], dtype: TensorDType, name: string): void {
    this.heldUntilLoss.add(this.input(shape, dtype, false, name).storage);
  }

  /** Re-enters a tensor of another stage's tape as an input of this one. */
  enter(outer: Tensor, name: string): Tensor {
    const x = this.input(outer.shape, outer.dtype, outer.requiresGrad, name, outer.storage.quadratic);
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
    readonly viewed?: boolean;
    /** The weight of a linear layer. */
    readonly linear?: boolean;
    readonly tiedTo?: string;
    readonly trainable?: boolean;
    /** Nothing that the loss hangs on reads it: trained as it may be, no gradient of it comes. */
    readonly idle?: boolean;
    readonly dtype?: DType;
    /** Lies in fp32, whatever the type of the model's other weights. */
    readonly raised?: boolean;
  }): Weight {
    const name = this.sharedModule ? `${this.sharedModule.name}.${spec.name}` : spec.name;
    // PEFT wraps each layer's module by itself: their weights are shared, adapters are not.
    const shares = this.sharedModule?.owned === false && spec.role !== 'adapter';
    const tiedTo = spec.tiedTo ?? (shares ? name : undefined);
    const known = this.playsAgain && this.weights.find((weight) => weight.name === name);
    if (known) return known;
    const { quantization, weightDtype } = this.settings;
    // MXFP4 packs experts alone.
    const packs =
      spec.expert === true && spec.role !== 'adapter'
        ? this.settings.quantizedExperts === true
        : quantization !== 'mxfp4' && spec.quantizable === true;
    const { copied, tiesCopies, raisesCopies } = this.settings;
    // One is made again from the copy of the other, which has to be there (peft 0.21, `other.py`, `set_additional_trainable_modules`).
    const untied =
      tiedTo !== undefined && copied?.(spec.name) === true && !(tiesCopies === true && copied(tiedTo));
    const own = spec.role === 'head' && this.settings.ownHead === true;
    const lowered = this.settings.lowEnds === true && (spec.role === 'head' || spec.role === 'embedding');
    const plain = this.settings.plainModules?.some((module) => `.${spec.name}`.includes(`.${module}.`));
    const quantized = quantization !== 'none' && packs && plain !== true && spec.shape.length > 1;
    const linearExpert = spec.expert === true && this.settings.linearExperts === true;
    const scaled =
      this.settings.fp8?.startsWith('ms-amp') === true && spec.linear === true && tiedTo === undefined;
    const trainable =
      !quantized && (spec.trainable ?? this.settings.trainable(spec.name, spec.linear === true));
    const copy = trainable && raisesCopies === true && copied?.(name) === true;
    const raised = (spec.raised === true || copy) && !quantized && weightDtype !== 'fp32';
    const halved = weightDtype === 'fp32' && !quantized && !trainable && this.isHalf(spec);
    const weight: Weight = {
      name,
      shape: spec.shape,
      elements: product(spec.shape),
      localElements: product(spec.local ?? spec.shape),
      rows: (spec.local ?? spec.shape)[linearExpert ? 1 : 0] ?? 1,
      dtype: scaled
        ? 'fp16'
        : raised
          ? 'fp32'
          : (spec.dtype ?? (halved ? 'fp16' : lowered ? 'bf16' : weightDtype)),
      scaled,
      ...(halved && spec.dtype === undefined ? { halved } : {}),
      ...(raised ? { raised } : {}),
      quantization: quantized ? quantization : 'none',
      trainable: trainable && spec.idle !== true,
      ...(trainable && spec.idle === true ? { idle: true } : {}),
      role: spec.role ?? (spec.shape.length > 1 ? 'matrix' : 'vector'),
      activeShare: spec.activeShare ?? 1,
      expert: spec.expert ?? false,
      ...(spec.viewed ? { viewed: true } : {}),
      tiedTo: untied || own ? undefined : tiedTo,
      ...(untied ? { untied } : {}),
      ...(copied?.(name) === true ? { copied: true } : {}),
    };
    this.weights.push(weight);
    return weight;
  }

  /** Whether the module of a weight becomes fp16 once the model is loaded. */
  private isHalf({ name, role }: { readonly name: string; readonly role?: Weight['role'] }): boolean {
    const { halfModules = [] } = this.settings;
    if (halfModules.length === 0 || role === 'adapter') return false;
    const module = name.replace(/\.(?:weight|bias)$/, '');
    return halfModules.some((end) => module.endsWith(end));
  }

  /** Takes over the weights of a part that another tracer played. */
  protected adopt(weights: readonly Weight[]): void {
    const isKnown = ({ name }: Weight) =>
      this.playsAgain && this.weights.some((weight) => weight.name === name);
    this.weights.push(...weights.filter((weight) => !isKnown(weight)));
  }

  /**
   * Plays a module that several layers call, by a name that is its own in the whole model; `owned`: this layer is the first. Undefined:
   * what is played lies in none. Modules of a module that is shared are shared with it.
   */
  inModule<T>(module: { readonly name: string; readonly owned: boolean } | undefined, body: () => T): T {
    const before = this.sharedModule;
    this.sharedModule =
      module && before
        ? { name: `${before.name}.${module.name}`, owned: before.owned && module.owned }
        : module;
    try {
      return body();
    } finally {
      this.sharedModule = before;
    }
  }

  /** Plays modules once more: their weights are those that were registered before. */
  again<T>(body: () => T): T {
    const before = this.playsAgain;
    this.playsAgain = true;
    try {
      return body();
    } finally {
      this.playsAgain = before;
    }
  }

  /** A tensor that a module of the model holds beside its parameters all the time; `shared` names are one for the whole model. */
  ownBuffer(name: string, elements: number, dtype: TensorDType, shared = false): void {
    this.buffers.push({ name, bytes: elements * ELEMENT_BYTES[dtype], shared, of: 'model' });
  }

  /** The same of an adapter; `shared` names are one for the whole model. */
  buffer(name: string, elements: number, dtype: TensorDType, shared = false): void {
    this.buffers.push({ name, bytes: elements * ELEMENT_BYTES[dtype], shared, of: 'adapter' });
  }

  /** A buffer of which positions see which, a byte for each pair; `shared` names are one for the whole model. */
  positionMask(name: string, positions: number, shared: boolean): void {
    this.buffers.push({ name, bytes: positions ** 2 * ELEMENT_BYTES.bool, shared, of: 'positions' });
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

  /** What the graph of a result that goes here kept: there until now where autograd records one, gone after its last use elsewhere. */
  dropGraph(...kept: readonly Tensor[]): void {
    this.record({ name: 'return', inputs: kept, gradRules: kept.map(() => 'none'), byGraph: true });
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

  /** What the layer returns beside its result, which the model's loop names until the next layer has returned. */
  holdUntilNext(x: Tensor): void {
    this.heldUntilNext.add(x.storage);
  }

  /** The head's result is there: the operators that follow take the loss of it. */
  endHead(calls = 1): void {
    this.headOperations = this.operations.length;
    this.headCalls = calls;
  }

  /** The training loop keeps a result of this size in a variable of its own. */
  keep(bytes: number): void {
    this.keptBytes += bytes;
  }

  /** Whether a layer has to do without the kernels of a package. The tape names the packages that it was asked for. */
  lacks(name: StatePackage): boolean {
    this.packages.add(name);
    return this.settings.absentPackages?.has(name) === true;
  }

  /** A layer runs kernels of a package, and what it does without them is not played. */
  needs(name: StatePackage): void {
    this.packages.add(name);
    this.unplayedPackages.add(name);
  }

  /** The autograd graph itself holds the storage until nothing refers to the graph any more. */
  protected holdInGraph(storage: Storage): void {
    this.graphHeld.add(storage);
  }

  // --- operators -------------------------------------------------------------------------------------------------

  protected record(operation: Partial<Operation> & Pick<Operation, 'name' | 'inputs'>): void {
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

  /** Finishes the stage. */
  finish(): Tape {
    return {
      operations: this.operations,
      weights: this.weights,
      buffers: this.buffers,
      entry: this.entry,
      origins: this.origins,
      exit: this.exit,
      keptBytes: this.keptBytes,
      graphHeld: [...this.graphHeld],
      heldByModel: [...this.heldByModel],
      heldUntilNext: [...this.heldUntilNext],
      heldByLoop: [...this.heldByLoop],
      heldUntilLoss: [...this.heldUntilLoss],
      headOperations: this.headOperations,
      headCalls: this.headCalls,
      packages: [...this.packages],
      unplayedPackages: [...this.unplayedPackages],
    };
  }
}
