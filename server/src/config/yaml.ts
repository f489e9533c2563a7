import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Pair,
  Parser,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
  type Node as YamlNode,
} from 'yaml';
import type { Range } from '../text/place';
import { say } from '../wording/say';
import { libraryMessage } from './library-messages';
import { Lines } from './lines';
import type { ConfigNode, MapEntry } from './node';
import { plainEntry, plainItems } from './plain-entry';
import { SyntaxProblems } from './problems';
import { resolvePlain, resolveTagged, type ScalarValue } from './pyyaml';
import type { SyntaxReading } from './syntax-reading';
import { readBlocks } from './yaml-blocks';

/** `{{ name }}`, `{% if x %}`, `{$name}`: another program fills these in before anybody reads the YAML. */
const TEMPLATE = /\{\{.*?\}\}|\{%.*?%\}|\{\$\w+\}/;

function textOfLine(lines: Lines, line: number): string {
  const { start, end } = lines.lineRange(line);
  return lines.text.slice(lines.offset(start), lines.offset(end));
}

/** Nodes that aliases may expand to before the rest is dropped: far above any config, far below any harm. */
const MAX_NODES = 100_000;
const MAX_DEPTH = 200;

/** Reads the first document of a YAML text with the scalar types of PyYAML. After an edit, what it left alone is not read again. */
export function readYaml(lines: Lines, uri: string): SyntaxReading {
  const root = readBlocks(lines, (text) => {
    const inner = new Lines(text);
    const plain = plainEntry(inner) ?? plainItems(inner);
    if (plain) return plain;
    const reading = readWholeYaml(inner, uri);
    return reading.problems.length === 0 ? (reading.root ?? undefined) : undefined;
  });
  return root ? { root, problems: [], relaxedJson: false } : readWholeYaml(lines, uri);
}

/** `{{ name }}` where a value should stand, which YAML takes for a mapping whose key is a mapping: nobody means that. */
function isTemplate({ flow, items: [pair, ...others] }: YAMLMap): boolean {
  if (!flow || others.length > 0 || !isPair(pair) || !isMap(pair.key) || !pair.key.flow) return false;
  return !isNode(pair.value) || (isScalar(pair.value) && pair.value.value === null);
}

/** As `readYaml`, from the first line to the last. */
export function readWholeYaml(lines: Lines, uri: string): SyntaxReading {
  const problems = new SyntaxProblems();
  const documents = documentsOf(lines, problems);
  const [document, ...others] = documents;
  if (!document) return { root: null, problems: problems.list, relaxedJson: false };
  const places = document.errors.map(({ pos: [start, end] }) => errorRange(lines, start, end));
  const template = places.flatMap((range) => {
    const word = TEMPLATE.exec(textOfLine(lines, range.start.line))?.[0];
    return word === undefined ? [] : [{ word, range }];
  })[0];
  if (template)
    problems.add({
      code: 'placeholder',
      severity: 'information',
      message: say('A template: `{0}` is still to be filled in.', template.word),
      range: template.range,
    });
  else
    for (const [index, error] of document.errors.entries()) {
      const range = places[index];
      if (problems.full || !range) break;
      problems.syntax(libraryMessage(firstLine(error.message)), range);
    }
  const second = others.find((other) => other.contents !== null);
  if (second?.range) {
    const line = lines.position(second.range[0]).line;
    problems.add({
      code: 'multiple-documents',
      severity: 'hint',
      message: say('Only the first YAML document of the file is read.'),
      range: lines.lineRange(line),
    });
  }
  const root = document.contents ? new Converter(lines, uri, document, problems).root() : null;
  return { root, problems: problems.list, relaxedJson: false };
}

function documentsOf(lines: Lines, problems: SyntaxProblems): Document[] {
  try {
    const tokens = [...new Parser().parse(lines.text)];
    // The composer recurses: near the end of the stack not even its exceptions can be caught.
    const deep = tooDeepAt(tokens);
    if (deep !== undefined) {
      problems.syntax(
        say('Nested deeper than {0} levels: not read.', MAX_DEPTH),
        lines.range(deep, deep + 1),
      );
      return [];
    }
    // `failsafe` leaves every scalar as text: PyYAML's rules are applied here, not YAML 1.2's.
    const composer = new Composer({
      schema: 'failsafe',
      version: '1.1',
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
      strict: true,
    });
    return [...composer.compose(tokens, false, lines.text.length)];
  } catch {
    problems.syntax(say('The file is not readable as YAML.'), lines.lineRange(0));
    return [];
  }
}

/** Offset of the first token beyond the deepest nesting that is read. */
function tooDeepAt(tokens: readonly CST.Token[]): number | undefined {
  let level = [...tokens];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return level[0]?.offset ?? 0;
    const next: CST.Token[] = [];
    for (const token of level) {
      if (token.type === 'document' && token.value) next.push(token.value);
      if (!('items' in token)) continue;
      for (const item of token.items) {
        if (item.key) next.push(item.key);
        if (item.value) next.push(item.value);
      }
    }
    level = next;
  }
  return undefined;
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? message;
}

function errorRange(lines: Lines, start: number, end: number): Range {
  const from = Math.min(start, lines.lastVisible);
  const to = Math.min(Math.max(end, from + 1), lines.text.length);
  const range = lines.range(from, to);
  // Errors that reach over many lines would underline the whole file.
  return range.end.line > range.start.line
    ? { start: range.start, end: lines.lineRange(range.start.line).end }
    : range;
}

class Converter {
  private nodes = 0;
  private readonly anchors = new Map<string, YamlNode>();
  private readonly expanding = new Set<string>();
  private overflowed = false;

  constructor(
    private readonly lines: Lines,
    private readonly uri: string,
    private readonly document: Document,
    private readonly problems: SyntaxProblems,
  ) {}

  root(): ConfigNode {
    const { contents } = this.document;
    return this.node(isNode(contents) ? contents : null, 0, 0);
  }

  private node(node: YamlNode | null, behind: number, depth: number): ConfigNode {
    if (++this.nodes > MAX_NODES || depth > MAX_DEPTH) {
      this.overflow(node, behind);
      return this.blank(behind);
    }
    if (!node) return this.blank(behind);
    if (isAlias(node)) return this.alias(node, depth);
    if ('anchor' in node && typeof node.anchor === 'string') this.anchors.set(node.anchor, node);
    if (isScalar(node)) return this.scalar(node);
    if (isSeq(node)) {
      const items = node.items.map((item) =>
        this.node(isNode(item) ? item : null, node.range?.[0] ?? 0, depth + 1),
      );
      return { kind: 'list', range: this.rangeOver(node, items), items };
    }
    if (isMap(node) && isTemplate(node)) {
      const text = this.lines.text.slice(...ends(node));
      return { kind: 'scalar', range: this.rangeOf(node), text, quoted: false, value: text };
    }
    if (isMap(node)) {
      const stated = node.items.flatMap((pair) => (isPair(pair) ? (this.entry(pair, depth) ?? []) : []));
      const range = this.rangeOver(
        node,
        stated.map(({ value }) => value),
      );
      return { kind: 'map', range, entries: this.distinct(stated) };
    }
    return this.blank(behind);
  }

  /** The aliased value, placed where the alias stands. */
  private alias(alias: Alias, depth: number): ConfigNode {
    const range = this.rangeOf(alias);
    const target = this.anchors.get(alias.source);
    const start = alias.range?.[0] ?? 0;
    if (!target || this.expanding.has(alias.source)) {
      this.problems.syntax(say('Alias `*{0}` names no anchor before it.', String(alias.source)), range);
      return this.blank(start);
    }
    this.expanding.add(alias.source);
    const value = this.node(target, start, depth + 1);
    this.expanding.delete(alias.source);
    return { ...value, range };
  }

  private scalar(node: Scalar): ConfigNode {
    const range = this.rangeOf(node);
    const written = typeof node.source === 'string' ? node.source : String(node.value ?? '');
    const quoted = node.type !== undefined && node.type !== 'PLAIN';
    return { kind: 'scalar', range, text: written, quoted, value: typedValue(node, written, quoted) };
  }

  /** Each key once, the last statement of it, after what `<<` brings in. */
  private distinct(stated: readonly MapEntry[]): MapEntry[] {
    const entries = new Map<string, MapEntry>();
    const merged: MapEntry[] = [];
    for (const entry of stated) {
      if (entry.key === '<<') {
        merged.push(...mergedEntries(entry.value));
        continue;
      }
      const first = entries.get(entry.key);
      if (first) {
        this.problems.add({
          code: 'duplicate-key',
          severity: 'warning',
          message: say('Duplicate key `{0}`: YAML readers in Python silently take the last one.', entry.key),
          range: entry.keyRange,
          related: [{ uri: this.uri, range: first.keyRange, message: say('First set here, and lost') }],
          data: { key: entry.key },
        });
        entries.delete(entry.key);
      }
      entries.set(entry.key, entry);
    }
    // Merged entries stand where their anchor stands, which is before: entries stay in file order.
    const inherited = new Map(merged.toReversed().map((entry) => [entry.key, entry]));
    return [...[...inherited.values()].filter((entry) => !entries.has(entry.key)), ...entries.values()];
  }

  private entry(pair: Pair, depth: number): MapEntry | undefined {
    const key = pair.key;
    if (!isNode(key)) return undefined;
    if (isScalar(key) && typeof key.anchor === 'string') this.anchors.set(key.anchor, key);
    const keyRange = this.rangeOf(key);
    const behind = (key.range?.[1] ?? 0) + 1;
    const text = isScalar(key) ? String(key.source ?? key.value ?? '') : this.lines.text.slice(...ends(key));
    return {
      key: text,
      keyRange,
      value: this.node(isNode(pair.value) ? pair.value : null, behind, depth + 1),
    };
  }

  private rangeOf(node: YamlNode): Range {
    return this.lines.range(...ends(node));
  }

  /** Collections without brackets end where the last thing in them does: blanks and comments behind it may be anybody's. */
  private rangeOver(node: YAMLMap | YAMLSeq, inner: readonly ConfigNode[]): Range {
    const [start, end] = ends(node);
    const last = node.flow ? undefined : inner.at(-1);
    return this.lines.range(start, this.trimmed(start, last ? this.lines.offset(last.range.end) : end));
  }

  /** Block scalars end behind their last line break: give back the blanks, the next key begins there. */
  private trimmed(start: number, end: number): number {
    const { text } = this.lines;
    let last = end;
    while (last > start && /\s/.test(text[last - 1] ?? '')) last--;
    return last;
  }

  private blank(offset: number): ConfigNode {
    return { kind: 'scalar', range: this.lines.range(offset, offset), value: null, text: '', quoted: false };
  }

  private overflow(node: YamlNode | null, behind: number): void {
    if (this.overflowed) return;
    this.overflowed = true;
    const start = node?.range?.[0] ?? behind;
    this.problems.syntax(
      say('Aliases or nesting expand this file beyond what a config holds: the rest is not read.'),
      this.lines.range(start, start + 1),
    );
  }
}

function ends(node: YamlNode): [number, number] {
  return [node.range?.[0] ?? 0, node.range?.[1] ?? 0];
}

function typedValue(node: Scalar, written: string, quoted: boolean): ScalarValue {
  if (node.tag && !node.tag.endsWith(':str')) {
    const tagged = resolveTagged(node.tag, String(node.value ?? ''));
    if (tagged !== undefined) return tagged;
  }
  if (quoted || node.tag) return String(node.value ?? '');
  return resolvePlain(written);
}

/** `<<` takes a mapping or a list of them; earlier ones win. */
function mergedEntries(value: ConfigNode): MapEntry[] {
  if (value.kind === 'map') return [...value.entries];
  if (value.kind === 'list') return value.items.flatMap(mergedEntries);
  return [];
}
