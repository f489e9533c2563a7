import { oncePer } from '../memo/remembered';
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

/**
 * A stretch before and after the moment at which the head's result, or its gradient, is there, or at which a layer has been computed again.
 * Bytes per GPU.
 */
interface Halves {
  readonly first: HighPoint;
  readonly between: Ledger;
  readonly second: HighPoint;
}

/** The highest point of a stretch, and the operator that runs then. */
export interface HighPoint {
  readonly peak: Ledger;
  readonly operator: string;
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
  /** The same in two, where it runs through the end of the head: what comes first, what is there in between, what follows. */
  readonly halves?: Halves;
  /** Requests and returns in order, for the allocator. */
  readonly events: readonly AllocatorEvent[];
}

interface ForwardOptions {
  /** Autograd keeps what backward needs. False inside a checkpointed segment. */
  readonly grad: boolean;
  /** Storages of entry tensors that nobody uses after this stage. */
  readonly consumed: ReadonlySet<Storage>;
  /** Non-reentrant recomputation stops once the last saved tensor is there. */
  readonly stopEarly?: boolean;
  /** The caller keeps naming what it passed in until the stage returns, as a loop over layers does. */
  readonly callerHoldsEntry?: boolean;
}

export const CATEGORY: Readonly<Record<StorageKind, Category>> = {
  activation: 'activations',
  logits: 'logits-and-loss',
  'weight-copy': 'autocast-cache',
  'kept-weight': 'activations',
};

/** How the bytes of a request go with the batch's length: with it, unless stated. */
type Growth = Pick<Storage, 'quadratic' | 'fixed'>;

/** What is there at each moment of a stretch, and the highest of them. */
export class Meter {
  readonly live = emptyLedger();
  private liveBytes = 0;
  private peak = emptyLedger();
  private peakBytes = 0;
  private operator = '';
  private readonly events: AllocatorEvent[] = [];
  private before:
    | { readonly high: HighPoint & { readonly bytes: number }; readonly between: Ledger }
    | undefined;

  /** `label` states what the bytes are. */
  add(category: Category, bytes: number, label: Label, growth: Growth = {}): void {
    if (bytes === 0) return;
    const fixed = growth.fixed || category === 'gradients' || category === 'autocast-cache';
    this.events.push({ bytes, power: fixed ? 0 : growth.quadratic ? 2 : 1 });
    this.rename(category, bytes, label);
  }

  /** What is there counts as something else from now on, `bytes` above or below zero: the allocator hears nothing of it. */
  rename(category: Category, bytes: number, label: Label): void {
    if (bytes === 0) return;
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

  /** What comes now is the second half. */
  divide(): void {
    const high = { peak: this.peak, operator: this.operator, bytes: this.peakBytes };
    this.before = { high, between: copyOf(this.live) };
    this.peak = emptyLedger();
    this.operator = '';
    this.mark(high.operator);
  }

  finish(): Excursion {
    const { before, peak, peakBytes, operator } = this;
    const whole = before && before.high.bytes >= peakBytes ? before.high : { peak, operator };
    return {
      peak: whole.peak,
      peakBytes: Math.max(before?.high.bytes ?? peakBytes, peakBytes),
      operator: whole.operator,
      exit: copyOf(this.live),
      events: this.events,
      halves: before && { first: before.high, between: before.between, second: { peak, operator } },
    };
  }
}

/** Bytes that autograd holds of this stage after forward, entry tensors included: unique storages, rounded. */
export const savedStorages = oncePer((tape: Tape): ReadonlySet<Storage> => {
  const saved = new Set<Storage>();
  for (const operation of tape.operations) {
    for (const storage of operation.saves) if (storage.bytes > 0) saved.add(storage);
  }
  return saved;
});

const NOTHING: ReadonlySet<Storage> = new Set();

/**
 * Plays a stage's forward pass: every operator allocates its results; a storage is freed after its last reader unless
 * autograd keeps it or it leaves the stage.
 */
export function playForward(tape: Tape, options: ForwardOptions): Excursion {
  const meter = new Meter();
  const saved = options.grad ? savedStorages(tape) : NOTHING;
  const entry = new Set(tape.entry.map((x) => x.storage));
  const leaving = new Set(tape.exit.map((x) => x.storage));
  const lastUse = new Map<Storage, number>();
  const operations = options.stopEarly ? untilLastSave(tape.operations) : tape.operations;
  tape.operations.forEach((operation, index) => {
    if (operation.byGraph === true && !options.grad) return;
    for (const x of operation.inputs) lastUse.set(x.storage, index);
    for (const x of operation.outputs) if (!lastUse.has(x.storage)) lastUse.set(x.storage, index);
  });
  const live = new Set<Storage>(entry);
  const allocate = (storage: Storage) => {
    if (live.has(storage)) return;
    live.add(storage);
    meter.add(CATEGORY[storage.kind], rounded(storage.bytes), storage, storage);
  };
  const release = (storage: Storage) => {
    if (!live.delete(storage)) return;
    meter.add(CATEGORY[storage.kind], -rounded(storage.bytes), storage, storage);
  };
  meter.mark('start');
  operations.forEach((operation, index) => {
    if (index === tape.headOperations) meter.divide();
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
  const isOfWeight = ({ kind }: Storage) => kind === 'weight-copy' || kind === 'kept-weight';
  return operation.saves.some((storage) => !isOfWeight(storage) && !before.has(storage));
}

/** Operators up to the last one that keeps something: recomputation needs no more. */
export function untilLastSave(operations: readonly Operation[]): readonly Operation[] {
  let last = 0;
  operations.forEach((operation, index) => {
    if (operation.saves.length > 0) last = index;
  });
  return operations.slice(0, last + 1);
}

/** A gradient of a tensor, on its way backward. */
export interface Gradient {
  /** The tensor whose gradient it was made as. */
  readonly of: Tensor;
  readonly quadratic?: boolean;
  readonly bytes: number;
  readonly category: Category;
}

/** The gradient of a tensor: as many bytes, rounded as the allocator does (512 B), in the category of the tensor's storage. */
export function gradientOf(x: Tensor): Gradient {
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
  const later = { peak: shifted, operator: second.operator };
  const halves = { first, between: first.exit, second: later };
  return first.peakBytes >= shiftedBytes
    ? { ...first, exit, events, halves }
    : { ...later, peakBytes: shiftedBytes, exit, events, halves };
}
