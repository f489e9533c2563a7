import { remembered } from '../../memo/remembered';
import type { FieldPath, TrainingRun } from '../../run/fields';
import type { TracedStage } from '../traced-run';

/** Elements that are gathered at a moment, and those that have been let go of at least once. */
interface Gathered {
  readonly whole: number;
  readonly released: number;
}

/** What stage 3 has gathered while one copy of a stage runs: before its first module, at most, and after its last one. */
export interface Span {
  readonly before: Gathered;
  /** Elements. */
  readonly most: number;
  readonly after: Gathered;
}

/** Weights gathered over one micro step, by stage and copy, in the order of each pass. */
interface Gathers {
  readonly forward: ReadonlyMap<TracedStage, readonly Span[]>;
  readonly backward: ReadonlyMap<TracedStage, readonly Span[]>;
  /** Elements at most. */
  readonly most: number;
}

/** A module as it is called. */
interface Call {
  /** Its partitioned weights, by index. */
  readonly own: readonly number[];
  /** Those of all modules in it, where it is none without. */
  readonly inside: readonly number[];
  /** It is one with all that is in it, which has no hooks (`zero_optimization.leaf_module`). */
  readonly leaf: boolean;
}

/** Modules of one copy of a stage in the order of forward. */
interface Modules {
  readonly sizes: readonly number[];
  /** Names under which a weight is known to other stages. */
  readonly names: readonly string[];
  readonly forward: readonly Call[];
  readonly backward: readonly Call[];
}

/** A module that has no weights but those of the modules in it. */
const around = (inside: readonly number[]): Call => ({ own: [], inside, leaf: false });

/** Modules around the weights of a path, from the outermost: `self_attn` of `self_attn.q_proj.weight`. */
function containersOf(name: string): string[] {
  const parts = name.split('.').slice(0, -2);
  return parts.map((_, depth) => parts.slice(0, depth + 1).join('.'));
}

/**
 * Every module has hooks, whether it has weights or not: the layer, its halves, an activation (`parameter_offload.py`,
 * `_register_deepspeed_module`). Backward enters a module before what is in it, too.
 */
function modulesOf(traced: TracedStage, run: TrainingRun): Modules {
  const sizes: number[] = [];
  const names: string[] = [];
  const leaves = new Map<string, number[]>();
  const block = expertBlock(traced);
  for (const weight of traced.tape.weights) {
    const module = weight.name.slice(0, Math.max(0, weight.name.lastIndexOf('.')));
    const leaf = block !== undefined && `${module}.`.startsWith(`${block}.`) ? block : module;
    const own = leaves.get(leaf) ?? [];
    leaves.set(leaf, own);
    if (weight.quantization !== 'none' || weight.localElements <= run['zero.persistenceThreshold']) continue;
    own.push(sizes.length);
    sizes.push(weight.localElements);
    names.push(weight.tiedTo ?? weight.name);
  }
  const layer = traced.stage.role === 'layer';
  const groups: { path: string; own: readonly number[] }[][] = [];
  let container: string | undefined;
  for (const [path, own] of leaves) {
    const beyond = containersOf(`${path}.`).at(-1) ?? containersOf(`${path}.weight`).at(-1) ?? '';
    if (beyond !== container || groups.length === 0) groups.push([]);
    container = beyond;
    groups.at(-1)?.push({ path, own });
  }
  const all = sizes.map((_, index) => index);
  const call = ({ path, own }: { path: string; own: readonly number[] }): Call => ({
    own,
    inside: own,
    leaf: path === block,
  });
  const forward: Call[] = layer ? [around(all)] : [];
  const backward: Call[] = layer ? [around(all)] : [];
  const contains = (group: readonly { path: string }[]) =>
    containersOf(`${group[0]?.path ?? ''}.weight`).length > 0;
  for (const group of groups) {
    if (contains(group)) forward.push(around(group.flatMap(({ own }) => own)));
    for (const one of group) forward.push(call(one));
    // The activation of the MLP.
    if (contains(group) && layer && group === groups.at(-1)) forward.push(around([]));
  }
  for (const group of [...groups].reverse()) {
    if (contains(group)) backward.push(around(group.flatMap(({ own }) => own)));
    if (contains(group) && layer && group === groups.at(-1)) backward.push(around([]));
    for (const one of [...group].reverse()) backward.push(call(one));
  }
  return { sizes, names, forward, backward };
}

/** The path of a layer's block of experts that is gathered whole: what the router and the experts are in. */
function expertBlock({ tape, wholeExperts }: TracedStage): string | undefined {
  const first = wholeExperts ? tape.weights.find(({ expert }) => expert)?.name : undefined;
  return first?.slice(0, first.indexOf('.experts'));
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
  'zero.maxLiveParameters',
  'zero.maxReuseDistance',
  'zero.persistenceThreshold',
  'zero.prefetchBucket',
];

/** Lengths, batches and clusters change around the same weights. */
const steps = remembered<Played>(16);

/** All that a micro step hangs on: how many weights of what size each module has, never what runs through them. */
function keyOf(stages: readonly TracedStage[], run: TrainingRun): string {
  let key = FIELDS.map((field) => String(run[field])).join();
  for (const { stage, copies, whole, tape, wholeExperts } of stages) {
    key += `;${stage.role} ${copies} ${whole === true} ${wholeExperts === true} ${tape.exit.some((x) => x.requiresGrad)}`;
    for (const { name, tiedTo, quantization, localElements } of tape.weights)
      key += `,${name} ${tiedTo ?? ''} ${quantization === 'none' ? localElements : 0}`;
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

/**
 * Plays DeepSpeed's coordinator over one micro step whose trace is known (`partitioned_param_coordinator.py`,
 * `fetch_sub_module`, `release_sub_module`).
 *
 * - A module's weights are gathered when it is called. Then weights of coming calls, while fewer than a prefetch bucket are
 *   on their way and fewer than `max_live_parameters` are whole: both are looked at before each weight, so the last one goes
 *   beyond, and a module fetches at least one whole weight ahead.
 * - It lets go of its weights, but for those that come again within the reuse distance, or whose next call the prefetch has
 *   passed already. That distance is of weights that are each module's own, so that of blocks of experts that are gathered whole none counts;
 *   to where such a block comes again it is of all that is in each module (`__params_to_release` asks the released module alone whether
 *   to look inside).
 */
function played(stages: readonly TracedStage[], run: TrainingRun): Played {
  const { visits, sizes } = visitsOf(stages, run);
  const bucket = run['zero.prefetchBucket'];
  const live = run['zero.maxLiveParameters'];
  const reuse = run['zero.maxReuseDistance'];
  const { uses, steps, next, nextInside, passed, passedInside } = traceOf(visits, sizes);
  const whole = new Uint8Array(sizes.length);
  const once = new Uint8Array(sizes.length);
  const fetchedFor = new Int32Array(sizes.length).fill(-1);
  let gathered = 0;
  let released = 0;
  let queue = 0;
  let most = 0;
  let step = 0;
  let use = 0;
  const forward: Span[][] = stages.map(() => []);
  const backward: Span[][] = stages.map(() => []);
  for (const { stage, back, base, modules } of visits) {
    const before: Gathered = { whole: gathered, released };
    let highest = gathered;
    for (const { own, leaf } of modules) {
      let expected = 0;
      for (const index of own) {
        const weight = base + index;
        if (whole[weight] === 0) gathered += sizes[weight] ?? 0;
        whole[weight] = 1;
        if ((fetchedFor[weight] ?? -1) < step) expected += 1;
      }
      for (; expected > 0 && queue < uses.length; expected--, queue++)
        fetchedFor[uses[queue] ?? 0] = steps[queue] ?? 0;
      const room = Math.min(live - gathered, bucket);
      for (let ahead = 0; bucket > 0 && ahead < room && queue < uses.length; queue++) {
        const weight = uses[queue] ?? 0;
        fetchedFor[weight] = Math.max(fetchedFor[weight] ?? -1, steps[queue] ?? 0);
        if (whole[weight] === 1) continue;
        whole[weight] = 1;
        ahead += sizes[weight] ?? 0;
        gathered += sizes[weight] ?? 0;
      }
      if (gathered > highest) highest = gathered;
      for (const index of own) {
        const weight = base + index;
        const again = (leaf ? nextInside : next)[use++] ?? -1;
        const distance = leaf ? passedInside : passed;
        const soon = again >= 0 && (distance[again] ?? 0) - (distance[step + 1] ?? 0) < reuse;
        if (soon || (fetchedFor[weight] ?? -1) > step || whole[weight] === 0) continue;
        whole[weight] = 0;
        gathered -= sizes[weight] ?? 0;
        if (once[weight] === 0) released += sizes[weight] ?? 0;
        once[weight] = 1;
      }
      step += 1;
    }
    most = Math.max(most, highest);
    const spans = back ? backward : forward;
    spans[stage]?.push({ before, most: highest, after: { whole: gathered, released } });
  }
  return { forward, backward, most };
}

/** What the coordinator knows of a micro step when it has seen one. */
interface Trace {
  /** Weights in the order of their uses, and the calls that use them. */
  readonly uses: Int32Array;
  readonly steps: Int32Array;
  /** The call that uses the same weight next, and that of a module that has it inside; -1 where none does. */
  readonly next: Int32Array;
  readonly nextInside: Int32Array;
  /** Elements of weights that are used before each call, and those of all that is in each module called before. */
  readonly passed: Float64Array;
  readonly passedInside: Float64Array;
}

function traceOf(visits: readonly Visit[], sizes: readonly number[]): Trace {
  const calls = visits.flatMap(({ base, modules }) => modules.map((call) => ({ base, ...call })));
  const count = calls.reduce((sum, { own }) => sum + own.length, 0);
  const uses = new Int32Array(count);
  const steps = new Int32Array(count);
  const passed = new Float64Array(calls.length + 1);
  const passedInside = new Float64Array(calls.length + 1);
  let use = 0;
  calls.forEach(({ base, own, inside, leaf }, step) => {
    const elements = (indices: readonly number[]) =>
      indices.reduce((sum, index) => sum + (sizes[base + index] ?? 0), 0);
    for (const index of own) {
      uses[use] = base + index;
      steps[use++] = step;
    }
    passed[step + 1] = (passed[step] ?? 0) + (leaf ? 0 : elements(own));
    passedInside[step + 1] = (passedInside[step] ?? 0) + elements(inside);
  });
  const next = new Int32Array(count);
  const nextInside = new Int32Array(count);
  const seen = new Int32Array(sizes.length).fill(-1);
  const seenInside = new Int32Array(sizes.length).fill(-1);
  for (let step = calls.length - 1; step >= 0; step--) {
    const { base, own, inside } = calls[step] ?? { base: 0, ...around([]) };
    use -= own.length;
    own.forEach((index, place) => {
      next[use + place] = seen[base + index] ?? -1;
      nextInside[use + place] = seenInside[base + index] ?? -1;
    });
    for (const index of own) seen[base + index] = step;
    for (const index of inside) seenInside[base + index] = step;
  }
  return { uses, steps, next, nextInside, passed, passedInside };
}

/** The modules of one micro step in the order of their calls, and the sizes of all weights in elements. */
function visitsOf(
  stages: readonly TracedStage[],
  run: TrainingRun,
): { readonly visits: readonly Visit[]; readonly sizes: readonly number[] } {
  const visits: Visit[] = [];
  const sizes: number[] = [];
  const ends = new Map<string, number>();
  const placed = stages.map((traced, stage) => {
    const modules = modulesOf(traced, run);
    const first = sizes.length;
    for (let copy = 0; copy < traced.copies; copy++) sizes.push(...modules.sizes);
    const own = { traced, stage, first, count: modules.sizes.length, ...modules };
    if (traced.stage.role === 'layer') return own;
    // A tied head is the embedding's weight once more.
    const known = modules.names.map((name) => ends.get(name));
    modules.names.forEach((name, index) => {
      if (known[index] === undefined) ends.set(name, first + index);
    });
    const moved = (indices: readonly number[]) =>
      indices.map((index) => (known[index] ?? first + index) - first);
    const move = ({ own, inside, leaf }: Call): Call => ({ own: moved(own), inside: moved(inside), leaf });
    return { ...own, forward: modules.forward.map(move), backward: modules.backward.map(move) };
  });
  for (const { traced, stage, first, count, forward } of placed)
    for (let copy = 0; copy < traced.copies; copy++)
      visits.push({ stage, back: false, base: first + copy * count, modules: forward });
  for (const { traced, stage, first, count, forward, backward } of [...placed].reverse()) {
    if (!traced.tape.exit.some((x) => x.requiresGrad)) continue;
    const checkpointed =
      traced.stage.role === 'layer' && run['activations.checkpointing'] !== 'none' && traced.whole !== true;
    const modules = checkpointed ? [...forward, ...backward] : backward;
    for (let copy = traced.copies - 1; copy >= 0; copy--)
      visits.push({ stage, back: true, base: first + copy * count, modules });
  }
  return { visits, sizes };
}
