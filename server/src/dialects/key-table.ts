import type { KeySpec } from './dialect';
import type { ReleasedKeys } from './framework-keys';

/** The key table of a family, looked up by path. Paths of a file are dotted; `*` rows match any one segment. */
export class KeyTable {
  private readonly exact = new Map<string, KeySpec>();
  private readonly patterns: { readonly segments: readonly string[]; readonly spec: KeySpec }[] = [];
  private readonly children = new Map<string, string[]>();
  private readonly others = new Map<string, KeySpec[]>();

  /** Rows say which keys take `auto`; where none does, every key may. */
  readonly marksAutos: boolean;

  /** `family` is its name, for people; `released` what its framework's releases have. */
  constructor(
    keys: readonly KeySpec[],
    readonly family = '',
    readonly released?: ReleasedKeys,
  ) {
    this.marksAutos = keys.some(({ auto }) => auto === true);
    for (const spec of keys) {
      const segments = spec.path.split('.');
      if (segments.includes('*')) this.patterns.push({ segments, spec });
      else this.exact.set(spec.path, spec);
      const parent = segments.slice(0, -1).join('.');
      const siblings = this.children.get(parent) ?? [];
      siblings.push(segments.at(-1) ?? '');
      this.children.set(parent, siblings);
      const { alias, deprecated, sets } = spec;
      const other = alias ?? deprecated;
      if (other !== undefined && sets !== undefined)
        this.others.set(other, [...(this.others.get(other) ?? []), spec]);
    }
  }

  /** Second names and old spellings of a key that say the same field. */
  otherSpellings({ path, sets }: KeySpec): readonly KeySpec[] {
    return this.others.get(path)?.filter((row) => row.sets === sets) ?? [];
  }

  find(path: string): KeySpec | undefined {
    const spec = this.exact.get(path);
    if (spec || this.patterns.length === 0) return spec;
    const segments = path.split('.');
    return this.patterns.find(
      (pattern) =>
        pattern.segments.length === segments.length &&
        pattern.segments.every((segment, i) => segment === '*' || segment === segments[i]),
    )?.spec;
  }

  /** Names of the keys directly below a path; empty for blocks whose keys are not listed. */
  names(parent: string): readonly string[] {
    return this.children.get(parent) ?? [];
  }
}
