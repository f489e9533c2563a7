import type { Position, Range } from '../text/place';

/** Where a text that an editor asks about stands in the text that is analysed: a cell in its notebook, a file in itself. */
export interface TextView {
  /** The text that is analysed. */
  readonly uri: string;
  /** The editor's text, where it is a part of that. */
  readonly cell?: string;
  /** A place of the editor's text in the one that is analysed. */
  into(position: Position): Position;
  /** A place of the analysed text in the editor's; undefined where it is shown elsewhere. */
  out(range: Range): Range | undefined;
}

/** A file is analysed as it is shown. */
export function wholeFile(uri: string): TextView {
  return { uri, into: (position) => position, out: (range) => range };
}

/** Both ends of a range, moved into the analysed text. */
export function rangeInto({ into }: TextView, { start, end }: Range): Range {
  return { start: into(start), end: into(end) };
}
