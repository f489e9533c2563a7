import type { PyCall, PyObject, PyProgram, PyScalar, PyValue } from '../../config/python/value';
import type { Range } from '../../text/place';
import { argumentOf } from './call-block';
import { makesModel } from './made-model';

/** Where the model that a trainer gets comes from. */
export interface ModelChain {
  /** `from_pretrained`, or the text that names the model. */
  readonly load?: PyCall;
  readonly name?: PyScalar;
  /** What was made of it on the way, first to last: `prepare_model_for_kbit_training`, `get_peft_model`, `to`. */
  readonly steps: readonly PyCall[];
  /** Calls that hand on the model, the first and the last among them. */
  readonly ids: ReadonlySet<number>;
  /** Where the way ends without a model that is known. */
  readonly lost?: Range;
  /** A branch decides about the way. */
  readonly branch?: Range;
  /** Calls that stand in the place of one on the way where the branch goes otherwise. */
  readonly instead: ReadonlySet<number>;
}

/** Functions that take a model first and give it back, changed. */
const HANDS_ON =
  /(^|\.)(get_peft_model|prepare_model_for_kbit_training|prepare_model_for_int8_training|compile|setup_chat_format|clone_chat_template|patch_model|for_training|dispatch_model|prepare_model|DataParallel|DistributedDataParallel|FullyShardedDataParallel)$/;
/** What gives the model out of what wraps it: `unwrap_model` of Accelerate and of transformers. */
const UNWRAPS = /(^|\.)(unwrap_model|extract_model_from_parallel)$/;
/** What makes a second object of a model (`copy`). */
const COPIES = /^copy\.(?:deep)?copy$/;
/** Methods that give back their model. */
export const GIVES_BACK =
  /^(to|cuda|cpu|half|float|bfloat16|train|eval|requires_grad_|merge_and_unload|gradient_checkpointing_enable|get_base_model|to_bettertransformer)$/;

/** How many branches in one another are compared. */
const DEEPEST = 3;

/** Follows a model back to where it is loaded. */
export function chainOf(program: PyProgram, model: PyValue | undefined, depth = 0): ModelChain {
  const steps: PyCall[] = [];
  const ids = new Set<number>();
  const instead = new Set<number>();
  let branch: Range | undefined;
  let value = model;
  const done = (end: Pick<ModelChain, 'load' | 'name' | 'lost'>): ModelChain => ({
    ...end,
    steps: steps.reverse(),
    ids,
    instead,
    ...(branch ? { branch } : {}),
  });
  for (;;) {
    const ways =
      value?.kind === 'either' && depth < DEEPEST
        ? value.options.map((option) => chainOf(program, option, depth + 1))
        : [];
    const last = ways.at(-1);
    // Accelerate may be given the model in one arm only: what is trained is the same.
    if (last && ways.every((way) => sameSteps(way, last))) {
      for (const way of ways) for (const id of way.ids) ids.add(id);
      const { load, name, lost } = last;
      branch ??= last.branch;
      for (const id of last.instead) instead.add(id);
      steps.push(...[...last.steps].reverse());
      return done({ ...(load ? { load } : {}), ...(name ? { name } : {}), ...(lost ? { lost } : {}) });
    }
    if (value?.kind === 'either') {
      branch ??= value.because;
      for (const option of value.options.slice(0, -1)) if (option.kind === 'object') instead.add(option.id);
      value = value.options.at(-1);
    }
    if (value?.kind === 'scalar' && typeof value.value === 'string') return done({ name: value });
    if (value?.kind !== 'object' || ids.has(value.id)) return done(value ? { lost: value.range } : {});
    const { item } = value;
    const call: PyCall | undefined = program.calls[value.id];
    if (!call) return done({ lost: value.range });
    ids.add(call.id);
    if (/\.(from_pretrained|from_config)$/.test(call.callee) && !call.of) {
      if (!/(^|\.)PeftModel\w*\.from_pretrained$/.test(call.callee)) return done({ load: call });
      steps.push(call);
      value = argumentOf(call, 'model', 0);
    } else if (makesModel(call)) {
      return done({ load: call });
    } else if (call.of && GIVES_BACK.test(call.callee)) {
      steps.push(call);
      value = call.of;
    } else if (/^(prepare|setup|setup_module)$/.test(call.callee) && call.of) {
      // Accelerate and Fabric give back what they are given, in the same order.
      const given = call.positional[item ?? 0];
      if (!given) return done({ lost: call.calleeRange });
      value = given;
    } else if (UNWRAPS.test(call.callee)) {
      value = argumentOf(call, 'model', 0);
    } else if (call.callee === 'deepspeed.initialize') {
      value = argumentOf(call, 'model', 1);
    } else if (COPIES.test(call.callee)) {
      // What a copy is of is seen. Of a model that is loaded there are two then, both of which lie somewhere: no way to the weights that train.
      const of = chainOf(program, argumentOf(call, 'x', 0), depth + 1);
      if (!of.load && !of.name) for (const id of of.ids) ids.add(id);
      return done({ lost: call.calleeRange });
    } else if (/(^|\.)inject_adapter_in_model$/.test(call.callee)) {
      steps.push(call);
      value = argumentOf(call, 'model', 1);
    } else if (HANDS_ON.test(call.callee)) {
      steps.push(call);
      value = argumentOf(call, 'model', 0) ?? argumentOf(call, 'module', 0);
    } else return done({ lost: call.calleeRange });
  }
}

/** Whether two ways begin with the same model: one that is loaded, or one that the code itself makes. */
const sameModel = (a: ModelChain, b: ModelChain): boolean =>
  a.load === b.load && (a.load !== undefined || (madeAt(a) !== undefined && madeAt(a) === madeAt(b)));

/** The call at which a way ends that leads to no model of a library. */
const madeAt = ({ load, name, ids }: ModelChain): number | undefined =>
  load || name ? undefined : [...ids].at(-1);

/** Whether two ways make the same of the same model, whoever hands it on. */
const sameSteps = (a: ModelChain, b: ModelChain): boolean =>
  sameModel(a, b) && a.steps.length === b.steps.length && a.steps.every((step, i) => step === b.steps[i]);

/** Of several objects that all hand on one model the last; undefined where they are of several models. */
export function ofOneModel(
  program: PyProgram,
  objects: readonly (PyObject | undefined)[],
): PyObject | undefined {
  const [first, ...others] = objects;
  const last = objects.at(-1);
  if (!first || !last || objects.includes(undefined)) return undefined;
  if (others.every((other) => other?.id === first.id && other.item === first.item)) return last;
  const way = chainOf(program, last);
  return objects.every((object) => sameModel(chainOf(program, object), way)) ? last : undefined;
}

/** Whether PEFT itself makes the adapters, also of a model that a library with adapters of its own has loaded. */
export function adaptedByPeft({ steps }: ModelChain): boolean {
  const put = steps.findLast(({ callee }) => /(^|\.)get_peft_model$/.test(callee));
  return put?.callee.startsWith('peft.') === true;
}

/** Calls on the way or of what it hands on, in the order of the text: methods, and functions that are given the model. */
export function callsOnModel(program: PyProgram, { ids, steps }: ModelChain, before: number): PyCall[] {
  return program.calls.filter((call) => {
    if (call.id >= before) return false;
    if (steps.includes(call)) return true;
    if (call.of && ids.has(call.of.id)) return true;
    const given = argumentOf(call, 'model', 0);
    return given?.kind === 'object' && ids.has(given.id);
  });
}
