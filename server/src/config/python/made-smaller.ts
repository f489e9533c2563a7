import type { Range } from '../../text/place';
import type { Lines } from '../lines';

/** A call that makes an image smaller, in code that may not be followed, and its bounds where they are numbers. */
export interface MadeSmaller {
  readonly name: string;
  readonly range: Range;
  readonly pixels?: number;
}

/** PIL's method, with both sides: `image.thumbnail((side, side))`. */
const SMALLER = /\.(thumbnail)\(\s*(?:size\s*=\s*)?[([]\s*([\w.]+)\s*,\s*([\w.]+)\s*[)\]]/;

/** The first such call of a text that takes images from PIL. */
export function madeSmaller(lines: Lines): MadeSmaller | undefined {
  const { text } = lines;
  const found = /\bPIL\b/.test(text) ? SMALLER.exec(text) : null;
  if (!found) return undefined;
  const [, name = '', width, height] = found;
  const pixels = Number(width) * Number(height);
  const start = found.index + 1;
  return {
    name,
    range: lines.range(start, start + name.length),
    ...(pixels > 0 ? { pixels } : {}),
  };
}
