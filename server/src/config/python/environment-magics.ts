import type { Lines } from '../lines';
import type { PyArgument } from './value';

/**
 * `%env NAME=value` and `%set_env NAME value`, as IPython takes them: what stands behind the name is the value to the end of the line,
 * a comment with it; a name in braces or behind a dollar is put in first
 * (https://github.com/ipython/ipython/blob/9.6.0/IPython/core/magics/osm.py, `set_env`).
 */
const MAGIC = /^([ \t]*%(?:env|set_env)[ \t]+)([^\s=]+)([ \t]*=[ \t]*|[ \t]+)(\S[^\r\n]*?)[ \t]*\r?$/;
const MAGICS = new RegExp(MAGIC.source, 'gm');

/** A magic that sets a variable; places are those of the line. */
export interface EnvironmentMagic {
  readonly key: string;
  readonly keyStart: number;
  readonly value: string;
  readonly valueStart: number;
  /** Python puts something into the value. */
  readonly isOpen: boolean;
}

function magicOf([, before = '', key = '', between = '', value = '']: RegExpMatchArray): EnvironmentMagic {
  const keyStart = before.length;
  const valueStart = keyStart + key.length + between.length;
  return { key, keyStart, value, valueStart, isOpen: /[{$]/.test(value) };
}

/** The variable that a line of a cell sets; undefined where it sets none. */
export function environmentMagic(line: string): EnvironmentMagic | undefined {
  const found = MAGIC.exec(line);
  return found ? magicOf(found) : undefined;
}

/** Variables that magics of a text set, in their order. */
export function environmentMagics(lines: Lines): PyArgument[] {
  if (!/%(?:set_)?env\b/.test(lines.text)) return [];
  return [...lines.text.matchAll(MAGICS)].map((found) => {
    const { key, keyStart, value, isOpen } = magicOf(found);
    const start = found.index + keyStart;
    const range = lines.range(start, found.index + found[0].trimEnd().length);
    return {
      key,
      keyRange: lines.range(start, start + key.length),
      value: isOpen ? { kind: 'unknown', range } : { kind: 'scalar', value, range },
      used: range,
      text: found[0].trim(),
    };
  });
}
