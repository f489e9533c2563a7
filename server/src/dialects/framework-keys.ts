import { isAtLeast } from '../terms/version';

type Value = string | number | boolean | null | readonly unknown[] | Readonly<Record<string, unknown>>;

/** JSON types that a key takes. */
export type JsonType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'any';

/** A key as the framework's own source has it, over the releases that were looked at. */
export interface FrameworkKey {
  readonly type: JsonType | 'null';
  /** Closed set of values, if any. */
  readonly values?: readonly (string | number | boolean)[];
  readonly nullable?: boolean;
  /** In the newest release that has the key; absent where it is no literal. */
  readonly default?: Value;
  /** First release with the key; absent where the oldest one has it. */
  readonly since?: string;
  /** First release without it; absent where the newest one has it. */
  readonly until?: string;
  /** Where the default changed: first release with each, oldest first. */
  readonly defaults?: readonly (readonly [release: string, value: Value | '?'])[];
}

interface Line extends FrameworkKey {
  readonly table: string;
  readonly key: string;
}

interface Head {
  /** Package, or repository, that the files are of. */
  readonly source: string;
  /** Address of the files of a release, with `{version}` in it. */
  readonly link: string;
  /** Releases that were looked at, oldest first. */
  readonly versions: readonly string[];
  readonly tables: Readonly<
    Record<string, { readonly file: string; readonly extends?: string; readonly without?: readonly string[] }>
  >;
}

/**
 * The keys that a framework takes, as `scripts/framework-keys` read them from its releases: names, types, defaults and
 * choices. Parsed when first asked for.
 */
export class FrameworkKeys {
  readonly #text: () => string;
  #parsed: { readonly head: Head; readonly tables: Map<string, Map<string, FrameworkKey>> } | undefined;

  /** `text` is a file of `server/data/framework-keys`: where those lie beside the bundle, it is read when it is asked for. */
  constructor(text: () => string) {
    this.#text = text;
  }

  /** Package, or repository, that the releases are of. */
  get source(): string {
    return this.#content().head.source;
  }

  /** Releases that were looked at, oldest first. */
  get versions(): readonly string[] {
    return this.#content().head.versions;
  }

  get tableNames(): readonly string[] {
    return Object.keys(this.#content().head.tables);
  }

  /** Keys of a class, function or parser by dotted path, with what it inherits; empty where there is none of that name. */
  table(name: string): ReadonlyMap<string, FrameworkKey> {
    const { head, tables } = this.#content();
    const own = tables.get(name) ?? new Map<string, FrameworkKey>();
    const { extends: parent, without = [] } = head.tables[name] ?? { file: '' };
    if (parent === undefined) return own;
    const lacking = new Set(without);
    const inherited = [...this.table(parent)].filter(([key]) => !lacking.has(key));
    return new Map([...inherited, ...own]);
  }

  /** Where a table stands in the source of a release, the newest one by default. */
  sourceOf(table: string, version = this.versions.at(-1) ?? ''): string {
    const { head } = this.#content();
    return `${head.link.replace('{version}', version)}${head.tables[table]?.file ?? ''}`;
  }

  #content() {
    if (this.#parsed) return this.#parsed;
    const [first = '{}', ...lines] = this.#text()
      .split('\n')
      .filter((line) => line !== '');
    const head = JSON.parse(first) as Head;
    const tables = new Map<string, Map<string, FrameworkKey>>();
    for (const line of lines) {
      const { table, key, ...entry } = JSON.parse(line) as Line;
      const keys = tables.get(table) ?? new Map<string, FrameworkKey>();
      keys.set(key, entry);
      tables.set(table, keys);
    }
    this.#parsed = { head, tables };
    return this.#parsed;
  }
}

/** How a release of a framework stands to a key that some release knows: it has it, it is too old, or it is too new. */
type Presence = 'present' | { readonly since: string } | { readonly until: string };

/** A framework and those of its tables that a family's files are made of. */
export type FrameworkTables = readonly [keys: FrameworkKeys, ...tables: string[]];

/** The keys that the files of a family take, as the releases of its frameworks have them; of several tables the first decides. */
export class ReleasedKeys {
  readonly #sources: readonly FrameworkTables[];
  #tables:
    | readonly {
        readonly source: string;
        readonly keys: ReadonlyMap<string, FrameworkKey>;
        readonly versions: readonly string[];
      }[]
    | undefined;

  /** Without names of tables, all of a framework's. */
  constructor(...sources: readonly FrameworkTables[]) {
    this.#sources = sources;
  }

  /** Every key of any release. */
  names(): readonly string[] {
    return this.#read().flatMap(({ keys }) => [...keys.keys()]);
  }

  /** What each of the tables states of a key, by its dotted path. */
  all(path: string): readonly FrameworkKey[] {
    return this.#read().flatMap(({ keys }) => keys.get(path) ?? []);
  }

  /**
   * The package that a key is of and the first release that was looked at with it. Undefined where the oldest has it, or where it may be of
   * several packages.
   */
  firstWith(path: string): { readonly source: string; readonly release: string } | undefined {
    let first: { readonly source: string; readonly release: string } | undefined;
    for (const { source, keys } of this.#read()) {
      const key = keys.get(path);
      if (!key) continue;
      if (key.since === undefined || (first && first.source !== source)) return undefined;
      if (!first || isAtLeast(first.release, key.since) === true) first = { source, release: key.since };
    }
    return first;
  }

  /** The package that a key was of and the last release that was looked at with it. Undefined where any newest release has it. */
  lastWith(path: string): { readonly source: string; readonly release: string } | undefined {
    let last: { readonly source: string; readonly release: string } | undefined;
    for (const { source, keys, versions } of this.#read()) {
      const key = keys.get(path);
      if (!key) continue;
      const release = key.until === undefined ? undefined : versions[versions.indexOf(key.until) - 1];
      if (release === undefined || (last && last.source !== source)) return undefined;
      if (!last || isAtLeast(release, last.release) === true) last = { source, release };
    }
    return last;
  }

  /** Whether any of them takes null, as releases write a value that is not given. */
  takesNull(path: string): boolean {
    return this.all(path).some(({ nullable, default: value }) => nullable === true || value === null);
  }

  /**
   * Whether a release has a key; undefined where none of those that were looked at does. Where the version is not known, a key that the
   * newest release has is there.
   */
  presence(path: string, version?: unknown): Presence | undefined {
    const found = this.#read().flatMap(({ keys, versions }) => {
      const key = keys.get(path);
      return key ? [presenceOf(key, versions, version)] : [];
    });
    return found.find((each) => each === 'present') ?? found[0];
  }

  /**
   * Whether the releases in use lack a key that others have. `versionOf` tells the one of a package; undefined where it is not known, which is
   * the newest.
   */
  isLacking(path: string, versionOf: (source: string) => unknown): boolean {
    const found = this.#read().flatMap(({ source, keys, versions }) => {
      const key = keys.get(path);
      return key ? [presenceOf(key, versions, versionOf(source))] : [];
    });
    return found.length > 0 && found.every((each) => each !== 'present');
  }

  #read() {
    this.#tables ??= this.#sources.flatMap(([keys, ...names]) =>
      (names.length > 0 ? names : keys.tableNames).map((name) => ({
        source: keys.source,
        keys: keys.table(name),
        versions: keys.versions,
      })),
    );
    return this.#tables;
  }
}

/** The first release that was looked at with a key need not be the first that has it: only what is no newer than the one before lacks it. */
function presenceOf({ since, until }: FrameworkKey, versions: readonly string[], version: unknown): Presence {
  if (until !== undefined && isAtLeast(version, until) !== false) return { until };
  const before = since === undefined ? undefined : versions[versions.indexOf(since) - 1];
  const older = typeof version === 'string' && before !== undefined && isAtLeast(before, version) === true;
  return older && since !== undefined ? { since } : 'present';
}
