import type { KeySpec } from '../../dialects/dialect';
import { oncePer } from '../../memo/remembered';

interface Branch {
  spec?: KeySpec;
  readonly children: Map<string, Branch>;
}

/** A key that may stand in a block; blocks that no row describes have no spec. */
export interface NamedRow {
  readonly name: string;
  readonly spec?: KeySpec;
  readonly isBlock: boolean;
}

const treeOf = oncePer((keys: readonly KeySpec[]): Branch => {
  const tree: Branch = { children: new Map() };
  for (const spec of keys) {
    let branch = tree;
    for (const segment of spec.path.split('.')) {
      const next = branch.children.get(segment) ?? { children: new Map() };
      branch.children.set(segment, next);
      branch = next;
    }
    branch.spec ??= spec;
  }
  return tree;
});

function branchesAt(keys: readonly KeySpec[], path: readonly string[]): Branch[] {
  let branches = [treeOf(keys)];
  for (const segment of path) {
    const next = branches.flatMap(({ children }) => [children.get(segment), children.get('*')]);
    const items = segment === '[0]' ? branches.filter(({ spec }) => spec?.type === 'array') : [];
    branches = [...next.filter((branch) => branch !== undefined), ...items];
  }
  return branches;
}

/** Keys directly below a path, each once. */
export function rowsBelow(keys: readonly KeySpec[], path: readonly string[]): NamedRow[] {
  const rows = new Map<string, NamedRow>();
  for (const { children } of branchesAt(keys, path)) {
    for (const [name, branch] of children) {
      if (name === '*' || rows.has(name)) continue;
      rows.set(name, {
        name,
        spec: branch.spec,
        isBlock: branch.children.size > 0 || branch.spec?.type === 'object',
      });
    }
  }
  return [...rows.values()];
}

/** The row of a key. */
export function rowAt(keys: readonly KeySpec[], path: readonly string[]): KeySpec | undefined {
  return branchesAt(keys, path).find(({ spec }) => spec !== undefined)?.spec;
}
