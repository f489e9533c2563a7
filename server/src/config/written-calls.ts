/** A value as a call of Python has it, by offsets into the text. */
export interface WrittenValue {
  readonly start: number;
  readonly end: number;
  /** What stands between its quotes, where it is one plain text; `start` and `end` are inside of them. */
  readonly text?: string;
  /** What stands there, where it is no text of its own: a number, a name, an expression. */
  readonly code: string;
  /** Entries of a dictionary of which all keys are plain texts; `open` where something else is put in, too. */
  readonly entries?: readonly NamedValue[];
  readonly open?: true;
}
interface NamedValue {
  readonly key: string;
  readonly value: WrittenValue;
}
export interface WrittenCall {
  readonly named: readonly NamedValue[];
  /** Arguments without a name, or `**` of something. */
  readonly open: boolean;
  readonly start: number;
  readonly end: number;
}

const STRING = String.raw`"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`;
const COMMENT = new RegExp(`(${STRING})|#[^\\n]*`, 'g');
const SKIPPED = new RegExp(STRING, 'y');
const TOKEN = new RegExp(`${STRING}|[\\s\\S]`, 'g');

/** A text of Python with blanks in the place of its comments, and of what stands between brackets. */
export interface WrittenCode {
  readonly text: string;
  /** The same without what stands between brackets and quotes: statements alone. */
  readonly statements: string;
}

export function writtenCode(code: string): WrittenCode {
  const text = code.replace(
    COMMENT,
    (found, string: string | undefined) => string ?? ' '.repeat(found.length),
  );
  let depth = 0;
  const statements = text.replace(TOKEN, (found) => {
    const inside = depth > 0;
    if ('([{'.includes(found)) depth++;
    else if (')]}'.includes(found)) depth = Math.max(0, depth - 1);
    const isOuter = found.length === 1 && !inside;
    const closes = depth === 0 && ')]}'.includes(found);
    return isOuter || closes ? found : found.replace(/[^\n]/g, ' ');
  });
  return { text, statements };
}

/** What stands between a bracket at a place and the one that closes it, cut at its commas; undefined where nothing does. */
function partsOf(
  text: string,
  bracket: number,
): { readonly parts: readonly (readonly [number, number])[]; readonly end: number } | undefined {
  const parts: [number, number][] = [];
  let depth = 0;
  let from = bracket + 1;
  for (let at = bracket; at < text.length; at++) {
    const one = text[at] ?? '';
    if (one === '"' || one === "'") {
      SKIPPED.lastIndex = at;
      const string = SKIPPED.exec(text)?.[0];
      if (string === undefined) return undefined;
      at += string.length - 1;
    } else if ('([{'.includes(one)) depth++;
    else if (')]}'.includes(one)) {
      depth--;
      if (depth > 0) continue;
      if (text.slice(from, at).trim() !== '') parts.push([from, at]);
      return { parts, end: at + 1 };
    } else if (one === ',' && depth === 1) {
      parts.push([from, at]);
      from = at + 1;
    }
  }
  return undefined;
}

/** The value between two places of a text without comments. */
function writtenValue(text: string, from: number, to: number): WrittenValue {
  const whole = text.slice(from, to);
  const start = from + whole.length - whole.trimStart().length;
  const end = from + whole.trimEnd().length;
  const code = text.slice(start, end);
  const plain = /^(["'])([^"'\\\n]*)\1$/.exec(code);
  if (plain) return { start: start + 1, end: end - 1, text: plain[2] ?? '', code };
  const isDict = /^dict[ \t]*\(/.test(code);
  if (!isDict && !code.startsWith('{')) return { start, end, code };
  const found = partsOf(text, start + code.search(/[({]/));
  if (!found || found.end !== end) return { start, end, code };
  const entries: NamedValue[] = [];
  let isOpen = false;
  for (const [at, until] of found.parts) {
    const part = text.slice(at, until);
    const [key, name, quoted] =
      (isDict ? /^\s*(\w+)\s*=(?!=)/ : /^\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)')\s*:/).exec(part) ?? [];
    if (key === undefined) isOpen = true;
    else entries.push({ key: name ?? quoted ?? '', value: writtenValue(text, at + key.length, until) });
  }
  return { start, end, code, entries, ...(isOpen ? { open: true as const } : {}) };
}

/** The call whose bracket opens at a place of a text without comments. */
export function writtenCall(text: string, bracket: number): WrittenCall | undefined {
  const found = partsOf(text, bracket);
  if (!found) return undefined;
  const named: NamedValue[] = [];
  let open = false;
  for (const [from, to] of found.parts) {
    const [key, name = ''] = /^\s*(\w+)\s*=(?!=)/.exec(text.slice(from, to)) ?? [];
    if (key === undefined) open = true;
    else named.push({ key: name, value: writtenValue(text, from + key.length, to) });
  }
  return { named, open, start: bracket, end: found.end };
}

/** What makes something else of a name's value in its place. */
const changes = (name: string) =>
  new RegExp(
    String.raw`\b${name}[ \t]*(?:\[[^\]\n]*\][ \t]*[-+|*/]?=(?!=)|\.(?:update|pop|setdefault|clear)\(|[-+|*/]=)`,
  );

/** What a name stands for that a text without comments binds once, at its top, and changes nowhere; the value itself where it is no name. */
export function boundValue({ text, statements }: WrittenCode, value: WrittenValue): WrittenValue | undefined {
  if (value.text !== undefined || !/^[A-Za-z_]\w*$/.test(value.code) || CONSTANT.test(value.code))
    return value;
  const name = value.code;
  const bindings = [...statements.matchAll(new RegExp(String.raw`^([ \t]*)${name}[ \t]*=(?!=)`, 'gm'))];
  const [only] = bindings;
  if (!only || bindings.length > 1 || only[1] !== '' || changes(name).test(statements)) return undefined;
  const from = only.index + only[0].length;
  const [, lead = ''] = /^([ \t]*(?:dict[ \t]*)?)[({]/.exec(text.slice(from)) ?? [];
  const bracket = /^[ \t]*(?:\{|dict[ \t]*\()/.test(text.slice(from)) ? from + lead.length : undefined;
  const to = bracket === undefined ? lineEnd(text, from) : partsOf(text, bracket)?.end;
  return to === undefined ? undefined : writtenValue(text, from, to);
}
const CONSTANT = /^(?:True|False|None)$/;

function lineEnd(text: string, from: number): number {
  const newline = text.indexOf('\n', from);
  return newline < 0 ? text.length : newline;
}
