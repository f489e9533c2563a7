import { outcomeLabel, verdictLabel } from '../../results/labels';
import { formatBytesOf } from '../../wording/figures';
import { say } from '../../wording/say';
import type { CheckedFile, CheckedRun } from '../checked-file';
import { counted } from './counted';

/** Text in a cell of a table. */
const cell = (text: string) => text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ');

function outcome({ verdict, peak, capacityBytes }: CheckedRun): string {
  return peak && capacityBytes !== undefined
    ? outcomeLabel({ verdict, peak, capacityBytes })
    : verdictLabel(verdict);
}

function peakOf({ peak, capacityBytes, gpu, gpus }: CheckedRun): string {
  if (!peak || capacityBytes === undefined) return '';
  return `${formatBytesOf(peak.processBytes, capacityBytes)}${gpu ? `, ${gpus ?? 1} × ${gpu}` : ''}`;
}

/** Tables for a summary of a workflow, or a comment: the runs, then errors and warnings. */
export function markdown(files: readonly CheckedFile[]): string {
  const { errors, warnings } = counted(files);
  const runs = files.flatMap(({ path, runs: own }) =>
    own.map((run) => `| ${cell(path)} | ${cell(outcome(run))} | ${cell(peakOf(run))} |`),
  );
  const problems = files.flatMap(({ path, problems: own }) =>
    own
      .filter(({ severity }) => severity === 'error' || severity === 'warning')
      .map(
        ({ range: { start }, severity, code, message }) =>
          `| ${cell(path)}:${start.line + 1} | ${say(severity)} | \`${code}\` | ${cell(message)} |`,
      ),
  );
  const summary = say(
    '{0} {0|config|configs} checked: {1} {1|error|errors}, {2} {2|warning|warnings}',
    files.length,
    errors,
    warnings,
  );
  const table = (head: readonly string[], rows: readonly string[]) =>
    rows.length === 0
      ? []
      : [`| ${head.join(' | ')} |\n|${' --- |'.repeat(head.length)}\n${rows.join('\n')}`];
  return `${[
    `**${summary}**`,
    ...table([say('Config'), say('Verdict'), say('Peak of one GPU')], runs),
    ...table([say('Place'), say('Severity'), say('Rule'), say('Problem')], problems),
  ].join('\n\n')}\n`;
}
