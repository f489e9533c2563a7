import type { CheckedFile } from '../checked-file';
import { problemLines, repeatedLines } from '../problem-lines';
import { repeatedInformation } from '../repeated-information';
import { checkedSummary, counted } from './counted';
import type { FormatContext } from './format';

/** Problems under their files, what many of them share, and a line that counts them. */
export function text(files: readonly CheckedFile[], { paint }: FormatContext): string {
  const { errors, warnings } = counted(files);
  const { files: rest, repeated } = repeatedInformation(files);
  const lines = [
    ...rest.map(({ path, problems }) => problemLines(path, problems, paint)),
    ...repeated.map((each) => repeatedLines(each, paint)),
  ];
  return `${lines.join('')}${paint(errors > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green', checkedSummary(files))}\n`;
}
