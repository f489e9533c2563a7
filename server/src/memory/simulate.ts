import type { TrainingRun } from '../run/fields';
import { CachingAllocator, segmentBytes } from './allocator';
import { bytesOf, type Ledger, totalOf } from './ledger';
import type { AllocatorEvent } from './play';
import { rootGatherBytes, rootReduceBytes } from './sharding';
import type { Sharding } from './sharding-scheme';
import type { Stretch } from './step';
import type { TracedStage } from './traced-run';
import { ownWeights } from './weights';

/** What the allocator holds at most, and what of it was handed out at most. Bytes per GPU. */
export interface Simulated {
  readonly reserved: number;
  readonly allocated: number;
}

/** Copies of a layer that are played request by request at each end of a run of them; between, only what stays. */
const PLAYED = 1;

/** A segment with what it leaves behind: requests that are not returned in it, returns of what others requested. */
interface Play {
  readonly stretch: Stretch;
  readonly forward: readonly AllocatorEvent[];
  readonly backward: readonly AllocatorEvent[];
  readonly forwardNet: readonly AllocatorEvent[];
  readonly backwardNet: readonly AllocatorEvent[];
  /** All of it as one request and one return, where backward returns just what forward left. */
  readonly lump?: Lump;
}

/** Requests taken together. Bytes as requested, and as their own segments would round them. */
interface Lump {
  readonly kept: Requests;
  readonly made: Requests;
}
interface Requests {
  readonly bytes: number;
  readonly rounded: number;
}

/**
 * Plays whole steps on PyTorch's caching allocator, request by request. `lengths` are the steps' batches as shares of
 * the longest one. Optimizer states are made in the first step, out of what its activations left.
 */
export function simulateSteps(
  stages: readonly TracedStage[],
  stretches: readonly Stretch[],
  run: TrainingRun,
  sharding: Sharding,
  constant: Ledger,
  capacity: number,
  lengths: readonly number[],
): Simulated {
  const player = new Player(capacity, run['allocator.expandableSegments']);
  const plays = stretches.map((stretch): Play => {
    const forward = stretch.segment.forward.events.filter(isLarge);
    const backward = stretch.segment.backward.events.filter(isLarge);
    const forwardNet = net(forward);
    const backwardNet = net(backward);
    return { stretch, forward, backward, forwardNet, backwardNet, lump: lumpOf(forwardNet, backwardNet) };
  });
  const states = bytesOf(sharding.atRest, 'optimizer-states');
  player.rest(totalOf(sharding.atRest) - states + totalOf(constant));
  const pieces = weightSizes(stages);
  // The root's weights are gathered like those of a layer, and then stay.
  const root = rootGatherBytes(run, stages);
  player.reduce(rootReduceBytes(run, stages));
  lengths.forEach((length, step) => {
    if (step > 0) player.clear();
    playStep(player, plays, sharding, length, root, pieces, step === 0 ? states : 0);
  });
  return { reserved: player.reserved, allocated: player.peak };
}

/** Smaller requests share segments of 2 MiB (`kSmallBuffer`): all of a step fit into a few, so they are not played. */
function isLarge({ bytes }: AllocatorEvent): boolean {
  return Math.abs(bytes) > 2 ** 20;
}

/** What a list of requests and returns comes to, by size. */
function net(events: readonly AllocatorEvent[]): AllocatorEvent[] {
  const counts = new Map<number, { count: number; power: AllocatorEvent['power'] }>();
  for (const { bytes, power } of events) {
    const size = Math.abs(bytes);
    const entry = counts.get(size) ?? { count: 0, power };
    entry.count += Math.sign(bytes);
    counts.set(size, entry);
  }
  const left: AllocatorEvent[] = [];
  for (const [size, { count, power }] of counts) {
    for (let i = 0; i < Math.abs(count); i++) left.push({ bytes: Math.sign(count) * size, power });
  }
  return left;
}

function requests(events: readonly AllocatorEvent[]): Requests {
  let bytes = 0;
  let rounded = 0;
  for (const event of events) {
    bytes += event.bytes;
    rounded += segmentBytes(event.bytes);
  }
  return { bytes, rounded };
}

/** What the layers between the played ends leave, as one piece: a deep model costs no more than a shallow one. */
function lumpOf(forward: readonly AllocatorEvent[], backward: readonly AllocatorEvent[]): Lump | undefined {
  const returned = backward.filter(({ bytes }) => bytes < 0).map(({ bytes }) => -bytes);
  const left = forward.map(({ bytes }) => bytes);
  const sorted = (sizes: number[]) => sizes.sort((a, b) => a - b).join();
  if (left.some((bytes) => bytes < 0) || sorted(left) !== sorted(returned)) return undefined;
  return { kept: requests(forward), made: requests(backward.filter(({ bytes }) => bytes > 0)) };
}

/** Tensors of fewer elements are played together: they share segments anyway. */
const PIECE = 2 ** 20;

/** Trained elements of every weight tensor with its copies: what gradients, states and temporaries are made of. */
function weightSizes(stages: readonly TracedStage[]): number[] {
  const sizes: number[] = [];
  let gathered = 0;
  for (const traced of stages) {
    const own = ownWeights(traced).filter((weight) => weight.trainable);
    for (let i = 0; i < traced.copies; i++) {
      for (const { localElements } of own) {
        if (localElements >= PIECE) sizes.push(localElements);
        else gathered += localElements;
        if (gathered < PIECE) continue;
        sizes.push(gathered);
        gathered = 0;
      }
    }
  }
  if (gathered > 0) sizes.push(gathered);
  return sizes;
}

class Player {
  readonly allocator: CachingAllocator;
  peak = 0;
  private live = 0;
  private resting = 0;
  private gathered = 0;
  private reduced = 0;

  constructor(capacity: number, expandable: boolean) {
    this.allocator = new CachingAllocator(capacity, expandable);
  }

  get reserved(): number {
    return this.allocator.peakReserved + this.gathered + this.reduced;
  }

  /**
   * FSDP gathers and reduces on streams of their own, and the allocator keeps blocks apart by stream
   * (`CUDACachingAllocator.cpp`; `_fsdp_collectives.py`, `_flat_param.py`): their highest points add up.
   */
  side(extra: Ledger): void {
    const gathered = bytesOf(extra, 'gathered-parameters');
    const reduced = bytesOf(extra, 'communication-buffers');
    this.peak = Math.max(this.peak, this.live + gathered + reduced);
    this.gathered = Math.max(this.gathered, gathered);
    this.reduced = Math.max(this.reduced, reduced);
  }

  /** A reduction of this size happens in every step. */
  reduce(bytes: number): void {
    this.reduced = Math.max(this.reduced, bytes);
  }

  /** What stays from now on. */
  rest(bytes: number): void {
    if (bytes <= 0) return;
    this.allocator.hold(bytes);
    this.resting += bytes;
    this.live += bytes;
    this.peak = Math.max(this.peak, this.live);
  }

  take(bytes: number): void {
    if (bytes <= 0) return;
    this.allocator.allocate(bytes);
    this.live += bytes;
    if (this.live > this.peak) this.peak = this.live;
  }

  /** Many requests as one. */
  takeLump({ bytes, rounded }: Requests): void {
    if (bytes <= 0) return;
    this.allocator.allocate(rounded);
    this.live += bytes;
    if (this.live > this.peak) this.peak = this.live;
  }

  giveLump({ bytes, rounded }: Requests): void {
    if (bytes <= 0) return;
    this.allocator.release(rounded);
    this.live -= bytes;
  }

  give(bytes: number): void {
    if (bytes <= 0) return;
    this.allocator.release(bytes);
    this.live -= bytes;
  }

  /** A total made of one tensor per weight; `keep` where they stay. */
  spread(total: number, sizes: readonly number[], keep = false): void {
    const sum = sizes.reduce((all, size) => all + size, 0);
    if (total <= 0 || sum === 0) return;
    for (const size of sizes) {
      const bytes = (total * size) / sum;
      if (keep) this.rest(bytes);
      else this.take(bytes);
    }
  }

  play(events: readonly AllocatorEvent[], length: number): void {
    if (length === 1) {
      // Events are rounded to blocks already.
      for (const { bytes } of events) {
        if (bytes > 0) this.take(bytes);
        else this.give(-bytes);
      }
      return;
    }
    for (const { bytes, power } of events) {
      const size = Math.ceil((Math.abs(bytes) * length ** power) / 512) * 512;
      if (bytes > 0) this.take(size);
      else this.give(size);
    }
  }

  /** The step is over: gradients and whatever else lived in it are gone. */
  clear(): void {
    this.allocator.releaseAll();
    this.live = this.resting;
  }
}

function playStep(
  player: Player,
  plays: readonly Play[],
  sharding: Sharding,
  length: number,
  root: number,
  sizes: readonly number[],
  states: number,
): void {
  const each = (left: readonly AllocatorEvent[], repeats: number) => {
    for (let i = 2 * PLAYED; i < repeats; i++) player.play(left, length);
  };
  player.take(totalOf(sharding.throughout));
  player.spread(totalOf(sharding.gradientsBefore), sizes);
  player.take(root);
  for (const { stretch, forward, forwardNet, lump } of plays) {
    const { repeats } = stretch;
    player.side(stretch.forwardExtra);
    const between =
      lump && length === 1
        ? () => player.takeLump(times(lump.kept, repeats))
        : () => each(forwardNet, repeats);
    repeat(player, forward, repeats, length, between);
  }
  for (const { stretch } of plays) {
    for (let i = 0; i < stretch.repeats; i++) player.play(stretch.segment.copyReturns, length);
  }
  // What the training loop keeps in variables of its own until the step ends.
  for (const { stretch } of plays) player.take(stretch.traced.tape.keptBytes * length);
  player.take(totalOf(sharding.duringBackward));
  for (let p = plays.length - 1; p >= 0; p--) {
    const play = plays[p];
    if (!play) continue;
    const { repeats, backwardExtra } = play.stretch;
    player.side(backwardExtra);
    const { backwardNet, lump } = play;
    const between =
      lump && length === 1
        ? () => {
            player.giveLump(times(lump.kept, repeats));
            player.takeLump(times(lump.made, repeats));
          }
        : () => each(backwardNet, repeats);
    repeat(player, play.backward, repeats, length, between);
  }
  if (states > 0) for (const half of [0.5, 0.5]) player.spread(states * half, sizes, true);
  player.spread(totalOf(sharding.duringStep), sizes);
}

/** Copies at both ends request by request, and what lies between them in one go. */
function repeat(
  player: Player,
  events: readonly AllocatorEvent[],
  repeats: number,
  length: number,
  between: () => void,
): void {
  const ends = Math.min(repeats, 2 * PLAYED);
  for (let i = 0; i < ends; i++) {
    if (i === PLAYED && repeats > ends) between();
    player.play(events, length);
  }
}

/** A lump of every copy between the played ends. */
function times(requests: Requests, repeats: number): Requests {
  const copies = repeats - 2 * PLAYED;
  return { bytes: copies * requests.bytes, rounded: copies * requests.rounded };
}
