import type { Operation, Storage, Tape, Tensor } from '../model/tape';
import type { Label } from './ledger';
import { CATEGORY, type Excursion, type Gradient, gradientOf, Meter, rounded } from './play';

/** Where a gradient of a weight that is used more than once comes among its gradients, in the order of backward. */
export interface SharedGradient {
  readonly first: boolean;
  readonly last: boolean;
  /** The sum is a new tensor: what is there is a view (`mm(...).t()`), which is not added to in place. */
  readonly apart: boolean;
}

/** By the name of the weight's owner, a place for each use of the stage, in the order of backward. */
export type SharedGradients = ReadonlyMap<string, readonly SharedGradient[]>;

type WeightGradient = Operation['weightGrads'][number];

export interface BackwardOptions {
  /** What becomes of a weight gradient: it stays, or is handed on at once (reduced, or stepped). */
  readonly gradients: 'keep' | 'pass';
  /** Reentrant checkpointing holds output and incoming gradient until the segment is done. */
  readonly holdGradient: boolean;
  /** Weights that are used more than once: autograd holds what the first use gave until the last has added to it. */
  readonly shared?: SharedGradients;
  /** Entry tensors whose gradient is added to one that is there already. */
  readonly added?: ReadonlySet<Tensor>;
  /** Kept storages that stay when it is over. */
  readonly held?: ReadonlySet<Storage>;
}

/**
 * Plays a stage's backward pass, operators in reverse. At its beginning the kept storages and the gradients of what
 * left the stage are there; at its end only gradients of what entered, and those of weights that are kept.
 */
export function playBackward(tape: Tape, options: BackwardOptions): Excursion {
  const meter = new Meter();
  const gradients = new TensorGradients(meter);
  const weights = new WeightGradients(meter, options);
  const saved = new SavedForBackward(tape, meter, options.held);
  for (const x of tape.exit) if (x.requiresGrad) gradients.begin(x, options.holdGradient ? 2 : 1);
  let waiting: readonly WeightGradient[] = [];
  meter.mark('start');
  for (let index = tape.operations.length - 1; index >= 0; index--) {
    const operation = tape.operations[index];
    if (!operation) continue;
    if (index + 1 === tape.headOperations) meter.divide();
    const incoming = operation.outputs.flatMap((x) => gradients.take(x) ?? []);
    const needed = incoming.length > 0;
    if (needed) playOperation(operation, incoming, { meter, gradients, weights, saved });
    saved.release(operation);
    weights.deliver(waiting);
    const produced = needed ? operation.weightGrads : [];
    // The cast of the input was recorded after that of the weight, so its backward runs before it.
    const castBefore = tape.operations[index - 1]?.name === `${operation.name}.cast`;
    waiting = castBefore ? produced : [];
    if (!castBefore) weights.deliver(produced);
  }
  weights.deliver(waiting);
  for (const x of options.added ?? []) {
    const added = gradients.take(x);
    if (added) gradients.drop(added);
  }
  if (options.holdGradient) {
    for (const x of tape.exit) {
      const gradient = gradientOf(x);
      const { category, bytes } = gradient;
      if (x.requiresGrad) meter.add(category, -bytes, x, gradient);
    }
  }
  return meter.finish();
}

/** What a stage's backward keeps account of. */
interface Accounts {
  readonly meter: Meter;
  readonly gradients: TensorGradients;
  readonly weights: WeightGradients;
  readonly saved: SavedForBackward;
}

/** One operator's backward: it makes gradients of what it read, beside those that came in, which go when it is done. */
function playOperation(
  operation: Operation,
  incoming: readonly Gradient[],
  { meter, gradients, weights, saved }: Accounts,
): void {
  const category = CATEGORY[operation.outputs[0]?.storage.kind ?? 'activation'];
  const results: { readonly x: Tensor; readonly gradient: Gradient; readonly reused: boolean }[] = [];
  operation.inputs.forEach((x, position) => {
    const rule = operation.gradRules[position];
    if (!x.requiresGrad || rule === 'none' || rule === undefined) return;
    const reused = rule === 'reuse';
    const [first] = incoming;
    const made = operation.keptGradients?.get(x);
    // A kept storage that becomes the gradient is freed as saved and counted when it is received, with no peak between.
    const gradient = rule === 'alias' && first ? first : reused || made ? gradientOf(x) : gradients.make(x);
    if (made) saved.handOn(made, gradient);
    results.push({ x, gradient, reused });
  });
  weights.make(operation, saved);
  meter.add(category, operation.backwardScratch, operation);
  meter.mark(`${operation.name} backward`);
  meter.add(category, -operation.backwardScratch, operation);
  weights.settleUncast(operation.weightGrads);
  for (const { x, gradient, reused } of results) {
    if (reused) saved.handOn(x.storage, gradient);
    gradients.receive(x, gradient);
  }
  for (const gradient of incoming) gradients.drop(gradient);
}

/** Gradients of tensors: each is freed once nobody holds it. */
class TensorGradients {
  private readonly meter: Meter;
  private readonly holders = new Map<Gradient, number>();
  /** By the tensor's id. */
  private readonly received = new Map<number, Gradient>();

  constructor(meter: Meter) {
    this.meter = meter;
  }

  /** One that is there before backward begins. */
  begin(x: Tensor, holders: number): void {
    if (this.received.has(x.id)) return;
    const gradient = gradientOf(x);
    this.holders.set(gradient, holders);
    this.received.set(x.id, gradient);
  }

  make(x: Tensor): Gradient {
    const gradient = gradientOf(x);
    this.meter.add(gradient.category, gradient.bytes, gradient.of, gradient);
    return gradient;
  }

  /**
   * A gradient arrives. Where another is there, they are added: in place where nobody else holds that one
   * (`input_buffer.cpp`, `accumulate`).
   */
  receive(x: Tensor, gradient: Gradient): void {
    const old = this.received.get(x.id);
    if (!old) {
      this.hold(gradient);
      this.received.set(x.id, gradient);
      return;
    }
    if (this.holders.get(old) === 1) {
      this.meter.mark('accumulate');
      this.dropUnheld(gradient);
      return;
    }
    const sum = this.make(x);
    this.meter.mark('accumulate');
    this.hold(sum);
    this.received.set(x.id, sum);
    this.drop(old);
    this.dropUnheld(gradient);
  }

  /** The gradient of a tensor, which whoever takes it drops. */
  take(x: Tensor): Gradient | undefined {
    const gradient = this.received.get(x.id);
    this.received.delete(x.id);
    return gradient;
  }

  drop(gradient: Gradient): void {
    const left = (this.holders.get(gradient) ?? 0) - 1;
    this.holders.set(gradient, left);
    if (left === 0) this.meter.add(gradient.category, -gradient.bytes, gradient.of, gradient);
  }

  private hold(gradient: Gradient): void {
    this.holders.set(gradient, (this.holders.get(gradient) ?? 0) + 1);
  }

  /** One that was added to another goes, unless somebody else holds it. */
  private dropUnheld(gradient: Gradient): void {
    if (this.holders.has(gradient)) return;
    this.hold(gradient);
    this.drop(gradient);
  }
}

/** Gradients of weights, in the weight's own type once they are there. */
class WeightGradients {
  private readonly meter: Meter;
  private readonly options: BackwardOptions;
  /** How often each weight that is used more than once has been met. */
  private readonly met = new Map<string, number>();

  constructor(meter: Meter, options: BackwardOptions) {
    this.meter = meter;
    this.options = options;
  }

  /** As a product gives them: under autocast in the low precision. */
  make({ weightGrads, keptGradients }: Operation, saved: SavedForBackward): void {
    for (const { castFromBytes, bytes, weight } of weightGrads) {
      const gradient = { category: 'gradients', bytes: rounded(castFromBytes || bytes), of: weight } as const;
      const kept = keptGradients?.get(weight);
      if (kept) saved.handOn(kept, gradient);
      else this.meter.add(gradient.category, gradient.bytes, weight);
    }
  }

  settleUncast(made: readonly WeightGradient[]): void {
    for (const gradient of made) if (gradient.castFromBytes === 0) this.settle(gradient);
  }

  /** Autocast's gradients of weights are cast once what the product kept is free. */
  deliver(made: readonly WeightGradient[]): void {
    for (const gradient of made) {
      const { castFromBytes, bytes, weight } = gradient;
      if (castFromBytes === 0) continue;
      this.meter.add('gradients', rounded(bytes), weight);
      this.meter.mark(`${weight.name} cast backward`);
      this.meter.add('gradients', -rounded(castFromBytes), weight);
      this.settle(gradient);
    }
  }

  /** It stays, is added to that of another use, or is handed on. */
  private settle({ weight, bytes }: WeightGradient): void {
    const place = this.placeOf(weight.tiedTo ?? weight.name);
    const passes = this.options.gradients === 'pass' || (weight.tiedTo !== undefined && !place);
    const size = rounded(bytes);
    if (place?.apart) {
      this.meter.add('gradients', size, weight);
      this.meter.mark('accumulate');
      this.meter.add('gradients', -size, weight);
    }
    if (place && !place.first) this.meter.add('gradients', -size, weight);
    if (place ? place.last && passes : passes) this.meter.add('gradients', -size, weight);
  }

  private placeOf(name: string): SharedGradient | undefined {
    const places = this.options.shared?.get(name);
    if (!places) return undefined;
    const before = this.met.get(name) ?? 0;
    this.met.set(name, before + 1);
    return places[before];
  }
}

/** Storages that autograd kept of forward: each is freed after the last operator that kept it. */
class SavedForBackward {
  private readonly savers = new Map<Storage, number>();
  private readonly meter: Meter;
  private readonly held: ReadonlySet<Storage> | undefined;

  constructor({ operations }: Tape, meter: Meter, held: ReadonlySet<Storage> | undefined) {
    this.meter = meter;
    this.held = held;
    for (const { saves } of operations)
      for (const storage of new Set(saves)) this.savers.set(storage, (this.savers.get(storage) ?? 0) + 1);
  }

  /**
   * A kept storage becomes a gradient that is counted from now on. Nothing is asked of the allocator where autograd alone has it
   * and it is the gradient's own: the block stays what it is.
   */
  handOn(
    storage: Storage,
    gradient: Pick<Gradient, 'category' | 'bytes' | 'quadratic'> & { readonly of: Label },
  ): void {
    const { category, bytes, of } = gradient;
    if (this.savers.get(storage) !== 1 || this.held?.has(storage) || rounded(storage.bytes) !== bytes) {
      this.meter.add(category, bytes, of, gradient);
      return;
    }
    this.savers.delete(storage);
    this.meter.rename(CATEGORY[storage.kind], -bytes, storage);
    this.meter.rename(category, bytes, of);
  }

  release({ saves }: Operation): void {
    for (const storage of new Set(saves)) {
      const savers = this.savers.get(storage);
      // It was handed on.
      if (savers === undefined) continue;
      const left = savers - 1;
      this.savers.set(storage, left);
      if (left > 0 || storage.bytes === 0 || this.held?.has(storage)) continue;
      this.meter.add(CATEGORY[storage.kind], -rounded(storage.bytes), storage, storage);
    }
  }
}
