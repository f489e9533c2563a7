import type { Position, Range } from '../text/place';
import type { ConfigNode, MapEntry } from './node';

const TEXT = /"([^"\\\p{Cc}]*)"/uy;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[\s,\]}]|$)/y;
const WORD = /(?:true|false|null)(?=[\s,\]}]|$)/y;
const WORDS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

const TAB = 9;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/**
 * Reads JSON as its standard has it, in one pass: most files are, and reading one after each key typed is most of what a hover
 * waits for. Undefined where there is anything else to it (a comment, a comma too many, an escape, a key stated twice, more than
 * `deepest` levels, an error): that is for the reader that forgives, which gives the same for all that is read here.
 */
export function strictJson(text: string, deepest: number): ConfigNode | undefined {
  const reader = new StrictReader(text, deepest);
  const root = reader.value(1);
  return root && reader.ends() ? root : undefined;
}

class StrictReader {
  private at = 0;
  private line = 0;
  private lineStart = 0;

  constructor(
    private readonly text: string,
    private readonly deepest: number,
  ) {}

  /** Nothing but blanks is left. */
  ends(): boolean {
    return Number.isNaN(this.next());
  }

  /** A value at this level; undefined where it is none. */
  value(level: number): ConfigNode | undefined {
    const code = this.next();
    if (code === OPEN_BRACE) return level > this.deepest ? undefined : this.map(level);
    if (code === OPEN_BRACKET) return level > this.deepest ? undefined : this.list(level);
    if (code === QUOTE) {
      const text = this.quoted();
      return text && { kind: 'scalar', range: text.range, quoted: true, text: text.text, value: text.text };
    }
    const start = this.position();
    const word = this.take(NUMBER) ?? this.take(WORD);
    if (word === undefined) return undefined;
    const value = Object.hasOwn(WORDS, word) ? (WORDS[word] ?? null) : Number(word);
    return { kind: 'scalar', range: { start, end: this.position() }, quoted: false, text: word, value };
  }

  private map(level: number): ConfigNode | undefined {
    const start = this.position();
    const entries: MapEntry[] = [];
    const keys = new Set<string>();
    this.at++;
    if (this.next() === CLOSE_BRACE) return { kind: 'map', range: this.closed(start), entries };
    for (;;) {
      const key = this.next() === QUOTE ? this.quoted() : undefined;
      if (!key || keys.has(key.text) || this.next() !== COLON) return undefined;
      this.at++;
      const value = this.value(level + 1);
      if (!value) return undefined;
      keys.add(key.text);
      entries.push({ key: key.text, keyRange: key.range, value });
      const code = this.next();
      if (code === CLOSE_BRACE) return { kind: 'map', range: this.closed(start), entries };
      if (code !== COMMA) return undefined;
      this.at++;
    }
  }

  private list(level: number): ConfigNode | undefined {
    const start = this.position();
    const items: ConfigNode[] = [];
    this.at++;
    if (this.next() === CLOSE_BRACKET) return { kind: 'list', range: this.closed(start), items };
    for (;;) {
      const item = this.value(level + 1);
      if (!item) return undefined;
      items.push(item);
      const code = this.next();
      if (code === CLOSE_BRACKET) return { kind: 'list', range: this.closed(start), items };
      if (code !== COMMA) return undefined;
      this.at++;
    }
  }

  private quoted(): { readonly text: string; readonly range: Range } | undefined {
    const start = this.position();
    const taken = this.take(TEXT);
    return taken === undefined
      ? undefined
      : { text: taken.slice(1, -1), range: { start, end: this.position() } };
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.text) ?? [];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** From a bracket to behind the one at hand. */
  private closed(start: Position): Range {
    this.at++;
    return { start, end: this.position() };
  }

  private position(): Position {
    return { line: this.line, character: this.at - this.lineStart };
  }

  /** Goes on to the next character that is no blank; NaN at the end. */
  private next(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code === LINE_FEED || code === CARRIAGE_RETURN) {
        const both = code === CARRIAGE_RETURN && this.text.charCodeAt(this.at + 1) === LINE_FEED;
        this.at += both ? 2 : 1;
        this.line++;
        this.lineStart = this.at;
      } else if (code === SPACE || code === TAB) this.at++;
      else return code;
    }
  }
}
