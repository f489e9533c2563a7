import type {
  ArithmeticExpression,
  CommandExpansionPart,
  DoubleQuotedChild,
  ParameterExpansionPart,
  ParsedScript,
  Word,
  WordPart,
} from 'unbash';
import { valueOfArithmetic } from './arithmetic';
import { MOST_WORDS } from './job';
import { removedLength, replaced } from './pattern';
import {
  cutText,
  isSettled,
  isUnset,
  type Piece,
  type PlacedText,
  splitAtBlanks,
  type TextStretch,
  textOfPieces,
  usedAt,
} from './placed-text';
import type { ShellScope } from './scope';
import type { ScriptSource } from './script-source';

/** Variables that are set wherever a script runs: a test of them tells nothing. */
const SYSTEM =
  /^(HOME|USER|PWD|OLDPWD|PATH|HOSTNAME|RANDOM|SECONDS|EPOCHSECONDS|UID|EUID|SHELL|LANG|TERM|BASH\w*|LD_LIBRARY_PATH|SLURM\w*|PBS_\w*|LSB_\w*|[0?!$_-])$/;

/** What a part of a word stands for: one text, or the items of an array. */
type Value = { readonly text: PlacedText } | { readonly items: readonly PlacedText[] };

/** A part of a word, or what a brace has made of one. */
type Part = WordPart | PlacedText;

const MOST_ALTERNATIVES = 1_000;

/** Follows the expansions of words as bash does, keeping the place of every character. */
export class Expander {
  private readonly scope: ShellScope;
  private readonly source: ScriptSource;
  /** Conditions that decide about what was expanded, where the script does not settle them. */
  guesses: TextStretch[] = [];
  /** What a command substitution prints; undefined where that is not known. */
  private readonly output: (script: ParsedScript, part: CommandExpansionPart) => PlacedText | undefined;

  constructor(scope: ShellScope, source: ScriptSource, output: Expander['output']) {
    this.scope = scope;
    this.source = source;
    this.output = output;
  }

  /** A word as one text, never split. */
  joined(word: Word): PlacedText {
    if (!word.parts) return this.source.unquoted(word.pos, word.end, word.value);
    return this.parts(word.parts);
  }

  parts(parts: readonly (WordPart | DoubleQuotedChild)[]): PlacedText {
    return parts.flatMap((part) => textOfValue(this.part(part)));
  }

  /** A word as the fields that it becomes: braces, then unquoted variables split at blanks, then a field per item of an array. */
  fields(word: Word): PlacedText[] {
    if (!word.parts) return [this.source.unquoted(word.pos, word.end, word.value)];
    const made = this.alternatives(word.parts);
    if (made.length > 1) this.scope.budget.spend(made.length * word.parts.length);
    return made.flatMap((parts) => this.split(parts));
  }

  /** The words that braces make of one: `{a,b}c` is two. */
  private alternatives(parts: readonly Part[]): (readonly Part[])[] {
    for (const [i, part] of parts.entries()) {
      const options = 'type' in part && part.type === 'BraceExpansion' ? bracesOf(part.text) : undefined;
      if (!options || !('type' in part)) continue;
      const rest = this.alternatives(parts.slice(i + 1));
      if (options.length * rest.length > MOST_ALTERNATIVES) return [parts];
      const before = parts.slice(0, i);
      return options.flatMap((option) => {
        const begun = [...before, [this.source.standing(option, part.pos, part.end)]];
        return rest.map((after) => begun.concat(after));
      });
    }
    return [parts];
  }

  private split(parts: readonly Part[]): PlacedText[] {
    const fields = new Fields();
    for (const part of parts)
      if ('type' in part) this.field(part, fields);
      else fields.add(part);
    return fields.close();
  }

  private field(part: WordPart, fields: Fields): void {
    if (part.type === 'DoubleQuoted' || part.type === 'LocaleString') {
      const values = part.parts.map((inner) => this.part(inner));
      // `"${a[@]}"` of an empty array is no word, nor with a variable beside it that holds nothing; `""` is one.
      const nothing =
        values.some((value) => 'items' in value && value.items.length === 0) &&
        values.every((value) => isNothing(textOfValue(value)));
      if (nothing) return;
      fields.add([]);
      for (const value of values) {
        if ('text' in value) fields.add(value.text);
        else for (const [i, item] of value.items.entries()) fields.add(item, i > 0);
      }
      return;
    }
    const value = this.part(part);
    if (!isExpansion(part)) {
      fields.add(textOfValue(value));
      return;
    }
    const texts = 'text' in value ? [value.text] : value.items;
    for (const [i, text] of texts.entries()) {
      if (i > 0) fields.end();
      fields.spread(text);
    }
  }

  /** What a part of a word stands for. */
  private part(part: WordPart | DoubleQuotedChild): Value {
    const { pos, end } = part;
    switch (part.type) {
      case 'Literal':
        return { text: this.source.unquoted(pos, end, part.value) };
      case 'SingleQuoted':
        return { text: this.source.slice(pos + 1, end - 1) };
      case 'AnsiCQuoted':
        return { text: [this.source.standing(part.value, pos, end)] };
      case 'DoubleQuoted':
      case 'LocaleString':
        return { text: this.parts(part.parts) };
      case 'SimpleExpansion':
        return this.used(this.variable(part.text.slice(1), pos, end), this.source.place(pos, end));
      case 'ParameterExpansion':
        return this.used(this.parameter(part), this.source.place(pos, end));
      case 'CommandExpansion': {
        const printed = part.script && this.output(part.script, part);
        return { text: printed ?? [this.source.unknown(pos, end)] };
      }
      case 'ArithmeticExpansion':
        return { text: [this.number(part.expression, pos, end)] };
      case 'Glob':
        // `['a','b']` is a pattern to the shell, which takes the quotes off.
        return part.kind === 'bracket'
          ? {
              text: [
                ...this.source.slice(pos, pos + 1),
                ...this.parts(part.parts),
                ...this.source.slice(end - 1, end),
              ],
            }
          : { text: this.source.slice(pos, end) };
      case 'BraceExpansion':
        return { text: this.source.slice(pos, end) };
      default:
        return { text: [this.source.unknown(pos, end)] };
    }
  }

  private used(value: Value, place: TextStretch): Value {
    const { budget } = this.scope;
    if (!budget.exceeded)
      for (const text of 'text' in value ? [value.text] : value.items) budget.expand(text);
    if (budget.exceeded) return { text: [] };
    for (const { guessed } of 'text' in value ? value.text : value.items.flat())
      if (guessed) this.guesses.push(guessed);
    return 'text' in value
      ? { text: usedAt(value.text, place) }
      : { items: value.items.map((item) => usedAt(item, place)) };
  }

  private number(expression: ArithmeticExpression | undefined, pos: number, end: number): Piece {
    const before = this.guesses.length;
    const value = this.arithmetic(expression);
    if (value === undefined) return this.source.unknown(pos, end);
    const guessed = this.guesses[before];
    return { ...this.source.standing(String(value), pos, end), ...(guessed ? { guessed } : {}) };
  }

  /** Value of an expression in whole numbers; assignments in it (`i++`) are made. */
  arithmetic(expression: ArithmeticExpression | undefined): number | undefined {
    return valueOfArithmetic(expression, {
      get: (name) => {
        const value = this.value(name);
        if (value === undefined || !isSettled(value)) return undefined;
        for (const { guessed } of value) if (guessed) this.guesses.push(guessed);
        return textOfPieces(value);
      },
      set: (name, value) => {
        const text = value === undefined ? undefined : String(value);
        const { pos = 0, end = 0 } = expression ?? {};
        this.scope.set(
          name,
          text === undefined ? [this.source.unknown(pos, end)] : [this.source.standing(text, pos, end)],
        );
      },
      words: (parts) => {
        const text = this.parts(parts);
        return isSettled(text) ? textOfPieces(text) : undefined;
      },
    });
  }

  /** Text of a variable or of an argument (`2`, `14`); undefined where it is not set. */
  private value(name: string): PlacedText | undefined {
    if (/^\d+$/.test(name) && name !== '0') return this.scope.argument(Number(name));
    const known = this.scope.get(name);
    return known?.items ? known.items.get('0') : known?.text;
  }

  private variable(name: string, pos: number, end: number): Value {
    const { args, openFrom } = this.scope;
    if (name === '@' || name === '*') {
      if (args) return name === '@' ? { items: args } : { text: withBlanks(args) };
      return { text: [this.source.unknown(pos, end, { unset: 'argument' })] };
    }
    if (name === '#') {
      const counted = openFrom === undefined ? args : undefined;
      const count = counted && this.source.standing(String(counted.length), pos, end);
      return { text: [count ?? this.source.unknown(pos, end)] };
    }
    const known = this.value(name);
    if (known) return { text: known };
    if (args && openFrom === undefined && /^[1-9]\d*$/.test(name)) return { text: [] };
    const unset = this.unsetAs(name);
    return { text: [this.source.unknown(pos, end, unset ? { unset } : {})] };
  }

  private unsetAs(name: string): Piece['unset'] {
    if (/^[1-9]\d*$/.test(name)) return 'argument';
    return SYSTEM.test(name) || this.scope.tookIn ? undefined : 'variable';
  }

  private parameter(part: ParameterExpansionPart): Value {
    const { parameter, index, operation, prefix, pos, end } = part;
    const unknown: Value = { text: [this.source.unknown(pos, end)] };
    const items = this.scope.get(parameter)?.items;
    if (prefix === '#') {
      const whole = index?.value === '@' || index?.value === '*';
      if (parameter === '@' || parameter === '*') return this.variable('#', pos, end);
      if (whole) {
        const count = items?.size ?? (this.scope.get(parameter) ? 1 : 0);
        return { text: [this.source.standing(String(count), pos, end)] };
      }
      const text = this.item(part);
      if (!text || !isSettled(text)) return unknown;
      return { text: [this.source.standing(String(textOfPieces(text).length), pos, end)] };
    }
    if (prefix === '!') return this.indirect(part, unknown);
    const whole = index?.value === '@' || index?.value === '*';
    if (whole || parameter === '@' || parameter === '*') {
      const all = whole ? this.itemsOf(parameter) : this.scope.args;
      if (!all) {
        if (operation?.type === 'Default') return this.orDefault(part, undefined, unknown);
        return whole
          ? { text: [this.source.unknown(pos, end, { unset: 'variable' })] }
          : { text: [this.source.unknown(pos, end, { unset: 'argument' })] };
      }
      return this.manyOf(part, all, whole ? index?.value === '*' : parameter === '*', unknown);
    }
    const known = this.item(part);
    if (operation?.type === 'Default') return this.orDefault(part, known, unknown);
    // An array of the script has no other items; which one an index names that is not known is open.
    if (!known && (index || items) && this.scope.get(parameter))
      return index && !this.isPlace(index, items) ? unknown : { text: [] };
    if (!known) return this.variable(parameter, pos, end);
    return operation
      ? { text: this.changed(part, known) ?? [this.source.unknown(pos, end)] }
      : { text: known };
  }

  private itemsOf(name: string): PlacedText[] | undefined {
    const variable = this.scope.get(name);
    if (variable?.items) return [...variable.items.values()];
    return variable?.text && [variable.text];
  }

  /** The text that a parameter without `@` stands for. */
  private item({ parameter, index }: ParameterExpansionPart): PlacedText | undefined {
    const variable = this.scope.get(parameter);
    if (!index) {
      if (/^[@*#]$/.test(parameter)) return undefined;
      const value = this.value(parameter);
      return value ?? (this.scope.args && /^[1-9]\d*$/.test(parameter) ? undefined : value);
    }
    const key = this.indexOf(index, variable?.items);
    if (key === undefined) return undefined;
    return variable?.items ? variable.items.get(key) : key === '0' ? variable?.text : undefined;
  }

  /** Whether an index names one item: a number, or any word where words are keys. */
  private isPlace(index: Word, items: ReadonlyMap<string, PlacedText> | undefined): boolean {
    const key = this.indexOf(index, items);
    return (
      key !== undefined &&
      (/^-?\d+$/.test(key) || [...(items?.keys() ?? [])].some((one) => !/^\d+$/.test(one)))
    );
  }

  /** The index of an array: a number, an expression of variables, or a word of an associative array. */
  indexOf(index: Word, items: ReadonlyMap<string, PlacedText> | undefined): string | undefined {
    const text = this.joined(index);
    if (!isSettled(text)) return undefined;
    const key = textOfPieces(text);
    if (/^\d+$/.test(key) || items?.has(key)) return key;
    // As arithmetic nothing is 0.
    if (key === '') return '0';
    if (/^-\d+$/.test(key)) return [...(items?.keys() ?? [])].at(Number(key));
    const named = /^\w+$/.test(key) ? this.value(key) : undefined;
    return named && isSettled(named) && /^\d+$/.test(textOfPieces(named)) ? textOfPieces(named) : key;
  }

  private manyOf(
    part: ParameterExpansionPart,
    all: readonly PlacedText[],
    star: boolean,
    unknown: Value,
  ): Value {
    const { operation } = part;
    if (operation?.type === 'Default') {
      const known = all.length > 0 ? all.flat() : undefined;
      if (!operation.operator.endsWith('+') && known) return { items: all };
      return this.orDefault(part, known, unknown);
    }
    if (operation?.type === 'Slice') {
      const from = this.arithmeticWord(operation.offset);
      const length = operation.length && this.arithmeticWord(operation.length);
      if (from === undefined || (operation.length && length === undefined)) return unknown;
      // Arguments count from 1.
      const start = part.index ? from : from - 1;
      if (start < 0) return unknown;
      return { items: all.slice(start, length === undefined ? undefined : start + length) };
    }
    if (operation) {
      const changed = all.map((item) => this.changed(part, item));
      const done = changed.filter((item) => item !== undefined);
      return done.length === changed.length ? { items: done } : unknown;
    }
    return star ? { text: withBlanks(all) } : { items: all };
  }

  private arithmeticWord(word: Word): number | undefined {
    const text = textOfPieces(this.joined(word)).trim();
    if (/^-?\d+$/.test(text)) return Number(text);
    const named = this.value(text);
    const value = named && isSettled(named) ? textOfPieces(named) : '';
    return /^-?\d+$/.test(value) ? Number(value) : undefined;
  }

  private indirect(part: ParameterExpansionPart, unknown: Value): Value {
    const { parameter, index } = part;
    if (index && /^[@*]$/.test(index.value)) {
      const keys = [...(this.scope.get(parameter)?.items?.keys() ?? [])];
      return { items: keys.map((key) => [this.source.standing(key, part.pos, part.end)]) };
    }
    const name = this.value(parameter);
    if (!name || !isSettled(name)) return unknown;
    const text = this.value(textOfPieces(name));
    return text ? { text } : unknown;
  }

  private orDefault(part: ParameterExpansionPart, known: PlacedText | undefined, unknown: Value): Value {
    const { operation, parameter } = part;
    if (operation?.type !== 'Default') return unknown;
    const { operator, operand } = operation;
    const there = known !== undefined && !isUnset(known);
    const set = there && (textOfPieces(known) !== '' || !operator.startsWith(':'));
    if (operator.endsWith('+')) return set ? this.operand(operand) : { text: [] };
    if (set && known) return { text: known };
    if (operator.endsWith('?'))
      return { text: [this.source.unknown(part.pos, part.end, { unset: 'variable' })] };
    const fallback = this.operand(operand);
    if (operator.endsWith('=')) this.scope.set(parameter, textOfValue(fallback));
    return fallback;
  }

  /** `${a:+"${a[@]}"}` keeps the items apart. */
  private operand(word: Word): Value {
    const only = word.parts?.length === 1 ? word.parts[0] : undefined;
    const inner = only?.type === 'DoubleQuoted' && only.parts.length === 1 ? only.parts[0] : only;
    if (inner?.type === 'ParameterExpansion') return this.part(inner);
    return { text: this.joined(word) };
  }

  /** `${x%.json}`, `${x/a/b}`, `${x:2:3}`, `${x^^}`; undefined where that is not known. */
  private changed(
    { operation, pos, end }: ParameterExpansionPart,
    known: PlacedText,
  ): PlacedText | undefined {
    if (!operation || !isSettled(known)) return undefined;
    const text = textOfPieces(known);
    // A pattern is tried at every length of the text.
    this.scope.budget.spend(Math.min(text.length, 2000) ** 2 / 100);
    switch (operation.type) {
      case 'Remove': {
        const pattern = this.joined(operation.operand);
        if (!isSettled(pattern)) return undefined;
        const length = removedLength(text, operation.operator, this.pattern(operation.operand));
        if (length === undefined) return undefined;
        return operation.operator.startsWith('#')
          ? between(known, length, text.length)
          : between(known, 0, text.length - length);
      }
      case 'Replace': {
        const by = this.joined(operation.replacement);
        if (!isSettled(this.joined(operation.pattern)) || !isSettled(by)) return undefined;
        const made = replaced(text, operation.operator, this.pattern(operation.pattern), textOfPieces(by));
        return made === undefined ? undefined : [this.source.standing(made, pos, end)];
      }
      case 'Slice': {
        const from = this.arithmeticWord(operation.offset);
        const length = operation.length && this.arithmeticWord(operation.length);
        if (from === undefined || (operation.length && length === undefined)) return undefined;
        const start = from < 0 ? text.length + from : from;
        if (start < 0) return [];
        const stop = length === undefined ? text.length : length < 0 ? text.length + length : start + length;
        return between(known, start, Math.max(start, stop));
      }
      case 'CaseModification': {
        if (operation.operand) return undefined;
        const change = (part: string) =>
          operation.operator.startsWith('^') ? part.toUpperCase() : part.toLowerCase();
        const made =
          operation.operator.length === 2 ? change(text) : change(text.slice(0, 1)) + text.slice(1);
        return [this.source.standing(made, pos, end)];
      }
      default:
        return undefined;
    }
  }

  /** A word as a pattern: what is quoted in it stands for itself. */
  pattern(word: Word): string {
    if (!word.parts) return word.text;
    return word.parts
      .map((part) => {
        const text = textOfPieces(textOfValue(this.part(part)));
        const quoted = /Quoted|LocaleString/.test(part.type);
        return quoted ? text.replace(/[*?[\]\\]/g, '\\$&') : part.type === 'Literal' ? part.text : text;
      })
      .join('');
  }
}

/** Collects the fields of a word. */
class Fields {
  private readonly fields: Piece[][] = [];
  private current: Piece[] | undefined;

  /** Text that is not split; `apart` from what stands before it. */
  add(text: PlacedText, apart = false): void {
    if (apart) this.end();
    this.current ??= [];
    for (const piece of text) this.current.push(piece);
  }

  /** Text that is split at blanks. */
  spread(text: PlacedText): void {
    const marked = text.map((piece) => (piece.opaque ? { ...piece, splits: true } : piece));
    const { fields, opensBlank, closesBlank } = splitAtBlanks(marked, MOST_WORDS);
    if (opensBlank) this.end();
    for (const [i, field] of fields.entries()) this.add(field, i > 0);
    if (closesBlank) this.end();
  }

  end(): void {
    if (this.current) this.fields.push(this.current);
    this.current = undefined;
  }

  close(): PlacedText[] {
    this.end();
    return this.fields;
  }
}

function textOfValue(value: Value): PlacedText {
  return 'text' in value ? value.text : withBlanks(value.items);
}

function isNothing(text: PlacedText): boolean {
  return isSettled(text) && textOfPieces(text) === '';
}

/** Items as one text, with a blank between them. */
export function withBlanks(items: readonly PlacedText[]): PlacedText {
  return items.flatMap((item, i) => {
    const at = item[0]?.start ?? 0;
    return i === 0 ? item : [{ text: ' ', start: at, end: at, exact: false }, ...item];
  });
}

function between(text: PlacedText, from: number, to: number): PlacedText {
  let before = 0;
  return text.flatMap((piece) => {
    const [start, end] = [Math.max(0, from - before), Math.min(piece.text.length, to - before)];
    before += piece.text.length;
    return start < end ? [cutText(piece, start, end)] : [];
  });
}

/** Whether what a part stands for is split at blanks. */
function isExpansion(part: WordPart): boolean {
  return (
    part.type === 'SimpleExpansion' || part.type === 'ParameterExpansion' || part.type === 'CommandExpansion'
  );
}

/** `{a,b}` and `{1..4}`; undefined where there is more to it. */
function bracesOf(text: string): string[] | undefined {
  const range = /^\{(\d+)\.\.(\d+)\}$/.exec(text);
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    const step = from <= to ? 1 : -1;
    const count = Math.abs(to - from) + 1;
    return count > 1_000 ? undefined : Array.from({ length: count }, (_, i) => String(from + step * i));
  }
  const inside = /^\{([\w./:@=+-]*(?:,[\w./:@=+-]*)+)\}$/.exec(text);
  return inside?.[1]?.split(',');
}
