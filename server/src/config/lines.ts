import type { Position, Range } from '../text/place';

/** Where the lines of a text begin; turns offsets into zero-based positions and back. Breaks are LF, CRLF and CR. */
export class Lines {
  private readonly starts: number[] = [0];
  /** Line found last: what is asked next is mostly near. */
  private near = 0;

  constructor(readonly text: string) {
    this.lastVisible = Math.max(0, text.trimEnd().length - 1);
    const next = text.includes('\r') ? /\r\n?|\n/g : undefined;
    if (next) {
      while (next.exec(text)) this.starts.push(next.lastIndex);
    } else {
      for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) this.starts.push(i + 1);
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
    const line = this.holds(this.near, wanted)
      ? this.near
      : this.holds(this.near + 1, wanted)
        ? this.near + 1
        : this.search(wanted);
    this.near = line;
    return { line, character: wanted - (this.starts[line] ?? 0) };
  }

  private holds(line: number, offset: number): boolean {
    const start = this.starts[line];
    const next = this.starts[line + 1];
    return start !== undefined && start <= offset && (next === undefined || offset < next);
  }

  private search(offset: number): number {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  range(start: number, end: number): Range {
    return { start: this.position(start), end: this.position(Math.max(start, end)) };
  }

  whole(): Range {
    return this.range(0, this.text.length);
  }

  /** Range of a whole line without its break. */
  lineRange(line: number): Range {
    const start = this.starts[line] ?? this.text.length;
    let end = this.starts[line + 1] ?? this.text.length;
    while (end > start && /[\r\n]/.test(this.text[end - 1] ?? '')) end--;
    return this.range(start, end);
  }

  /** Offset at which a range begins. */
  offsetOf({ start }: Range): number {
    return this.offset(start);
  }

  /** Offset of a position; positions beyond a line or the text are clamped. */
  offset(position: Position): number {
    const start = this.starts[position.line];
    if (start === undefined) return position.line < 0 ? 0 : this.text.length;
    const next = this.starts[position.line + 1] ?? this.text.length;
    return Math.min(start + Math.max(0, position.character), next);
  }
}
