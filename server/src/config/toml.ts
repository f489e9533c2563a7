import { type AST, ParseError, parseTOML } from 'toml-eslint-parser';
import type { Range } from '../text/place';
import { libraryMessage } from './library-messages';
import type { Lines } from './lines';
import type { ConfigNode, MapEntry } from './node';
import { SyntaxProblems } from './problems';
import type { SyntaxReading } from './syntax-reading';

/** Lines with broken syntax that are passed over before the rest is given up: a file being typed has one or two. */
const MOST_BROKEN_LINES = 8;

/**
 * Reads TOML. The parser stops at the first error, so the line that holds it is blanked out and the rest is read
 * again: while one line is typed, the others keep their meaning.
 */
export function readToml(lines: Lines): SyntaxReading {
  const problems = new SyntaxProblems();
  let { text } = lines;
  for (let broken = 0; broken <= MOST_BROKEN_LINES; broken++) {
    try {
      const root = new Converter(lines).program(parseTOML(text, { tomlVersion: 'latest' }));
      return { root, problems: problems.list, relaxedJson: false };
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      const { line } = lines.position(placeOf(error, text));
      const range = lines.lineRange(line);
      problems.syntax(libraryMessage(`${error.message.replace(/\.$/, '')}.`), range);
      text = blanked(text, lines.offset(range.start), lines.offset(range.end));
    }
  }
  return { root: null, problems: problems.list, relaxedJson: false };
}

/** Where a value is missing the parser complains at the next line; the mistake is at the `=` before it. */
function placeOf(error: ParseError, text: string): number {
  const before = text.slice(0, error.index).trimEnd();
  return before.endsWith('=')
    ? before.length - 1
    : Math.min(error.index, Math.max(0, text.trimEnd().length - 1));
}

function blanked(text: string, start: number, end: number): string {
  return text.slice(0, start) + ' '.repeat(end - start) + text.slice(end);
}

/** A table in the making: TOML may come back to a table at any later place. */
interface Table {
  readonly kind: 'table';
  readonly entries: Map<string, { keyRange: Range; value: Growing }>;
  range: Range;
}
interface Tables {
  readonly kind: 'tables';
  readonly items: Table[];
  range: Range;
}
type Growing = Table | Tables | ConfigNode;

class Converter {
  private readonly lines: Lines;

  constructor(lines: Lines) {
    this.lines = lines;
  }

  program(program: AST.TOMLProgram): ConfigNode {
    const top = program.body[0];
    const root: Table = { kind: 'table', entries: new Map(), range: this.range(top) };
    for (const node of top.body) {
      if (node.type === 'TOMLKeyValue') this.keyValue(node, root);
      else this.table(node, root);
    }
    return finished(root);
  }

  private range(node: { readonly range: readonly [number, number] }): Range {
    return this.lines.range(node.range[0], node.range[1]);
  }

  private table(node: AST.TOMLTable, root: Table): void {
    const range = this.range(node);
    const { keys } = node.key;
    let at = root;
    keys.forEach((key, index) => {
      const last = index === keys.length - 1;
      at = last && node.kind === 'array' ? this.append(at, key, range) : this.enter(at, key, range);
    });
    at.range = { start: at.range.start, end: range.end };
    for (const pair of node.body) this.keyValue(pair, at);
  }

  /** The table that a key names, made where it is new; in an array of tables, its last. */
  private enter(table: Table, key: AST.TOMLBare | AST.TOMLQuoted, range: Range): Table {
    const name = nameOf(key);
    const known = table.entries.get(name)?.value;
    if (known?.kind === 'table') return known;
    const last = known?.kind === 'tables' ? known.items.at(-1) : undefined;
    if (last) return last;
    const made: Table = { kind: 'table', entries: new Map(), range };
    table.entries.set(name, { keyRange: this.range(key), value: made });
    return made;
  }

  private append(table: Table, key: AST.TOMLBare | AST.TOMLQuoted, range: Range): Table {
    const name = nameOf(key);
    const made: Table = { kind: 'table', entries: new Map(), range };
    const known = table.entries.get(name)?.value;
    if (known?.kind === 'tables') {
      known.items.push(made);
      known.range = { start: known.range.start, end: range.end };
    } else
      table.entries.set(name, { keyRange: this.range(key), value: { kind: 'tables', items: [made], range } });
    return made;
  }

  private keyValue(node: AST.TOMLKeyValue, table: Table): void {
    const { keys } = node.key;
    let at = table;
    for (const key of keys.slice(0, -1)) at = this.enter(at, key, this.range(node));
    const last = keys.at(-1);
    if (last) at.entries.set(nameOf(last), { keyRange: this.range(last), value: this.value(node.value) });
  }

  private value(node: AST.TOMLContentNode): Growing {
    const range = this.range(node);
    if (node.type === 'TOMLArray')
      return { kind: 'list', range, items: node.elements.map((item) => finished(this.value(item))) };
    if (node.type === 'TOMLInlineTable') {
      const table: Table = { kind: 'table', entries: new Map(), range };
      for (const pair of node.body) this.keyValue(pair, table);
      return table;
    }
    if (node.kind === 'string')
      return { kind: 'scalar', range, value: node.value, text: node.value, quoted: true };
    const text = this.lines.text.slice(node.range[0], node.range[1]);
    // Dates are text to every tool that reads them.
    const value = node.value instanceof Date ? text : node.value;
    return { kind: 'scalar', range, value, text, quoted: false };
  }
}

function nameOf(key: AST.TOMLBare | AST.TOMLQuoted): string {
  return key.type === 'TOMLBare' ? key.name : key.value;
}

function finished(growing: Growing): ConfigNode {
  if (growing.kind === 'tables')
    return { kind: 'list', range: growing.range, items: growing.items.map(finished) };
  if (growing.kind !== 'table') return growing;
  const entries: MapEntry[] = [...growing.entries].map(([key, { keyRange, value }]) => ({
    key,
    keyRange,
    value: finished(value),
  }));
  return { kind: 'map', range: growing.range, entries };
}
