/** The one place where numbers become text for people: bytes, FLOPs, parameter counts. */
import { numeral, say } from './say';

const KIB = 1024;
const MIB = KIB * 1024;
const GIB = MIB * 1024;

/**
 * `41.2 GiB`; below 1000 MiB whole MiB, below 1 MiB whole KiB: `1,011 MiB` among GiB reads as the largest. From 10,000 GiB on
 * nobody looks for tenths.
 */
export function formatBytes(bytes: number): string {
  const size = Math.abs(bytes);
  const sign = bytes < 0 ? '-' : '';
  // Thresholds are where rounding would carry into a fourth digit, or the next unit.
  if (size >= 999.5 * MIB) {
    return `${sign}${gibibytes(size)} ${say('GiB')}`;
  }
  if (size >= MIB - KIB / 2) {
    return `${sign}${decimal(size / MIB, 0)} ${say('MiB')}`;
  }
  if (size >= KIB) {
    return `${sign}${decimal(size / KIB, 0)} ${say('KiB')}`;
  }
  return `${sign}${decimal(size, 0)} ${say('B')}`;
}

/** `41.2 of 79.2 GiB`. */
export function formatBytesOf(bytes: number, capacity: number): string {
  return say('{0} of {1} GiB', gibibytes(bytes), gibibytes(capacity));
}

function gibibytes(bytes: number): string {
  const size = bytes / GIB;
  return decimal(size, size < 9999.95 ? 1 : 0);
}

const SI = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y', 'R', 'Q'] as const;

/** `3.2 PFLOP`, `412 TFLOP`. */
export function formatFlops(flops: number): string {
  let value = Math.abs(flops);
  let step = 0;
  while (value >= 999.5 && step < SI.length - 1) {
    value /= 1000;
    step += 1;
  }
  const digits = step === 0 || value >= 99.95 ? 0 : 1;
  return `${flops < 0 ? '-' : ''}${decimal(value, digits)} ${SI[step]}FLOP`;
}

/** Russian has words for them. */
const COUNT = [
  (value: string) => value,
  (value: string) => say('{0}K', value),
  (value: string) => say('{0}M', value),
  (value: string) => say('{0}B', value),
  (value: string) => say('{0}T', value),
] as const;

/** Parameter counts as people say them: `8.03B`, `671B`, `41.9M`. */
export function formatCount(count: number): string {
  let value = Math.abs(count);
  let step = 0;
  while (value >= 999.5 && step < COUNT.length - 1) {
    value /= 1000;
    step += 1;
  }
  const digits = step === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const shown = `${count < 0 ? '-' : ''}${decimal(value, digits)}`;
  return COUNT[step]?.(shown) ?? shown;
}

/** `128,256`: digits grouped as the language of the messages does, whatever the locale of the machine. */
export function formatInteger(value: number): string {
  return numeral(String(Math.round(value)));
}

/** `4,001.2`: so many places behind the decimal mark. */
export function decimal(value: number, places: number): string {
  return numeral(value.toFixed(places));
}

/** `0.42`, `5,930`: so many significant figures, without zeros at the end. */
export function significant(value: number, figures: number): string {
  return numeral(String(Number(value.toPrecision(figures))));
}

/** `385.1 GiB`, `34 %`, `1.5 мин`: a figure, and the sign or short word behind it. */
export const FIGURE_UNIT = /\d[\d.,\u00a0\u202f]*[ \u00a0\u202f](?:%|\p{L}{1,5}(?![\p{L}]))/u;
/** Code of Markdown, whose characters stand for themselves, or a figure and its unit. */
const CODE_OR_FIGURE = new RegExp(`(\`+)[^\`][\\s\\S]*?\\1|${FIGURE_UNIT.source}`, 'gu');

/** Markdown in which no line ends between a figure and its unit. */
export function unbrokenFigures(markdown: string): string {
  return markdown.replace(CODE_OR_FIGURE, (found) =>
    found.startsWith('`') ? found : found.replace(' ', '\u00a0'),
  );
}
