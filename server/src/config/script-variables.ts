import type { Lines } from './lines';
import type { ScalarNode } from './node';
import type { Piece, PlacedText } from './shell/placed-text';
import { yamlScalarPieces } from './yaml-scalar-pieces';

/** A part of a script that joins what stands in a file. */
export const mark = (text: string, at: number): Piece => ({ text, start: at, end: at, exact: false });

/** A variable that a manifest sets, as its commands see it: its value as it stands, which a quote of its own leaves unknown. */
export function exported(name: string, value: ScalarNode, lines: Lines): PlacedText {
  // A name without a value is asked of whoever starts the job.
  if (!/^[A-Za-z_]\w*$/.test(name) || value.value === null) return [];
  const at = lines.offset(value.range.start);
  const pieces = yamlScalarPieces(value, lines);
  const isLeft = value.text.includes("'");
  const known = isLeft
    ? [{ text: value.text, start: at, end: at, exact: false, opaque: true as const }]
    : pieces;
  return [mark(`export ${name}=${isLeft ? '' : "'"}`, at), ...known, mark(isLeft ? '\n' : "'\n", at)];
}
