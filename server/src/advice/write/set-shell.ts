import { Lines } from '../../config/lines';
import { entryOf, mapAt } from '../../config/lookup';
import type { ConfigNode, MapEntry, MapNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import type { Written } from '../../dialects/words';
import { scriptText } from './script-text';
import { setJson } from './set-json';
import { breakOf, endOfLine, splice, startOfLine } from './splice';
import { inline, isBlock } from './written';

/**
 * Sets or removes a flag of a command (`commands`, its index, `arguments` or `launcher`, the flag), or a key of a JSON file
 * that the script writes (`files`, its path, the keys). Variables are changed where they are set.
 */
export function setShell(text: string, path: readonly string[], value: Written): string | undefined {
  const { root, isManifest } = scriptText(text);
  const after = set(text, root, path, value);
  if (after === undefined || !isManifest) return after;
  // A line of a script is no item of a list: what became of the manifest is read again.
  return sameBut(flagsAt(root, path), flagsAt(scriptText(after).root, path), path) ? after : undefined;
}

function set(
  text: string,
  root: ConfigNode | null,
  path: readonly string[],
  value: Written,
): string | undefined {
  const lines = new Lines(text);
  if (path[0] === 'files')
    return setWritten(text, lines, mapAt(root, path.slice(0, 2)), path.slice(2), value);
  const [, , , flag, ...inner] = path;
  const flags = flagsAt(root, path);
  if (!flags || flag === undefined || inner.length > 0) return undefined;
  const entry = entryOf(flags, flag);
  if (entry) return changed(text, lines, entry, value);
  return value === undefined ? text : appended(text, lines, flags, flag, value);
}

/** The block of flags of a command that a path leads into. */
function flagsAt(root: ConfigNode | null, [, index, block]: readonly string[]): MapNode | undefined {
  const commands = root?.kind === 'map' ? entryOf(root, 'commands')?.value : undefined;
  const command = commands?.kind === 'list' ? commands.items[Number(index?.slice(1, -1))] : undefined;
  return mapAt(command, [block ?? '']);
}

/** Whether all flags but one are as they were. */
function sameBut(
  before: MapNode | undefined,
  after: MapNode | undefined,
  [, , , flag]: readonly string[],
): boolean {
  const others = (flags: MapNode | undefined) =>
    JSON.stringify(flags?.entries.flatMap(({ key, value }) => (key === flag ? [] : [[key, textOf(value)]])));
  return after !== undefined && others(before) === others(after);
}

function setWritten(
  text: string,
  lines: Lines,
  file: MapNode | undefined,
  path: readonly string[],
  value: Written,
): string | undefined {
  if (!file) return undefined;
  const start = lines.offset(file.range.start);
  const end = lines.offset(file.range.end);
  const inside = text.slice(start, end);
  if (!inside.startsWith('{')) return undefined;
  const after = setJson(inside, path, value);
  return after === undefined ? undefined : splice(text, start, end, after);
}

const isSwitch = (entry: MapEntry) =>
  entry.value.range.start.line === entry.keyRange.start.line &&
  entry.value.range.start.character === entry.keyRange.start.character;

function changed(text: string, lines: Lines, entry: MapEntry, value: Written): string | undefined {
  if (entry.value.kind !== 'scalar') return undefined;
  const start = lines.offset(entry.value.range.start);
  const end = lines.offset(entry.value.range.end);
  if (value === undefined || (isSwitch(entry) && value === false)) return removed(text, lines, entry);
  if (isSwitch(entry)) return value === true ? text : splice(text, end, end, ` ${shown(value)}`);
  // A value that is put together (`$((A * B))`, `$1`) is not one place that could be changed.
  const written = text.slice(start, end);
  if (/[$`]/.test(written)) return undefined;
  const quote = /^(["']).*\1$/s.exec(written)?.[1] ?? '';
  const cased =
    typeof value === 'boolean' && /^["']?[TF]/.test(written) ? (value ? 'True' : 'False') : shown(value);
  return splice(text, start, end, quote && !cased.includes(quote) ? `${quote}${cased}${quote}` : cased);
}

/** A flag on a line of its own takes the line along. */
function removed(text: string, lines: Lines, entry: MapEntry): string | undefined {
  const start = lines.offset(entry.keyRange.start);
  const end = lines.offset(isSwitch(entry) ? entry.keyRange.end : entry.value.range.end);
  if (end < start) return undefined;
  const lineStart = startOfLine(text, start);
  const behind = /^[ \t]*(?:\\[ \t]*)?(?:\r\n|\n|\r)/.exec(text.slice(end));
  const alone = text.slice(lineStart, start).trim() === '' && behind;
  if (alone && behind[0].includes('\\')) return splice(text, lineStart, end + behind[0].length, '');
  const before = /(?<![ \t])[ \t]+(?:\\(?:\r\n|\n|\r)[ \t]*)?$/.exec(text.slice(0, start));
  return splice(text, start - (before?.[0].length ?? 0), end, '');
}

function appended(
  text: string,
  lines: Lines,
  flags: MapNode,
  flag: string,
  value: Written,
): string | undefined {
  // The flag that stands last in the text; flags of variables that are set above stand where those are.
  const last = [...flags.entries]
    .sort((a, b) => lines.offset(a.keyRange.start) - lines.offset(b.keyRange.start))
    .at(-1);
  if (!last || value === false) return undefined;
  const keyStart = lines.offset(last.keyRange.start);
  const valueEnd = endOfWord(text, lines, last);
  const words = `--${spelled(text, flags, flag)}${value === true ? '' : ` ${shown(value)}`}`;
  const lineStart = startOfLine(text, keyStart);
  const line = text.slice(lineStart, endOfLine(text, keyStart));
  const indent = /^[ \t]*/.exec(line)?.[0] ?? '';
  const ownLine = /^[ \t]*-/.test(line);
  const eol = breakOf(text);
  if (!ownLine) return splice(text, valueEnd, valueEnd, ` ${words}`);
  const end = endOfLine(text, keyStart);
  if (/\\[ \t]*$/.test(line)) return splice(text, end, end, `${eol}${indent}${words} \\`);
  const above = text.slice(0, lineStart).replace(/(?:\r\n|\n|\r)$/, '');
  return splice(
    text,
    valueEnd,
    valueEnd,
    /\\[ \t]*$/.test(above) ? ` \\${eol}${indent}${words}` : `${eol}${indent}${words}`,
  );
}

/** Behind the word that the flag's value is, where it is used: a variable may be set elsewhere. */
function endOfWord(text: string, lines: Lines, entry: MapEntry): number {
  const keyEnd = lines.offset(entry.keyRange.end);
  if (isSwitch(entry)) return keyEnd;
  const end = lines.offset(entry.value.range.end);
  const start = lines.offset(entry.value.range.start);
  if (start >= keyEnd && startOfLine(text, start) === startOfLine(text, keyEnd)) {
    return /^["']/.test(text.slice(end)) && text[start - 1] === text[end] ? end + 1 : end;
  }
  const word = /^(?:=|[ \t]+)(?:"[^"]*"|'[^']*'|\S+)/.exec(text.slice(keyEnd));
  return keyEnd + (word?.[0].length ?? 0);
}

/** Dashes or underscores, as the command's other flags have them. */
function spelled(text: string, flags: MapNode, flag: string): string {
  const lines = new Lines(text);
  let dashes = 0;
  for (const { keyRange } of flags.entries) {
    const written = text.slice(lines.offset(keyRange.start), lines.offset(keyRange.end)).replace(/^-+/, '');
    dashes += written.includes('-') ? 1 : written.includes('_') ? -1 : 0;
  }
  return dashes > 0 ? flag.replaceAll('_', '-') : flag;
}

function shown(value: Written): string {
  if (Array.isArray(value)) return value.map(shown).join(' ');
  if (isBlock(value)) return `'${inline(value)}'`;
  if (typeof value === 'string')
    return /^[\w./:+,=-]+$/.test(value) ? value : `"${value.replace(/["\\$`]/g, '\\$&')}"`;
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value ?? '');
}
