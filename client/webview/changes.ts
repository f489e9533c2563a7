import type { Breakdown, Category } from '../../server/src/shared/protocol';
import {
  breakdownOutcome,
  formatBytes,
  formatDuration,
  formatInteger,
  formatUsd,
} from '../../server/src/shared/words';
import { componentLabel, stackOrder } from './components';
import { dataTable, namedRows } from './data-table';
import { t } from './strings';

/** `+1.2 GiB`, `−340 MiB`. */
export function signedBytes(bytes: number): string {
  if (bytes === 0) return '±0';
  return `${bytes > 0 ? '+' : '−'}${formatBytes(Math.abs(bytes))}`;
}

/** Less is no difference. */
export const LEAST_SECONDS = 5e-5;

/** `+1.2 s`, `−40 ms`. */
function signedSeconds(seconds: number): string {
  if (Math.abs(seconds) < LEAST_SECONDS) return '±0';
  return `${seconds > 0 ? '+' : '−'}${formatDuration(Math.abs(seconds))}`;
}

/** `+1.6 s, 1.22× faster per token`: the speed where steps hold other numbers of tokens. */
export function timeChange(seconds: number | undefined, speed: string | undefined): string {
  return [seconds === undefined ? '' : signedSeconds(seconds), speed ?? ''].filter((word) => word).join(', ');
}

/** A figure of both runs, and how it changes; all as people read them. */
type ChangeRow = readonly [name: string, before: string, after: string, change: string];

/** Two breakdowns side by side: the answer, the time, the money, and every component that differs. */
export function changes(before: Breakdown, after: Breakdown): ChangeRow[] {
  const rows: ChangeRow[] = [];
  const bytes = (name: string, one: number | undefined, two: number | undefined) => {
    if (one === undefined || two === undefined) return;
    rows.push([name, formatBytes(one), formatBytes(two), signedBytes(two - one)]);
  };
  rows.push([t('verdict'), breakdownOutcome(before), breakdownOutcome(after), '']);
  bytes(t('peak'), before.peak?.processBytes, after.peak?.processBytes);
  const [few, many] = [before, after].map(({ compute }) => tokensPerSecond(compute));
  if (few !== undefined && many !== undefined) {
    const relative = few > 0 ? percent(many / few - 1) : '';
    rows.push([t('throughput'), formatInteger(Math.round(few)), formatInteger(Math.round(many)), relative]);
  }
  const [small, large] = [before, after].map(({ compute }) => compute?.tokensPerStep);
  if (small !== undefined && large !== undefined && small !== large) {
    const change = `${large > small ? '+' : '−'}${formatInteger(Math.abs(large - small))}`;
    rows.push([t('tokensPerStep'), formatInteger(small), formatInteger(large), change]);
  }
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
  const [hostBefore, hostAfter] = [before, after].map(({ host }) => host?.bytesPerNode ?? 0);
  if (hostBefore !== hostAfter) bytes(t('hostMemory'), hostBefore, hostAfter);
  const size = (of: Breakdown, category: Category) =>
    of.parts.reduce((sum, part) => (part.category === category ? sum + part.bytes : sum), 0);
  const categories = new Set(stackOrder([...before.parts, ...after.parts]).map(({ category }) => category));
  for (const category of categories) {
    const [one, two] = [size(before, category), size(after, category)];
    if (one !== two) bytes(componentLabel(category), one, two);
  }
  return rows;
}

/** Over all GPUs, at the likely time of a step. */
function tokensPerSecond(compute: Breakdown['compute']): number | undefined {
  const seconds = compute?.time?.stepSeconds.likely;
  return compute && seconds !== undefined && seconds > 0 ? compute.tokensPerStep / seconds : undefined;
}

/** The same as a table. `names` head the columns of the two. */
export function changesTable(
  before: Breakdown,
  after: Breakdown,
  names: readonly [string, string] = [t('was'), t('after')],
): HTMLTableElement {
  const cells = changes(before, after).map(([name, one, two, change]) => [
    namedRows(name, one === two ? one : t('becomes', one, two)),
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
