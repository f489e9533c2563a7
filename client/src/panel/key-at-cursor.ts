import type { CausingKey } from '../../../server/src/shared/protocol';

/** The key whose value the position is on; on its line where no other key's value stands nearer. */
export function keyAtCursor(
  keys: readonly CausingKey[],
  uri: string,
  { line, character }: { readonly line: number; readonly character: number },
): CausingKey | undefined {
  const here = keys.filter(
    ({ uri: of, range }) => of === uri && range.start.line <= line && line <= range.end.line,
  );
  // The key's name stands before its value: of several on a line it is the first that ends behind the cursor.
  return here
    .filter(({ range }) => range.end.line > line || range.end.character >= character)
    .sort((a, b) => a.range.end.line - b.range.end.line || a.range.end.character - b.range.end.character)
    .concat(here)[0];
}
