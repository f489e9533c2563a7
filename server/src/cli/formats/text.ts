import type { CheckedFile } from '../checked-file';
import { oftenLines, problemLines } from '../problem-lines';
import { saidOften } from '../said-often';
import { checkedSummary, counted } from './counted';
import type { FormatContext } from './format';

/** Problems under their files, what many of them share, and a line that counts them. */
export function text(files: readonly CheckedFile[], { paint }: FormatContext): string {
  const { errors, warnings } = counted(files);
  const { files: rest, often } = saidOften(files);
  const lines = [
    ...rest.map(({ path, problems }) => problemLines(path, problems, paint)),
    ...often.map((each) => oftenLines(each, paint)),
  ];
  return `${lines.join('')}${paint(errors > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green', checkedSummary(files))}\n`;
}
