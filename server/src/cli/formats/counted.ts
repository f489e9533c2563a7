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
