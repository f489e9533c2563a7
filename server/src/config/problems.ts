import type { Range } from '../text/place';
import type { Problem } from '../text/problem';
import type { ConfigDocument } from './node';

/** Beyond this many syntax problems a file is not being edited, it is something else. */
export const MAX_SYNTAX_PROBLEMS = 20;

/**
 * Whether a text cannot be read as it stands, so that what was read of it states little of what is meant. Scripts are read command by
 * command: a broken one leaves the others as they are.
 */
export function isBroken({ format, problems }: Pick<ConfigDocument, 'format' | 'problems'>): boolean {
  return (
    format !== 'shell' &&
    problems.some(
      ({ code, severity }) =>
        (code === 'syntax' && severity === 'error') ||
        // What stands behind the place of a template is not what it will be.
        (code === 'placeholder' && format === 'yaml'),
    )
  );
}

/** Syntax problems of one file: bounded, and one per line, because broken syntax cascades. */
export class SyntaxProblems {
  readonly list: Problem[] = [];
  private readonly seen = new Set<number>();

  get full(): boolean {
    return this.list.length >= MAX_SYNTAX_PROBLEMS;
  }

  add(problem: Problem): void {
    const { line } = problem.range.start;
    if (this.full || this.seen.has(line)) return;
    this.seen.add(line);
    this.list.push(problem);
  }

  syntax(message: string, range: Range): void {
    this.add({ code: 'syntax', severity: 'error', message, range });
  }
}
