import { formatBytesOf } from '../../wording/figures';
import { say } from '../../wording/say';
import type { CheckedFile, CheckedRun } from '../checked-file';
import { cell, markdownTable } from '../markdown-table';
import { runOutcome } from '../run-outcome';
import { checkedSummary } from './counted';

function peakOf({ peak, capacityBytes, gpu, gpus }: CheckedRun): string {
  if (!peak || capacityBytes === undefined) return '';
  return `${formatBytesOf(peak.processBytes, capacityBytes)}${gpu ? `, ${gpus ?? 1} × ${gpu}` : ''}`;
}

/** Tables for a summary of a workflow, or a comment: the runs, then errors and warnings. */
export function markdown(files: readonly CheckedFile[]): string {
  const runs = files.flatMap(({ path, runs: own }) =>
    own.map((run) => [path, runOutcome(run), peakOf(run)].map(cell)),
  );
  const problems = files.flatMap(({ path, problems: own }) =>
    own
      .filter(({ severity }) => severity === 'error' || severity === 'warning')
      .map(({ range: { start }, severity, code, message }) => [
        `${cell(path)}:${start.line + 1}`,
        say(severity),
        `\`${code}\``,
        cell(message),
      ]),
  );
  return `${[
    `**${checkedSummary(files)}**`,
    ...markdownTable([say('Config'), say('Verdict'), say('Peak of one GPU')], runs),
    ...markdownTable([say('Place'), say('Severity'), say('Rule'), say('Problem')], problems),
  ].join('\n\n')}\n`;
}
