import { textEdits } from '../advice/write/text-edits';
import type { WrittenFile } from '../advice/write/write';
import type { FileEdit } from './code-actions';

/** The smallest edits that make the written texts of files. */
export function fileEdits(files: readonly WrittenFile[]): FileEdit[] {
  return files.flatMap(({ uri, before, after }) =>
    textEdits(before, after).map(({ range, newText }) => ({ uri, range, newText })),
  );
}
