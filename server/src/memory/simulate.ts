import { oncePer } from '../memo/remembered';
import type { TrainingRun } from '../run/fields';
import { type BlockId, CachingAllocator, segmentBytes } from './allocator';
import { type BetweenStages, betweenStages } from './between-stages';
import { groupsOf } from './layer-groups';
import { bytesOf, type Ledger, totalOf } from './ledger';
import { type RequestProgram, Requests } from './request-classes';
import type { Segment } from './segment';
import { NONE, type Plan, type Sharding } from './sharding-scheme';
import type { StepWalk, Stretch } from './step';
import type { TracedStage } from './traced-run';
import { ownWeights } from './weights';
import { wrapFsdp1, wrappedBytes } from './wrapping';

/** What the allocator holds at most, and what of it was handed out at most. Bytes per GPU. */
interface Simulated {
  readonly reserved: number;
  readonly allocated: number;
}

/** What the requests of a stretch follow from. */
interface Asked {
  readonly traced: TracedStage;
  readonly segment: Segment;
  readonly repeats: number;
  /** Whole gradients of weights give way to shards of them. */
  readonly reduces: boolean;
  /** As in `StagePlan`. */
  readonly unsharded: number;
  readonly reduced: number;
}

/** A segment, ready to be played. */
interface Play {
  readonly asked: Asked;
  readonly forward: RequestProgram;
  readonly backward: RequestProgram;
  readonly copyReturns: RequestProgram;
  readonly between: { readonly [K in keyof BetweenStages]: RequestProgram };
  /** What forward and backward leave behind: requests that are not returned in them, returns of what was there before. */
  readonly forwardNet: RequestProgram;
  readonly backwardNet: RequestProgram;
  /** Kept gradients of weights. */
  readonly gradients: RequestProgram;
  /** Weights that FSDP 2 copies out of what it gathered, among the activations. */
  readonly unit: RequestProgram;
  /** Input of the reduction of the gradients, where it lies among the activations. */
  readonly reduced: RequestProgram;
  /** Layers beside the played one, by group. */
  readonly groups: readonly number[];
}

/**
 * Plays whole steps on PyTorch's caching allocator, request by request. `lengths` are the steps' batches as shares of
 * the longest one. Optimizer states are made in the first step, out of what its activations left.
 */
export function simulateSteps(
  stages: readonly TracedStage[],
  { stretches, plan }: Pick<StepWalk, 'stretches' | 'plan'>,
  run: TrainingRun,
  sharding: Sharding,
  constant: Ledger,
  capacity: number,
  lengths: readonly number[],
): Simulated {
  const { otherStreams = 0 } = plan.requests;
  const { plays, requests } = playsOf(stretches.map((stretch) => askedBy(stretch, plan)));
  const player = PLAYER;
  player.load(
    requests,
    capacity - otherStreams,
    run['allocator.expandableSegments'],
    run['allocator.maxSplit'],
  );
  const states = sharding.statesFirst ? 0 : bytesOf(sharding.atRest, 'optimizer-states');
  const wraps = sharding.loading?.wrapsUnits === true;
  player.rest(totalOf(sharding.atRest) - states + totalOf(constant), wraps ? wrappedBytes(stages, run) : 0);
  if (wraps) wrapFsdp1(player.allocator, stages, run);
  const pieces = weightPieces(stages);
  // A second step of the same length differs by what the first left for good.
  const steps = states === 0 && lengths.every((length) => length === 1) ? [1] : lengths;
  steps.forEach((length, step) => {
    player.begin(length);
    if (steps.length === 1) player.spread(totalOf(sharding.gradientsBefore), pieces);
    // The first step finds no gradients of one before.
    const late = step > 0 || steps.length === 1 ? totalOf(sharding.gradientsThroughForward ?? NONE) : 0;
    playStep(player, plays, sharding, plan, pieces, late);
    if (step > 0 || steps.length === 1) return;
    player.keep(totalOf(sharding.gradientsBefore), pieces);
    player.keep(states, pieces, 2);
  });
  return {
    reserved: player.allocator.peakReserved + otherStreams,
    allocated: player.peak + otherStreams,
  };
}

function askedBy({ traced, segment, repeats }: Stretch, plan: Plan): Asked {
  const { reducesTo, unsharded = 0, reduced = 0 } = plan.stages.get(traced) ?? {};
  return { traced, segment, repeats, reduces: reducesTo !== undefined, unsharded, reduced };
}

/** Steps ready to be played, with the requests that their programs name. */
interface Plays {
  readonly plays: readonly Play[];
  readonly requests: Requests;
}

/** Enough for the alternatives that are tried for one run. */
const KEPT = 8;
const known = new WeakMap<TracedStage, Plays[]>();

/** Remembered by what they follow from: most edits leave the segments of a step as they are. */
function playsOf(asked: readonly Asked[]): Plays {
  const [first] = asked;
  const kept = (first && known.get(first.traced)) ?? [];
  const same = kept.find(({ plays }) => isSameList(plays, asked));
  if (same) return same;
  const requests = new Requests();
  const made = { plays: asked.map((one) => playOf(one, requests)), requests };
  if (first) known.set(first.traced, [made, ...kept.slice(0, KEPT - 1)]);
  return made;
}

function isSameList(plays: readonly Play[], asked: readonly Asked[]): boolean {
  if (plays.length !== asked.length) return false;
  for (let i = 0; i < plays.length; i++) {
    const [one, other] = [plays[i]?.asked, asked[i]];
    if (one?.traced !== other?.traced || one?.segment !== other?.segment || one?.repeats !== other?.repeats)
      return false;
    if (one?.reduces !== other?.reduces || one?.unsharded !== other?.unsharded) return false;
    if (one?.reduced !== other?.reduced) return false;
  }
  return true;
}

function playOf(asked: Asked, requests: Requests): Play {
  const { traced, segment, repeats, reduces, unsharded, reduced } = asked;
  const forward = requests.program(segment.forward.events);
  const backward = requests.program(segment.backward.events);
  const backwardNet = requests.net(backward);
  const gradients = reduces ? requests.fixed(backwardNet) : requests.none;
  const layers = traced.stage.role === 'layer';
  const between = betweenStages(traced);
  return {
    asked,
    forward,
    backward,
    copyReturns: requests.program(segment.copyReturns),
    between: {
      afterForward: requests.program(between.afterForward),
      beforeBackward: requests.program(between.beforeBackward),
      afterBackward: requests.program(between.afterBackward),
    },
    forwardNet: requests.net(forward),
    backwardNet: layers ? requests.without(backwardNet, gradients) : backwardNet,
    gradients: layers ? gradients : requests.none,
    unit: unsharded > 0 ? requests.pieces(unsharded, ownWeights(traced)) : requests.none,
    reduced: requests.single(reduced),
    groups: groupsOf(repeats),
  };
}

/** Tensors of fewer elements are played together: they share segments anyway. */
const PIECE = 2 ** 20;

/**
 * Shares of what is made of one tensor per trained weight: gradients, states, temporaries. Layers are grouped as they are
 * played.
 */
const weightPieces = oncePer((stages: readonly TracedStage[]): readonly number[] => {
  const sizes: number[] = [];
  let gathered = 0;
  for (const traced of stages) {
    const own = ownWeights(traced).filter((weight) => weight.trainable);
    for (const others of groupsOf(traced.copies)) {
      for (const { localElements } of own) {
        if (localElements >= PIECE) sizes.push(localElements * (1 + others));
        else gathered += localElements * (1 + others);
        if (gathered < PIECE) continue;
        sizes.push(gathered);
        gathered = 0;
      }
    }
  }
  if (gathered > 0) sizes.push(gathered);
  const sum = sizes.reduce((all, size) => all + size, 0);
  return sizes.map((size) => size / sum);
});

/** End of a list of blocks. */
const NOBODY = -1;

/** Plays programs on an allocator, and counts what is handed out. */
class Player {
  readonly allocator = new CachingAllocator(0);
  peak = 0;
  private live = 0;
  private resting = 0;
  private requests = new Requests();
  private sizes: Float64Array = new Float64Array();
  /** Newest block in use of each class, and of the layers that a group stands for; `older` leads on from them. */
  private newest = new Int32Array(64);
  private newestOthers = new Int32Array(64);
  private older = new Int32Array(512);
  /** Bytes handed out in a block for the layers of a group. */
  private readonly handedOut = new Map<BlockId, number>();
  /** Blocks that live until the step ends. */
  private readonly loose: BlockId[] = [];

  /** Forgets all that it played: the programs to come name these requests. */
  load(requests: Requests, capacity: number, expandable: boolean, maxSplit: number | undefined): void {
    this.allocator.reset(capacity, expandable, maxSplit);
    this.requests = requests;
    this.sizes = requests.sizes(1);
    this.peak = 0;
    this.live = 0;
    this.resting = 0;
    this.handedOut.clear();
    this.loose.length = 0;
    const classes = this.sizes.length;
    if (classes > this.newest.length) {
      this.newest = new Int32Array(2 * classes);
      this.newestOthers = new Int32Array(2 * classes);
    }
    this.newest.fill(NOBODY, 0, classes);
    this.newestOthers.fill(NOBODY, 0, classes);
  }

  /** A step begins: all that lived in the one before is gone. */
  begin(length: number): void {
    for (const lists of [this.newest, this.newestOthers]) {
      for (let i = 0; i < this.sizes.length; i++) {
        for (let block = this.pop(lists, i); block !== NOBODY; block = this.pop(lists, i)) {
          this.allocator.release(block);
        }
      }
    }
    for (let block = this.loose.pop(); block !== undefined; block = this.loose.pop()) {
      this.allocator.release(block);
    }
    this.live = this.resting;
    this.sizes = this.requests.sizes(length);
  }

  /** What stays from now on, of which so much is placed by others. */
  rest(bytes: number, placed = 0): void {
    if (bytes <= 0) return;
    if (bytes > placed) this.allocator.allocate(bytes - placed);
    this.resting += bytes;
    this.grow(bytes);
  }

  /** What stays until the step ends. */
  take(bytes: number): void {
    if (bytes <= 0) return;
    this.loose.push(this.allocator.allocate(bytes));
    this.grow(bytes);
  }

  /** What is given back by what this returns. */
  borrow(bytes: number): () => void {
    if (bytes <= 0) return () => undefined;
    const block = this.allocator.allocate(bytes);
    this.grow(bytes);
    return () => {
      this.allocator.release(block);
      this.live -= bytes;
    };
  }

  /** A total made of pieces. */
  spread(total: number, shares: readonly number[]): void {
    if (total > 0) for (const share of shares) this.take(total * share);
  }

  /** The same of what stays from now on: so many tensors per weight, made one after the other. */
  keep(total: number, shares: readonly number[], tensors = 1): void {
    if (total <= 0) return;
    for (const share of shares) for (let i = 0; i < tensors; i++) this.rest((total * share) / tensors);
  }

  play(program: RequestProgram): void {
    for (let i = 0; i < program.length; i++) {
      const code = program[i] ?? 0;
      if (code > 0) this.request(code - 1);
      else this.giveBack(-code - 1);
    }
  }

  undo(program: RequestProgram): void {
    for (let i = 0; i < program.length; i++) {
      const code = program[i] ?? 0;
      if (code > 0) this.giveBack(code - 1);
      else this.request(-code - 1);
    }
  }

  /** The same for all other layers of a group at once. */
  playOthers(program: RequestProgram, layers: number): void {
    if (layers === 0) return;
    for (const code of program) {
      if (code < 0) {
        this.giveBackOthers(-code - 1);
        continue;
      }
      const size = this.sizes[code - 1] ?? 0;
      const block = this.allocator.allocate(layers * segmentBytes(size), layers);
      this.push(this.newestOthers, code - 1, block);
      this.handedOut.set(block, layers * size);
      this.grow(layers * size);
    }
  }

  private giveBackOthers(index: number): void {
    const block = this.pop(this.newestOthers, index);
    if (block === NOBODY) return;
    this.allocator.release(block);
    this.live -= this.handedOut.get(block) ?? 0;
  }

  private request(index: number): void {
    const size = this.sizes[index] ?? 0;
    this.push(this.newest, index, this.allocator.allocate(size));
    this.grow(size);
  }

  private giveBack(index: number): void {
    const block = this.pop(this.newest, index);
    if (block === NOBODY) return;
    this.allocator.release(block);
    this.live -= this.sizes[index] ?? 0;
  }

  private push(lists: Int32Array, index: number, block: BlockId): void {
    if (block >= this.older.length) {
      const longer = new Int32Array(2 * block);
      longer.set(this.older);
      this.older = longer;
    }
    this.older[block] = lists[index] ?? NOBODY;
    lists[index] = block;
  }

  private pop(lists: Int32Array, index: number): BlockId {
    const block = lists[index] ?? NOBODY;
    if (block !== NOBODY) lists[index] = this.older[block] ?? NOBODY;
    return block;
  }

  private grow(bytes: number): void {
    this.live += bytes;
    if (this.live > this.peak) this.peak = this.live;
  }
}

/** The one that steps are played on, one run after the other: making its tables would cost more than playing on them. */
const PLAYER = new Player();

function playStep(
  player: Player,
  plays: readonly Play[],
  sharding: Sharding,
  { backward: beside, requests }: Plan,
  pieces: readonly number[],
  late: number,
): void {
  const zeroed = pieces.map((share) => player.borrow(late * share));
  player.take(totalOf(sharding.throughout));
  player.take(requests.gathered ?? 0);
  for (const { forward, forwardNet, unit, groups, between } of plays) {
    for (const others of groups) {
      player.playOthers(forwardNet, others);
      player.play(unit);
      player.play(forward);
      player.undo(unit);
    }
    player.play(between.afterForward);
  }
  for (const { copyReturns, groups } of plays) {
    for (const others of groups) {
      player.play(copyReturns);
      player.playOthers(copyReturns, others);
    }
  }
  for (const giveBack of zeroed) giveBack();
  // What the training loop keeps in variables of its own until the step ends.
  for (const { asked } of plays) player.take(asked.traced.tape.keptBytes);
  const kept = Math.max(0, totalOf(sharding.gradientsAtStep) - totalOf(sharding.gradientsBefore));
  const { buffers = [], beforeLoss = true, keptAlong = false } = requests;
  const returns = [player.borrow(totalOf(beside))];
  const begin = () => {
    for (const bytes of buffers) returns.push(player.borrow(bytes));
    if (keptAlong) player.spread(kept, pieces);
  };
  if (beforeLoss) begin();
  let reducing: RequestProgram = new Int32Array();
  for (let p = plays.length - 1; p >= 0; p--) {
    const play = plays[p];
    if (!play) continue;
    const { backward, backwardNet, unit, reduced, gradients, groups, between } = play;
    if (!beforeLoss && p === Math.max(0, plays.length - 2)) begin();
    player.play(between.beforeBackward);
    for (let g = groups.length - 1; g >= 0; g--) {
      player.play(unit);
      player.play(backward);
      player.undo(unit);
      if (reduced.length > 0) {
        // The input of the reduction before is given back, then that of this one is filled from the gradients.
        player.undo(reducing);
        player.play(reduced);
        reducing = reduced;
      }
      player.undo(gradients);
      player.playOthers(backwardNet, groups[g] ?? 0);
    }
    player.play(between.afterBackward);
  }
  player.undo(reducing);
  player.borrow(requests.atEnd ?? 0)();
  for (const giveBack of returns) giveBack();
  if (!keptAlong && buffers.length > 0) player.spread(kept, pieces);
  if (requests.step) for (const bytes of requests.step) player.take(bytes);
  else player.spread(totalOf(sharding.duringStep), pieces);
}
