import { remembered } from '../../memo/remembered';
import { behaviours } from '../../run/behaviours';
import type { FieldPath, TrainingRun } from '../../run/fields';
import type { TracedStage } from '../traced-run';
import { around, type Call, modulesOf } from './module-calls';
import { gatheredElements } from './packed-weights';

/** Elements that gathered weights take at a moment, and those that have been let go of at least once. */
interface Gathered {
  readonly whole: number;
  readonly released: number;
}

/** Elements at most while modules run, and before one of them does. */
interface Burst {
  readonly most: number;
  readonly arriving: number;
}

/** What stage 3 has gathered while one copy of a stage runs. */
export interface Span extends Burst {
  /** Before its first module. */
  readonly before: Gathered;
  /** While a layer is run again, before what is of its backward alone. */
  readonly again: Burst;
  /** After its last module. */
  readonly after: Gathered;
}

/** Weights gathered over one micro step, by stage and copy, in the order of each pass. */
interface Gathers {
  readonly forward: ReadonlyMap<TracedStage, readonly Span[]>;
  readonly backward: ReadonlyMap<TracedStage, readonly Span[]>;
  /** Elements at most. */
  readonly most: number;
}

/** The modules of one copy of a stage as one pass calls them. */
interface Visit {
  /** Of the stage, among all. */
  readonly stage: number;
  readonly back: boolean;
  /** What the copy's first weight is among all weights. */
  readonly base: number;
  /** Its calls, whose weights count from `base` on. */
  readonly modules: readonly Call[];
}

/** Spans of every stage by its index, for a micro step of weights of these sizes and names. */
interface Played {
  readonly forward: readonly (readonly Span[])[];
  readonly backward: readonly (readonly Span[])[];
  readonly most: number;
}

const FIELDS: readonly FieldPath[] = [
  'activations.checkpointing',
  'activations.reentrant',
  'zero.maxLiveParameters',
  'zero.maxReuseDistance',
  'zero.persistenceThreshold',
  'zero.prefetchBucket',
];

/** Lengths, batches and clusters change around the same weights. */
const steps = remembered<Played>(16);

/** All that a micro step hangs on: how many weights of what size each module has, never what runs through them. */
function keyOf(stages: readonly TracedStage[], run: TrainingRun): string {
  let key = `${FIELDS.map((field) => String(run[field])).join()},${behaviours(run).hooksAroundCheckpoints}`;
  for (const { stage, copies, whole, tape, leaves, expertsFirst } of stages) {
    key += `;${stage.role} ${copies} ${whole === true} ${leaves?.join()} ${expertsFirst === true} ${tape.exit.some((x) => x.requiresGrad)}`;
    for (const weight of tape.weights) {
      const { name, tiedTo } = weight;
      key += `,${name} ${tiedTo ?? ''} ${gatheredElements(weight, run)}`;
    }
  }
  return key;
}

/** What stage 3 has gathered over one micro step. Stages whose weights were played before are not played again. */
export function gathersOf(stages: readonly TracedStage[], run: TrainingRun): Gathers {
  const { forward, backward, most } = steps.of(keyOf(stages, run), () => played(stages, run));
  const byStage = (spans: readonly (readonly Span[])[]) =>
    new Map(stages.map((traced, index) => [traced, spans[index] ?? []]));
  return { forward: byStage(forward), backward: byStage(backward), most };
}

/** Weights that are gathered in one piece, side by side. */
interface Piece {
  readonly members: readonly number[];
  readonly elements: number;
  /** Members that no module has waited for. */
  left: number;
  /** They have been copied out of it. */
  copied: boolean;
}

const AWAY = 0;
const COMING = 1;
const THERE = 2;

/**
 * DeepSpeed's coordinator over one micro step whose trace is known (`partitioned_param_coordinator.py`,
 * `fetch_sub_module`, `release_sub_module`).
 *
 * - A module's weights are gathered when it is called. Then weights of coming calls, while fewer than a prefetch bucket are
 *   on their way and fewer than `max_live_parameters` are whole: both are looked at before each weight, so the last one goes
 *   beyond, and a module fetches at least one whole weight ahead.
 * - Weights that are fetched together come in one piece. When the first of them is waited for all are copied out of it, and the piece
 *   stays until the last of them is waited for (`partition_parameters.py`, `AllGatherCoalescedHandle`).
 * - What autograd keeps a view of stays in the graph when it is let go of, until backward is through with its module.
 * - A module lets go of its weights, but for those that come again within the reuse distance, or whose next call the prefetch has
 *   passed already. That distance is of weights that are each module's own, so that of blocks of experts that are gathered whole none counts;
 *   to where such a block comes again it is of all that is in each module (`__params_to_release` asks the released module alone whether
 *   to look inside).
 */
class Coordinator {
  /** Elements that weights and pieces take, those that were whole and are not, and those that weights take by `max_live_parameters`. */
  held = 0;
  released = 0;
  /** Elements at most when what a module needs arrived, since it was last set. */
  arriving = 0;
  private available = 0;
  private readonly state: Uint8Array;
  private readonly once: Uint8Array;
  /** It was let go of, but the graph keeps a view of it. */
  private readonly kept: Uint8Array;
  private readonly fetchedFor: Int32Array;
  private readonly pieces: (Piece | undefined)[];
  private queue = 0;
  private step = 0;
  private leave = 0;

  constructor(
    private readonly sizes: readonly number[],
    private readonly views: readonly boolean[],
    private readonly trace: Trace,
    private readonly run: TrainingRun,
  ) {
    this.state = new Uint8Array(sizes.length);
    this.once = new Uint8Array(sizes.length);
    this.kept = new Uint8Array(sizes.length);
    this.fetchedFor = new Int32Array(sizes.length).fill(-1);
    this.pieces = sizes.map(() => undefined);
  }

  /** A module begins, whose own weights are these. */
  enter(own: readonly number[], pass: Call['pass']): void {
    this.gather(own.filter((weight) => this.state[weight] === AWAY));
    this.arriving = Math.max(this.arriving, this.held);
    let expected = 0;
    for (const weight of own) {
      this.await(weight);
      if ((this.fetchedFor[weight] ?? -1) < this.step) expected += 1;
    }
    // Backward is through with the later products of a block when the gradients of all of them are there.
    if (pass === 'backward') this.forget(own.filter((weight) => this.kept[weight] === 1).slice(1));
    this.prefetch(expected);
    this.step += 1;
  }

  /** A module is over. */
  exit(own: readonly number[], leaf: boolean, pass: Call['pass']): void {
    const { next, nextInside, passed, passedInside } = this.trace;
    const distance = leaf ? passedInside : passed;
    const from = distance[this.step] ?? 0;
    if (pass === 'backward') this.forget(own);
    for (const weight of own) {
      const size = this.sizes[weight] ?? 0;
      const again = (leaf ? nextInside : next)[this.leave++] ?? -1;
      const soon = again >= 0 && (distance[again] ?? 0) - from < this.run['zero.maxReuseDistance'];
      if (soon || (this.fetchedFor[weight] ?? -1) > this.step || this.state[weight] !== THERE) continue;
      this.state[weight] = AWAY;
      if (pass === 'graph' && this.views[weight]) this.kept[weight] = 1;
      else this.held -= size;
      this.available -= size;
      if (this.once[weight] === 0) this.released += size;
      this.once[weight] = 1;
    }
  }

  /** The graph lets go of weights that it kept. */
  private forget(weights: readonly number[]): void {
    for (const weight of weights) {
      if (this.kept[weight] === 1) this.held -= this.sizes[weight] ?? 0;
      this.kept[weight] = 0;
    }
  }

  private prefetch(expected: number): void {
    const { uses, steps } = this.trace;
    for (let passed = expected; passed > 0 && this.queue < uses.length; passed--, this.queue++)
      this.fetchedFor[uses[this.queue] ?? 0] = steps[this.queue] ?? 0;
    const bucket = this.run['zero.prefetchBucket'];
    const room = Math.min(this.run['zero.maxLiveParameters'] - this.available, bucket);
    const coming = new Set<number>();
    for (let ahead = 0; bucket > 0 && ahead < room && this.queue < uses.length; this.queue++) {
      const weight = uses[this.queue] ?? 0;
      this.fetchedFor[weight] = Math.max(this.fetchedFor[weight] ?? -1, steps[this.queue] ?? 0);
      if (this.state[weight] !== AWAY || coming.has(weight)) continue;
      coming.add(weight);
      ahead += this.sizes[weight] ?? 0;
    }
    this.gather([...coming]);
  }

  private gather(members: readonly number[]): void {
    if (members.length === 0) return;
    let elements = 0;
    for (const weight of members) elements += this.sizes[weight] ?? 0;
    const piece = { members, elements, left: members.length, copied: members.length === 1 };
    for (const weight of members) {
      this.state[weight] = COMING;
      this.pieces[weight] = piece;
    }
    this.available += elements;
    this.held += elements;
  }

  private await(weight: number): void {
    const piece = this.pieces[weight];
    if (!piece) return;
    this.pieces[weight] = undefined;
    if (!piece.copied) {
      piece.copied = true;
      this.held += piece.elements;
      this.arriving = Math.max(this.arriving, this.held);
      for (const member of piece.members) this.state[member] = THERE;
    }
    this.state[weight] = THERE;
    piece.left -= 1;
    if (piece.left === 0 && piece.members.length > 1) this.held -= piece.elements;
  }
}

const NOTHING: Burst = { most: 0, arriving: 0 };

function played(stages: readonly TracedStage[], run: TrainingRun): Played {
  const { visits, sizes, views } = visitsOf(stages, run);
  const coordinator = new Coordinator(sizes, views, traceOf(visits, sizes), run);
  let most = 0;
  const forward: Span[][] = stages.map(() => []);
  const backward: Span[][] = stages.map(() => []);
  for (const { stage, back, base, modules } of visits) {
    const now = (): Gathered => ({ whole: coordinator.held, released: coordinator.released });
    const before = now();
    const turn = back ? modules.findLastIndex(({ pass }) => pass === 'graph') + 1 : 0;
    const play = (calls: readonly Call[]): Burst => {
      let highest = coordinator.held;
      coordinator.arriving = 0;
      for (const { enters, own, leaf, pass } of calls) {
        const weights = own.map((index) => base + index);
        if (enters) coordinator.enter(weights, pass);
        else coordinator.exit(weights, leaf, pass);
        highest = Math.max(highest, coordinator.held);
      }
      return { most: highest, arriving: coordinator.arriving };
    };
    const again = turn > 0 ? play(modules.slice(0, turn)) : NOTHING;
    const own = play(modules.slice(turn));
    most = Math.max(most, again.most, own.most);
    (back ? backward : forward)[stage]?.push({ before, again, ...own, after: now() });
  }
  return { forward, backward, most };
}

/** What the coordinator knows of a micro step when it has seen one. */
interface Trace {
  /** Weights in the order of their uses, and the calls that use them. */
  readonly uses: readonly number[];
  readonly steps: readonly number[];
  /**
   * For each weight of each module that is over: the call that uses it next, and that of a module that has it inside; -1 where
   * none does.
   */
  readonly next: readonly number[];
  readonly nextInside: readonly number[];
  /** Elements of weights that are used before each call, and those of all that is in each module called before. */
  readonly passed: readonly number[];
  readonly passedInside: readonly number[];
}

function traceOf(visits: readonly Visit[], sizes: readonly number[]): Trace {
  const calls = visits.flatMap(({ base, modules }) => modules.map((call) => ({ base, ...call })));
  const uses: number[] = [];
  const steps: number[] = [];
  const passed: number[] = [0];
  const passedInside: number[] = [0];
  let step = 0;
  for (const { base, own, inside, leaf, enters } of calls) {
    if (!enters) continue;
    const elements = (indices: readonly number[]) =>
      indices.reduce((sum, index) => sum + (sizes[base + index] ?? 0), 0);
    for (const index of own) {
      uses.push(base + index);
      steps.push(step);
    }
    passed.push((passed[step] ?? 0) + (leaf ? 0 : elements(own)));
    passedInside.push((passedInside[step] ?? 0) + elements(inside));
    step += 1;
  }
  const next: number[] = [];
  const nextInside: number[] = [];
  const seen = new Int32Array(sizes.length).fill(-1);
  const seenInside = new Int32Array(sizes.length).fill(-1);
  for (const { base, own, inside, enters } of [...calls].reverse()) {
    if (enters) {
      step -= 1;
      for (const index of own) seen[base + index] = step;
      for (const index of inside) seenInside[base + index] = step;
      continue;
    }
    for (const index of [...own].reverse()) {
      next.push(seen[base + index] ?? -1);
      nextInside.push(seenInside[base + index] ?? -1);
    }
  }
  return { uses, steps, next: next.reverse(), nextInside: nextInside.reverse(), passed, passedInside };
}

/** The modules of one micro step in the order of their calls, and the sizes of all weights in elements. */
function visitsOf(
  stages: readonly TracedStage[],
  run: TrainingRun,
): {
  readonly visits: readonly Visit[];
  readonly sizes: readonly number[];
  readonly views: readonly boolean[];
} {
  const visits: Visit[] = [];
  const sizes: number[] = [];
  const views: boolean[] = [];
  const ends = new Map<string, number>();
  const placed = stages.map((traced, stage) => {
    const modules = modulesOf(traced, run);
    const first = sizes.length;
    for (let copy = 0; copy < traced.copies; copy++) {
      sizes.push(...modules.sizes);
      views.push(...modules.views);
    }
    const own = { traced, stage, first, count: modules.sizes.length, ...modules };
    if (traced.stage.role === 'layer') return own;
    // A tied head is the embedding's weight once more.
    const known = modules.names.map((name) => ends.get(name));
    modules.names.forEach((name, index) => {
      if (known[index] === undefined) ends.set(name, first + index);
    });
    const moved = (indices: readonly number[]) =>
      indices.map((index) => (known[index] ?? first + index) - first);
    const move = (call: Call): Call => ({ ...call, own: moved(call.own), inside: moved(call.inside) });
    return { ...own, forward: modules.forward.map(move), backward: modules.backward.map(move) };
  });
  const wholeModel = (first: number) => around(sizes.map((_, index) => index - first));
  for (const { traced, stage, first, count, forward } of placed)
    for (let copy = 0; copy < traced.copies; copy++)
      visits.push({
        stage,
        back: false,
        base: first + copy * count,
        modules: visits.length === 0 ? opened(forward, wholeModel(first)) : forward,
      });
  for (const { traced, stage, first, count, backward } of [...placed].reverse()) {
    if (!traced.tape.exit.some((x) => x.requiresGrad)) continue;
    for (let copy = traced.copies - 1; copy >= 0; copy--)
      visits.push({
        stage,
        back: true,
        base: first + copy * count,
        modules: stage === placed.length - 1 ? closed(backward, wholeModel(first)) : backward,
      });
  }
  return { visits, sizes, views };
}

/** The model with its head and the model without are entered before the embedding, after which come positions or dropout. */
const opened = (embedding: readonly Call[], model: Call): Call[] => [model, model, ...embedding, around([])];

/** Backward enters the model with its head, the head, the model without, and the last norm. */
function closed(head: readonly Call[], model: Call): Call[] {
  const left = head.findIndex(({ enters }) => !enters) + 1;
  return [model, ...head.slice(0, left), model, ...head.slice(left)];
}
