import { say } from '../../wording/say';
import type { CheckedFile } from '../checked-file';
import { problemLines } from '../problem-lines';
import { counted } from './counted';
import type { FormatContext } from './format';

/** Problems under their files, and a line that counts them. */
export function text(files: readonly CheckedFile[], { paint }: FormatContext): string {
  const { errors, warnings } = counted(files);
  const summary = say(
    '{0} {0|config|configs} checked: {1} {1|error|errors}, {2} {2|warning|warnings}',
    files.length,
    errors,
    warnings,
  );
  const lines = files.map(({ path, problems }) => problemLines(path, problems, paint));
  return `${lines.join('')}${paint(errors > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green', summary)}\n`;
}
