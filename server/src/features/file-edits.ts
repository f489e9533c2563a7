import { textEdits } from '../advice/write/text-edits';
import type { WrittenFile } from '../advice/write/write';
import type { Range } from '../text/place';
import type { FileEdit } from './action';

const START = { line: 0, character: 0 };
const NOWHERE: Range = { start: START, end: START };

/** The smallest edits that make the written texts of files. */
export function fileEdits(files: readonly WrittenFile[]): FileEdit[] {
  return files.flatMap(({ uri, before, after, create }): FileEdit[] =>
    create
      ? [{ uri, create, range: NOWHERE, newText: after }]
      : textEdits(before, after).map(({ range, newText }) => ({ uri, range, newText })),
  );
}
