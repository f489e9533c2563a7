import type { Lines } from '../lines';
import { LIBRARY } from './imports';
import { childIn, type SyntaxNode } from './syntax-node';
import type { PyArgument, PyClass, PyScope, PyValue } from './value';

/** A module of the workspace that a text imports. */
export interface PyModule {
  readonly uri: string;
  readonly tree: SyntaxNode;
  readonly lines: Lines;
  /** What it imports itself, by the name that it is written with. */
  readonly imports: ReadonlyMap<string, PyModule>;
}

/** The values that a module binds at its top level. Functions and classes are none: they are known by their names. */
export interface Namespace {
  readonly uri: string;
  readonly values: Map<string, PyValue>;
}

/** A module after its last statement. */
export interface FollowedModule {
  readonly scope: PyScope;
  /** Modules of which it takes everything, and that are not here. */
  readonly stars: readonly string[];
  readonly truncated: boolean;
}

/** Code that may bind names in a way that cannot be followed. */
const OPAQUE = /\b(?:exec|globals|locals|vars|setattr|__getattr__|__dict__|sys\.modules)\b/;

/** Modules of one program, each followed once. */
export class LoadedModules {
  /** Addresses of those that a value was taken from. */
  readonly used = new Set<string>();
  readonly #known = new Map<string, Namespace>();
  /** Attributes that functions of the modules set on something, which may be a module. */
  readonly #rebound = new Set<string>();

  constructor(
    private readonly follow: (
      module: PyModule,
      loaded: LoadedModules,
      environment: PyArgument[],
    ) => FollowedModule,
  ) {}

  /** A module that is being followed binds nothing yet: circles end there. `environment`: variables that are set, which it may add to. */
  load(module: PyModule, environment: PyArgument[]): Namespace {
    const { uri, tree, lines } = module;
    const known = this.#known.get(uri);
    if (known) return known;
    const space: Namespace = { uri, values: new Map() };
    this.#known.set(uri, space);
    const { scope, stars, truncated } = this.follow(module, this, environment);
    const isOpaque = truncated || OPAQUE.test(lines.text) || stars.some((star) => !LIBRARY.test(star));
    const changing = new Set<string>();
    this.#look(lines, tree, false, changing);
    for (const [name, value] of scope.values) {
      const kept = exported(value);
      if (!kept) continue;
      const unknown = isOpaque || changing.has(name);
      space.values.set(name, unknown ? { kind: 'unknown', range: value.range } : kept);
    }
    this.#forgetRebound();
    return space;
  }

  /** A function that any module has may set what a class of another holds. */
  #forgetRebound(): void {
    for (const { values } of this.#known.values())
      for (const value of values.values()) {
        if (value.kind !== 'class') continue;
        for (const [field, { range }] of value.fields)
          if (this.#rebound.has(field)) value.fields.set(field, { kind: 'unknown', range });
      }
  }

  /** The value of a name of a module; undefined where the module binds none that is known to be a value. */
  take({ uri, values }: Namespace, name: string): PyValue | undefined {
    const value = values.get(name);
    if (!value) return undefined;
    this.used.add(uri);
    return this.#rebound.has(name) ? { kind: 'unknown', range: value.range } : value;
  }

  /** Names that functions of the module bind anew when they are called. */
  #look(lines: Lines, node: SyntaxNode, inFunction: boolean, changing: Set<string>): void {
    const textOf = ({ start, end }: SyntaxNode) => lines.text.slice(start, end);
    if (node.type === 'global_statement') for (const child of node.children) changing.add(textOf(child));
    if (inFunction && /^(augmented_)?assignment$/.test(node.type)) {
      const left = childIn(node, 'left');
      const attribute = left?.type === 'attribute' ? childIn(left, 'attribute') : undefined;
      const owner = left && childIn(left, 'object');
      if (attribute && owner && textOf(owner) !== 'self') this.#rebound.add(textOf(attribute));
    }
    const inside = inFunction || node.type === 'function_definition';
    for (const child of node.children) this.#look(lines, child, inside, changing);
  }
}

/** A value as another module may take it: what calls made lies in the module alone. Undefined where only its name is known. */
function exported(value: PyValue): PyValue | undefined {
  if (value.kind === 'function') return undefined;
  if (value.kind === 'class') return isConstants(value) ? constantsOf(value) : undefined;
  return value.kind === 'name' && !LIBRARY.test(value.name) ? undefined : plain(value);
}

/** Whether a class holds constants alone: nothing that it inherits or does can change them. */
const isConstants = ({ bases, methods, isDataclass }: PyClass) =>
  !isDataclass && methods.size === 0 && bases.every((base) => base.kind === 'name' && base.name === 'object');

function constantsOf(made: PyClass): PyClass {
  for (const [name, value] of made.fields) made.fields.set(name, plain(value));
  return made;
}

/** Deeper nests are data. */
const DEEPEST = 20;

function plain(value: PyValue, depth = 0): PyValue {
  const unknown: PyValue = { kind: 'unknown', range: value.range };
  const inner = (one: PyValue) => plain(one, depth + 1);
  if (depth > DEEPEST) return unknown;
  switch (value.kind) {
    case 'scalar':
      return value;
    case 'name':
      return LIBRARY.test(value.name) ? value : unknown;
    case 'list':
      return { ...value, items: value.items.map(inner) };
    case 'dict':
      return {
        ...value,
        entries: value.entries.map((entry) => ({ ...entry, value: inner(entry.value) })),
      };
    case 'either':
      return { ...value, options: value.options.map(inner) };
    case 'unknown':
      return value.given ? { ...unknown, given: value.given } : unknown;
    default:
      return unknown;
  }
}
