import type { Lines } from '../lines';
import type { PyArgument } from './value';

/**
 * `%env NAME=value` and `%set_env NAME value`, as IPython takes them: what stands behind the name is the value to the end of the line,
 * a comment with it; a name in braces or behind a dollar is put in first
 * (https://github.com/ipython/ipython/blob/9.6.0/IPython/core/magics/osm.py, `set_env`).
 */
const MAGIC = /^[ \t]*%(?:env|set_env)[ \t]+([^\s=]+)(?:[ \t]*=[ \t]*|[ \t]+)(\S[^\r\n]*?)[ \t]*\r?$/gm;

/** Variables that magics of a text set, in their order. */
export function environmentMagics(lines: Lines): PyArgument[] {
  if (!/%(?:set_)?env\b/.test(lines.text)) return [];
  return [...lines.text.matchAll(MAGIC)].map(({ 0: line, 1: key = '', 2: value = '', index }) => {
    const start = index + line.indexOf(key);
    const range = lines.range(start, index + line.trimEnd().length);
    const isOpen = /[{$]/.test(value);
    return {
      key,
      keyRange: lines.range(start, start + key.length),
      value: isOpen ? { kind: 'unknown', range } : { kind: 'scalar', value, range },
      used: range,
      text: line.trim(),
    };
  });
}
