import { linesOf } from '../../text/lines';
import type { Position } from '../../text/place';
import { type CaretPlace, cut, inComment, LONGEST_LINE, rangeOn } from './place';

const ENTRY = /^(\s*)((?:- +)*)(["']?)([^\s"'#:{}[\],&*!|>%@`-][^:#"']*?)\3\s*:(?:\s|$)/;

interface Line {
  /** Column of the first character behind dashes. */
  readonly column: number;
  /** Column of the first dash, where there is one. */
  readonly dash?: number;
  readonly key?: string;
  readonly blank: boolean;
}

function readLine(text: string): Line {
  if (text.length > LONGEST_LINE || /^\s*(#|$)/.test(text) || /^(---|\.\.\.)/.test(text))
    return { column: 0, blank: true };
  const start = /^\s*((?:- +)*)/.exec(text);
  const column = start?.[0].length ?? 0;
  const key = ENTRY.exec(text)?.[4];
  return { column, dash: start?.[1] ? column - start[1].length : undefined, key, blank: false };
}

/** Block style only: inside of flow collections (`{a: 1}`) nothing is offered. */
export function yamlPlace(text: string, position: Position): CaretPlace | undefined {
  const lines = linesOf(text);
  const { before, after } = cut(lines, position);
  if (inComment(before) || (/^\s/.test(before) === false && /^(---|%)/.test(before))) return undefined;
  const { line, character } = position;
  const entry = ENTRY.exec(`${before} `);
  if (entry && before.length >= entry[0].trimEnd().length && /:\s/.test(before)) {
    return valuePlace(lines, line, before, after, entry[4] ?? '');
  }
  const word = /^(\s*(?:- +)*)(["']?)([\w.\-/]*)$/.exec(before);
  if (!word) return undefined;
  const [, lead = '', quote = '', typed = ''] = word;
  const rest = /^[\w.\-/]*/.exec(after)?.[0] ?? '';
  const column = lead.length;
  const item = /- +$/.test(lead);
  const parents = above(lines, line, column, item);
  return {
    ...parents,
    word: typed,
    range: rangeOn(
      line,
      column,
      character + rest.length + (quote !== '' && after[rest.length] === quote ? 1 : 0),
    ),
    siblings: siblings(lines, line, column),
    item,
    quote: quote === '' ? undefined : (quote as '"' | "'"),
    ended: /^["']?\s*:/.test(after.slice(rest.length)),
  };
}

function valuePlace(
  lines: readonly string[],
  line: number,
  before: string,
  after: string,
  key: string,
): CaretPlace | undefined {
  const colon = before.indexOf(':', before.indexOf(key) + key.length);
  const lead = /^:\s+/.exec(before.slice(colon));
  if (!lead) return undefined;
  let start = colon + lead[0].length;
  // Items of `[a, b` are typed one after the other.
  const inner = /^\[(?:[^\]]*,)?\s*/.exec(before.slice(start));
  if (inner) start += inner[0].length;
  const typed = before.slice(start);
  if (/[{}&*|>]/.test(typed[0] ?? '')) return undefined;
  const quote = /^["']/.exec(typed)?.[0];
  const rest = (inner ? /^[^,\]#]*/ : /^[^#]*/).exec(after)?.[0].trimEnd() ?? '';
  const column = readLine(before).column;
  return {
    parent: above(lines, line, column, false).parent,
    key,
    word: typed.replace(/^["']/, ''),
    range: rangeOn(line, start, before.length + rest.length),
    siblings: new Set(),
    quote: quote === undefined ? undefined : (quote as '"' | "'"),
  };
}

/** Keys of the blocks that a column on a line lies in. */
function above(
  lines: readonly string[],
  from: number,
  column: number,
  item: boolean,
): Pick<CaretPlace, 'parent'> {
  const parent: string[] = [];
  const own = readLine(lines[from] ?? '');
  let limit = column;
  if (item || own.dash !== undefined) {
    parent.unshift('[0]');
    // A list may stand at the column of the key that holds it.
    limit = (own.dash ?? column - 2) + 1;
  }
  for (let i = from - 1; i >= 0 && limit > 0; i--) {
    const { column: at, dash, key, blank } = readLine(lines[i] ?? '');
    if (blank) continue;
    if (at < limit && key !== undefined) {
      parent.unshift(key);
      limit = at;
      if (dash !== undefined) {
        parent.unshift('[0]');
        limit = dash + 1;
      }
    } else if (dash !== undefined && at === limit) {
      // The first key of an item: the caret stands below it.
      parent.unshift('[0]');
      limit = dash + 1;
    } else if (at < limit) return { parent };
  }
  return { parent };
}

/** Keys at the same column, up and down, within the block. */
function siblings(lines: readonly string[], from: number, column: number): ReadonlySet<string> {
  const found = new Set<string>();
  for (const step of [-1, 1]) {
    for (let i = from + step; i >= 0 && i < lines.length; i += step) {
      const { column: at, dash, key, blank } = readLine(lines[i] ?? '');
      if (blank) continue;
      if (at < column || (step > 0 && dash !== undefined && at === column)) break;
      if (at === column && key !== undefined) found.add(key);
      if (at === column && dash !== undefined) break;
    }
  }
  return found;
}
