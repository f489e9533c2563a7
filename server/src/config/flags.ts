import { say } from '../wording/say';
import type { Lines } from './lines';
import type { ConfigNode, MapEntry, ScalarNode } from './node';
import { SyntaxProblems } from './problems';
import { resolvePlain } from './pyyaml';
import type { SyntaxReading } from './syntax-reading';

/** A part of a line: a word with its offsets in the file, quotes included. */
interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Where a `=` outside of quotes stands in the text, -1 without one. */
  readonly equals: number;
  /** The value was quoted, as a whole. */
  readonly quoted: boolean;
}

/** A flag: dashes, a name, and nothing that a number or a path begins with. */
const FLAG = /^--?[A-Za-z_][\w.-]*$/;
const NAME = /^-{0,2}[A-Za-z_][\w.-]*$/;

/** Whether the first line that is no comment is one of a flag file: for files whose name states nothing. */
export function looksLikeFlags(text: string): boolean {
  const first =
    /^(?:[ \t]*(?:(?:#|\/\/)[^\r\n]*)?(?:\r\n|\n|\r))*[ \t]*([^\r\n]*)/.exec(text.slice(0, 10_000))?.[1] ??
    '';
  return /^(?:--?[A-Za-z_][\w.-]*(?:[= \t]|$)|[A-Za-z_][\w.-]*=(?!=)|include[ \t]+\S+$|@\S)/.test(first);
}

/**
 * Reads a flag file: `key=value`, `--key value`, `--key=value` and `--switch`, one or several on a line; `key: value` and
 * `key = value` too; comments from `#` or `//`; a backslash at the end of a line goes on in the next; `include other.flags`
 * and `@other.flags` name further files. Quotes keep blanks together.
 *
 * The root is a mapping in file order; of a key that is stated twice the last one counts. Files that are included are a
 * list under `include`. Switches without a value are true.
 */
export function readFlags(lines: Lines): SyntaxReading {
  const problems = new SyntaxProblems();
  const file = new FlagFile(lines, problems);
  for (const words of statements(lines, problems)) file.take(words);
  return {
    root: { kind: 'map', range: lines.range(0, lines.text.length), entries: file.entries() },
    problems: problems.list,
    relaxedJson: false,
  };
}

const isFlag = (word: Word) => !word.quoted && FLAG.test(word.text);
const isAssignment = (word: Word) => word.equals > 0 && NAME.test(word.text.slice(0, word.equals));

/** What the statements of a flag file have set so far. */
class FlagFile {
  readonly #lines: Lines;
  readonly #problems: SyntaxProblems;
  readonly #entries = new Map<string, MapEntry>();
  readonly #includes: ScalarNode[] = [];

  constructor(lines: Lines, problems: SyntaxProblems) {
    this.#lines = lines;
    this.#problems = problems;
  }

  /** Reads the words of a statement. */
  take(words: readonly Word[]): void {
    const [first, second] = words;
    if (first?.text === 'include' && second && second.text !== '=') {
      for (const word of words.slice(1)) this.#includes.push(textNode(this.#lines, word));
      return;
    }
    for (let at = 0; at < words.length; ) {
      const taken = this.#takeAt(words, at);
      if (taken === 0) return;
      at += taken;
    }
  }

  /** In file order, and behind them the files that are included. */
  entries(): MapEntry[] {
    const [include] = this.#includes;
    if (include) {
      const { range } = include;
      const value: ConfigNode = { kind: 'list', range, items: this.#includes };
      this.#entries.set('include', { key: 'include', keyRange: range, value });
    }
    return [...this.#entries.values()];
  }

  /** Reads what begins at a word: how many words it has, 0 where it is no flag. */
  #takeAt(words: readonly Word[], at: number): number {
    const word = words[at];
    if (!word) return 0;
    const { start, end, text } = word;
    if (text.startsWith('@') && text.length > 1) {
      this.#includes.push(textNode(this.#lines, { ...word, text: text.slice(1), start: start + 1 }));
      return 1;
    }
    if (isAssignment(word)) {
      const name = text.slice(0, word.equals).replace(/^-+/, '');
      this.#put(name, start, start + word.equals, this.#scalar(unquoted(word), word.equals + 1));
      return 1;
    }
    const next = words[at + 1];
    const after = words[at + 2];
    const name = text.replace(/^-+/, '').replace(/:$/, '');
    // `key = value` and `key: value`.
    if (NAME.test(text) && next?.text === '=' && after) {
      this.#put(name, start, end, this.#scalar(after));
      return 3;
    }
    if (at === 0 && /^[A-Za-z_][\w.-]*:$/.test(text) && next) {
      this.#put(name, start, end - 1, this.#scalar(next));
      return 2;
    }
    if (!isFlag(word)) {
      this.#problems.syntax(
        say('"{0}" is no flag: `key=value` or `--key value` is expected.', text.slice(0, 40)),
        this.#lines.range(start, end),
      );
      return 0;
    }
    if (next && isValue(next)) {
      this.#put(name, start, end, this.#scalar(next));
      return 2;
    }
    const range = this.#lines.range(start, end);
    this.#put(name, start, end, { kind: 'scalar', range, value: true, text: 'true', quoted: false });
    return 1;
  }

  #put(key: string, keyStart: number, keyEnd: number, value: ConfigNode): void {
    const known = this.#entries.get(key);
    const keyRange = this.#lines.range(keyStart, keyEnd);
    if (known) {
      this.#problems.add({
        code: 'duplicate-key',
        severity: 'warning',
        message: say('"{0}" is a duplicate: the last one wins.', key),
        range: known.keyRange,
        data: { key },
      });
    }
    this.#entries.delete(key);
    this.#entries.set(key, { key, keyRange, value });
  }

  #scalar(word: Word, from = 0): ScalarNode {
    const range = this.#lines.range(word.start + from, word.end);
    return { kind: 'scalar', range, ...typed(word.text.slice(from), word.quoted) };
  }
}

/** Whether a word behind a flag is its value. A shorthand such as `l=48,h=3072` is one, though it has a `=`. */
function isValue(word: Word): boolean {
  if (word.text.startsWith('@')) return false;
  const short = word.equals > 0 && word.text.includes(',') && !word.text.startsWith('-');
  return short || (!isFlag(word) && !isAssignment(word));
}

function textNode(lines: Lines, word: Word): ScalarNode {
  return {
    kind: 'scalar',
    range: lines.range(word.start, word.end),
    value: word.text,
    text: word.text,
    quoted: word.quoted,
  };
}

/** As YAML types it, so that dialects see one kind of number and flag whatever the syntax. */
function typed(text: string, quoted: boolean): Pick<ScalarNode, 'value' | 'text' | 'quoted'> {
  if (quoted) return { value: text, text, quoted };
  return { value: text === '' ? null : resolvePlain(text), text, quoted };
}

/** `key="a b"`: the value without its quotes. */
function unquoted(word: Word): Word {
  const value = word.text.slice(word.equals + 1);
  const quote = value[0];
  if ((quote !== '"' && quote !== "'") || value.length < 2 || !value.endsWith(quote)) return word;
  const text = `${word.text.slice(0, word.equals + 1)}${value.slice(1, -1)}`;
  return { ...word, text, quoted: true };
}

/** Words of each line, continued lines joined, comments left out. */
function* statements(lines: Lines, problems: SyntaxProblems): Generator<Word[]> {
  const { text } = lines;
  let words: Word[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text[at] ?? '';
    if (character === '\n' || character === '\r') {
      if (words.length > 0) yield words;
      words = [];
      at += 1;
    } else if (character === '\\' && /^\\[ \t]*(\r\n|\n|\r)/.test(text.slice(at, at + 200))) {
      at = text.indexOf('\n', at) < 0 ? text.length : skipBreak(text, at);
    } else if (/\s/.test(character) || character === ';') at += 1;
    else if (character === '#' || (character === '/' && text[at + 1] === '/')) at = endOfLine(text, at);
    else {
      const word = readWord(text, at);
      if (word.open) problems.syntax(say('This quote is not closed.'), lines.range(at, word.word.end));
      words.push(word.word);
      at = word.word.end;
    }
  }
  if (words.length > 0) yield words;
}

function endOfLine(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at++;
  return at;
}

/** Behind the line break that follows. */
function skipBreak(text: string, from: number): number {
  const end = endOfLine(text, from);
  return text.startsWith('\r\n', end) ? end + 2 : end + 1;
}

function readWord(text: string, start: number): { word: Word; open: boolean } {
  const opening = text[start];
  if (opening === '"' || opening === "'") {
    const end = endOfLine(text, start);
    const close = text.indexOf(opening, start + 1);
    if (close < 0 || close >= end) {
      return { word: { text: text.slice(start + 1, end), start, end, equals: -1, quoted: true }, open: true };
    }
    return {
      word: { text: text.slice(start + 1, close), start, end: close + 1, equals: -1, quoted: true },
      open: false,
    };
  }
  let at = start;
  let quote = '';
  let equals = -1;
  for (; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '\n' || character === '\r') break;
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (/\s/.test(character) || character === ';') break;
    else if (character === '=' && equals < 0) equals = at - start;
  }
  return { word: { text: text.slice(start, at), start, end: at, equals, quoted: false }, open: quote !== '' };
}
