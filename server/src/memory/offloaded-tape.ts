import type { Operation, Storage, Tape } from '../model/tape';
import { rounded } from './play';

/** Saved tensors that TRL leaves where they are (`models/activation_offloading.py`, `min_offload_size`), bytes. */
const SMALLEST = 1024;

/** Tensors that stay until their copies have had time to leave (`max_fwd_stash_size`). */
const STASH = 5;

/** One tensor that autograd saves, and whether it goes to the host. */
interface Saved {
  readonly storage: Storage;
  readonly away: boolean;
}

/** Tensors that wait for their copies, by their numbers; those of stages before have none above 0. */
type Stash = readonly { readonly id: number; readonly storage: Storage }[];

export interface Offloaded {
  readonly tape: Tape;
  /** What still waits when the stage is over. */
  readonly stash: Stash;
}

/**
 * A stage whose saved tensors go to host memory and come back one operator at a time (`OffloadActivations` of TRL, without
 * checkpointing). With streams the last five stay while they are copied, a tensor that is saved again meanwhile stays for
 * good, and what came back for an operator stays through the next. What the output projection keeps is left alone.
 */
export function offloadedTape(tape: Tape, overlaps: boolean, before: Stash = []): Offloaded {
  const lastUse = new Map<Storage, number>();
  tape.operations.forEach(({ inputs, outputs }, index) => {
    for (const x of [...inputs, ...outputs]) lastUse.set(x.storage, index);
  });
  let id = 0;
  let stash = before;
  const tracked = new Map<Storage, number>();
  const settle = () => {
    for (const entry of stash)
      if (entry.id <= id - STASH && tracked.get(entry.storage) === entry.id) tracked.delete(entry.storage);
    stash = stash.filter((entry) => entry.id > id - STASH);
  };
  const leave = (storage: Storage, operation: Operation): Saved => {
    id++;
    settle();
    const again = overlaps && tracked.has(storage);
    if (again) tracked.set(storage, id);
    const small = storage.bytes < SMALLEST;
    if (again || small || isOutputProjection(operation)) return { storage, away: false };
    if (overlaps) {
      stash = [...stash, { id, storage }];
      tracked.set(storage, id);
    }
    return { storage, away: true };
  };
  const fates = tape.operations.map((operation, index) => {
    const saved = operation.saves.map((storage) => leave(storage, operation));
    // Weights are handed to the hooks too, which let them be.
    if (operation.inputs.some((x) => x.requiresGrad))
      id += operation.weights.filter(({ shape }) => shape.length > 1).length;
    settle();
    const copied = new Set(stash.map(({ storage }) => storage));
    const waiting = [...copied].filter((storage) => (lastUse.get(storage) ?? -1) < index);
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

function fetchedBy(saved: readonly Saved[]): number {
  return bytesOf(saved.filter(({ away }) => away).map(({ storage }) => storage));
}

function bytesOf(storages: readonly Storage[]): number {
  return storages.reduce((sum, storage) => sum + rounded(storage.bytes), 0);
}
