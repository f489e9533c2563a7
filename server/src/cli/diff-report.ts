import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CommonOptions } from './context';
import { type DiffContext, diffJson } from './diff-json';
import { diffMarkdown } from './diff-markdown';
import { diffText } from './diff-text';
import { EXIT } from './exit-codes';
import type { Output } from './output';
import { isWorse, type TreeDiff } from './run-diff';

/** How a difference between runs is reported. */
export interface DiffReportOptions extends Omit<CommonOptions, 'format'> {
  readonly format: 'text' | 'json' | 'markdown';
  readonly output?: string;
  /** Tells comments of several diffs on one pull request apart. */
  readonly tag: string;
  /** A run that comes out worse makes the exit code 1. */
  readonly failOnWorse?: boolean;
}

/** Writes the report where it is asked for, a file below `context.folder` or the terminal; the exit code. */
export async function reportDiff(
  found: TreeDiff,
  context: Omit<DiffContext, 'tag' | 'paint'>,
  { format, output: file, tag, failOnWorse }: DiffReportOptions,
  output: Output,
): Promise<number> {
  const write = { text: diffText, json: diffJson, markdown: diffMarkdown }[format];
  const paint = file === undefined ? output.paint : (_style: string, text: string) => text;
  const report = write(found, { ...context, tag, paint });
  if (file === undefined) output.write(report);
  else await writeFile(path.resolve(context.folder, file), report);
  return failOnWorse && found.runs.some(isWorse) ? EXIT.foundErrors : EXIT.fine;
}
