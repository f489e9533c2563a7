import type { Range } from '../../text/place';
import type { Lines } from '../lines';
import type { MapNode } from '../node';
import type { DataFiles } from './data-files';
import { modulesAround } from './imports';
import { goneModels } from './local-models';
import { isMadeOf, MAKES } from './made-of';
import type { LoadedModules } from './modules';
import type { SyntaxNode } from './syntax-node';
import type {
  ModuleContext,
  Namespace,
  Probe,
  PyArgument,
  PyAssignment,
  PyCall,
  PyClass,
  PyDict,
  PyEither,
  PyList,
  PyLoop,
  PyScalar,
  PyScope,
  PyUnknown,
  PyValue,
  WeightCast,
} from './value';

/** Expressions and statements that are looked at: programs that call themselves over and over end here. */
const MOST_STEPS = 200_000;
/** Values that one name may have. */
const MOST_OPTIONS = 8;

/** How the run of a block ended: at its end, or before by `return` and `break`; `stopped` where the program stops there by `raise` or `exit()`. */
export type BlockEnd = 'next' | 'ended' | 'stopped';

/** The arguments of a class of a library. */
export type ArgumentsOf = (name: string) => readonly string[] | undefined;

/** What lies around a program that is followed. */
interface ProgramModules {
  readonly loaded: LoadedModules;
  readonly data: DataFiles;
  /** What the command that starts the program gives; unset: nobody knows. */
  readonly command?: MapNode;
  readonly argumentsOf?: ArgumentsOf;
}

/** The state of an evaluation. */
export class Machine {
  readonly calls: PyCall[] = [];
  readonly assignments: PyAssignment[] = [];
  readonly casts: WeightCast[] = [];
  readonly attributes = new Map<number, Map<string, PyValue>>();
  readonly modules = new Set<string>();
  /** Modules of which everything is imported. */
  readonly stars: string[] = [];
  readonly classes: PyClass[] = [];
  /** Classes of the file by the call that made an object of them. */
  readonly instances = new Map<number, PyClass>();
  readonly environment: PyArgument[] = [];
  readonly conditions: Range[] = [];
  /** Conditions of a loop's body under which it went on to the next round before what follows. */
  passed: readonly Range[] = [];
  /** How often `continue` was met. */
  continued = 0;
  /** What names were bound to where the loop that is followed now was left, or its round. */
  left: ReadonlyMap<string, PyValue>[] = [];
  /** The same as they stand in the text. */
  readonly asked: SyntaxNode[] = [];
  readonly running: SyntaxNode[] = [];
  returns: PyValue[] = [];
  loops = 0;
  /** Loops that are followed now, each inside of the one before, and how many conditions stand around the first. */
  readonly rounds: PyLoop[] = [];
  outside = 0;
  /** How many `try` with something that handles a failure stand around what is followed now. */
  tried = 0;
  /** How many `with torch.no_grad():` stand around what is followed now. */
  graphless = 0;
  scope: PyScope = { values: new Map() };
  /** Scopes of the calls that are waiting for the one that is followed. */
  readonly callers: PyScope[] = [];
  private steps = 0;
  /** Models that no name holds any more, with how many calls came before. */
  readonly released = new Map<number, number>();
  /** Calls that loaded a model. */
  private readonly loads: number[] = [];

  /** `context`: the module whose statements are followed now; a call of a function changes to that of the function. */
  constructor(
    public context: ModuleContext,
    readonly evaluate: (machine: Machine, node: SyntaxNode | undefined) => PyValue,
    readonly execute: (machine: Machine, node: SyntaxNode | undefined) => BlockEnd,
    private readonly around: ProgramModules,
  ) {}

  get lines(): Lines {
    return this.context.lines;
  }
  get namespaces(): ReadonlyMap<string, Namespace> {
    return this.context.namespaces;
  }
  get data(): DataFiles {
    return this.around.data;
  }
  get file(): string | undefined {
    return this.context.file;
  }
  get argumentsOf(): ArgumentsOf | undefined {
    return this.around.argumentsOf;
  }
  get command(): MapNode | undefined {
    return this.around.command;
  }
  get isImported(): boolean {
    return this.context.uri !== undefined;
  }

  /** Follows a module of the workspace where it is one, with the packages that hold it. */
  import(module: string): Namespace | undefined {
    for (const name of modulesAround(module)) {
      const found = this.context.imports.get(name);
      if (found) this.context.namespaces.set(name, this.around.loaded.load(found, this.environment));
    }
    return this.namespaces.get(module);
  }
  /** What a name of an imported module is bound to; undefined where that is not followed. */
  fromModule(module: string, name: string): PyValue | undefined {
    const space = this.namespaces.get(module);
    return space && this.around.loaded.take(space, name);
  }
  /** Something of a module is used. */
  uses(uri: string): void {
    this.around.loaded.used.add(uri);
  }
  /** The module is handed to code that may change it: nothing in it is known from here on. */
  forget(module: string): void {
    const values = this.namespaces.get(module)?.values;
    for (const [name, { range }] of values ?? []) values?.set(name, { kind: 'unknown', range });
  }

  /** False where the program is given up. */
  step(): boolean {
    this.steps += 1;
    return this.steps < MOST_STEPS;
  }
  /** Something was compared with how much memory the GPU has, or asked of the type that a model is published in. */
  asks = false;

  get truncated(): boolean {
    return this.steps >= MOST_STEPS;
  }

  textOf(node: SyntaxNode): string {
    return this.lines.text.slice(node.start, node.end);
  }
  /** As it is written, on one line and no longer than a message bears. */
  shown(node: SyntaxNode): string {
    const text = this.textOf(node).slice(0, 200).replace(/\s+/g, ' ');
    return text.length > 60 ? `${text.slice(0, 57)}...` : text;
  }
  rangeOf(node: SyntaxNode): Range {
    const range = this.lines.range(node.start, node.end);
    return this.context.uri === undefined ? range : { ...range, uri: this.context.uri };
  }

  lookup(name: string): PyValue | undefined {
    for (let scope: PyScope | undefined = this.scope; scope; scope = scope.outer) {
      const found = scope.values.get(name);
      if (found) return found;
    }
    return undefined;
  }
  bind(name: string, value: PyValue): void {
    const before = this.scope.values.get(name);
    this.scope.values.set(name, value);
    if (before) this.release(before);
  }
  /** A name of the module is deleted. */
  delete(name: string): void {
    const before = this.scope.values.get(name);
    if (before && this.conditions.length === 0) this.bind(name, { kind: 'unknown', range: before.range });
  }

  /** Notes that nothing of the module holds any more of the models that a value is made of, where that is sure. */
  private release(value: PyValue): void {
    if (value.kind !== 'object' || this.scope.outer || this.callers.length > 0) return;
    if (this.conditions.length > 0) return;
    const loads = this.loads.filter((id) => !this.released.has(id) && isMadeOf(value, id, this.calls));
    if (loads.length === 0) return;
    const held = [...this.scope.values.values(), ...this.assignments.map((one) => one.value)];
    for (const id of loads)
      if (!held.some((one) => isMadeOf(one, id, this.calls))) this.released.set(id, this.calls.length);
  }

  /** A function of the file has returned: `before` calls came before it, and its names are in sight no more. */
  leave(before: number, body: string, names: ReadonlyMap<string, PyValue>, values: readonly PyValue[]): void {
    const made = this.loads.filter((id) => id >= before && !this.released.has(id));
    if (made.length === 0) return;
    const inSight = this.assignments.map(({ value }) => value);
    for (const of of this.attributes.values()) inSight.push(...of.values());
    for (const start of [this.scope, ...this.callers])
      for (let scope: PyScope | undefined = start; scope; scope = scope.outer)
        inSight.push(...scope.values.values());
    for (const id of goneModels(made, { body, names, values }, inSight, this.calls))
      this.released.set(id, this.calls.length);
  }

  /**
   * A dictionary or a list is changed in place: whatever names it, or something that holds it, has the change. Names of callers
   * and of modules, where a condition decides about it, have something that is not known.
   */
  change(before: PyDict | PyList | PyUnknown, after: PyDict | PyList | PyUnknown): void {
    const scopes = new Set<PyScope>();
    for (const start of [this.scope, ...this.callers])
      for (let scope: PyScope | undefined = start; scope; scope = scope.outer) scopes.add(scope);
    const unsettled = this.conditions.length > 0;
    for (const scope of scopes)
      changeIn(scope.values, before, unsettled && scope !== this.scope ? unknownAt(after) : after);
    for (const { values } of this.around.loaded.namespaces)
      changeIn(values, before, unsettled || this.isImported ? unknownAt(after) : after);
  }

  scalar(value: PyScalar['value'], node: SyntaxNode, computed = true): PyScalar {
    return { kind: 'scalar', value, range: this.rangeOf(node), ...(computed ? { computed: true } : {}) };
  }
  unknown(node: SyntaxNode, more: Omit<PyUnknown, 'kind' | 'range'> = {}): PyUnknown {
    return { kind: 'unknown', range: this.rangeOf(node), ...more };
  }

  /** Notes a call, and answers what it makes. */
  record(call: Omit<PyCall, 'id' | 'conditions' | 'repeated' | 'loops' | 'outside' | 'graphless'>): PyValue {
    const id = this.calls.length;
    const conditions = [...this.conditions, ...this.passed];
    const loops = [...this.rounds];
    const around = {
      ...(loops.length > 0 ? { outside: this.outside } : {}),
      ...(this.graphless > 0 ? { graphless: true as const } : {}),
    };
    this.calls.push({ ...call, id, conditions, repeated: this.loops > 0, loops, ...around });
    if (MAKES.test(call.callee)) this.loads.push(id);
    return { kind: 'object', id, range: call.range };
  }
}

const unknownAt = ({ range }: PyValue): PyUnknown => ({ kind: 'unknown', range });

function changeIn(values: Map<string, PyValue>, before: PyValue, after: PyValue): void {
  for (const [name, value] of values) {
    const changed = replaced(value, before, after);
    if (changed !== value) values.set(name, changed);
  }
}

/** Deeper nests are data. */
const DEEPEST = 24;

/** A value with another one in the place of one that it holds; itself where it does not hold it. */
function replaced(value: PyValue, before: PyValue, after: PyValue, depth = 0): PyValue {
  if (value === before) return after;
  if (depth > DEEPEST) return value;
  if (value.kind === 'dict') {
    const values = value.entries.map((entry) => replaced(entry.value, before, after, depth + 1));
    if (values.every((one, i) => one === value.entries[i]?.value)) return value;
    return {
      ...value,
      entries: value.entries.map((entry, i) => ({ ...entry, value: values[i] ?? entry.value })),
    };
  }
  const inner = value.kind === 'list' ? value.items : value.kind === 'either' ? value.options : undefined;
  const values = inner?.map((one) => replaced(one, before, after, depth + 1));
  if (!inner || !values || values.every((one, i) => one === inner[i])) return value;
  return value.kind === 'list' ? { ...value, items: values } : { ...(value as PyEither), options: values };
}

/** One of several values; the value itself where all are the same, unknown where they are too many. */
export function either(options: readonly PyValue[], because: Range, probe?: Probe): PyValue {
  const [first, second] = options;
  if (probe && first && second && !same(first, second))
    return { kind: 'either', options: [first, second], because, probe, range: first.range };
  const flat = options.flatMap((option) =>
    option.kind === 'either' && !option.probe ? option.options : [option],
  );
  const distinct = flat.filter((option, i) => flat.findIndex((other) => same(other, option)) === i);
  const [only] = distinct;
  if (distinct.length > 1 && distinct.every((option) => option.kind === 'dict'))
    return joinedDict(distinct, because);
  if (!only) return { kind: 'unknown', range: because };
  if (distinct.length === 1) return only;
  if (distinct.length > MOST_OPTIONS) return { kind: 'unknown', range: only.range };
  return { kind: 'either', options: distinct, because, range: only.range };
}

/** A dictionary that a condition decides about, key by key. */
function joinedDict(options: readonly PyDict[], because: Range): PyDict {
  const [first] = options;
  const keys = new Map(options.flatMap(({ entries }) => entries.map((entry) => [entry.key, entry] as const)));
  const entries = [...keys.values()].map((entry): PyArgument => {
    const found = options.map((option) => option.entries.find(({ key }) => key === entry.key));
    const values = found.map((one) => one?.value ?? ({ kind: 'unknown', range: because } as const));
    const isSure = found.every((one) => one && !one.maybe);
    return { ...entry, value: either(values, because), ...(isSure ? {} : { maybe: true }) };
  });
  return {
    kind: 'dict',
    entries,
    range: first?.range ?? because,
    ...(options.some(({ open }) => open) ? { open: true } : {}),
    ...(options.some(({ attributes }) => attributes) ? { attributes: true } : {}),
  };
}

/** Whether two values are known to be equal. */
export function same(a: PyValue, b: PyValue): boolean {
  if (a === b) return true;
  if (a.kind === 'scalar' && b.kind === 'scalar') return a.value === b.value;
  if (a.kind === 'name' && b.kind === 'name') return a.name === b.name;
  if (a.kind === 'object' && b.kind === 'object') return a.id === b.id && a.item === b.item;
  if (a.kind === 'list' && b.kind === 'list')
    return (
      a.items.length === b.items.length &&
      a.items.every((item, i) => b.items[i] !== undefined && same(item, b.items[i]))
    );
  return false;
}

/** A function of values, of each of several where one of them is not settled. */
export function lifted(values: readonly PyValue[], apply: (values: readonly PyValue[]) => PyValue): PyValue {
  const index = values.findIndex(({ kind }) => kind === 'either');
  const open = values[index] as PyEither | undefined;
  if (!open) return apply(values);
  const results = open.options.map((option) =>
    lifted(
      values.map((value, i) =>
        i === index || (value.kind === 'either' && value.because === open.because && value.probe)
          ? ((value as PyEither).options[open.options.indexOf(option)] ?? option)
          : value,
      ),
      apply,
    ),
  );
  return either(results, open.because, open.probe);
}

/** Whether a value counts as true; undefined where that is not known. */
export function truth(value: PyValue): boolean | undefined {
  if (value.kind === 'scalar') return value.value !== null && value.value !== '' && Boolean(value.value);
  if (value.kind === 'list') return value.items.length > 0;
  if (value.kind === 'dict') return value.open ? undefined : value.entries.length > 0;
  if (value.kind === 'either') {
    const [first, ...rest] = value.options.map(truth);
    return rest.every((other) => other === first) ? first : undefined;
  }
  if (value.kind === 'object' || (value.kind === 'name' && mayBeFalse(value.name))) return undefined;
  return value.kind === 'unknown' ? undefined : true;
}

/** A name that nothing in sight binds may be anything. */
const mayBeFalse = (name: string): boolean => !name.includes('.') || ANSWER.test(name);

/** Names of other modules' values that answer a question, and are no function or class where they are asked: `is_transformers_ge_v5`, `HAS_FLASH`, `torch.version.hip`. */
const ANSWER = /(?:^|\.)_*(?:is|has|use|supports?)_\w+$|_(?:available|supported|enabled)$|^torch\.version\./i;
