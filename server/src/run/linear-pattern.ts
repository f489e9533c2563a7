/**
 * Regular expressions of Python's `re`, matched in time proportional to pattern times text, whatever the pattern: a config
 * brings it, and a backtracking matcher would run some of them for ever. Groups, classes, counts, looking ahead and behind
 * are read; references back to a group, atomic groups and possessive counts are not.
 */

import { type Remembered, remembered } from '../memo/remembered';

/** What a text is asked: whether it matches. */
export interface TextPattern {
  test(text: string): boolean;
}

/** Longer patterns, larger programs and longer texts are no module names. */
const LONGEST_PATTERN = 4096;
const LARGEST_PROGRAM = 1024;
const LONGEST_TEXT = 512;
const DEEPEST = 100;
/** Steps that one pattern may take over all the texts that it is asked about: some tenths of a second. */
const MOST_STEPS = 20_000_000;

type CharacterTest = (code: number) => boolean;
type Assertion = 'start' | 'end' | 'last-line' | 'boundary' | 'no-boundary';

type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'sequence'; readonly parts: readonly Node[] }
  | { readonly kind: 'choice'; readonly options: readonly Node[] }
  | { readonly kind: 'repeat'; readonly part: Node; readonly least: number; readonly most: number }
  | { readonly kind: 'assertion'; readonly what: Assertion }
  | { readonly kind: 'look'; readonly part: Node; readonly behind: boolean; readonly negative: boolean };

class NotRead extends Error {}

const isDigit: CharacterTest = (code) => code >= 48 && code <= 57;
const isBlank: CharacterTest = (code) => /\s/.test(String.fromCharCode(code));
const isWord: CharacterTest = (code) =>
  isDigit(code) ||
  code === 95 ||
  (code >= 65 && code <= 90) ||
  (code >= 97 && code <= 122) ||
  (code > 127 && /[\p{L}\p{N}]/u.test(String.fromCharCode(code)));
const not =
  (test: CharacterTest): CharacterTest =>
  (code) =>
    !test(code);

const CLASSES: Readonly<Record<string, CharacterTest>> = {
  d: isDigit,
  D: not(isDigit),
  s: isBlank,
  S: not(isBlank),
  w: isWord,
  W: not(isWord),
};
const CONTROLS: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  f: '\f',
  v: '\v',
  a: '\u0007',
};
const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  A: 'start',
  Z: 'end',
  b: 'boundary',
  B: 'no-boundary',
};

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

class Parser {
  private at = 0;
  private depth = 0;
  ignoresCase = false;
  private dotTakesAll = false;

  constructor(private readonly source: string) {}

  whole(): Node {
    const flags = /^\(\?([is]+)\)/.exec(this.source);
    if (flags) {
      this.at = flags[0].length;
      this.ignoresCase = flags[1]?.includes('i') ?? false;
      this.dotTakesAll = flags[1]?.includes('s') ?? false;
    }
    const node = this.choice();
    if (this.at < this.source.length) throw new NotRead();
    return node;
  }

  private take(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  private choice(): Node {
    if (++this.depth > DEEPEST) throw new NotRead();
    const options = [this.sequence()];
    while (this.take('|')) options.push(this.sequence());
    this.depth--;
    return options.length === 1 && options[0] ? options[0] : { kind: 'choice', options };
  }

  private sequence(): Node {
    const parts: Node[] = [];
    while (this.at < this.source.length && !/[|)]/.test(this.source[this.at] ?? '')) {
      const part = this.counted();
      const before = parts.at(-1);
      if (part.kind === 'text' && before?.kind === 'text')
        parts[parts.length - 1] = { kind: 'text', text: before.text + part.text };
      else parts.push(part);
    }
    return { kind: 'sequence', parts };
  }

  private counted(): Node {
    const part = this.atom();
    const count = this.count();
    if (!count) return part;
    if (part.kind === 'assertion' || part.kind === 'look') throw new NotRead();
    // Whether few or many are tried first states nothing about whether there is a match.
    this.take('?');
    if (/[*+?]/.test(this.source[this.at] ?? '') || this.isCount()) throw new NotRead();
    return { kind: 'repeat', part, ...count };
  }

  private isCount(): boolean {
    const from = this.at;
    const found = this.count() !== undefined;
    this.at = from;
    return found;
  }

  private count(): { least: number; most: number } | undefined {
    if (this.take('*')) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.take('+')) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.take('?')) return { least: 0, most: 1 };
    const braces = /^\{(\d{0,6})(,?)(\d{0,6})\}/.exec(this.source.slice(this.at, this.at + 20));
    if (!braces || (braces[1] === '' && braces[3] === '')) return undefined;
    const [all, low = '', comma, high = ''] = braces;
    const least = Number(low);
    const most = comma === '' ? least : high === '' ? Number.POSITIVE_INFINITY : Number(high);
    if (least > most) throw new NotRead();
    this.at += all.length;
    return { least, most };
  }

  private atom(): Node {
    const character = this.source[this.at++] ?? '';
    switch (character) {
      case '(':
        return this.group();
      case '[':
        return { kind: 'character', test: this.inCase(this.set()) };
      case '.': {
        const all = this.dotTakesAll;
        return { kind: 'character', test: (code) => all || code !== 10 };
      }
      case '^':
        return { kind: 'assertion', what: 'start' };
      case '$':
        return { kind: 'assertion', what: 'last-line' };
      case '\\':
        return this.escape();
      case '*':
      case '+':
      case '?':
        throw new NotRead();
      default:
        return { kind: 'text', text: character };
    }
  }

  private escape(): Node {
    const letter = this.source[this.at++] ?? '';
    const assertion = own(ASSERTIONS, letter);
    if (assertion) return { kind: 'assertion', what: assertion };
    const test = own(CLASSES, letter);
    if (test) return { kind: 'character', test };
    return { kind: 'text', text: this.escaped(letter) };
  }

  /** The character that a backslash and what follows stand for. */
  private escaped(letter: string): string {
    const control = own(CONTROLS, letter);
    if (control !== undefined) return control;
    const digits = letter === 'x' ? 2 : letter === 'u' ? 4 : 0;
    if (digits > 0) {
      const written = this.source.slice(this.at, this.at + digits);
      if (!/^[\da-f]+$/i.test(written) || written.length !== digits) throw new NotRead();
      this.at += digits;
      return String.fromCharCode(Number.parseInt(written, 16));
    }
    // Python takes no other letter, and digits refer back to groups.
    if (letter === '' || /[A-Za-z0-9]/.test(letter)) throw new NotRead();
    return letter;
  }

  private group(): Node {
    if (this.take('?#')) {
      const end = this.source.indexOf(')', this.at);
      if (end < 0) throw new NotRead();
      this.at = end + 1;
      return { kind: 'sequence', parts: [] };
    }
    const look = ['?=', '?!', '?<=', '?<!'].find((opening) => this.take(opening));
    if (look === undefined && !this.take('?:')) {
      const name = /^\?P<[A-Za-z_]\w*>/.exec(this.source.slice(this.at, this.at + 100));
      if (name) this.at += name[0].length;
      else if (this.source[this.at] === '?') throw new NotRead();
    }
    const part = this.choice();
    if (!this.take(')')) throw new NotRead();
    if (look === undefined) return part.kind === 'text' ? { kind: 'sequence', parts: [part] } : part;
    const behind = look.includes('<');
    if (behind && widthOf(part) === undefined) throw new NotRead();
    return { kind: 'look', part, behind, negative: look.endsWith('!') };
  }

  private set(): CharacterTest {
    const negative = this.take('^');
    const tests: CharacterTest[] = [];
    for (let first = true; ; first = false) {
      if (this.at >= this.source.length) throw new NotRead();
      if (!first && this.take(']')) break;
      const low = this.member();
      if (typeof low === 'function') {
        tests.push(low);
        continue;
      }
      const isRange = this.source[this.at] === '-' && this.source[this.at + 1] !== ']';
      if (!isRange) {
        tests.push((code) => code === low);
        continue;
      }
      this.at++;
      const high = this.member();
      if (typeof high === 'function' || high < low) throw new NotRead();
      tests.push((code) => code >= low && code <= high);
    }
    return (code) => tests.some((test) => test(code)) !== negative;
  }

  private member(): number | CharacterTest {
    const character = this.source[this.at++];
    if (character === undefined) throw new NotRead();
    if (character !== '\\') return character.charCodeAt(0);
    const letter = this.source[this.at++] ?? '';
    if (letter === 'b') return 8;
    return own(CLASSES, letter) ?? this.escaped(letter).charCodeAt(0);
  }

  private inCase(test: CharacterTest): CharacterTest {
    if (!this.ignoresCase) return test;
    return (code) => {
      const character = String.fromCharCode(code);
      return test(character.toLowerCase().charCodeAt(0)) || test(character.toUpperCase().charCodeAt(0));
    };
  }
}

/** Characters that a part always takes; undefined where that differs. */
function widthOf(node: Node): number | undefined {
  switch (node.kind) {
    case 'text':
      return node.text.length;
    case 'character':
      return 1;
    case 'assertion':
    case 'look':
      return 0;
    case 'sequence': {
      const widths = node.parts.map(widthOf);
      return widths.reduce<number | undefined>(
        (sum, width) => (sum === undefined || width === undefined ? undefined : sum + width),
        0,
      );
    }
    case 'choice': {
      const [first, ...others] = node.options.map(widthOf);
      return others.every((width) => width === first) ? first : undefined;
    }
    case 'repeat': {
      const width = widthOf(node.part);
      return width === undefined || node.least !== node.most ? undefined : width * node.least;
    }
  }
}

type Step =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'assertion'; readonly what: Assertion }
  | { readonly kind: 'look'; readonly program: Program; readonly width: number; readonly negative: boolean }
  | { readonly kind: 'fork'; to: readonly number[] };

/** Steps that a text is led through; behind the last of them it matches. */
class Program {
  readonly steps: Step[] = [];
  /** By step and place in the text, the question in which it was reached last. */
  private reached = new Uint32Array(0);
  private question = 0;

  constructor(
    node: Node,
    private readonly lower: boolean,
  ) {
    this.add(node);
  }

  private push(step: Step): number {
    if (this.steps.length >= LARGEST_PROGRAM) throw new NotRead();
    return this.steps.push(step) - 1;
  }

  private add(node: Node): void {
    switch (node.kind) {
      case 'text':
        if (node.text !== '') this.push({ ...node, text: this.lower ? node.text.toLowerCase() : node.text });
        break;
      case 'character':
      case 'assertion':
        this.push(node);
        break;
      case 'look': {
        const width = node.behind ? (widthOf(node.part) ?? 0) : 0;
        this.push({
          kind: 'look',
          program: new Program(node.part, this.lower),
          width,
          negative: node.negative,
        });
        break;
      }
      case 'sequence':
        for (const part of node.parts) this.add(part);
        break;
      case 'choice': {
        const fork = this.fork();
        const starts: number[] = [];
        const ends: { to: readonly number[] }[] = [];
        for (const option of node.options) {
          starts.push(this.steps.length);
          this.add(option);
          ends.push(this.fork());
        }
        fork.to = starts;
        for (const end of ends) end.to = [this.steps.length];
        break;
      }
      case 'repeat':
        this.repeat(node.part, node.least, node.most);
        break;
    }
  }

  private fork(): { to: readonly number[] } {
    const fork: Step = { kind: 'fork', to: [] };
    this.push(fork);
    return fork;
  }

  private repeat(part: Node, least: number, most: number): void {
    for (let i = 0; i < least; i++) {
      const before = this.steps.length;
      this.add(part);
      // What takes nothing takes nothing however often.
      if (this.steps.length === before) return;
    }
    if (most === Number.POSITIVE_INFINITY) {
      const from = this.steps.length;
      const fork = this.fork();
      const body = this.steps.length;
      this.add(part);
      this.fork().to = [from];
      fork.to = [body, this.steps.length];
      return;
    }
    const ways: { to: readonly number[] }[] = [];
    for (let i = least; i < most; i++) {
      const way = this.fork();
      way.to = [this.steps.length];
      ways.push(way);
      this.add(part);
    }
    for (const way of ways) way.to = [...way.to, this.steps.length];
  }

  /** Whether the text matches from a place on, up to its end where it must. */
  matches(text: string, from: number, toEnd: boolean, budget: { steps: number }): boolean {
    const places = text.length + 1;
    const last = this.steps.length;
    if (this.reached.length < (last + 1) * places || this.question === 0xffffffff) {
      this.reached = new Uint32Array((last + 1) * places);
      this.question = 0;
    }
    const question = ++this.question;
    const open: number[] = [];
    const reach = (step: number, place: number) => {
      const state = step * places + place;
      if (this.reached[state] === question) return;
      this.reached[state] = question;
      open.push(state);
    };
    reach(0, from);
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (--budget.steps < 0) return false;
      const at = Math.floor(state / places);
      const place = state % places;
      const step = this.steps[at];
      if (!step) {
        if (!toEnd || place === text.length) return true;
        continue;
      }
      switch (step.kind) {
        case 'text':
          if (text.startsWith(step.text, place)) reach(at + 1, place + step.text.length);
          break;
        case 'character':
          if (place < text.length && step.test(text.charCodeAt(place))) reach(at + 1, place + 1);
          break;
        case 'assertion':
          if (holds(step.what, text, place)) reach(at + 1, place);
          break;
        case 'look': {
          const start = place - step.width;
          const found = start >= 0 && step.program.matches(text, start, false, budget);
          if (found !== step.negative) reach(at + 1, place);
          break;
        }
        case 'fork':
          for (const to of step.to) reach(to, place);
          break;
      }
    }
    return false;
  }
}

function holds(what: Assertion, text: string, place: number): boolean {
  switch (what) {
    case 'start':
      return place === 0;
    case 'end':
      return place === text.length;
    case 'last-line':
      return place === text.length || (place === text.length - 1 && text.endsWith('\n'));
    default: {
      const before = place > 0 && isWord(text.charCodeAt(place - 1));
      const behind = place < text.length && isWord(text.charCodeAt(place));
      return (before !== behind) === (what === 'boundary');
    }
  }
}

interface Compiled {
  readonly program: Program;
  readonly ignoresCase: boolean;
  /** What texts were answered: a model's weights are asked about with every estimate, by the same patterns. */
  readonly answers: Remembered<boolean>;
}

const COMPILED = remembered<Compiled | undefined>(20);

function compiled(source: string): Compiled | undefined {
  try {
    const parser = new Parser(source);
    const node = parser.whole();
    const { ignoresCase } = parser;
    return { program: new Program(node, ignoresCase), ignoresCase, answers: remembered(10_000) };
  } catch (error) {
    if (error instanceof NotRead) return undefined;
    throw error;
  }
}

/**
 * A regular expression of Python's `re`, matched against the whole text (`re.fullmatch`) or from its start (`re.match`).
 * Undefined where it is none, or has what is not read here.
 */
export function linearPattern(source: string, whole: boolean): TextPattern | undefined {
  if (source.length > LONGEST_PATTERN) return undefined;
  const found = COMPILED.of(`${whole} ${source}`, () => compiled(source));
  if (!found) return undefined;
  const { program, ignoresCase, answers } = found;
  const budget = { steps: MOST_STEPS };
  const matches = (text: string) =>
    program.matches(ignoresCase ? text.toLowerCase() : text, 0, whole, budget);
  return { test: (text) => text.length <= LONGEST_TEXT && answers.of(text, () => matches(text)) };
}
