import { estimate } from '../../server/src/estimate';
import { outsideAllocator } from '../../server/src/memory/device';
import type { Estimate, Verdict } from '../../server/src/results/estimate';
import { shortestAnswer } from '../../server/src/workspace/sample-lengths';
import type { Expression } from './express';
import { type Measurement, measuredOf } from './measurement';
import { aligned } from './report';
import { type Bounds, kindOf } from './score';

const GIB = 2 ** 30;

/** Memory of the cards that are sold, GB. A process gets about 98.5 % of it (`server/data/accelerators.jsonl`). */
const CARDS = [16, 24, 32, 40, 48, 80, 96, 141, 180, 192].map((size) => 0.985 * size * GIB);

/** A card whose memory is within these of what a run needs is a decision; others are plain. */
const NEAR = [0.6, 1.6] as const;

/** A row whose run can be estimated, with the estimate. */
export interface Estimated {
  readonly measurement: Measurement;
  readonly input: Exclude<Expression, { readonly error: string }>;
  readonly estimate: Estimate;
}

/** Where each meter is expected, by the bands of the run's kind. Bytes of one GPU. */
export function boundsOf({ input: { run, accelerator, model }, estimate: found }: Estimated): Bounds {
  const { peak, bands } = found;
  const outside = outsideAllocator(run, accelerator, model.hiddenSize);
  const { allocated, reserved } = bands;
  const lower = peak.reservedBytes * (1 - reserved.below);
  const upper = peak.reservedBytes * (1 + reserved.above);
  return {
    allocated: {
      lower: peak.allocatedBytes * (1 - allocated.below),
      upper: peak.allocatedBytes * (1 + allocated.above),
    },
    reserved: { lower, upper },
    process: { lower: lower + outside.lower, upper: upper + outside.upper },
  };
}

/** What is known of a card: the run fits, does not, or the meter cannot tell. */
export type Truth = 'fits' | 'edge' | 'does not fit';

/**
 * Whether a run with this measurement fits a card. Who has read what was allocated knows that less is too little, and that a
 * seventh more is enough; who has read what was reserved, that as much is enough, and that blocks of the cache make up no
 * seventh of it, or two fifths where batches differ in length.
 */
export function truthOf({ measurement, input, estimate: { peak } }: Estimated, capacity: number): Truth {
  const kind = kindOf(measurement.what);
  const measured = measuredOf(measurement, input.accelerator) ?? 0;
  const outside = kind === 'process' ? 0 : peak.processBytes - peak.reservedBytes;
  const process = measured + outside;
  if (kind === 'allocated') {
    if (process > capacity) return 'does not fit';
    return 1.15 * process <= capacity ? 'fits' : 'edge';
  }
  if (process <= capacity) return 'fits';
  const varied = input.run['batch.varied'] && !input.run['batch.packed'];
  return measured * (varied ? 0.6 : 0.85) > capacity ? 'does not fit' : 'edge';
}

/** A card near what a run needs. */
export interface Decision {
  readonly id: string;
  readonly truth: Truth;
  readonly verdict: Verdict;
}

/** What is reported of every standard card near the need of each run. */
export function decisionsOf(rows: readonly Estimated[]): Decision[] {
  return rows.flatMap((row) => {
    const { measurement, input, estimate: found } = row;
    const kind = kindOf(measurement.what);
    const measured = measuredOf(measurement, input.accelerator);
    if (!kind || !measured || measurement.outOfMemory) return [];
    const { peak } = found;
    const likely = {
      allocated: peak.allocatedBytes,
      reserved: peak.reservedBytes,
      process: peak.processBytes,
    };
    const need = (measured * peak.processBytes) / likely[kind];
    return CARDS.filter((card) => card >= NEAR[0] * need && card <= NEAR[1] * need).map((card) => {
      const { verdict } = estimate({
        ...input,
        run: { ...input.run, 'hardware.gpuMemory': Math.round(card) },
      });
      return { id: measurement.id, truth: truthOf(row, card), verdict };
    });
  });
}

/**
 * What is reported of a row on its own card. Where its samples' lengths are not published it is estimated at the limit, as a file that
 * states one is: too large there, and not with the shortest samples, is "may not fit".
 */
function verdictOf({ measurement: { unmet }, input, estimate: present }: Estimated): Verdict {
  if (!unmet?.includes("data's lengths are not published")) return present.verdict;
  const { run } = input;
  const cut = {
    values: run,
    origins: { 'batch.sequence': { kind: 'inferred', guess: true, atMost: true } },
  } as const;
  const shorter = shortestAnswer(cut, present, (changes) =>
    estimate({ ...input, run: { ...run, ...changes } }),
  );
  return shorter ? 'tight' : present.verdict;
}

/** Rows whose verdict on their own card is contradicted by what happened: a run that ran, or one that ran out of memory. */
export function contradicted(rows: readonly Estimated[]): Estimated[] {
  return rows.filter((row) => {
    const { outOfMemory, doubtful } = row.measurement;
    return doubtful === undefined && verdictOf(row) === (outOfMemory ? 'fits' : 'exceeds');
  });
}

const VERDICTS = ['fits', 'tight', 'exceeds', 'unknown'] as const;

function counted<R>(rows: readonly R[], of: (row: R) => string, verdictOf: (row: R) => Verdict): string[][] {
  const names = [...new Set(rows.map(of))];
  return names.map((name) => {
    const own = rows.filter((row) => of(row) === name);
    const counts = VERDICTS.map((verdict) => own.filter((row) => verdictOf(row) === verdict).length);
    return [`${name} (${own.length})`, ...counts.map(String)];
  });
}

/** Two tables: verdicts of the rows on their own cards, and on all standard cards near what they need. */
export function verdictReport(rows: readonly Estimated[]): string {
  const judged = rows.filter(({ measurement }) => measurement.doubtful === undefined);
  const decisions = decisionsOf(judged.filter(({ measurement }) => measurement.scored));
  const tight = decisions.filter(({ verdict }) => verdict === 'tight').length;
  const wrong = contradicted(rows).map(({ measurement }) => measurement.id);
  return [
    aligned([
      ['verdict on the card that ran', ...VERDICTS],
      ...counted(judged, ({ measurement }) => (measurement.outOfMemory ? 'out of memory' : 'ran'), verdictOf),
    ]),
    wrong.length === 0 ? 'none is contradicted' : `contradicted: ${wrong.join(', ')}`,
    '',
    aligned([
      ['verdict on standard cards near the need', ...VERDICTS],
      ...counted(
        decisions,
        ({ truth }) => truth,
        ({ verdict }) => verdict,
      ),
    ]),
    `${((100 * tight) / decisions.length).toFixed(0)} % are tight`,
  ].join('\n');
}
