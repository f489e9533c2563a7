import {
  ELEMENT_BYTES,
  type Operation,
  type Storage,
  type StorageKind,
  type Tape,
  type Tensor,
} from '../model/tape';
import type { Category } from '../results/estimate';
import { combine, copyOf, emptyLedger, type Label, type Ledger, post } from './ledger';

/** PyTorch's CUDA allocator hands out multiples of 512 bytes (`CUDACachingAllocator.cpp`, `round_size`). */
const BLOCK = 512;

/** Bytes that the allocator counts for a request. */
export function rounded(bytes: number): number {
  return Math.ceil(bytes / BLOCK) * BLOCK;
}

/** One request to the allocator, or its return (negative). */
export interface AllocatorEvent {
  readonly bytes: number;
  /** How it grows with the batch's length: not at all (weights, their gradients), with it, or with its square. */
  readonly power: 0 | 1 | 2;
}

/** What a stretch of the step does to memory, relative to the moment it begins. Bytes per GPU. */
export interface Excursion {
  /** At its highest point. */
  readonly peak: Ledger;
  readonly peakBytes: number;
  /** Operator at the highest point. */
  readonly operator: string;
  /** When it is over. */
  readonly exit: Ledger;
  /** Requests and returns in order, for the allocator. */
  readonly events: readonly AllocatorEvent[];
}

export interface ForwardOptions {
  /** Autograd keeps what backward needs. False inside a checkpointed segment. */
  readonly grad: boolean;
  /** Storages of entry tensors that nobody uses after this stage. */
  readonly consumed: ReadonlySet<Storage>;
  /** Non-reentrant recomputation stops once the last saved tensor is there. */
  readonly stopEarly?: boolean;
  /** The caller keeps naming what it passed in until the stage returns, as a loop over layers does. */
  readonly callerHoldsEntry?: boolean;
}

/** Where a stage's gradient of a weight that stages share comes among theirs, in the order of backward. */
export interface SharedGradient {
  readonly first: boolean;
  readonly last: boolean;
  /** The sum is a new tensor: what is there is a view (`mm(...).t()`), which is not added to in place. */
  readonly apart: boolean;
}

type WeightGradient = Operation['weightGrads'][number];

export interface BackwardOptions {
  /** What becomes of a weight gradient: it stays, or is handed on at once (reduced, or stepped). */
  readonly gradients: 'keep' | 'pass';
  /** Reentrant checkpointing holds output and incoming gradient until the segment is done. */
  readonly holdGradient: boolean;
  /**
   * Weights that other stages use too, by their owner's name: autograd holds what the first of them gave until the last
   * has added to it.
   */
  readonly shared?: ReadonlyMap<string, SharedGradient>;
  /** Entry tensors whose gradient is added to one that is there already. */
  readonly added?: ReadonlySet<Tensor>;
  /** Kept storages that stay when it is over. */
  readonly held?: ReadonlySet<Storage>;
}

export const CATEGORY: Readonly<Record<StorageKind, Category>> = {
  activation: 'activations',
  logits: 'logits-and-loss',
  'weight-copy': 'autocast-cache',
};

class Meter {
  readonly live = emptyLedger();
  private liveBytes = 0;
  private peak = emptyLedger();
  private peakBytes = 0;
  private operator = '';
  private readonly events: AllocatorEvent[] = [];

  /** `label` says what the bytes are. */
  add(category: Category, bytes: number, label: Label, quadratic = false): void {
    if (bytes === 0) return;
    const fixed = category === 'gradients' || category === 'autocast-cache';
    this.events.push({ bytes, power: fixed ? 0 : quadratic ? 2 : 1 });
    post(this.live, category, bytes, label);
    this.liveBytes += bytes;
  }

  mark(operator: string): void {
    if (this.liveBytes > this.peakBytes || this.operator === '') {
      this.peakBytes = this.liveBytes;
      this.peak = copyOf(this.live, this.peak);
      this.operator = operator;
    }
  }

  finish(): Excursion {
    return {
      peak: this.peak,
      peakBytes: this.peakBytes,
      operator: this.operator,
      exit: copyOf(this.live),
      events: this.events,
    };
  }
}

/** Bytes that autograd holds of this stage after forward, entry tensors included: unique storages, rounded. */
export function savedStorages(tape: Tape): Set<Storage> {
  const saved = new Set<Storage>();
  for (const operation of tape.operations) {
    for (const storage of operation.saves) if (storage.bytes > 0) saved.add(storage);
  }
  return saved;
}

/**
 * Plays a stage's forward pass: every operator allocates its results; a storage is freed after its last reader unless
 * autograd keeps it or it leaves the stage.
 */
export function playForward(tape: Tape, options: ForwardOptions): Excursion {
  const meter = new Meter();
  const saved = options.grad ? savedStorages(tape) : new Set<Storage>();
  const entry = new Set(tape.entry.map((x) => x.storage));
  const leaving = new Set(tape.exit.map((x) => x.storage));
  const lastUse = new Map<Storage, number>();
  const operations = options.stopEarly ? untilLastSave(tape.operations) : tape.operations;
  tape.operations.forEach((operation, index) => {
    for (const x of operation.inputs) lastUse.set(x.storage, index);
    for (const x of operation.outputs) if (!lastUse.has(x.storage)) lastUse.set(x.storage, index);
  });
  const live = new Set<Storage>(entry);
  const allocate = (storage: Storage) => {
    if (live.has(storage)) return;
    live.add(storage);
    meter.add(CATEGORY[storage.kind], rounded(storage.bytes), storage, storage.quadratic);
  };
  const release = (storage: Storage) => {
    if (!live.delete(storage)) return;
    meter.add(CATEGORY[storage.kind], -rounded(storage.bytes), storage, storage.quadratic);
  };
  meter.mark('start');
  operations.forEach((operation, index) => {
    for (const copy of operation.weightCopies) allocate(copy);
    const stops = options.stopEarly && index === operations.length - 1;
    if (!stops || savesResult(operation)) for (const x of operation.outputs) allocate(x.storage);
    if (options.grad) for (const storage of operation.saves) if (storage.bytes > 0) allocate(storage);
    const category = CATEGORY[operation.outputs[0]?.storage.kind ?? 'activation'];
    meter.add(category, operation.forwardScratch, operation);
    meter.mark(operation.name);
    meter.add(category, -operation.forwardScratch, operation);
    for (const x of touched(operation)) {
      const { storage } = x;
      if (lastUse.get(storage) !== index || saved.has(storage)) continue;
      if (entry.has(storage) && (options.callerHoldsEntry !== false || !options.consumed.has(storage)))
        continue;
      if (!leaving.has(storage) || options.stopEarly) release(storage);
    }
  });
  // Where recomputation stops, everything goes that only the interrupted functions named.
  if (options.stopEarly) {
    for (const storage of [...live]) if (!saved.has(storage) && !entry.has(storage)) release(storage);
  }
  for (const storage of entry) {
    if (options.consumed.has(storage) && !saved.has(storage) && !leaving.has(storage)) release(storage);
  }
  return meter.finish();
}

function touched(operation: Operation): readonly Tensor[] {
  return operation.outputs.length === 0 ? operation.inputs : [...operation.inputs, ...operation.outputs];
}

/** Whether what an operator keeps is there only when it has run: a result or something of its own, not an input. */
export function savesResult(operation: Operation): boolean {
  const before = new Set(operation.inputs.map((x) => x.storage));
  return operation.saves.some((storage) => storage.kind !== 'weight-copy' && !before.has(storage));
}

/** Operators up to the last one that keeps something: recomputation needs no more. */
export function untilLastSave(operations: readonly Operation[]): readonly Operation[] {
  let last = 0;
  operations.forEach((operation, index) => {
    if (operation.saves.length > 0) last = index;
  });
  return operations.slice(0, last + 1);
}

/**
 * Plays a stage's backward pass, operators in reverse. At its beginning the kept storages and the gradients of what
 * left the stage are there; at its end only gradients of what entered, and those of weights that are kept.
 *
 * Gradients that meet are added in place where the first is held by nobody else (`input_buffer.cpp`, `accumulate`).
 */
export function playBackward(tape: Tape, options: BackwardOptions): Excursion {
  const meter = new Meter();
  const savers = new Map<Storage, number>();
  for (const operation of tape.operations) {
    for (const storage of new Set(operation.saves)) savers.set(storage, (savers.get(storage) ?? 0) + 1);
  }
  const holders = new Map<Gradient, number>();
  const gradients = new Map<number, Gradient>();
  const hold = (g: Gradient) => holders.set(g, (holders.get(g) ?? 0) + 1);
  const drop = (g: Gradient) => {
    const left = (holders.get(g) ?? 0) - 1;
    holders.set(g, left);
    if (left === 0) meter.add(g.category, -g.bytes, g.of, g.quadratic);
  };
  const make = (x: Tensor): Gradient => {
    const g: Gradient = gradientOf(x);
    meter.add(g.category, g.bytes, g.of, g.quadratic);
    return g;
  };
  const receive = (x: Tensor, g: Gradient) => {
    const old = gradients.get(x.id);
    if (!old) {
      hold(g);
      gradients.set(x.id, g);
      return;
    }
    if (holders.get(old) === 1) {
      // Added into the old one; the new one goes when nobody else holds it.
      meter.mark('accumulate');
      if (!holders.has(g)) {
        hold(g);
        drop(g);
      }
      return;
    }
    const sum = make(x);
    meter.mark('accumulate');
    hold(sum);
    gradients.set(x.id, sum);
    drop(old);
    if (!holders.has(g)) {
      hold(g);
      drop(g);
    }
  };
  for (const x of tape.exit) {
    if (!x.requiresGrad || gradients.has(x.id)) continue;
    const g: Gradient = gradientOf(x);
    hold(g);
    if (options.holdGradient) hold(g);
    gradients.set(x.id, g);
  }
  /** A weight's gradient in the weight's own type. */
  const settle = ({ weight, bytes }: WeightGradient) => {
    const place = options.shared?.get(weight.tiedTo ?? weight.name);
    const passes = options.gradients === 'pass' || (weight.tiedTo !== undefined && !place);
    const size = rounded(bytes);
    if (place?.apart) {
      meter.add('gradients', size, weight);
      meter.mark('accumulate');
      meter.add('gradients', -size, weight);
    }
    if (place && !place.first) meter.add('gradients', -size, weight);
    if (place ? place.last && passes : passes) meter.add('gradients', -size, weight);
  };
  /** Autocast's gradients of weights are cast once what the product kept is free. */
  const deliver = (grads: readonly WeightGradient[]) => {
    for (const grad of grads) {
      if (grad.castFromBytes === 0) continue;
      meter.add('gradients', rounded(grad.bytes), grad.weight);
      meter.mark(`${grad.weight.name} cast backward`);
      meter.add('gradients', -rounded(grad.castFromBytes), grad.weight);
      settle(grad);
    }
  };
  let waiting: readonly WeightGradient[] = [];
  meter.mark('start');
  for (let index = tape.operations.length - 1; index >= 0; index--) {
    const operation = tape.operations[index];
    if (!operation) continue;
    const incoming: Gradient[] = [];
    for (const x of operation.outputs) {
      const g = gradients.get(x.id);
      if (g) incoming.push(g);
      gradients.delete(x.id);
    }
    const needed = incoming.length > 0;
    if (needed) {
      const category = CATEGORY[operation.outputs[0]?.storage.kind ?? 'activation'];
      const results: [Tensor, Gradient][] = [];
      operation.inputs.forEach((x, position) => {
        const rule = operation.gradRules[position];
        if (!x.requiresGrad || rule === 'none' || rule === undefined) return;
        const first = incoming[0];
        if (rule === 'alias' && first) results.push([x, first]);
        else if (rule === 'reuse') {
          // The kept storage becomes the gradient: it is freed as saved below and counted here, with no peak between.
          results.push([x, gradientOf(x)]);
        } else results.push([x, make(x)]);
      });
      for (const grad of operation.weightGrads) {
        meter.add('gradients', rounded(grad.castFromBytes || grad.bytes), grad.weight);
      }
      meter.add(category, operation.backwardScratch, operation);
      meter.mark(`${operation.name} backward`);
      meter.add(category, -operation.backwardScratch, operation);
      for (const grad of operation.weightGrads) if (grad.castFromBytes === 0) settle(grad);
      for (const [x, g] of results) {
        if (operation.gradRules[operation.inputs.indexOf(x)] === 'reuse')
          meter.add(g.category, g.bytes, g.of, g.quadratic);
        receive(x, g);
      }
      for (const g of incoming) drop(g);
    }
    for (const storage of new Set(operation.saves)) {
      const left = (savers.get(storage) ?? 0) - 1;
      savers.set(storage, left);
      if (left === 0 && storage.bytes > 0 && !options.held?.has(storage))
        meter.add(CATEGORY[storage.kind], -rounded(storage.bytes), storage, storage.quadratic);
    }
    deliver(waiting);
    const produced = needed ? operation.weightGrads : [];
    // The cast of the input was recorded after that of the weight, so its backward runs before it.
    const castBefore = tape.operations[index - 1]?.name === `${operation.name}.cast`;
    waiting = castBefore ? produced : [];
    if (!castBefore) deliver(produced);
  }
  deliver(waiting);
  for (const x of options.added ?? []) {
    const g = gradients.get(x.id);
    if (g) drop(g);
  }
  if (options.holdGradient) {
    for (const x of tape.exit) if (x.requiresGrad) meter.add(CATEGORY[x.storage.kind], -bytesOf(x), x);
  }
  return meter.finish();
}

interface Gradient {
  /** The tensor whose gradient it was made as. */
  readonly of: Tensor;
  readonly quadratic?: boolean;
  readonly bytes: number;
  readonly category: Category;
}

function gradientOf(x: Tensor): Gradient {
  return { of: x, bytes: bytesOf(x), category: CATEGORY[x.storage.kind], quadratic: x.storage.quadratic };
}

function bytesOf(x: Tensor): number {
  return rounded(x.elements * ELEMENT_BYTES[x.dtype]);
}

/** Bytes of storages. */
export function bytesOfAll(storages: readonly Storage[]): Ledger {
  const ledger = emptyLedger();
  for (const storage of storages) post(ledger, CATEGORY[storage.kind], rounded(storage.bytes), storage);
  return ledger;
}

/** Bytes of tensors' gradients. */
export function gradientsOf(tensors: readonly Tensor[]): Ledger {
  const ledger = emptyLedger();
  for (const x of tensors) {
    const { category, bytes } = gradientOf(x);
    post(ledger, category, bytes, x);
  }
  return ledger;
}

/** One excursion after the other. */
export function sequence(first: Excursion, second: Excursion): Excursion {
  const shifted = combine(first.exit, second.peak);
  let shiftedBytes = 0;
  for (const bytes of shifted) shiftedBytes += bytes;
  const exit = combine(first.exit, second.exit);
  const events = [...first.events, ...second.events];
  return first.peakBytes >= shiftedBytes
    ? { ...first, exit, events }
    : { peak: shifted, peakBytes: shiftedBytes, operator: second.operator, exit, events };
}
