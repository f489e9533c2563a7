import type { Range } from '../run/origin';
import type { Problem } from './node';

/** Beyond this many syntax problems a file is not being edited, it is something else. */
export const MAX_SYNTAX_PROBLEMS = 20;

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
