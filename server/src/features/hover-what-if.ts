import { isEstimated } from '../advice/changed-run';
import { speedWords } from '../advice/speed';
import { type Neighbour, type WhatIf, whatIfOfFields } from '../advice/what-if';
import { verdictAt } from '../results/labels';
import type { FieldPath } from '../run/fields';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';

/** Neighbouring values of a key as a hover tells them. */
export interface WhatIfTexts {
  /** What an editor shows without scrolling, as Markdown: where the run stands, and where it begins to fit. */
  readonly glance: string;
  /** The values that the glance leaves out, in one line, and what the knob does not do; undefined where that is nothing. */
  readonly rest?: string;
}

/** Neighbouring values of the fields that a key sets, as a small table, and what the knob does not do. */
export function whatIfSection(analysis: Analysis, fields: readonly FieldPath[]): string | undefined {
  const table = isEstimated(analysis) ? whatIfOfFields(analysis, fields) : undefined;
  return table && [markdownTable(table), ...remarks(table)].join('\n\n');
}

/** The same in two parts, for a hover: the first of them is seen at once. */
export function whatIfTexts(analysis: Analysis, fields: readonly FieldPath[]): WhatIfTexts | undefined {
  const table = isEstimated(analysis) ? whatIfOfFields(analysis, fields) : undefined;
  if (!table) return undefined;
  const { neighbours, isClosed } = table;
  const isFlat = new Set(neighbours.map(answerOf)).size === 1;
  const shown = isFlat ? [] : isClosed ? neighbours : glanced(neighbours);
  const glance = isFlat ? sameFor(table) : markdownTable({ ...table, neighbours: shown });
  const others = isFlat ? [] : neighbours.filter((one) => !shown.includes(one));
  const rest = [...(others.length > 0 ? [otherValues(others)] : []), ...remarks(table)].join('\n\n');
  return { glance, ...(rest !== '' && { rest }) };
}

/** Title, head, these rows and a sentence are six lines: what VS Code shows of a hover before it scrolls, with room for a long one. */
const ROWS = 3;

/** Where the run stands and the values between which it begins to fit, or its neighbours; in the order of the table. */
function glanced(neighbours: readonly Neighbour[]): readonly Neighbour[] {
  const present = neighbours.findIndex(({ current }) => current);
  const fits = neighbours.map(({ verdict, hostExceeds }) => verdict === 'fits' && !hostExceeds);
  const peakAt = (index: number) => neighbours[index]?.peakBytes ?? 0;
  const near = (index: number) => Math.abs(index - present);
  const indices = [...neighbours.keys()].sort((a, b) => near(a) - near(b));
  const [flip] = indices.filter((index) => index > 0 && fits[index] !== fits[index - 1]);
  const least = neighbours.reduce(
    (best, { peakBytes }, index) => (peakBytes < peakAt(best) ? index : best),
    0,
  );
  // Where all fit the last is the largest that does; where none does, the least is reported.
  const boundary = flip !== undefined ? [flip - 1, flip] : [fits[0] ? neighbours.length - 1 : least];
  const chosen = new Set([...(present < 0 ? [] : [present]), ...boundary, ...indices].slice(0, ROWS));
  for (const index of indices) if (chosen.size < ROWS) chosen.add(index);
  return neighbours.filter((_, index) => chosen.has(index));
}

/** Values without a row: one line, for a second table would be read as the first again. */
function otherValues(others: readonly Neighbour[]): string {
  const phrases = others.map(({ label, peakBytes, capacityBytes, verdict, hostExceeds }) => {
    const answer = hostExceeds ? say('host memory too small') : verdictAt(verdict, peakBytes, capacityBytes);
    return `**${label}** ${formatBytes(peakBytes)}, ${answer}`;
  });
  return say('Other values: {0}.', phrases.join(' · '));
}

const answerOf = ({ peakBytes, verdict, hostExceeds }: Neighbour) =>
  `${formatBytes(peakBytes)} ${verdict} ${hostExceeds}`;
const remarks = ({ doesNot, costs, neighbours }: WhatIf) =>
  [say(doesNot ?? ''), say(costs ?? ''), heldByAllocator(neighbours)].filter(Boolean);

/** Of two values the one with smaller tensors may need more: that would look like a mistake. */
function heldByAllocator(neighbours: readonly Neighbour[]): string {
  const isOdd = neighbours.some((one) =>
    neighbours.some(
      (other) =>
        one.allocatedBytes < other.allocatedBytes &&
        one.peakBytes > other.peakBytes &&
        formatBytes(one.peakBytes) !== formatBytes(other.peakBytes),
    ),
  );
  return isOdd
    ? say('Where smaller tensors need more, the rest is blocks that the caching allocator holds.')
    : '';
}

/** Of the values that are looked at: whether others change the peak nobody has estimated. */
function sameFor({ name, neighbours }: WhatIf): string {
  const labels = neighbours.map(({ label }) => label).join(', ');
  return say('{0} {1}: the same peak of {2}.', say(name), labels, formatBytes(neighbours[0]?.peakBytes ?? 0));
}

/** Cells of a hover stand close side by side, and blanks at their ends are cut off. */
const GAP = '&nbsp;&nbsp;';
const apart = (text: string) => (text === '' ? '' : `${GAP}${text}`);
/** A figure with its unit, or a verdict, stays on one line beside an editor that is narrow. */
const unbroken = (text: string) => text.replaceAll(' ', '&nbsp;');

function markdownTable({ name, neighbours }: WhatIf): string {
  const head = `| ${say(name)} | ${say('Peak')} | | ${apart(say('Speed'))} |\n| :--- | ---: | :--- | :--- |`;
  return [head, ...neighbours.map(row)].join('\n');
}

function row({
  label,
  current,
  peakBytes,
  capacityBytes,
  verdict,
  relativeTime,
  hostExceeds,
}: Neighbour): string {
  const mark = (text: string) => (current && text ? `**${text}**` : text);
  const speed = current ? say('now') : (speedWords(relativeTime, say('same')) ?? '');
  const answer = hostExceeds ? say('host memory too small') : verdictAt(verdict, peakBytes, capacityBytes);
  const name = current ? `▸ ${label}` : label;
  return `| ${mark(name)} | ${mark(unbroken(formatBytes(peakBytes)))} | ${apart(mark(unbroken(answer)))} | ${apart(mark(speed))} |`;
}
