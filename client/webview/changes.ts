import type { Category } from '../../server/src/estimate-types';
import type { Breakdown } from '../../server/src/features/protocol';
import { formatBytes } from '../../server/src/wording/figures';
import { VERDICT_LABELS } from '../../server/src/wording/labels';
import { formatDuration, formatUsd } from '../../server/src/wording/time';
import { componentLabel, stackOrder } from './components';
import { dataTable, named } from './data-table';
import { t, translated } from './strings';

/** `+1.2 GiB`, `−340 MiB`. */
export function signedBytes(bytes: number): string {
  if (bytes === 0) return '±0';
  return `${bytes > 0 ? '+' : '−'}${formatBytes(Math.abs(bytes))}`;
}

/** Less is no difference. */
export const LEAST_SECONDS = 5e-5;

/** `+1.2 s`, `−40 ms`. */
export function signedSeconds(seconds: number): string {
  if (Math.abs(seconds) < LEAST_SECONDS) return '±0';
  return `${seconds > 0 ? '+' : '−'}${formatDuration(Math.abs(seconds))}`;
}

/** A figure of both runs, and how it changes; all as people read them. */
export type Row = readonly [name: string, before: string, after: string, change: string];

/** Two breakdowns side by side: the answer, the time, the money, and every component that differs. */
export function changes(before: Breakdown, after: Breakdown): Row[] {
  const rows: Row[] = [];
  const bytes = (name: string, one: number | undefined, two: number | undefined) => {
    if (one === undefined || two === undefined) return;
    rows.push([name, formatBytes(one), formatBytes(two), signedBytes(two - one)]);
  };
  rows.push([
    t('verdict'),
    translated(VERDICT_LABELS[before.verdict]),
    translated(VERDICT_LABELS[after.verdict]),
    '',
  ]);
  bytes(t('peak'), before.peak?.processBytes, after.peak?.processBytes);
  const [slow, fast] = [before, after].map(({ compute }) => compute?.time?.stepSeconds.likely);
  if (slow !== undefined && fast !== undefined) {
    const relative = slow > 0 ? ` (${percent(fast / slow - 1)})` : '';
    rows.push([
      t('stepTime'),
      formatDuration(slow),
      formatDuration(fast),
      `${signedSeconds(fast - slow)}${relative}`,
    ]);
  }
  const [dear, cheap] = [before, after].map(({ compute }) => compute?.time?.costUsd?.likely);
  if (dear !== undefined && cheap !== undefined) {
    const change = cheap - dear;
    rows.push([
      t('runCost'),
      formatUsd(dear),
      formatUsd(cheap),
      change === 0 ? '±0' : `${change > 0 ? '+' : '−'}${formatUsd(Math.abs(change))}`,
    ]);
  }
  if (before.hostBytesPerNode !== after.hostBytesPerNode) {
    bytes(t('hostMemory'), before.hostBytesPerNode, after.hostBytesPerNode);
  }
  const size = (of: Breakdown, category: Category) =>
    of.parts.reduce((sum, part) => (part.category === category ? sum + part.bytes : sum), 0);
  const categories = new Set(stackOrder([...before.parts, ...after.parts]).map(({ category }) => category));
  for (const category of categories) {
    const [one, two] = [size(before, category), size(after, category)];
    if (one !== two) bytes(componentLabel(category), one, two);
  }
  return rows;
}

/** The same as a table. `names` head the columns of the two. */
export function changesTable(
  before: Breakdown,
  after: Breakdown,
  names: readonly [string, string] = [t('was'), t('after')],
): HTMLTableElement {
  const cells = changes(before, after).map(([name, one, two, change]) => [
    named(name, one === two ? one : t('becomes', one, two)),
    one,
    two,
    change,
  ]);
  return dataTable(t('changesTable'), [t('figure'), ...names, t('change')], cells, {
    numbers: [1, 2, 3],
    wide: [1, 2],
  });
}

function percent(share: number): string {
  const rounded = Math.round(100 * share);
  return rounded === 0 ? '±0 %' : `${rounded > 0 ? '+' : '−'}${Math.abs(rounded)} %`;
}
