import type { CheckedFile } from '../checked-file';
import { problemLines } from '../problem-lines';
import { checkedSummary, counted } from './counted';
import type { FormatContext } from './format';

/** Problems under their files, and a line that counts them. */
export function text(files: readonly CheckedFile[], { paint }: FormatContext): string {
  const { errors, warnings } = counted(files);
  const lines = files.map(({ path, problems }) => problemLines(path, problems, paint));
  return `${lines.join('')}${paint(errors > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green', checkedSummary(files))}\n`;
}
