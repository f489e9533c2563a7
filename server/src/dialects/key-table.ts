import type { KeySpec } from './dialect';

/** A key table looked up by path. Paths of a file are dotted; `*` rows match any one segment. */
export class KeyTable {
  private readonly exact = new Map<string, KeySpec>();
  private readonly patterns: { readonly segments: readonly string[]; readonly spec: KeySpec }[] = [];
  private readonly children = new Map<string, string[]>();

  constructor(keys: readonly KeySpec[]) {
    for (const spec of keys) {
      const segments = spec.path.split('.');
      if (segments.includes('*')) this.patterns.push({ segments, spec });
      else this.exact.set(spec.path, spec);
      const parent = segments.slice(0, -1).join('.');
      const siblings = this.children.get(parent) ?? [];
      siblings.push(segments.at(-1) ?? '');
      this.children.set(parent, siblings);
    }
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
