import type { Operation, Storage, Tape, Tensor } from '../model/tape';
import type { Category } from '../results/estimate';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { withoutCheapResults } from './cheap';
import { groupsOf } from './layer-groups';
import { combine, copyOf, emptyLedger, type Ledger, post, totalOf } from './ledger';
import { keptOutsideModules, recomputesModules } from './megatron-recompute';
import {
  type AllocatorEvent,
  bytesOfAll,
  CATEGORY,
  type Excursion,
  type HighPoint,
  playForward,
  rounded,
  savedStorages,
  sequence,
  untilLastSave,
} from './play';
import { type BackwardOptions, playBackward } from './play-backward';
import type { TracedStage } from './traced-run';

/** Forward and backward of one copy of a stage, with its checkpointing. Relative to the moment before. */
export interface Segment {
  readonly forward: Excursion;
  readonly backward: Excursion;
  /** Autocast's weight copies that only the cache holds: they go when autocast exits. */
  readonly cachedCopies: Ledger;
  /** The same, as what is returned to the allocator then. */
  readonly copyReturns: readonly AllocatorEvent[];
  /** Of what forward leaves: storages that all micro batches of a step share (`Storage.oncePerStep`). */
  readonly sharedByMicroBatches: Ledger;
  /** Layers that the segment spans: several where checkpoints are set every few layers. */
  readonly layers: number;
  /** Gradients of its input that its backward leaves for good (`kept-entries.ts`): the newest are those that it hands on. */
  readonly keptGradients?: Ledger;
}

function copiesOf(tape: Tape): Set<Storage> {
  const copies = new Set<Storage>();
  for (const operation of tape.operations) for (const copy of operation.weightCopies) copies.add(copy);
  return copies;
}

function bytesOf(storages: Iterable<Storage>): number {
  let bytes = 0;
  for (const storage of storages) bytes += rounded(storage.bytes);
  return bytes;
}

/** Returns of storages, or of a share of each. */
export function returned(storages: Iterable<Storage>, share = 1): AllocatorEvent[] {
  return requested(storages, share).map(({ bytes, power }) => ({ bytes: -bytes, power }));
}

/** Requests of storages, or of a share of each that is above zero or nothing at all. */
function requested(storages: Iterable<Storage>, share = 1): AllocatorEvent[] {
  if (share === 0) return [];
  return [...storages].map((storage) => ({ bytes: rounded(share * storage.bytes), power: powerOf(storage) }));
}

function powerOf(storage: Storage): AllocatorEvent['power'] {
  if (storage.kind === 'weight-copy' || storage.fixed) return 0;
  return storage.quadratic ? 2 : 1;
}

/** Adds storages to a category, each as often as asked, negative times to take them away. */
function postAll(ledger: Ledger, category: Category, storages: Iterable<Storage>, times: number): void {
  for (const storage of storages) post(ledger, category, times * rounded(storage.bytes), storage);
}

/** Those of the kept storages that are there once, however many micro batches are in flight. */
function sharedAmong(kept: Iterable<Storage>): Ledger {
  return bytesOfAll([...kept].filter(({ oncePerStep }) => oncePerStep));
}

/** The same under the category that each is counted as when it is made. */
function postKept(ledger: Ledger, storages: Iterable<Storage>, times: number): void {
  for (const storage of storages)
    post(ledger, CATEGORY[storage.kind], times * rounded(storage.bytes), storage);
}

function ledgerOf(category: Category, storages: Iterable<Storage>, times: number): Ledger {
  const ledger = emptyLedger();
  postAll(ledger, category, storages, times);
  return ledger;
}

/** Moves storages from activations to checkpoints. */
function relabel(ledger: Ledger, storages: Iterable<Storage>): Ledger {
  const all = [...storages];
  const moved = copyOf(ledger);
  postAll(moved, 'activations', all, -1);
  postAll(moved, 'checkpoints', all, 1);
  return moved;
}

/** One excursion so many times. The level changes by the same amount each time, so the first or the last is the highest. */
function repeated(excursion: Excursion, times: number): Excursion {
  if (times <= 1) return excursion;
  const { exit, events } = excursion;
  const before: Excursion = { ...excursion, exit: combine([exit, times - 1]), events: [] };
  const all = sequence(before, excursion);
  return { ...all, events: repeatedEvents(events, times) };
}

/** Requests of so many layers; of many layers in groups, as `groupsOf` has them. */
function repeatedEvents(events: readonly AllocatorEvent[], times: number): AllocatorEvent[] {
  const groups = groupsOf(times);
  if (groups.every((others) => others === 0)) return groups.flatMap(() => events);
  const net = new Map<number, AllocatorEvent & { count: number }>();
  for (const { bytes, power } of events) {
    const size = Math.abs(bytes);
    const entry = net.get(4 * size + power) ?? { bytes: size, power, count: 0 };
    entry.count += Math.sign(bytes);
    net.set(4 * size + power, entry);
  }
  return groups.flatMap((others) => [
    ...[...net.values()]
      .filter(({ count }) => others * count !== 0)
      .map(({ bytes, power, count }) => ({ bytes: others * count * bytes, power })),
    ...events,
  ]);
}

/**
 * Gradients that are there when the first kept tensor is asked for: without reentrance only that starts the
 * recomputation (`torch/utils/checkpoint.py`, `_checkpoint_hook`), and operators behind it have run backward by then.
 */
function beforeRecomputation(tape: Tape, graded: Graded): Ledger {
  const operations = tape.operations.slice(untilLastSave(tape.operations).length);
  return playBackward({ ...tape, operations }, { ...graded, holdGradient: false }).exit;
}

/** An excursion on top of what is there already, which stays out of its exit. */
function onTopOf(level: Ledger, excursion: Excursion): Excursion {
  const peak = combine(level, excursion.peak);
  const above = (high: HighPoint): HighPoint => ({ ...high, peak: combine(level, high.peak) });
  const halves = excursion.halves && {
    first: above(excursion.halves.first),
    between: combine(level, excursion.halves.between),
    second: above(excursion.halves.second),
  };
  return { ...excursion, peak, peakBytes: totalOf(peak), halves };
}

/** What becomes of gradients of weights. */
type Graded = Pick<BackwardOptions, 'gradients' | 'shared'>;

/** Plays a stage as the run's checkpointing wraps it. */
export function segmentOf(
  traced: TracedStage,
  run: TrainingRun,
  gradients: 'keep' | 'pass',
  shared?: BackwardOptions['shared'],
): Segment {
  const { tape } = traced;
  const checkpointing = run['activations.checkpointing'];
  // A layer that a search left empty hands on what enters it: there is nothing to compute again.
  const empty = tape.operations.length === 0;
  if (traced.stage.role !== 'layer' || checkpointing === 'none' || traced.whole || empty)
    return unwrapped(traced, gradients, shared);
  const graded = { gradients, shared };
  switch (checkpointing) {
    case 'selective': {
      const modules = recomputesModules(run);
      return selective(traced, graded, modules ? keptOutsideModules(tape, run) : keptResults(tape, run));
    }
    case 'elementwise':
      return selective(traced, graded, withoutCheapResults(tape));
    default:
      return checkpointed(traced, run, graded);
  }
}

/** A stage that keeps what autograd keeps of it. */
function unwrapped(
  { tape, stage, consumed, shared: added, held }: TracedStage,
  gradients: 'keep' | 'pass',
  shared: BackwardOptions['shared'],
): Segment {
  const callerHoldsEntry = stage.role === 'layer';
  const forward = playForward(tape, { grad: true, consumed, callerHoldsEntry });
  const backward = playBackward(tape, { gradients, holdGradient: false, shared, added, held });
  const saved = savedStorages(tape);
  const loose = [...copiesOf(tape)].filter((copy) => !saved.has(copy));
  return {
    forward,
    backward,
    cachedCopies: ledgerOf('autocast-cache', loose, 1),
    copyReturns: returned(loose),
    sharedByMicroBatches: sharedAmong(saved),
    layers: 1,
  };
}

/** Layers of which only what enters is kept, and which run forward once more before their backward. */
function checkpointed(traced: TracedStage, run: TrainingRun, graded: Graded): Segment {
  const { tape } = traced;
  const layers = Math.min(run['activations.checkpointEvery'], traced.copies);
  const entries = new Set(tape.entry.filter((x) => traced.consumed.has(x.storage)).map((x) => x.storage));
  // Share of a boundary that lies elsewhere until its segment's backward: in host memory, or on tensor-parallel GPUs.
  const ranks = run['activations.distributed'] ? run['parallel.tensor'] : 1;
  const away = run['activations.offload'] ? 1 : 1 - 1 / ranks;
  const copies = copiesOf(tape);
  return {
    forward: forwardToEntries(traced, layers, entries, away),
    backward: recomputedBackward(traced, layers, entries, away, run['activations.reentrant'], graded),
    cachedCopies: ledgerOf('autocast-cache', copies, layers),
    copyReturns: repeatedEvents(returned(copies), layers),
    sharedByMicroBatches: emptyLedger(),
    layers,
  };
}

/** Forward of checkpointed layers, at whose end what entered them is there, less the share that lies away. */
function forwardToEntries(
  { tape, consumed }: TracedStage,
  layers: number,
  entries: ReadonlySet<Storage>,
  away: number,
): Excursion {
  let plain = playForward(tape, { grad: false, consumed: new Set() });
  if (layers > 1) {
    // Inside a segment of several layers the inner boundaries are freed.
    const inner = playForward(tape, { grad: false, consumed });
    plain = sequence(plain, repeated(inner, layers - 1));
  }
  const exit = relabel(plain.exit, entries);
  if (away === 0) return { ...plain, exit };
  postAll(exit, 'checkpoints', entries, -away);
  const events = [...plain.events, ...requested(entries, 1 - away), ...returned(entries)];
  return { ...plain, exit, events };
}

/** Recomputation of checkpointed layers and their backward, at whose end the checkpoint is gone. */
function recomputedBackward(
  { tape, shared, held }: TracedStage,
  layers: number,
  entries: ReadonlySet<Storage>,
  away: number,
  reentrant: boolean,
  graded: Graded,
): Excursion {
  const saved = savedStorages(tape);
  const recompute = onTopOf(
    reentrant ? emptyLedger() : beforeRecomputation(tape, graded),
    playForward(tape, { grad: true, consumed: new Set(), stopEarly: !reentrant }),
  );
  const back = playBackward(tape, { ...graded, holdGradient: reentrant, added: shared, held });
  const played = sequence(repeated(recompute, layers), repeated(back, layers));
  // What recomputation leaves beyond the saved storages: its output (reentrant) and cached weight copies.
  const leftover = emptyLedger();
  const outputsLeft = reentrant
    ? new Set(tape.exit.map((x) => x.storage).filter((s) => !saved.has(s)))
    : new Set<Storage>();
  // Where recomputation stops early, autocast exits with it, and only what is kept outlives that.
  const looseCopies = reentrant ? [...copiesOf(tape)].filter((copy) => !saved.has(copy)) : [];
  const returns = [
    ...returned(looseCopies),
    ...returned(outputsLeft),
    ...returned([...entries].filter((s) => !saved.has(s))),
  ];
  // What lies away is brought back whole, and its part that was here goes.
  const fetches = away > 0 ? [...requested(entries), ...returned(entries, 1 - away)] : [];
  const events = [...fetches, ...played.events, ...repeatedEvents(returns, layers)];
  postAll(leftover, 'autocast-cache', looseCopies, -layers);
  postAll(leftover, 'activations', outputsLeft, -layers);
  // Backward of the tape frees its saved entry, which the checkpoint still counts: put it back, then free the checkpoint.
  const savedEntries = [...entries].filter((s) => saved.has(s));
  postAll(leftover, 'activations', savedEntries, layers);
  if (away === 0) {
    postAll(leftover, 'checkpoints', entries, -1);
    return { ...played, exit: combine(played.exit, leftover), events };
  }
  // The boundary is fetched back for its own segment only.
  postAll(leftover, 'checkpoints', entries, away - 1);
  const fetched = emptyLedger();
  postAll(fetched, 'checkpoints', entries, away);
  return { ...onTopOf(fetched, played), exit: combine(played.exit, leftover), events };
}

/**
 * Operators whose results selective checkpointing keeps: matrix products and attention. torchtitan computes every second
 * product of a layer's weights again (`distributed/activation_checkpoint.py`, `_get_custom_policy`).
 */
export function keptOperations(tape: Tape, run: TrainingRun): Operation[] {
  let products = 0;
  const alternates = behaviours(run).recomputesEverySecondProduct;
  return tape.operations.filter((operation) => {
    if (!operation.expensive) return false;
    const product = operation.weights.length > 0;
    if (product) products++;
    return !(product && alternates && products % 2 === 0);
  });
}

/**
 * Results of `keptOperations`. Compiled, a result that backward never reads is not kept (the partitioner drops it), such
 * as that of the last projection, which is only added.
 */
function keptResults(tape: Tape, run: TrainingRun): Set<Storage> {
  const kept = new Set<Storage>();
  for (const operation of keptOperations(tape, run)) {
    for (const x of operation.outputs) {
      if (run['kernels.compile'] && onlyAdded(tape, x)) continue;
      kept.add(x.storage);
    }
  }
  return kept;
}

/** Whether all that reads a tensor passes its gradient through. */
function onlyAdded(tape: Tape, x: Tensor): boolean {
  return tape.operations
    .filter((operation) => operation.inputs.includes(x))
    .every(
      ({ gradRules, saves }) => saves.length === 0 && gradRules.every((r) => r === 'alias' || r === 'none'),
    );
}

/** Selective checkpointing by operator: what is kept stays, the rest is computed again before the layer's backward. */
function selective(traced: TracedStage, graded: Graded, results: ReadonlySet<Storage>): Segment {
  const { tape } = traced;
  const saved = savedStorages(tape);
  const kept = new Set(results);
  for (const x of tape.entry) kept.add(x.storage);
  const copies = copiesOf(tape);
  const full = playForward(tape, { grad: true, consumed: traced.consumed });
  const exit = copyOf(full.exit);
  const dropped = [...saved].filter((s) => !kept.has(s) && !copies.has(s));
  const droppedCopies = [...copies].filter((s) => saved.has(s));
  const extra = [...kept].filter((s) => !saved.has(s) && !tape.exit.some((x) => x.storage === s));
  postKept(exit, extra, 1);
  postKept(exit, dropped, -1);
  postKept(exit, droppedCopies, -1);
  const back = playBackward(tape, {
    ...graded,
    holdGradient: false,
    added: traced.shared,
    held: traced.held,
  });
  const recomputed = emptyLedger();
  postKept(recomputed, dropped, 1);
  postKept(recomputed, droppedCopies, 1);
  const lead: Excursion = {
    peak: recomputed,
    peakBytes: bytesOf(dropped),
    operator: 'recomputation',
    exit: recomputed,
    events: requested([...saved].filter((s) => !kept.has(s))),
  };
  const backward = sequence(lead, back);
  const after = copyOf(backward.exit);
  postKept(after, extra, -1);
  const droppedReturns = returned([...saved].filter((s) => !kept.has(s)));
  const loose = [...copies].filter((copy) => !saved.has(copy));
  return {
    forward: { ...full, exit, events: [...full.events, ...droppedReturns, ...requested(extra)] },
    backward: { ...backward, exit: after, events: [...backward.events, ...returned(extra)] },
    cachedCopies: ledgerOf('autocast-cache', loose, 1),
    copyReturns: returned(loose),
    sharedByMicroBatches: sharedAmong([...saved].filter((s) => kept.has(s))),
    layers: 1,
  };
}
