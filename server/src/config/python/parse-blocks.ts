import type { SyntaxNode } from './syntax-node';
import { brokenIn } from './syntax-node';

/** A line that begins a definition of the module, or a cell: what is above it is whole by itself, but for its decorators. */
const BEGINS = /^(?=(?:def|class|async[ \t]+def|@)[ \t\w]|#[ \t]*%%)/m;
/** Its first statement is a part of what stands above. */
const GOES_ON = /^(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n))*(?:[ \t]+[^\s#]|\\)/;
/** Parts that are remembered: those of the largest files that are read. */
const MOST = 5_000;

/** A part as it was parsed last, and where it stood. */
interface Known {
  readonly start: number;
  readonly tree: SyntaxNode;
}

/**
 * Parses a text part by part, each a definition of the module or what stands between two, and remembers them: after an edit one is
 * parsed anew. Where a part cannot be parsed by itself (a text over several lines may hold what looks like a definition) the text is
 * parsed whole.
 */
export class BlockParser {
  #known = new Map<string, Known>();

  constructor(private readonly parse: (text: string) => SyntaxNode | undefined) {}

  tree(text: string): SyntaxNode | undefined {
    const parts = partsOf(text);
    if (parts.length < 2) return this.parse(text);
    const children: SyntaxNode[] = [];
    const known = new Map<string, Known>();
    let start = 0;
    for (const part of parts) {
      const before = this.#known.get(part);
      const tree = before ? moved(before.tree, start - before.start) : this.#fresh(part, start);
      if (!tree) {
        this.#known = known;
        return this.parse(text);
      }
      if (known.size < MOST) known.set(part, { start, tree });
      children.push(...tree.children);
      start += part.length;
    }
    this.#known = known;
    return { type: 'module', start: 0, end: text.length, children, tokens: [] };
  }

  /** A part that was not seen before; undefined where it is not whole by itself. */
  #fresh(part: string, start: number): SyntaxNode | undefined {
    const tree = GOES_ON.test(part) ? undefined : this.parse(part);
    return tree && tree.type === 'module' && !brokenIn(tree) ? moved(tree, start) : undefined;
  }
}

/** Decorators go with what they decorate. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let open = '';
  for (const part of text.split(BEGINS)) {
    open += part;
    if (part.startsWith('@') && !/^(?:async[ \t]+)?(?:def|class)\b/m.test(part)) continue;
    parts.push(open);
    open = '';
  }
  if (open !== '') parts.push(open);
  return parts;
}

function moved(node: SyntaxNode, by: number): SyntaxNode {
  if (by === 0) return node;
  return {
    ...node,
    start: node.start + by,
    end: node.end + by,
    children: node.children.map((child) => moved(child, by)),
  };
}
