import type { KeySpec } from './dialect';
import type { ReleasedKeys } from './framework-keys';

const NONE: readonly KeySpec[] = [];

/** The key table of a family, looked up by path. Paths of a file are dotted; `*` rows match any one segment. */
export class KeyTable {
  readonly #keys: readonly KeySpec[];
  #index: Index | undefined;

  /**
   * `family` is its name, for people; `released` what its framework's releases have; `refusesOthers`: its framework stops on a key that
   * it does not know, so a file with one is that of a changed copy.
   */
  constructor(
    keys: readonly KeySpec[],
    readonly family = '',
    readonly released?: ReleasedKeys,
    readonly refusesOthers = false,
  ) {
    this.#keys = keys;
  }

  /** Rows say which keys take `auto`; where none does, every key may. */
  get marksAutos(): boolean {
    return this.#indexed().marksAutos;
  }

  /** Second names and old spellings of a key that say the same field. */
  otherSpellings({ path, sets }: KeySpec): readonly KeySpec[] {
    return (
      this.#indexed()
        .others.get(path)
        ?.filter((row) => row.sets === sets) ?? NONE
    );
  }

  find(path: string): KeySpec | undefined {
    const { exact, patterns } = this.#indexed();
    const spec = exact.get(path);
    if (spec || patterns.length === 0) return spec;
    const segments = path.split('.');
    return patterns.find(
      (pattern) =>
        pattern.segments.length === segments.length &&
        pattern.segments.every((segment, i) => segment === '*' || segment === segments[i]),
    )?.spec;
  }

  /** Names of the keys directly below a path; empty for blocks whose keys are not listed. */
  names(parent: string): readonly string[] {
    return this.#indexed().children.get(parent) ?? [];
  }

  /** Of the tables that are loaded, a run asks for those of its own family. */
  #indexed(): Index {
    this.#index ??= indexOf(this.#keys);
    return this.#index;
  }
}

interface Index {
  readonly exact: ReadonlyMap<string, KeySpec>;
  readonly patterns: readonly { readonly segments: readonly string[]; readonly spec: KeySpec }[];
  readonly children: ReadonlyMap<string, readonly string[]>;
  readonly others: ReadonlyMap<string, readonly KeySpec[]>;
  readonly marksAutos: boolean;
}

function indexOf(keys: readonly KeySpec[]): Index {
  const exact = new Map<string, KeySpec>();
  const patterns: { readonly segments: readonly string[]; readonly spec: KeySpec }[] = [];
  const children = new Map<string, string[]>();
  const others = new Map<string, KeySpec[]>();
  for (const spec of keys) {
    const segments = spec.path.split('.');
    if (segments.includes('*')) patterns.push({ segments, spec });
    else exact.set(spec.path, spec);
    const parent = segments.slice(0, -1).join('.');
    const siblings = children.get(parent) ?? [];
    siblings.push(segments.at(-1) ?? '');
    children.set(parent, siblings);
    const { alias, deprecated, sets } = spec;
    const other = alias ?? deprecated;
    if (other !== undefined && sets !== undefined) others.set(other, [...(others.get(other) ?? []), spec]);
  }
  return { exact, patterns, children, others, marksAutos: keys.some(({ auto }) => auto === true) };
}
