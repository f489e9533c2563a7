import type { Position, Range } from '../run/origin';

/** Where the lines of a text begin; turns offsets into zero-based positions and back. Breaks are LF, CRLF and CR. */
export class Lines {
  private readonly starts: number[] = [0];

  constructor(readonly text: string) {
    this.lastVisible = Math.max(0, text.trimEnd().length - 1);
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === 10) this.starts.push(i + 1);
      else if (code === 13 && text.charCodeAt(i + 1) !== 10) this.starts.push(i + 1);
    }
  }

  /** Characters of the longest line. */
  get longest(): number {
    let longest = 0;
    for (let i = 0; i < this.starts.length; i++) {
      longest = Math.max(longest, (this.starts[i + 1] ?? this.text.length) - (this.starts[i] ?? 0));
    }
    return longest;
  }

  /** Offset of the last character that is not blank, 0 in a blank text: where errors about the end are shown. */
  readonly lastVisible: number;

  get count(): number {
    return this.starts.length;
  }

  position(offset: number): Position {
    const wanted = Math.max(0, Math.min(offset, this.text.length));
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] ?? 0) <= wanted) low = middle;
      else high = middle - 1;
    }
    return { line: low, character: wanted - (this.starts[low] ?? 0) };
  }

  range(start: number, end: number): Range {
    return { start: this.position(start), end: this.position(Math.max(start, end)) };
  }

  /** Range of a whole line without its break. */
  lineRange(line: number): Range {
    const start = this.starts[line] ?? this.text.length;
    let end = this.starts[line + 1] ?? this.text.length;
    while (end > start && /[\r\n]/.test(this.text[end - 1] ?? '')) end--;
    return this.range(start, end);
  }

  /** Offset of a position; positions beyond a line or the text are clamped. */
  offset(position: Position): number {
    const start = this.starts[position.line];
    if (start === undefined) return position.line < 0 ? 0 : this.text.length;
    const next = this.starts[position.line + 1] ?? this.text.length;
    return Math.min(start + Math.max(0, position.character), next);
  }
}
