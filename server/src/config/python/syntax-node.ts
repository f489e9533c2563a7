import type { TreeCursor } from 'web-tree-sitter';

/** A named node of a syntax tree, by tree-sitter's names. Offsets are UTF-16, the end exclusive. */
export interface SyntaxNode {
  readonly type: string;
  /** Name of the field of its parent that it stands in. */
  readonly field?: string;
  readonly start: number;
  readonly end: number;
  readonly children: readonly SyntaxNode[];
  /** Words and signs without a name of their own, such as operators, as they are written. */
  readonly tokens: readonly string[];
  /** It could not be parsed, or something in it is missing. */
  readonly broken?: true;
}

interface Growing {
  type: string;
  field?: string;
  start: number;
  end: number;
  children: Growing[];
  tokens: string[];
  broken?: true;
}

/** Deeper nests are data, not programs. */
const DEEPEST = 400;

/** The tree as plain data, and the cursor freed. */
export function plainTree(cursor: TreeCursor): SyntaxNode {
  const root = grown(cursor);
  const open: Growing[] = [root];
  let depth = 0;
  let visited = false;
  for (;;) {
    if (!visited && depth < DEEPEST && cursor.gotoFirstChild()) {
      depth += 1;
      enter();
      continue;
    }
    if (cursor.gotoNextSibling()) {
      open.pop();
      visited = false;
      enter();
      continue;
    }
    if (depth === 0 || !cursor.gotoParent()) break;
    depth -= 1;
    open.pop();
    visited = true;
  }
  cursor.delete();
  return root as SyntaxNode;

  function enter(): void {
    const parent = open.at(-1);
    if (cursor.nodeIsNamed || cursor.nodeIsMissing) {
      const node = grown(cursor);
      if (cursor.nodeIsMissing) node.broken = true;
      if (node.type !== 'comment' && node.type !== 'line_continuation') parent?.children.push(node);
      open.push(node);
      visited = false;
    } else {
      parent?.tokens.push(cursor.nodeType);
      open.push({ type: cursor.nodeType, start: 0, end: 0, children: [], tokens: [] });
      visited = true;
    }
  }
}

function grown(cursor: TreeCursor): Growing {
  const field = cursor.currentFieldName;
  const type = cursor.nodeType;
  return {
    type,
    ...(field ? { field } : {}),
    start: cursor.startIndex,
    end: cursor.endIndex,
    children: [],
    tokens: [],
    ...(type === 'ERROR' ? { broken: true as const } : {}),
  };
}

/** The child in a field of the node. */
export function childIn(node: SyntaxNode, field: string): SyntaxNode | undefined {
  return node.children.find((child) => child.field === field);
}

/** The first node below that could not be parsed. */
export function brokenIn(node: SyntaxNode): SyntaxNode | undefined {
  if (node.broken) return node;
  for (const child of node.children) {
    const found = brokenIn(child);
    if (found) return found;
  }
  return undefined;
}

/** Parameters of a function as they stand, `*args: int` and `**kwargs: Any` without their types. */
export function parametersIn(called: SyntaxNode): readonly SyntaxNode[] {
  return (childIn(called, 'parameters')?.children ?? []).map((parameter) => {
    const [pattern] = parameter.children;
    return parameter.type === 'typed_parameter' && pattern?.type.endsWith('splat_pattern')
      ? pattern
      : parameter;
  });
}
