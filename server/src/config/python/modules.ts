import type { Lines } from '../lines';
import { LIBRARY } from './imports';
import { childIn, type SyntaxNode } from './syntax-node';
import type {
  ModuleContext,
  Namespace,
  PyArgument,
  PyClass,
  PyDict,
  PyFunction,
  PyModule,
  PyScope,
  PyValue,
} from './value';
import { argumentAt } from './value';

/** A module after its last statement. */
interface FollowedModule {
  readonly scope: PyScope;
  readonly context: ModuleContext;
  /** Modules of which it takes everything, and that are not here. */
  readonly stars: readonly string[];
  readonly truncated: boolean;
  /** What objects hold, by the calls that made them. */
  readonly attributes: ReadonlyMap<number, ReadonlyMap<string, PyValue>>;
  /** Calls that made an object of a class which is here. */
  readonly instances: ReadonlyMap<number, PyClass>;
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
    const followed = this.follow(module, this, environment);
    const { scope, context, stars, truncated } = followed;
    const isOpaque = truncated || OPAQUE.test(lines.text) || stars.some((star) => !LIBRARY.test(star));
    const changing = new Set<string>();
    this.#look(lines, tree, false, changing);
    // Its functions see what others see of it: what calls made is known while the module itself is followed, no longer.
    const lent: PyScope = { values: space.values };
    for (const [name, value] of scope.values) {
      const kept = exported(settled(value, followed), lent, context);
      if (!kept) continue;
      const unknown = isOpaque || changing.has(name);
      if (unknown && (kept.kind === 'function' || kept.kind === 'class')) continue;
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

  /** Those of all modules that were followed. */
  get namespaces(): Iterable<Namespace> {
    return this.#known.values();
  }

  /** The value of a name of a module; undefined where the module binds none that is known to be a value. */
  take({ uri, values }: Namespace, name: string): PyValue | undefined {
    const value = values.get(name);
    if (!value) return undefined;
    // That something is called or made is noted when it is.
    if (value.kind !== 'function' && value.kind !== 'class') this.used.add(uri);
    if (this.#rebound.has(name)) return { kind: 'unknown', range: value.range };
    return value.kind === 'dict' && value.attributes ? this.#unbound(value) : value;
  }

  /** Settings without those that a function may set. */
  #unbound(value: PyDict): PyDict {
    const entries = value.entries.map((entry): PyArgument => {
      const { key, value: held } = entry;
      if (this.#rebound.has(key)) return { ...entry, value: { kind: 'unknown', range: held.range } };
      return held.kind === 'dict' ? { ...entry, value: this.#unbound(held) } : entry;
    });
    return { ...value, entries };
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

/** A base of settings: a class that is here, or one of a library that does nothing else. */
const holdsSettings = (base: PyValue): boolean =>
  base.kind === 'class' ||
  (base.kind === 'name' && /(?:^|\.)(?:object|ABC|BaseModel|BaseSettings)$/.test(base.name));

/** An object of a class of the module's own as what it holds: settings that another module reads. */
function settled(value: PyValue, followed: FollowedModule, depth = 0): PyValue {
  if (value.kind !== 'object' || value.item !== undefined || depth > DEEPEST) return value;
  const held = followed.attributes.get(value.id);
  const made = followed.instances.get(value.id);
  if (!held || held.size === 0 || !made?.bases.every(holdsSettings)) return value;
  const entries = [...held].map(([key, one]) => argumentAt(key, settled(one, followed, depth + 1)));
  return { kind: 'dict', entries, attributes: true, range: value.range };
}

/** A value as another module may take it: what calls made lies in the module alone. Undefined where only its name is known. */
function exported(value: PyValue, lent: PyScope, home: ModuleContext): PyValue | undefined {
  if (value.kind === 'function') return ownFunction(value, lent, home);
  if (value.kind === 'class') return isKnown(value) ? ownClass(value, lent, home) : undefined;
  return value.kind === 'name' && !LIBRARY.test(value.name) ? undefined : plain(value);
}

/** A function that the module defines itself. */
const ownFunction = (value: PyFunction, scope: PyScope, home: ModuleContext): PyFunction =>
  value.home === home && value.filled === undefined ? { ...value, scope } : value;

/** Bases that give a class nothing that could change its constants. */
const PLAIN_BASE =
  /^(?:object|(?:pydantic\.)?BaseModel|(?:abc\.)?ABC|(?:typing\.)?(?:NamedTuple|Generic|Protocol))$/;

/** Whether everything that a class inherits from is known by its name. */
const isKnown = ({ bases }: PyClass, depth = 0): boolean =>
  depth > DEEPEST ||
  bases.every((base) =>
    base.kind === 'class'
      ? isKnown(base, depth + 1)
      : base.kind === 'name' && (PLAIN_BASE.test(base.name) || LIBRARY.test(base.name)),
  );

/** A class with its methods, and its bases as far as they are classes or libraries'. */
function ownClass(value: PyClass, scope: PyScope, home: ModuleContext, depth = 0): PyClass {
  // One that it imports is that of the other module.
  if (depth > DEEPEST || value.range.uri !== home.uri) return value;
  return {
    ...value,
    bases: value.bases.map((base) => (base.kind === 'class' ? ownClass(base, scope, home, depth + 1) : base)),
    fields: new Map([...value.fields].map(([name, field]) => [name, plain(field)])),
    methods: new Map([...value.methods].map(([name, method]) => [name, ownFunction(method, scope, home)])),
  };
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
