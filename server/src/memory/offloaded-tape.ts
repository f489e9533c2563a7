import { ELEMENT_BYTES, type Operation, type Storage, type Tape } from '../model/tape';
import { rounded } from './play';

/** Saved tensors that TRL leaves where they are (`models/activation_offloading.py`, `min_offload_size`), bytes. */
const SMALLEST = 1024;

/** Tensors that stay until their copies have had time to leave (`max_fwd_stash_size`). */
const STASH = 5;

/** What an operator saves: a storage, or a part of one. */
interface View {
  readonly storage: Storage;
  /** Elements of the storage before it: by this and the storage TRL knows a tensor again (`_get_unique_tensor_key`). */
  readonly offset: number;
  readonly bytes: number;
}

/** One tensor that autograd saves, and whether it goes to the host. */
interface Saved extends View {
  readonly away: boolean;
}

/** Tensors that wait for their copies, by their numbers; those of stages before have none above 0. */
type Stash = readonly (View & { readonly id: number })[];

export interface Offloaded {
  readonly tape: Tape;
  /** What still waits when the stage is over. */
  readonly stash: Stash;
}

/**
 * A stage whose saved tensors go to host memory and come back one operator at a time (`OffloadActivations` of TRL, without
 * checkpointing). With streams the last five stay while they are copied, a tensor that is saved again meanwhile stays for
 * good, and what came back for an operator stays through the next. What the output projection keeps is left alone. Parts of a
 * joint projection are tensors of their own, which are made contiguous first.
 */
export function offloadedTape(tape: Tape, overlaps: boolean, before: Stash = []): Offloaded {
  const lastUse = new Map<Storage, number>();
  tape.operations.forEach(({ inputs, outputs }, index) => {
    for (const x of [...inputs, ...outputs]) lastUse.set(x.storage, index);
  });
  let id = 0;
  let stash = before;
  const tracked = new Map<string, number>();
  const settle = () => {
    for (const entry of stash)
      if (entry.id <= id - STASH && tracked.get(keyOf(entry)) === entry.id) tracked.delete(keyOf(entry));
    stash = stash.filter((entry) => entry.id > id - STASH);
  };
  const leave = (view: View, operation: Operation): Saved => {
    id++;
    settle();
    const again = overlaps && tracked.has(keyOf(view));
    if (again) tracked.set(keyOf(view), id);
    const small = view.bytes < SMALLEST;
    if (again || small || isOutputProjection(operation)) return { ...view, away: false };
    if (overlaps) {
      stash = [...stash, { ...view, id }];
      tracked.set(keyOf(view), id);
    }
    return { ...view, away: true };
  };
  const fates = tape.operations.map((operation, index) => {
    const saved = savedViews(operation).map((view) => leave(view, operation));
    // Weights are handed to the hooks too, which let them be.
    if (operation.inputs.some((x) => x.requiresGrad))
      id += operation.weights.filter(({ shape }) => shape.length > 1).length;
    settle();
    // What waits is the storage itself, which may still be in use, or a copy of a part of it.
    const waiting = stash.filter((view) => isPart(view) || (lastUse.get(view.storage) ?? -1) < index);
    return { saved, waiting: bytesOf(waiting) };
  });
  const kept = new Set(fates.flatMap(({ saved }) => saved.filter(({ away }) => !away).map((s) => s.storage)));
  let awayBytes = 0;
  const operations = tape.operations.map((operation, index) => {
    const fate = fates[index];
    if (!fate) return operation;
    const fetched = fetchedBy(fate.saved);
    awayBytes += fetched;
    // Backward comes from behind: the operator after this one ran before it.
    const next = overlaps ? fetchedBy(fates[index + 1]?.saved ?? []) : 0;
    return {
      ...operation,
      saves: fate.saved.filter(({ away, storage }) => !away && kept.has(storage)).map((s) => s.storage),
      forwardScratch: operation.forwardScratch + fate.waiting,
      backwardScratch: operation.backwardScratch + fetched + next,
    };
  });
  return {
    tape: { ...tape, operations, awayBytes },
    stash: stash.map((entry) => ({ ...entry, id: entry.id - id })),
  };
}

function isOutputProjection({ weights }: Operation): boolean {
  return weights.some(({ role }) => role === 'head');
}

/** What an operator saves, in order. */
function savedViews({ saves, inputs, outputs }: Operation): View[] {
  const left = [...inputs, ...outputs];
  return saves.map((storage) => {
    const at = left.findIndex((x) => x.storage === storage);
    const [x] = at < 0 ? [] : left.splice(at, 1);
    const bytes = x ? Math.min(storage.bytes, x.elements * ELEMENT_BYTES[x.dtype]) : storage.bytes;
    return { storage, offset: x?.offset ?? 0, bytes };
  });
}

const keyOf = ({ storage, offset }: View) => `${storage.id}+${offset}`;

const isPart = ({ storage, bytes }: View) => bytes < storage.bytes;

function fetchedBy(saved: readonly Saved[]): number {
  return bytesOf(saved.filter(({ away }) => away));
}

function bytesOf(views: readonly View[]): number {
  return views.reduce((sum, { bytes }) => sum + rounded(bytes), 0);
}
