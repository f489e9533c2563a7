import type { Position, Range } from '../../text/place';
import { readJson } from '../json';
import { Lines } from '../lines';
import type { ConfigNode, ScalarNode } from '../node';
import { readYaml } from '../yaml';
import { type PlacedText, textOfPieces } from './placed-text';

/**
 * JSON or YAML that a script writes to a file, with every value where it stands in the script: text of a variable lies at
 * the variable. Undefined where the text is no mapping, and for files of other kinds.
 */
export function readWrittenConfig(path: string, pieces: PlacedText, script: Lines): ConfigNode | undefined {
  const read = /\.json$/i.test(path) ? readJson : /\.ya?ml$/i.test(path) ? readYaml : undefined;
  if (!read) return undefined;
  const parts = read === readJson ? quoted(pieces) : pieces;
  const lines = new Lines(textOfPieces(parts));
  const { root } = read(lines, path);
  if (root?.kind !== 'map') return undefined;
  const place = (position: Position, last: boolean): number => offsetIn(parts, lines.offset(position), last);
  const opaque = pieces.filter((piece) => piece.opaque);
  return moved(root, opaque, ({ start, end }) => script.range(place(start, false), place(end, true)));
}

/** What nobody knows stands in JSON as text, `"stage": $STAGE` as `"stage": "$STAGE"`: else it would be no value at all, and taken for the default. */
function quoted(pieces: PlacedText): PlacedText {
  let within = false;
  return pieces.map((piece) => {
    if (piece.opaque) return within ? piece : { ...piece, text: JSON.stringify(piece.text), exact: false };
    for (const _ of piece.text.matchAll(/(?<!\\)"/g)) within = !within;
    return piece;
  });
}

/** Why a value is not known, where a stretch that is not known is part of it. */
function openOf(text: string, opaque: PlacedText): Pick<ScalarNode, 'open'> {
  const parts = opaque.filter((piece) => text.includes(piece.text));
  if (parts.length === 0) return {};
  return { open: parts.every(({ unset }) => unset) ? 'unset' : 'unknown' };
}

/** Offset in the script of an offset in the text that pieces make up; `last` takes the piece that ends there. */
function offsetIn(pieces: PlacedText, offset: number, last: boolean): number {
  let before = 0;
  for (const piece of pieces) {
    const inside = offset - before;
    before += piece.text.length;
    if (last ? offset > before : offset >= before) continue;
    if (piece.exact && !piece.used) return piece.start + inside;
    const place = piece.used ?? piece;
    return last ? place.end : place.start;
  }
  return pieces.at(-1)?.end ?? 0;
}

function moved(node: ConfigNode, opaque: PlacedText, place: (range: Range) => Range): ConfigNode {
  const range = place(node.range);
  switch (node.kind) {
    case 'map':
      return {
        ...node,
        range,
        entries: node.entries.map(({ key, keyRange, value }) => ({
          key,
          keyRange: place(keyRange),
          value: moved(value, opaque, place),
        })),
      };
    case 'list':
      return { ...node, range, items: node.items.map((item) => moved(item, opaque, place)) };
    default:
      return { ...node, range, ...openOf(node.text, opaque) };
  }
}
