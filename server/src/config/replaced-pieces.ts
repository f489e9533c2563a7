import type { Piece, PlacedText } from './shell/placed-text';

/** A text with words put for what a pattern finds in it; what is put there has the place of its piece. */
export function replacedIn(
  pieces: PlacedText,
  pattern: RegExp,
  words: (match: RegExpExecArray) => string,
): PlacedText {
  return pieces.flatMap((piece) => {
    const found = [...piece.text.matchAll(pattern)];
    let from = 0;
    const cut = (to: number): Piece[] => {
      if (to <= from) return [];
      const part = { ...piece, text: piece.text.slice(from, to) };
      return [piece.exact ? { ...part, start: piece.start + from, end: piece.start + to } : part];
    };
    const parts = found.flatMap((match) => {
      const before = cut(match.index);
      from = match.index + match[0].length;
      return [...before, { ...piece, text: words(match), exact: false }];
    });
    return [...parts, ...cut(piece.text.length)];
  });
}
