import type { Range } from '../../text/place';
import type { Lines } from '../lines';
import { modulesAround } from './imports';
import type { LoadedModules, Namespace, PyModule } from './modules';
import type { SyntaxNode } from './syntax-node';
import type {
  PyArgument,
  PyAssignment,
  PyCall,
  PyClass,
  PyEither,
  PyScalar,
  PyScope,
  PyUnknown,
  PyValue,
} from './value';

/** Expressions and statements that are looked at: programs that call themselves over and over end here. */
const MOST_STEPS = 200_000;
/** Values that one name may have. */
const MOST_OPTIONS = 8;

/** How the run of a block ended: at its end, or before by `return`, `raise`, `break`. */
export type BlockEnd = 'next' | 'ended';

/** The modules around a program that is followed. */
export interface ProgramModules {
  readonly imports: ReadonlyMap<string, PyModule>;
  readonly loaded: LoadedModules;
  /** Address of an imported module; unset: it is the one that is run. */
  readonly uri?: string;
}

/** The state of an evaluation. */
export class Machine {
  readonly calls: PyCall[] = [];
  readonly assignments: PyAssignment[] = [];
  readonly attributes = new Map<number, Map<string, PyValue>>();
  readonly modules = new Set<string>();
  /** Modules of which everything is imported. */
  readonly stars: string[] = [];
  readonly classes: PyClass[] = [];
  /** Classes of the file by the call that made an object of them. */
  readonly instances = new Map<number, PyClass>();
  readonly environment: PyArgument[] = [];
  /** Modules of the workspace that were imported, by their names here. */
  readonly namespaces = new Map<string, Namespace>();
  readonly conditions: Range[] = [];
  readonly running: SyntaxNode[] = [];
  returns: PyValue[] = [];
  loops = 0;
  scope: PyScope = { values: new Map() };
  private steps = 0;

  constructor(
    readonly lines: Lines,
    readonly evaluate: (machine: Machine, node: SyntaxNode | undefined) => PyValue,
    readonly execute: (machine: Machine, node: SyntaxNode | undefined) => BlockEnd,
    private readonly around: ProgramModules,
  ) {}

  get isImported(): boolean {
    return this.around.uri !== undefined;
  }

  /** Follows a module of the workspace where it is one, with the packages that hold it. */
  import(module: string): Namespace | undefined {
    for (const name of modulesAround(module)) {
      const found = this.around.imports.get(name);
      if (found) this.namespaces.set(name, this.around.loaded.load(found, this.environment));
    }
    return this.namespaces.get(module);
  }
  /** What a name of an imported module is bound to; undefined where that is not followed. */
  fromModule(module: string, name: string): PyValue | undefined {
    const space = this.namespaces.get(module);
    return space && this.around.loaded.take(space, name);
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
    return this.around.uri === undefined ? range : { ...range, uri: this.around.uri };
  }

  lookup(name: string): PyValue | undefined {
    for (let scope: PyScope | undefined = this.scope; scope; scope = scope.outer) {
      const found = scope.values.get(name);
      if (found) return found;
    }
    return undefined;
  }
  bind(name: string, value: PyValue): void {
    this.scope.values.set(name, value);
  }

  scalar(value: PyScalar['value'], node: SyntaxNode, computed = true): PyScalar {
    return { kind: 'scalar', value, range: this.rangeOf(node), ...(computed ? { computed: true } : {}) };
  }
  unknown(node: SyntaxNode, more: Pick<PyUnknown, 'given' | 'of'> = {}): PyUnknown {
    return { kind: 'unknown', range: this.rangeOf(node), ...more };
  }

  /** Notes a call, and answers what it makes. */
  record(call: Omit<PyCall, 'id' | 'conditions' | 'repeated'>): PyValue {
    const id = this.calls.length;
    this.calls.push({ ...call, id, conditions: [...this.conditions], repeated: this.loops > 0 });
    return { kind: 'object', id, range: call.range };
  }
}

/** One of several values; the value itself where all are the same, unknown where they are too many. */
export function either(options: readonly PyValue[], because: Range, probe?: true): PyValue {
  const [first, second] = options;
  if (probe && first && second && !same(first, second))
    return { kind: 'either', options: [first, second], because, probe, range: first.range };
  const flat = options.flatMap((option) =>
    option.kind === 'either' && !option.probe ? option.options : [option],
  );
  const distinct = flat.filter((option, i) => flat.findIndex((other) => same(other, option)) === i);
  const [only] = distinct;
  if (!only) return { kind: 'unknown', range: because };
  if (distinct.length === 1) return only;
  if (distinct.length > MOST_OPTIONS) return { kind: 'unknown', range: only.range };
  return { kind: 'either', options: distinct, because, range: only.range };
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
  if (value.kind === 'object') return undefined;
  return value.kind === 'unknown' ? undefined : true;
}
