/** Zero-based line and UTF-16 character, as editors count. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

/** Half-open stretch of a file. */
export interface Range {
  readonly start: Position;
  readonly end: Position;
  /** The file that it lies in, where that is another than the one that is read: what configs that start from others take in. */
  readonly uri?: string;
}

/** A place in a file. */
export interface Location {
  readonly uri: string;
  readonly range: Range;
}

/** Where a range lies that was found in reading a file. */
export function locationOf(range: Range, read: string): Location {
  const { start, end, uri } = range;
  return uri === undefined ? { uri: read, range } : { uri, range: { start, end } };
}

function isSamePosition(one: Position, other: Position): boolean {
  return one.line === other.line && one.character === other.character;
}

/** Whether two ranges begin at one place of one file. */
export function beginTogether(one: Range, other: Range): boolean {
  return one.uri === other.uri && isSamePosition(one.start, other.start);
}

export function isSameLocation(one: Location | undefined, other: Location | undefined): boolean {
  if (!one || !other) return one === other;
  const [mine, its] = [one.range, other.range];
  return one.uri === other.uri && isSamePosition(mine.start, its.start) && isSamePosition(mine.end, its.end);
}

/** Order of two places of one file: negative where the first comes before. */
export function compare(a: Position, b: Position): number {
  return a.line - b.line || a.character - b.character;
}

const isBefore = (a: Position, b: Position): boolean => compare(a, b) < 0;

/** Whether a range lies in another of the same file. */
export const isWithin = (inner: Range, outer: Range): boolean =>
  inner.uri === outer.uri && !isBefore(inner.start, outer.start) && !isBefore(outer.end, inner.end);
