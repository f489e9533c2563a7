import { linesOf } from '../../text/lines';
import type { Position } from '../../text/place';
import { type CaretPlace, cut, inComment, rangeOn } from './place';

const HEADER = /^\s*\[\[?([^\]#]+)\]\]?/;
const KEY = /^\s*([\w.\-"']+?)\s*=/;

const split = (path: string) => path.split('.').map((part) => part.trim().replace(/^["']|["']$/g, ''));

export function tomlPlace(text: string, position: Position): CaretPlace | undefined {
  const lines = linesOf(text);
  const { before, after } = cut(lines, position);
  const { line, character } = position;
  if (inComment(before)) return undefined;
  const header = /^\s*\[([\w.-]*)$/.exec(before);
  if (header) {
    const typed = split(header[1] ?? '');
    const word = typed.at(-1) ?? '';
    const rest = /^[\w-]*/.exec(after)?.[0] ?? '';
    return {
      parent: typed.slice(0, -1),
      word,
      range: rangeOn(line, character - word.length, character + rest.length),
      siblings: new Set(),
      ended: true,
      item: true,
    };
  }
  const block = blockOf(lines, line);
  const assigned = /^\s*([\w.\-"']+?)\s*=\s*(\[(?:[^\]]*,)?\s*)?(["']?)([^#]*)$/.exec(before);
  if (assigned) {
    const [, name = '', , quote = '', word = ''] = assigned;
    const path = split(name);
    const rest = /^[^#,\]]*/.exec(after)?.[0].trimEnd() ?? '';
    return {
      parent: [...block.path, ...path.slice(0, -1)],
      key: path.at(-1) ?? '',
      word,
      range: rangeOn(line, character - word.length - quote.length, character + rest.length),
      siblings: new Set(),
      quote: quote === '' ? undefined : (quote as '"' | "'"),
    };
  }
  const typed = /^\s*([\w.-]*)$/.exec(before)?.[1];
  if (typed === undefined) return undefined;
  const path = split(typed);
  const word = path.at(-1) ?? '';
  const rest = /^[\w-]*/.exec(after)?.[0] ?? '';
  const prefix = path.slice(0, -1);
  const siblings = prefix.length === 0 ? block.keys : new Set<string>();
  return {
    parent: [...block.path, ...prefix],
    word,
    range: rangeOn(line, character - word.length, character + rest.length),
    siblings,
    ended: /^\s*=/.test(after.slice(rest.length)),
  };
}

/** The table that a line lies in, and its other keys. */
function blockOf(
  lines: readonly string[],
  line: number,
): { path: readonly string[]; keys: ReadonlySet<string> } {
  const keys = new Set<string>();
  let path: readonly string[] = [];
  for (let i = line - 1; i >= 0; i--) {
    const header = HEADER.exec(lines[i] ?? '');
    if (header) {
      path = split(header[1] ?? '');
      break;
    }
    const key = KEY.exec(lines[i] ?? '')?.[1];
    if (key) keys.add(key);
  }
  for (let i = line + 1; i < lines.length && !HEADER.test(lines[i] ?? ''); i++) {
    const key = KEY.exec(lines[i] ?? '')?.[1];
    if (key) keys.add(key);
  }
  return { path, keys };
}
