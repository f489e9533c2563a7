import type { ConfigNode } from '../../config/node';
import { linesOf } from '../../text/lines';
import type { Position } from '../../text/place';
import { type CaretPlace, cut, inComment, rangeOn } from './place';

/** A place in a line of flags, with how its writer spells them. */
export interface FlagPlace extends CaretPlace {
  readonly dashes: string;
}

const WORD = '[\\w./-]*';
const KEY = /(?:^|\s)(-{0,2})([\w-]*)$/;
const ASSIGNED = new RegExp(`(?:^|\\s)(-{0,2})([A-Za-z_][\\w.-]*)=(["']?)(${WORD})$`);
const FLAG = new RegExp(`(?:^|\\s)(--?)([A-Za-z_][\\w.-]*)\\s+(["']?)(${WORD})$`);

/** Keys are given as the file spells them; `isKey` states which flags take a value. */
export function flagsPlace(
  text: string,
  position: Position,
  root: ConfigNode | null,
  isKey: (name: string) => boolean,
): FlagPlace | undefined {
  const { before, after } = cut(linesOf(text), position);
  if (inComment(before) || /^\s*\/\//.test(before)) return undefined;
  const { line, character } = position;
  const rest = /^[\w./-]*/.exec(after)?.[0] ?? '';
  const value = ASSIGNED.exec(before) ?? FLAG.exec(before);
  if (value && isKey(value[2] ?? '')) {
    const [, dashes = '', key = '', quote = '', word = ''] = value;
    const range = rangeOn(line, character - word.length, character + rest.length);
    return {
      parent: [],
      key,
      word,
      range,
      siblings: new Set(),
      dashes,
      quote: quote === '' ? undefined : (quote as '"' | "'"),
    };
  }
  const typed = KEY.exec(before);
  if (!typed) return undefined;
  const [, dashes = '', word = ''] = typed;
  const name = /^[\w-]*/.exec(after)?.[0] ?? '';
  const keys = root?.kind === 'map' ? root.entries.map(({ key }) => key) : [];
  return {
    parent: [],
    word,
    range: rangeOn(line, character - word.length - dashes.length, character + name.length),
    siblings: new Set(keys.filter((key) => key !== word)),
    dashes,
    ended: /^\s*=/.test(after.slice(name.length)),
  };
}
