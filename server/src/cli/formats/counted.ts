import { say } from '../../wording/say';
import type { CheckedFile } from '../checked-file';

/** How many problems of each of the two kinds that count. */
export function counted(files: readonly CheckedFile[]): {
  readonly errors: number;
  readonly warnings: number;
} {
  const all = files.flatMap(({ problems }) => problems);
  return {
    errors: all.filter(({ severity }) => severity === 'error').length,
    warnings: all.filter(({ severity }) => severity === 'warning').length,
  };
}

/** What was checked and found, in a line for people. */
export function checkedSummary(files: readonly CheckedFile[]): string {
  const { errors, warnings } = counted(files);
  return say(
    '{0} {0|config|configs} checked: {1} {1|error|errors}, {2} {2|warning|warnings}',
    files.length,
    errors,
    warnings,
  );
}
