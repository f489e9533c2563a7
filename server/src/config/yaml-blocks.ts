import type { Range } from '../text/place';
import type { Lines } from './lines';
import type { ConfigNode, ListNode, MapEntry, MapNode } from './node';

/** A block of fewer lines is read as one. */
const LARGE = 16;
/** Items of a long list that are read together: reading each alone costs a parser each time. */
const ITEMS = 16;
/** Nodes and levels up to which the limits of a whole document are not reached. Blocks count each node at least once, a whole document an alias twice. */
const MOST_NODES = 100_000;
const MOST_NODES_WITH_ALIASES = 50_000;
const MOST_LEVELS = 100;
/** Blocks and characters of a generation; longer blocks are not remembered. */
const MOST_REMEMBERED = 8192;
const LONGEST_REMEMBERED = 20_000;
const MOST_CHARACTERS = 4_000_000;

/** A key at the beginning of a line, of the plain kind that cannot be anything else. */
const KEY = /[A-Za-z0-9_][^\s:#'"{}[\],&*!|>%@`]*:(?=[ \r\n]|$)/y;
const ITEM = /-(?=[ \r\n]|$)/y;
const BARE_KEY = /^[^\s:]+:[ ]*(#.*)?$/;
/** Marks of documents, and directives. */
const DOCUMENT = /(?:---|\.\.\.|%)/y;
const LONE_RETURN = /\r(?!\n)/;
/** `? key`, which may be anything. */
const COMPLEX_KEY = /^[ -]*\?(?=\s|$)/m;
const DOCUMENT_START = /^---[ ]*(#.*)?$/;

/** What the lines of a block say when it is read alone; positions count from line `at` of the document. */
interface Block<N extends ConfigNode = ConfigNode> {
  at: number;
  readonly text: string;
  root: N;
  readonly nodes: number;
  readonly levels: number;
}

const isMapping = (block: Block): block is Block<MapNode> => block.root.kind === 'map';
const isList = (block: Block): block is Block<ListNode> => block.root.kind === 'list';

/** Reads a whole text; undefined where it has problems or is no mapping. */
type ReadWhole = (text: string) => ConfigNode | undefined;

/**
 * Reads a YAML mapping entry by entry, and only those entries that were not read before: after an edit, the one that it is
 * in. Undefined where the text is not certain to be the sum of its entries, or has a problem: then it is to be read whole.
 *
 * A line that begins with a plain key at the indentation of a mapping begins an entry of it, unless something before it is
 * not closed (a quote, a bracket), and then the entries before it are not readable by themselves. What one entry states
 * to another (aliases, `<<`, a second document) is left to the whole.
 */
export function readBlocks(lines: Lines, readWhole: ReadWhole): ConfigNode | undefined {
  const { text } = lines;
  if (text.includes('\t') || text.includes('<<') || LONE_RETURN.test(text) || COMPLEX_KEY.test(text)) {
    return undefined;
  }
  const reader = new BlockReader(lines, readWhole);
  const first = reader.firstEntry();
  return first === undefined ? undefined : reader.mapping(first, lines.count, 0, 0)?.root;
}

class BlockReader {
  readonly #lines: Lines;
  readonly #readWhole: ReadWhole;
  /** Spaces before what a line states; -1 for a line that states nothing, the complement of the spaces (-2 - n) for a comment. */
  readonly #margins: Int32Array;
  readonly #mostNodes: number;
  #nodes = 0;

  constructor(lines: Lines, readWhole: ReadWhole) {
    this.#lines = lines;
    this.#readWhole = readWhole;
    this.#margins = marginsOf(lines);
    this.#mostNodes = lines.text.includes('*') ? MOST_NODES_WITH_ALIASES : MOST_NODES;
  }

  /** Line of the document's first key; undefined where anything but comments and one `---` stands above it. */
  firstEntry(): number | undefined {
    let started = false;
    for (let line = 0; line < this.#lines.count; line++) {
      if (this.#margin(line) < 0) continue;
      if (started || !DOCUMENT_START.test(this.#line(line))) {
        return this.#beginsEntry(line, 0) ? line : undefined;
      }
      started = true;
    }
    return undefined;
  }

  /** The mapping whose keys stand at this indentation in these lines, the first of them in the first. */
  mapping(from: number, to: number, indent: number, level: number): Block<MapNode> | undefined {
    const starts: number[] = [];
    for (let line = from; line < to; line++) {
      const margin = this.#margin(line);
      if (margin < 0 || margin > indent) continue;
      if (margin < indent || (indent === 0 && this.#matches(DOCUMENT, line, 0))) return undefined;
      if (this.#beginsEntry(line, indent)) starts.push(line);
    }
    const entries: MapEntry[] = [];
    const keys = new Set<string>();
    let range: Range | undefined;
    let levels = 0;
    for (const [i, start] of starts.entries()) {
      const block = this.#block(start, this.#endOf(start, starts[i + 1] ?? to, indent), indent, level);
      this.#nodes += block?.nodes ?? 0;
      if (!block || this.#nodes > this.#mostNodes || level + block.levels > MOST_LEVELS) return undefined;
      for (const entry of block.root.entries) {
        if (keys.has(entry.key)) return undefined;
        keys.add(entry.key);
        entries.push(entry);
      }
      range = { start: range?.start ?? block.root.range.start, end: block.root.range.end };
      levels = Math.max(levels, block.levels);
    }
    if (!range) return undefined;
    return { at: 0, text: '', root: { kind: 'map', range, entries }, nodes: 0, levels: levels + 1 };
  }

  /** An entry with what belongs to it; the entries of a large one are read one by one, too. */
  #block(start: number, end: number, indent: number, level: number): Block<MapNode> | undefined {
    const inner = end - start > LARGE ? this.#inner(start, end, indent, level) : undefined;
    const header = inner && this.#entries(start, start + 1);
    const [entry] = header?.root.entries ?? [];
    if (!inner || !header || !entry) return this.#entries(start, end);
    const range = { start: header.root.range.start, end: inner.root.range.end };
    const root: MapNode = { kind: 'map', range, entries: [{ ...entry, value: inner.root }] };
    return { at: 0, text: '', root, nodes: header.nodes + inner.nodes, levels: inner.levels + 1 };
  }

  #inner(start: number, end: number, indent: number, level: number): Block | undefined {
    if (!BARE_KEY.test(this.#line(start).trimStart())) return undefined;
    let first = start + 1;
    while (first < end && this.#margin(first) < 0) first++;
    const margin = first < end ? this.#margin(first) : -1;
    if (margin >= indent && this.#matches(ITEM, first, margin)) return this.#list(first, end, margin);
    if (margin <= indent || !this.#beginsEntry(first, margin)) return undefined;
    return this.mapping(first, end, margin, level + 1);
  }

  /** The list whose items stand at this indentation in these lines, the first of them in the first: some items at a time. */
  #list(from: number, to: number, indent: number): Block<ListNode> | undefined {
    const starts: number[] = [];
    for (let line = from; line < to; line++) {
      const margin = this.#margin(line);
      if (margin < 0 || margin > indent) continue;
      if (margin < indent || !this.#matches(ITEM, line, indent)) return undefined;
      starts.push(line);
    }
    const items: ConfigNode[] = [];
    let range: Range | undefined;
    let nodes = 0;
    let levels = 0;
    for (let i = 0; i < starts.length; i += ITEMS) {
      const start = starts[i] ?? to;
      const block = this.#read(start, this.#endOf(start, starts[i + ITEMS] ?? to, indent));
      // An empty item is placed where the list begins.
      if (!block || !isList(block) || block.root.items.some(isNothing)) return undefined;
      for (const item of block.root.items) items.push(item);
      range = { start: range?.start ?? block.root.range.start, end: block.root.range.end };
      nodes += block.nodes;
      levels = Math.max(levels, block.levels);
    }
    return range && { at: 0, text: '', root: { kind: 'list', range, items }, nodes, levels };
  }

  /** Entries of a mapping as if these lines were all. */
  #entries(start: number, end: number): Block<MapNode> | undefined {
    const block = this.#read(start, end);
    return block && isMapping(block) ? block : undefined;
  }

  /** These lines as if they were all. */
  #read(start: number, end: number): Block | undefined {
    const slice = this.#lines.text.slice(this.#offset(start), this.#offset(end));
    let block = remembered(slice);
    if (!block) {
      const text = apart(slice);
      const root = this.#readWhole(text);
      if (!root) return undefined;
      block = { at: 0, text, root, ...sizeOf(root) };
      if (text.length <= LONGEST_REMEMBERED) remember(block);
    }
    // Mostly it stands where it stood.
    if (block.at !== start) {
      block.root = moved(block.root, start - block.at);
      block.at = start;
    }
    return block;
  }

  /** Behind the last line that has a part in an entry: comments that stand no deeper than its key are none of it. */
  #endOf(start: number, next: number, indent: number): number {
    let end = next;
    for (let line = next - 1; line > start; line--) {
      const margin = this.#margin(line);
      if (margin >= 0) break;
      if (margin !== -1 && -2 - margin <= indent) end = line;
    }
    return end;
  }

  #beginsEntry(line: number, indent: number): boolean {
    return this.#margin(line) === indent && this.#matches(KEY, line, indent);
  }

  #matches(pattern: RegExp, line: number, indent: number): boolean {
    pattern.lastIndex = this.#offset(line) + indent;
    return pattern.test(this.#lines.text);
  }

  #margin(line: number): number {
    return this.#margins[line] ?? -1;
  }

  #offset(line: number): number {
    return this.#lines.offset({ line, character: 0 });
  }

  #line(line: number): string {
    return this.#lines.text.slice(this.#offset(line), this.#offset(line + 1)).trimEnd();
  }
}

function isNothing({ kind, range: { start, end } }: ConfigNode): boolean {
  return kind === 'scalar' && start.line === end.line && start.character === end.character;
}

function marginsOf(lines: Lines): Int32Array {
  const margins = new Int32Array(lines.count);
  const { text } = lines;
  for (let line = 0; line < margins.length; line++) {
    const start = lines.offset({ line, character: 0 });
    let at = start;
    while (text.charCodeAt(at) === SPACE) at++;
    const code = text.charCodeAt(at);
    const isBlank = Number.isNaN(code) || code === LINE_FEED || code === CARRIAGE_RETURN;
    margins[line] = isBlank ? -1 : code === NUMBER_SIGN ? -2 - (at - start) : at - start;
  }
  return margins;
}

const SPACE = 32;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const NUMBER_SIGN = 35;

function sizeOf(node: ConfigNode): { nodes: number; levels: number } {
  const inner =
    node.kind === 'map' ? node.entries.map(({ value }) => value) : node.kind === 'list' ? node.items : [];
  let nodes = 1;
  let levels = 0;
  for (const size of inner.map(sizeOf)) {
    nodes += size.nodes;
    levels = Math.max(levels, size.levels);
  }
  return { nodes, levels: levels + 1 };
}

function moved<N extends ConfigNode>(node: N, by: number): N;
function moved(node: ConfigNode, by: number): ConfigNode {
  const range = movedRange(node.range, by);
  if (node.kind === 'scalar') return { ...node, range };
  if (node.kind === 'list') return { ...node, range, items: node.items.map((item) => moved(item, by)) };
  const entries = node.entries.map(({ key, keyRange, value }) => ({
    key,
    keyRange: movedRange(keyRange, by),
    value: moved(value, by),
  }));
  return { ...node, range, entries };
}

function movedRange({ start, end }: Range, by: number): Range {
  return {
    start: { line: start.line + by, character: start.character },
    end: { line: end.line + by, character: end.character },
  };
}

/** Blocks read lately, by their text: two generations, of which the older goes when the younger is full. */
let younger = new Map<string, Block>();
let older = new Map<string, Block>();
/** Of the younger generation. */
let characters = 0;

function remembered(text: string): Block | undefined {
  const young = younger.get(text);
  if (young) return young;
  const old = older.get(text);
  if (old) remember(old);
  return old;
}

function remember(block: Block): void {
  if (younger.size >= MOST_REMEMBERED || characters >= MOST_CHARACTERS) {
    older = younger;
    younger = new Map();
    characters = 0;
  }
  younger.set(block.text, block);
  characters += block.text.length;
}

/** A copy of a part of a text: engines keep the whole text alive for as long as a slice of it is. */
function apart(slice: string): string {
  return ` ${slice}`.slice(1);
}
