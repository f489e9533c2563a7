import { isEstimated } from '../advice/changed-run';
import { speedWords } from '../advice/speed';
import { type Neighbour, type WhatIf, whatIfOfFields } from '../advice/what-if';
import { verdictLabel } from '../results/labels';
import type { FieldPath } from '../run/fields';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';

/** Neighbouring values of the fields that a key sets, as a small table, and what the knob does not do. */
export function whatIfSection(analysis: Analysis, fields: readonly FieldPath[]): string | undefined {
  const table = isEstimated(analysis) ? whatIfOfFields(analysis, fields) : undefined;
  return (
    table &&
    [markdownTable(table), say(table.doesNot ?? ''), say(table.costs ?? '')].filter(Boolean).join('\n\n')
  );
}

/** Cells of a hover stand close side by side, and blanks at their ends are cut off. */
const GAP = '&nbsp;&nbsp;';
const apart = (text: string) => (text === '' ? '' : `${GAP}${text}`);

function markdownTable({ name, neighbours }: WhatIf): string {
  const head = `| ${say(name)} | ${say('Peak')} | | ${apart(say('Speed'))} |\n| :--- | ---: | :--- | :--- |`;
  return [head, ...neighbours.map(row)].join('\n');
}

function row({ label, current, peakBytes, verdict, relativeTime, hostExceeds }: Neighbour): string {
  const mark = (text: string) => (current && text ? `**${text}**` : text);
  const speed = current ? say('now') : (speedWords(relativeTime) ?? '');
  const answer = hostExceeds ? say('host memory too small') : verdictLabel(verdict);
  const name = current ? `▸ ${label}` : label;
  return `| ${mark(name)} | ${mark(formatBytes(peakBytes))} | ${apart(mark(answer))} | ${apart(mark(speed))} |`;
}
