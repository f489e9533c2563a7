import type { Range } from '../../text/place';
import { Lines } from '../lines';
import type { PlacedText } from './placed-text';

/** A script among others that are read as one text. */
interface Part {
  readonly uri: string;
  readonly start: number;
  readonly lines: Lines;
}

/**
 * The lines of a script and of others that it runs, one behind the other as one text: an offset tells of which of them it is. Ranges of
 * the others carry their address.
 */
export class JoinedLines extends Lines {
  private readonly own: Lines;
  private readonly parts: readonly Part[];

  constructor(own: Lines, others: readonly { readonly uri: string; readonly text: string }[]) {
    super([own.text, ...others.map(({ text }) => text)].join('\n'));
    this.own = own;
    let start = own.text.length + 1;
    this.parts = others.map(({ uri, text }) => {
      const part = { uri, start, lines: new Lines(text) };
      start += text.length + 1;
      return part;
    });
  }

  private partAt(offset: number): Part | undefined {
    return this.parts.findLast(({ start }) => start <= offset);
  }

  override range(start: number, end: number): Range {
    const part = this.partAt(end);
    if (!part) return this.own.range(start, end);
    // What begins in one file and ends in another lies nowhere as a whole.
    const begin = Math.max(start, part.start) - part.start;
    const from = start < part.start ? end - part.start : begin;
    return { ...part.lines.range(from, end - part.start), uri: part.uri };
  }

  override whole(): Range {
    return this.own.whole();
  }

  override offsetOf({ uri, start }: Range): number {
    const part = uri === undefined ? undefined : this.parts.find((each) => each.uri === uri);
    return part ? part.start + part.lines.offset(start) : this.own.offset(start);
  }

  /** The texts of the others, with where they lie. */
  texts(): ReadonlyMap<string, PlacedText> {
    return new Map(
      this.parts.map(({ uri, start, lines: { text } }) => [
        uri,
        [{ text, start, end: start + text.length, exact: true }],
      ]),
    );
  }
}
