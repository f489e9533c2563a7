import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import type { TracedStage } from '../traced-run';
import { containersOf, WHOLE_LAYER } from './leaf-modules';
import { gatheredElements } from './packed-weights';

/** A module that begins or ends. Every module has hooks, whether it has weights or not (`parameter_offload.py`, `_register_deepspeed_module`). */
export interface Call {
  /** It begins and fetches its weights, or it is over and lets go of them. */
  readonly enters: boolean;
  /** Its partitioned weights, by index, in the order of registration. */
  readonly own: readonly number[];
  /** Those of all modules in it, where it is none without. */
  readonly inside: readonly number[];
  /** It is one with all that is in it, which has no hooks (`zero_optimization.leaf_module`). */
  readonly leaf: boolean;
  /** Autograd keeps what it runs, or it runs backward. Neither: nothing is kept. */
  readonly pass?: 'graph' | 'backward';
}

/** Modules of one copy of a stage in the order of a pass. */
export interface Modules {
  readonly sizes: readonly number[];
  /** Weights of which autograd keeps a view. */
  readonly views: readonly boolean[];
  /** Names under which a weight is known to other stages. */
  readonly names: readonly string[];
  readonly forward: readonly Call[];
  readonly backward: readonly Call[];
}

/** A module with its weights, or one that has none but those of the modules in it. */
interface Module {
  readonly path: string;
  readonly own: readonly number[];
  readonly leaf: boolean;
}

const enter = ({ own, leaf }: Module): Call => ({ enters: true, own, inside: own, leaf });
const leave = ({ own, leaf }: Module): Call => ({ enters: false, own, inside: own, leaf });
const within = (calls: readonly Call[], pass: Call['pass']): Call[] =>
  calls.map((call) => ({ ...call, pass }));

/** A call of a module that has no weights but those of the modules in it. */
export const around = (inside: readonly number[]): Call => ({ enters: true, own: [], inside, leaf: false });

/** The modules that have weights, in the order of forward. */
function weightedModules(traced: TracedStage, run: TrainingRun) {
  const sizes: number[] = [];
  const views: boolean[] = [];
  const names: string[] = [];
  const { leaves = [] } = traced;
  const owners = new Map<string, number[]>();
  for (const weight of registered(traced)) {
    const path = weight.name.slice(0, Math.max(0, weight.name.lastIndexOf('.')));
    const owner = leaves.find((leaf) => leaf === WHOLE_LAYER || `${path}.`.startsWith(`${leaf}.`)) ?? path;
    const own = owners.get(owner) ?? [];
    owners.set(owner, own);
    const elements = gatheredElements(weight, run);
    if (elements <= run['zero.persistenceThreshold']) continue;
    own.push(sizes.length);
    sizes.push(elements);
    views.push(weight.viewed === true);
    names.push(weight.tiedTo ?? weight.name);
  }
  const modules: Module[] = [...owners].map(([path, own]) => ({ path, own, leaf: leaves.includes(path) }));
  return { sizes, views, names, modules };
}

/** Weights in the order in which their modules are built, of which a module that is a leaf makes its queue. */
function registered({ tape, expertsFirst }: TracedStage): TracedStage['tape']['weights'] {
  const first = tape.weights.find(({ expert }) => expert)?.name;
  if (first === undefined || expertsFirst !== true) return tape.weights;
  const block = first.slice(0, first.indexOf('.experts'));
  const rank = ({ name, expert }: { name: string; expert: boolean }) => {
    if (!name.startsWith(`${block}.`)) return 0;
    return expert ? 1 : 2;
  };
  const at = tape.weights.findIndex((weight) => rank(weight) > 0);
  const inside = tape.weights.filter((weight) => rank(weight) > 0);
  const before = tape.weights.slice(0, at);
  const after = tape.weights.slice(at).filter((weight) => rank(weight) === 0);
  return [...before, ...inside.sort((a, b) => rank(a) - rank(b)), ...after];
}

/** The calls of one copy of a stage. */
export function modulesOf(traced: TracedStage, run: TrainingRun): Modules {
  const { modules, ...weights } = weightedModules(traced, run);
  const isLayer = traced.stage.role === 'layer';
  const isLeaf = modules.some(({ path, leaf }) => leaf && path === WHOLE_LAYER);
  const layer = isLayer && !isLeaf ? [around(weights.sizes.map((_, index) => index))] : [];
  const forward = [...layer, ...walked(modules, false, isLayer)];
  const backward = within([...layer, ...walked([...modules].reverse(), true, isLayer)], 'backward');
  const recomputes =
    isLayer && !isLeaf && run['activations.checkpointing'] !== 'none' && traced.whole !== true;
  if (recomputes) return { ...weights, forward, backward: recomputed(forward, backward, run) };
  const isKept = traced.tape.exit.some((x) => x.requiresGrad);
  return { ...weights, forward: isKept ? within(forward, 'graph') : forward, backward };
}

/**
 * Backward of a layer that forward is run for again. Without reentrance the layer's last module has begun when something is missed that
 * was not kept, and forward stops where nothing more is: it never leaves that module (`torch/utils/checkpoint.py`, `early_stop`).
 */
function recomputed(forward: readonly Call[], backward: readonly Call[], run: TrainingRun): Call[] {
  // Hooks of the layer stand around what is run again, or are run again with it.
  const outside = behaviours(run).hooksAroundCheckpoints ? 1 : 0;
  const again = within(forward.slice(outside), 'graph');
  if (run['activations.reentrant'])
    return [...backward.slice(0, outside), ...again, ...backward.slice(outside)];
  const begun = backward.findIndex(({ enters }) => !enters);
  const stopped = again.findLastIndex(({ enters }) => !enters);
  return [...backward.slice(0, begun), ...again.slice(0, stopped), ...backward.slice(begun)];
}

/**
 * Begins and ends of modules and of what they are in. Backward enters a module before what is in it, too. The last ones of a layer, and
 * stacks of experts, have an activation in them.
 */
function walked(modules: readonly Module[], isBackward: boolean, layer: boolean): Call[] {
  const calls: Call[] = [];
  let open: string[] = [];
  const last = modules.at(isBackward ? 0 : -1);
  const down = layer && last && containersOf(last.path).length > 0 && !last.leaf ? last : undefined;
  for (const module of modules) {
    const containers = containersOf(module.path);
    for (const container of containers) {
      if (open.includes(container)) continue;
      const inside = modules.filter(({ path }) => path.startsWith(`${container}.`));
      calls.push(around(inside.flatMap(({ own }) => own)));
    }
    open = containers;
    if (module === down && !isBackward) calls.push(around([]));
    calls.push(enter(module));
    if (!module.leaf && module.path.endsWith('.experts')) calls.push(around([]));
    calls.push(leave(module));
    if (module === down && isBackward) calls.push(around([]));
  }
  return calls;
}
