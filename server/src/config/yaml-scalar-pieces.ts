import type { Lines } from './lines';
import type { ScalarNode } from './node';
import type { Piece, PlacedText } from './shell/placed-text';
import { textOfPieces } from './shell/placed-text';

/** The text of a scalar of YAML with the place of each of its lines; one piece that cannot be cut where escapes or folds change it otherwise. */
export function yamlScalarPieces({ text, range }: ScalarNode, lines: Lines): PlacedText {
  const start = lines.offset(range.start);
  const end = lines.offset(range.end);
  const written = lines.text.slice(start, end);
  const pieces = /^[|>]/.test(written) ? blockPieces(written, start) : plainPieces(written, text, start);
  return textOfPieces(pieces) === text ? pieces : [{ text, start, end, exact: false }];
}

function plainPieces(written: string, text: string, start: number): PlacedText {
  const from = written.indexOf(text);
  return from < 0 ? [] : [{ text, start: start + from, end: start + from + text.length, exact: true }];
}

/** Lines of a block scalar without their indentation (YAML 1.2.2, 8.1). A folded one is taken where each fold is a space. */
function blockPieces(written: string, start: number): PlacedText {
  const [header = '', ...body] = written.split(/(?<=\n)/);
  const first = body.find((line) => line.trim() !== '') ?? '';
  const digit = /[1-9]/.exec(header.replace(/#.*/, ''));
  const indent = digit ? undefined : (/^ */.exec(first)?.[0].length ?? 0);
  if (indent === undefined) return [];
  const isFolded = header.startsWith('>');
  const pieces: Piece[] = [];
  let at = start + header.length;
  for (const [i, line] of body.entries()) {
    const cut = Math.min(indent, /^ */.exec(line)?.[0].length ?? 0);
    const [from, to] = [at + cut, at + line.replace(/\r?\n$/, '').length];
    at += line.length;
    if (to > from) pieces.push({ text: line.slice(cut, cut + to - from), start: from, end: to, exact: true });
    const joins = isFolded && to > from && (body[i + 1] ?? '').trim() !== '';
    pieces.push({ text: joins ? ' ' : '\n', start: to, end: to, exact: false });
  }
  const kept = header.includes('+') ? pieces : withoutEnd(pieces);
  return header.includes('-') ? kept : [...kept, { text: '\n', start: at, end: at, exact: false }];
}

/** Without the newlines at the end, of which one is kept at most. */
function withoutEnd(pieces: readonly Piece[]): PlacedText {
  const last = pieces.findLastIndex(({ text }) => text !== '\n');
  return pieces.slice(0, last + 1);
}
