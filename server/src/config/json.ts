import { type Node as JsonNode, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { compare, type Range } from '../text/place';
import { fileName } from '../text/uri';
import { say } from '../wording/say';
import type { Lines } from './lines';
import type { ConfigNode, MapEntry } from './node';
import { SyntaxProblems } from './problems';
import { strictJson } from './strict-json';
import type { SyntaxReading } from './syntax-reading';

/** Deeper nesting is an attack on the stack, not a config. */
const MAX_DEPTH = 200;

/** Reads JSON, strict or relaxed. */
export function readJson(lines: Lines, uri: string): SyntaxReading {
  const root = strictJson(lines.text, MAX_DEPTH);
  return root ? { root, problems: [], relaxedJson: false } : readRelaxedJson(lines, uri);
}

/** Reads JSON with `//`, `/* *\/` and `#` comments and trailing commas, as DeepSpeed's reader (Hjson) accepts them. */
export function readRelaxedJson(lines: Lines, uri: string): SyntaxReading {
  const problems = new SyntaxProblems();
  const survey = surveyJson(lines.text);
  if (survey.tooDeepAt !== undefined) {
    problems.syntax(
      say('Nested deeper than {0} levels: not read.', MAX_DEPTH),
      lines.range(survey.tooDeepAt, survey.tooDeepAt + 1),
    );
    return { root: null, problems: problems.list, relaxedJson: false };
  }
  const errors: ParseError[] = [];
  const tree = parseTree(survey.text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const named = /template/i.test(fileName(uri));
  let template = survey.template && {
    word: lines.text.slice(...survey.template),
    range: lines.range(...survey.template),
  };
  for (const [index, error] of errors.entries()) {
    if (problems.full) break;
    if (isEcho(error, errors[index - 1])) continue;
    const word = templateWord(error, lines, named);
    if (word !== undefined) {
      const range = rangeOfError(error, lines);
      if (!template || compare(range.start, template.range.start) < 0) template = { word, range };
      continue;
    }
    problems.syntax(describe(error), rangeOfError(error, lines));
  }
  if (template)
    problems.add({
      code: 'placeholder',
      severity: 'information',
      message: say('A template: `{0}` is still to be filled in.', template.word),
      range: template.range,
    });
  const root = tree ? new Converter(lines, uri, problems).node(tree) : null;
  return { root, problems: problems.list, relaxedJson: survey.comments || survey.trailingComma };
}

/** `CONFIG_BATCH_SIZE`: a script replaces it by a value (`sed "s/CONFIG_BATCH_SIZE/8/"`) before anybody reads the JSON; in a file
 * that is named a template, `GBSIZE`, too. */
function templateWord(error: ParseError, lines: Lines, named: boolean): string | undefined {
  if (nameOf(error) !== 'InvalidSymbol') return undefined;
  const word = lines.text.slice(error.offset, error.offset + error.length);
  if (/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/.test(word)) return word;
  // `<LR>` of a person, `$LR` of `envsubst`.
  if (/^(?:<\w[\w-]*>|\$[A-Za-z_]\w*)$/.test(word)) return word;
  return named && /^[A-Z][A-Za-z0-9_]+$/.test(word) ? word : undefined;
}

/** After a word that is no value, the parser misses the value as well: that states nothing new. */
function isEcho(error: ParseError, before: ParseError | undefined): boolean {
  return before !== undefined && nameOf(error) === 'ValueExpected' && nameOf(before) === 'InvalidSymbol';
}

interface Survey {
  /** The text with `#` comments blanked out, and `null` in the place of what a template leaves open. */
  readonly text: string;
  /** Where the first of those begins and ends. */
  readonly template?: readonly [start: number, end: number];
  readonly comments: boolean;
  readonly trailingComma: boolean;
  readonly tooDeepAt?: number;
}

/** One pass over the characters: comments, trailing commas and depth, all outside of strings. */
function surveyJson(text: string): Survey {
  const pieces: string[] = [];
  let copied = 0;
  let comments = false;
  let trailingComma = false;
  let comma = false;
  let depth = 0;
  let template: readonly [number, number] | undefined;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = endOfString(text, i);
      comma = false;
    } else if (c === NUMBER_SIGN || (c === SLASH && text.charCodeAt(i + 1) === SLASH)) {
      comments = true;
      const end = endOfLine(text, i);
      if (c === NUMBER_SIGN) {
        pieces.push(text.slice(copied, i), ' '.repeat(end - i));
        copied = end;
      }
      i = end - 1;
    } else if (c === SLASH && text.charCodeAt(i + 1) === ASTERISK) {
      comments = true;
      const end = text.indexOf('*/', i + 2);
      i = end < 0 ? text.length : end + 1;
    } else if (opensTemplate(text, i)) {
      const end = endOfTemplate(text, i);
      const isStatement = text.charCodeAt(i + 1) === PERCENT;
      pieces.push(text.slice(copied, i), (isStatement ? '' : 'null').padEnd(end - i));
      copied = end;
      template ??= [i, end];
      i = end - 1;
      comma = false;
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      comma = false;
      if (++depth > MAX_DEPTH) return { text, comments, trailingComma, tooDeepAt: i };
    } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      depth--;
      if (comma) trailingComma = true;
      comma = false;
    } else if (c === COMMA) comma = true;
    else if (c !== SPACE && c !== LINE_FEED && c !== CARRIAGE_RETURN && c !== TAB) comma = false;
  }
  return {
    text: pieces.join('') + text.slice(copied),
    comments,
    trailingComma,
    ...(template ? { template } : {}),
  };
}

/** `{{ x }}`, `{% if x %}` and `${X}` where a value or a key would begin: no JSON has that. */
function opensTemplate(text: string, at: number): boolean {
  const [c, next] = [text.charCodeAt(at), text.charCodeAt(at + 1)];
  const opens =
    c === OPEN_BRACE ? next === OPEN_BRACE || next === PERCENT : c === DOLLAR && next === OPEN_BRACE;
  return opens && endOfTemplate(text, at) > at;
}

/** Behind the end of a placeholder that begins here; `at` where it ends on no line. */
function endOfTemplate(text: string, at: number): number {
  const closing = text.startsWith('{{', at) ? '}}' : text.startsWith('{%', at) ? '%}' : '}';
  const end = text.indexOf(closing, at + 2);
  return end < 0 || end > endOfLine(text, at) ? at : end + closing.length;
}

const TAB = 9;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
const QUOTE = 34;
const NUMBER_SIGN = 35;
const DOLLAR = 36;
const PERCENT = 37;
const ASTERISK = 42;
const COMMA = 44;
const SLASH = 47;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

function endOfString(text: string, quote: number): number {
  for (let i = quote + 1; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === BACKSLASH) i++;
    else if (c === QUOTE || c === LINE_FEED || c === CARRIAGE_RETURN) return i;
  }
  return text.length;
}

function endOfLine(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === LINE_FEED || c === CARRIAGE_RETURN) return i;
  }
  return text.length;
}

class Converter {
  constructor(
    private readonly lines: Lines,
    private readonly uri: string,
    private readonly problems: SyntaxProblems,
  ) {}

  node(node: JsonNode): ConfigNode {
    const range = this.rangeOf(node);
    if (node.type === 'array') {
      return { kind: 'list', range, items: (node.children ?? []).map((item) => this.node(item)) };
    }
    if (node.type === 'object') return { kind: 'map', range, entries: this.entries(node) };
    const quoted = node.type === 'string';
    const raw = this.lines.text.slice(node.offset, node.offset + node.length);
    const value: unknown = node.value;
    const plain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return {
      kind: 'scalar',
      range,
      quoted,
      text: quoted ? withoutQuotes(raw) : raw,
      value: plain ? value : null,
    };
  }

  private entries(object: JsonNode): MapEntry[] {
    const entries = new Map<string, MapEntry>();
    for (const property of object.children ?? []) {
      const entry = this.entry(property);
      if (!entry) continue;
      const first = entries.get(entry.key);
      if (first) {
        this.problems.add({
          code: 'duplicate-key',
          severity: 'error',
          message: say(
            'Duplicate key `{0}`: DeepSpeed refuses the file, other readers silently take the last one.',
            entry.key,
          ),
          range: entry.keyRange,
          related: [{ uri: this.uri, range: first.keyRange, message: say('First set here') }],
          data: { key: entry.key },
        });
        entries.delete(entry.key);
      }
      entries.set(entry.key, entry);
    }
    return [...entries.values()];
  }

  private entry(property: JsonNode): MapEntry | undefined {
    const [key, value] = property.children ?? [];
    if (!key) return undefined;
    const behindColon = (property.colonOffset ?? key.offset + key.length - 1) + 1;
    return {
      key: String(key.value),
      keyRange: this.rangeOf(key),
      value: value
        ? this.node(value)
        : {
            kind: 'scalar',
            range: this.lines.range(behindColon, behindColon),
            value: null,
            text: '',
            quoted: false,
          },
    };
  }

  private rangeOf(node: JsonNode): Range {
    return this.lines.range(node.offset, node.offset + node.length);
  }
}

/** The closing one may not be there yet. */
function withoutQuotes(raw: string): string {
  const start = raw.startsWith('"') ? 1 : 0;
  return raw.slice(start, raw.length > start && raw.endsWith('"') ? -1 : undefined);
}

function rangeOfError(error: ParseError, lines: Lines): Range {
  // An error at the very end of the text has no characters left: show it on the last one.
  const start = Math.min(error.offset, lines.lastVisible);
  return lines.range(start, Math.min(start + Math.max(1, error.length), lines.text.length));
}

/** What the parser complains of, by the names of jsonc-parser. */
export const SYNTAX_MESSAGES: Readonly<Record<string, string>> = {
  InvalidSymbol: 'Not a JSON value. Text needs double quotes.',
  InvalidNumberFormat: 'Not a number in JSON.',
  PropertyNameExpected: 'A key in double quotes is expected.',
  ValueExpected: 'A value is expected.',
  ColonExpected: 'A colon is expected.',
  CommaExpected: 'A comma is expected.',
  CloseBraceExpected: 'A closing brace is missing.',
  CloseBracketExpected: 'A closing bracket is missing.',
  EndOfFileExpected: 'The file goes on behind its end.',
  InvalidCommentToken: 'Not a comment.',
  UnexpectedEndOfComment: 'The comment is not closed.',
  UnexpectedEndOfString: 'The text is not closed.',
  UnexpectedEndOfNumber: 'The number is not complete.',
  InvalidEscapeCharacter: 'Not an escape that JSON knows.',
  InvalidUnicode: 'Not a Unicode escape.',
  InvalidCharacter: 'This character must be escaped.',
};

function describe(error: ParseError): string {
  const name = nameOf(error);
  const message = SYNTAX_MESSAGES[name];
  return message === undefined ? `JSON: ${name}` : say(message);
}

function nameOf(error: ParseError): string {
  return printParseErrorCode(error.error);
}
