import { type Piece, type PlacedText, placeOfPieces, type TextStretch, textOfPieces } from './placed-text';

/** Stands for what is not known while a text is parsed: an ordinary character to the parser. */
const UNKNOWN = '\uE000';

/**
 * Text that the shell parses, with the place of each of its characters in the script: the script itself, or what `eval` and
 * `bash -c` are given.
 */
export class ScriptSource {
  readonly text: string;
  private readonly pieces: PlacedText;

  constructor(pieces: PlacedText) {
    this.pieces = pieces;
    this.text = pieces.map(parsed).join('');
  }

  static ofScript(text: string): ScriptSource {
    return new ScriptSource([{ text, start: 0, end: text.length, exact: true }]);
  }

  /**
   * The script as a shell is given it: whatever ends the lines of the file, each is ended by a newline, and the backslash that ends the last
   * one takes the end of the file with it (bash 5.2, `shell_getc`).
   */
  asTyped(): ScriptSource {
    const { text } = this;
    const end = /(?<!\\)(?:\\\\)*\\\r?$/.test(text) ? text.lastIndexOf('\\') : text.length;
    const breaks = [...text.slice(0, end).matchAll(/\r(?=\n|$)/g)].map(({ index }) => index);
    if (end === text.length && breaks.length === 0) return this;
    let from = 0;
    const pieces = [...breaks, end].flatMap((at) => {
      const line = this.slice(from, at);
      from = at + 1;
      return line;
    });
    return new ScriptSource(pieces);
  }

  /** The text between two offsets, with where it was written. */
  slice(from: number, to: number): PlacedText {
    const [only] = this.pieces;
    if (only && this.pieces.length === 1 && only.exact && !only.opaque) {
      // The script itself.
      const start = Math.max(from, 0);
      const end = Math.min(to, only.text.length);
      if (start >= end) return [];
      if (start === 0 && end === only.text.length) return [only];
      const text = only.text.slice(start, end);
      return [{ ...only, text, start: only.start + start, end: only.start + end }];
    }
    const found: Piece[] = [];
    let before = 0;
    for (const piece of this.pieces) {
      const length = parsed(piece).length;
      const start = Math.max(from - before, 0);
      const end = Math.min(to - before, length);
      before += length;
      if (start >= end) continue;
      if (piece.opaque || (start === 0 && end === length)) found.push(piece);
      else {
        const place = piece.exact ? { start: piece.start + start, end: piece.start + end } : {};
        found.push({ ...piece, text: piece.text.slice(start, end), ...place });
      }
    }
    return found;
  }

  /** Where the character at an offset was written; at the end of the text, where that ends. */
  offset(at: number): number {
    const [first] = this.slice(at, at + 1);
    return first?.start ?? this.pieces.at(-1)?.end ?? 0;
  }

  /** Where the text between two offsets was written. */
  place(from: number, to: number): TextStretch {
    const [first] = this.pieces;
    return placeOfPieces(this.slice(from, to), first ?? { start: 0, end: 0 });
  }

  /** The text of a word between two offsets once quoting is taken off, which gives `value`. */
  unquoted(from: number, to: number, value: string): PlacedText {
    const text = this.text.slice(from, to);
    if (text === value) return this.slice(from, to);
    const found: Piece[] = [];
    let at = 0;
    let start = 0;
    let i = 0;
    while (i < text.length) {
      const next = text[i + 1];
      const dropped = text[i] === '\\' && next === '\n' ? 2 : text[i] === '\\' && next === value[at] ? 1 : 0;
      // A backslash that stands for itself.
      if (dropped === 0 && text[i] !== value[at]) break;
      if (dropped > 0) {
        found.push(...this.slice(from + start, from + i));
        i += dropped;
        start = i;
        if (dropped === 2) continue;
      }
      i++;
      at++;
    }
    found.push(...this.slice(from + start, from + i));
    if (i === text.length && textOfPieces(found).length >= value.length && at === value.length) return found;
    return [{ text: value, ...this.place(from, to), exact: false }];
  }

  /** A text that is not known, as it is written between two offsets. */
  unknown(from: number, to: number, more: Pick<Piece, 'unset'> = {}): Piece {
    const text = textOfPieces(this.slice(from, to));
    return { text, ...this.place(from, to), exact: false, opaque: true, ...more };
  }

  /** A text that stands for what is written between two offsets. */
  standing(text: string, from: number, to: number): Piece {
    return { text, ...this.place(from, to), exact: false };
  }
}

function parsed(piece: Piece): string {
  return piece.opaque ? UNKNOWN : piece.text;
}
