/**
 * A figure as a program printed it: rounded to its decimals, so it stands for any number of bytes between two. Bytes; the
 * upper end belongs to it.
 */
export interface Quantity {
  readonly bytes: number;
  readonly lowerBytes: number;
  readonly upperBytes: number;
}

const POWERS: Readonly<Record<string, number>> = { '': 0, k: 1, m: 2, g: 3, t: 4 };

/** What a unit without an `i` means: 1024 to most programs that train (`GB` of DeepSpeed, MPS, Unsloth), 1000 to a few. */
export type PlainUnit = 1000 | 1024;

/** Source of a pattern for a figure with its unit, in two groups. */
export const FIGURE = String.raw`(\d[\d,]{0,24}(?:\.\d{1,12})?)\s?(bytes?|[KMGTkmgt]i?[Bb]?|B)\b`;

const units = new Map<string, RegExpExecArray | null>();

/** Units are few, and every figure has one. */
function unitOf(unit: string): RegExpExecArray | null {
  let letters = units.get(unit);
  if (letters === undefined) {
    letters = /^([kmgt]?)(i?)b?$/i.exec(unit.replace(/^bytes?$/i, 'B'));
    if (unit.length <= 5) units.set(unit, letters);
  }
  return letters;
}

/** A printed figure in bytes; undefined where the unit is none or the number is beyond what a machine can hold. */
export function quantityOf(number: string, unit: string, plain: PlainUnit = 1024): Quantity | undefined {
  const letters = unitOf(unit);
  const digits = number.replaceAll(',', '');
  const value = Number(digits);
  if (!letters || !Number.isFinite(value) || value < 0) return undefined;
  const [, letter = '', binary = ''] = letters;
  const one = (binary === '' ? plain : 1024) ** (POWERS[letter.toLowerCase()] ?? 0);
  const decimals = digits.includes('.') ? digits.length - digits.indexOf('.') - 1 : 0;
  const half = one === 1 && decimals === 0 ? 0 : (one * 10 ** -decimals) / 2;
  const bytes = value * one;
  if (bytes > Number.MAX_SAFE_INTEGER) return undefined;
  return {
    bytes: Math.round(bytes),
    lowerBytes: Math.max(0, Math.ceil(bytes - half)),
    upperBytes: Math.floor(bytes + half),
  };
}

/** A count of bytes that is known to the byte. */
export function exactly(bytes: number): Quantity {
  return { bytes, lowerBytes: bytes, upperBytes: bytes };
}

/** The sum of figures, with the sum of what each may be off. */
export function addedUp(...parts: readonly Quantity[]): Quantity {
  return parts.reduce(
    (sum, part) => ({
      bytes: sum.bytes + part.bytes,
      lowerBytes: sum.lowerBytes + part.lowerBytes,
      upperBytes: sum.upperBytes + part.upperBytes,
    }),
    exactly(0),
  );
}

/** Patterns stand in the code, so there are few of them; each line of a log asks for some. */
const patterns = new Map<string, RegExp>();

function compiled(pattern: string): RegExp {
  const known = patterns.get(pattern);
  if (known) return known;
  const [before = '', after = ''] = pattern.split('#');
  const made = new RegExp(`${before}${FIGURE}${after}`);
  patterns.set(pattern, made);
  return made;
}

/** The first figure of a text that a pattern with `#` in the place of it finds. */
export function figureAt(text: string, pattern: string, plain: PlainUnit = 1024): Quantity | undefined {
  const found = compiled(pattern).exec(text);
  return found ? quantityOf(found[1] ?? '', found[2] ?? '', plain) : undefined;
}
