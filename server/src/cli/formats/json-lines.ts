import type { CheckedFile } from '../checked-file';
import type { FormatContext } from './format';
import { fileJson } from './json';

/** The files of `json`, one a line: for streams. */
export function jsonLines(files: readonly CheckedFile[], { folder }: FormatContext): string {
  return files.map((file) => `${JSON.stringify(fileJson(file, folder))}\n`).join('');
}
