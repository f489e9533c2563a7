import { verdictAt } from '../results/labels';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { Output } from './output';
import { displayPath } from './report';

/** Runs that use a file, worst first; the first is the one that was estimated. Nothing where no file names it. */
export function usersReport({ runs = [] }: Analysis, folder: string) {
  if (runs.length === 0) return {};
  return {
    usedIn: runs.map(({ root, line, verdict, peakBytes }) => ({
      file: displayPath(root, folder),
      ...(line === undefined ? {} : { line }),
      verdict,
      peakBytes: peakBytes ?? null,
    })),
  };
}

/** The same for people, where there are several to tell apart. */
export function usersTable({ runs = [] }: Analysis, folder: string, { paint }: Output): string {
  if (runs.length < 2) return '';
  const lines = runs.map(({ root, line, verdict, peakBytes, capacityBytes }) => {
    const peak = peakBytes === undefined ? '' : `, ${formatBytes(peakBytes)}`;
    const place = `${displayPath(root, folder)}${line === undefined ? '' : `:${line}`}`;
    return `    ${place}: ${verdictAt(verdict, peakBytes, capacityBytes)}${peak}`;
  });
  return `${paint('bold', `  ${say('Used in {0} {0|run|runs}; the worst is shown', runs.length)}`)}\n${lines.join('\n')}\n\n`;
}
