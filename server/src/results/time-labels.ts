import { decimal, formatFlops, formatInteger, significant } from '../wording/figures';
import { say } from '../wording/say';
import type { ComputeEstimate, Price, Spread, TimeEstimate } from './estimate';

/** Ranges of time, energy and money as people read them. */

export const TIME_UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'days'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
  [1e-3, 'ms'],
];

/** `11`, `5.9`, `0.42`: two figures below 100, whole numbers from there. */
function figure(value: number): string {
  if (value >= 9.95) return formatInteger(value);
  return value >= 0.995 ? decimal(value, 1) : significant(value, 2);
}

/** `5,930`, `42`, `5.0`: three figures, two below 100, as no range is known better. */
function rough(value: number): string {
  return figure(Number(value.toPrecision(3)));
}

/** The unit in which two or more of it are there, days from 48 hours on; seconds from one. */
function unitOf(seconds: number): readonly [number, string] {
  return TIME_UNITS.find(([size]) => seconds >= (size === 1 ? 1 : 2 * size)) ?? [1e-3, 'ms'];
}

/** `11 s`, `34 min`, `39 days`. */
export function formatDuration(seconds: number): string {
  const [size, name] = unitOf(seconds);
  return `${figure(seconds / size)} ${say(name)}`;
}

/** `11 s (5.9 to 14)`: the likely value, and the range in the same unit; one value where they are one. */
function ranged({ low, likely, high }: Spread, format: (value: number) => string, unit = ''): string {
  const value = unit === '' ? format(likely) : `${format(likely)} ${unit}`;
  return low === high ? value : say('{0} ({1} to {2})', value, format(low), format(high));
}

export function formatDurations(seconds: Spread): string {
  const [size, name] = unitOf(seconds.likely);
  return ranged(seconds, (value) => figure(value / size), say(name));
}

/** A number of which no more than three figures are known. */
export const threeFigures = (value: number): string => formatInteger(Number(value.toPrecision(3)));

/** `$52,000`, `$0.42`; three figures, as no range is known better. */
export function formatUsd(dollars: number): string {
  if (dollars < 100) return `$${decimal(dollars, 2)}`;
  return `$${threeFigures(dollars)}`;
}

/** `$52,000 ($41,000 to $70,000)`. */
export const formatDollars = (dollars: Spread): string => ranged(dollars, formatUsd);

/** `5,770 kWh (3,070 to 10,700)`. */
function formatEnergy(kilowattHours: Spread): string {
  return ranged(kilowattHours, rough, say('kWh'));
}

/** Whose prices: `list prices of 2026-07-20: p5.48xlarge`, or the run's own. */
export function priceLabel({ instances, date }: Price): string {
  if (instances.length === 0) return say('at the price that the run sets');
  return say('list prices of {0}: {1}', date ?? say('unknown date'), instances.join(', '));
}

/** One thing about time or money, as a name, a value and what it rests on. */
interface TimeFact {
  readonly name: string;
  /** `id` of the figure that explains it. */
  readonly figure?: string;
  readonly value: string;
  readonly detail?: string;
}

/** `31 % MFU (24 to 58)`, and HFU beside it where something is computed again. */
function utilization({ time, recomputedFlopsPerStep }: ComputeEstimate): string | undefined {
  const percent = (share: Spread, name: string) =>
    ranged(share, (value) => decimal(100 * value, 0), `% ${name}`);
  if (!time?.mfu) return undefined;
  const mfu = percent(time.mfu, 'MFU');
  const both = time.hfu && recomputedFlopsPerStep > 0 ? `${mfu}, ${percent(time.hfu, 'HFU')}` : mfu;
  return time.withoutMasked ? `${both}, ${say('masked pairs not counted')}` : both;
}

/** What takes longer than computing even at its rated speed. */
function boundBy({ ratedSeconds }: TimeEstimate): string {
  const { computing, optimizer, dataParallel, tensorParallel, offload } = ratedSeconds;
  const others: readonly (readonly [number, string])[] = [
    [offload, say('moving offloaded data over PCIe')],
    [dataParallel, say('gathering weights and reducing gradients')],
    [tensorParallel, say('tensor-parallel sums')],
    [optimizer, say('reading and writing optimizer states')],
  ];
  const longest = others.reduce((a, b) => (b[0] > a[0] ? b : a));
  return longest[0] > computing ? `, ${say('bound by {0}', longest[1])}` : '';
}

/** All that is known about time, energy and cost; a reason where there is none. */
export function timeFacts(compute: ComputeEstimate): TimeFact[] {
  const { time, timeUnknown, tokensPerParameter } = compute;
  const facts: TimeFact[] = [];
  if (timeUnknown) facts.push({ name: say('Time'), value: say('unknown'), detail: timeUnknown });
  if (time) {
    const { leftOut } = time;
    const without = leftOut.length > 0 ? `, ${say('without {0}', leftOut.join('; '))}` : '';
    facts.push(
      {
        name: say('Time per step'),
        figure: 'time per step',
        value: formatDurations(time.stepSeconds),
        detail: `${say('from {0}', time.source)}${boundBy(time)}${without}`,
      },
      {
        name: say('Throughput'),
        figure: 'throughput',
        value: ranged(time.tokensPerSecondPerGpu, rough, say('tokens/s per GPU')),
        detail: utilization(compute),
      },
    );
    if (time.runSeconds && time.gpuHours) {
      facts.push({
        name: say('Time of the run'),
        figure: 'time of the run',
        value: formatDurations(time.runSeconds),
        detail: `${ranged(time.gpuHours, rough, say('GPU-hours'))}${
          time.withoutEvaluations ? `, ${say('without {0}', say('its evaluations'))}` : ''
        }`,
      });
    }
    if (time.energyKwh) {
      facts.push({
        name: say('Energy'),
        figure: 'energy',
        value: formatEnergy(time.energyKwh),
        detail: say('GPUs at rated power, with the building 1.1 to 1.58 times that'),
      });
    }
    if (time.price) {
      const perHour = ranged(time.price.usdPerGpuHour, formatUsd, say('per GPU-hour'));
      facts.push({
        name: say('Cost'),
        figure: 'cost',
        value: time.costUsd ? formatDollars(time.costUsd) : perHour,
        detail: priceLabel(time.price),
      });
    }
  }
  if (tokensPerParameter !== undefined) {
    facts.push({
      name: say('Tokens per parameter'),
      figure: 'tokens per parameter',
      value: rough(tokensPerParameter),
      detail: say('compute-optimal: about 20 (arXiv 2203.15556)'),
    });
  }
  return facts;
}

/** `≈ 11 s/step`; `412 TFLOP/step` where no time is known: a line has room for one of them. */
export function stepLabel({ flopsPerStep, time }: ComputeEstimate): string {
  return time
    ? `≈ ${say('{0}/step', formatDuration(time.stepSeconds.likely))}`
    : say('{0}/step', formatFlops(flopsPerStep));
}
