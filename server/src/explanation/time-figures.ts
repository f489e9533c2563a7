import { SOURCES } from '../memory/sources';
import { type DetailNode, named, type Unit } from '../results/detail-node';
import type { ComputeEstimate, Spread, TimeEstimate } from '../results/estimate';
import { formatDuration, formatUsd, priceLabel } from '../results/time-labels';
import type { TrainingRun } from '../run/fields';
import { formatCount, formatFlops, formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import { short } from './formula';

/** Three figures, as no range is known better; whole numbers from a thousand on. */
function figure(value: number): string {
  return value >= 1000 ? formatInteger(value) : short(Number(value.toPrecision(3)));
}

/** A range as one figure: its likely value, and between what it lies. */
function ranged(
  name: string,
  { low, likely, high }: Spread,
  unit: Unit,
  format: (value: number) => string,
  formula: string,
): DetailNode {
  const why = low === high ? undefined : say('between {0} and {1}', format(low), format(high));
  return { ...named(name), value: likely, unit, why, formula, source: SOURCES.computeNotes };
}

/** Time, throughput, energy and cost, and the work of the whole run, as far as they are known. */
export function timeFigures(
  compute: ComputeEstimate,
  run: TrainingRun,
  parameters: number,
): readonly DetailNode[] {
  const { pflopDaysTotal, pflopDaysPerStep } = compute;
  const steps = pflopDaysTotal === undefined ? undefined : pflopDaysTotal / pflopDaysPerStep;
  return [
    ...flopsOfRun(compute, steps),
    ...timed(compute, run['hardware.gpus'], Math.round(steps ?? 0)),
    ...tokensPerParameter(compute, parameters),
  ];
}

function flopsOfRun({ flopsPerStep }: ComputeEstimate, steps: number | undefined): DetailNode[] {
  if (steps === undefined) return [];
  return [
    {
      ...named('FLOPs of the run'),
      value: flopsPerStep * steps,
      unit: 'FLOP',
      formula: say(
        '{0} × {1} {1|step|steps}; a PFLOP-day is 1e15 × 86,400 FLOP',
        formatFlops(flopsPerStep),
        Math.round(steps),
      ),
      source: SOURCES.computeNotes,
    },
  ];
}

/** What hangs on the time of a step; nothing where that is not known. `count`: steps of the run. */
function timed({ time, tokensPerStep }: ComputeEstimate, gpus: number, count: number): DetailNode[] {
  if (!time) return [];
  const { stepSeconds, ratedSeconds } = time;
  const rated = [
    [say('computing'), ratedSeconds.computing],
    [say('optimizer'), ratedSeconds.optimizer],
    [say('data parallelism'), ratedSeconds.dataParallel],
    [say('tensor parallelism'), ratedSeconds.tensorParallel],
    [say('offload'), ratedSeconds.offload],
  ] as const;
  const parts = rated
    .filter(([, seconds]) => seconds > 0)
    .map(([name, seconds]) => `${name} ${formatDuration(seconds)}`)
    .join(', ');
  const perSecond = (value: number) => say('{0} tokens/s', Math.round(value));
  const step = formatDuration(stepSeconds.likely);
  const figures = [
    ranged(
      'time per step',
      stepSeconds,
      'seconds',
      formatDuration,
      say(
        'at peak hardware speed {0}; over the share of it that published runs reach ({1})',
        parts,
        time.source,
      ),
    ),
    ranged(
      'throughput',
      time.tokensPerSecondPerGpu,
      'tokens/s',
      perSecond,
      say('{0} {0|token|tokens} / {1} {1|GPU|GPUs} / {2}', Math.round(tokensPerStep), gpus, step),
    ),
  ];
  if (time.runSeconds) {
    const formula = say('{0} {0|step|steps} × {1}', count, step);
    figures.push(ranged('time of the run', time.runSeconds, 'seconds', formatDuration, formula));
  }
  return [...figures, ...energyAndCost(time)];
}

function energyAndCost({ gpuHours, energyKwh, price, costUsd }: TimeEstimate): DetailNode[] {
  const figures: DetailNode[] = [];
  const hours = gpuHours && say('{0} GPU-hours', figure(gpuHours.likely));
  if (energyKwh && gpuHours) {
    const kilowatts = energyKwh.likely / gpuHours.likely;
    const formula = say("{0} × {1} kW, rated power and the building's share", hours ?? '', figure(kilowatts));
    const kilowattHours = (value: number) => say('{0} kWh', figure(value));
    figures.push(ranged('energy', energyKwh, 'kWh', kilowattHours, formula));
  }
  if (price) {
    const perHour = say('{0} per GPU-hour, {1}', formatUsd(price.usdPerGpuHour.likely), priceLabel(price));
    const cost = costUsd ?? price.usdPerGpuHour;
    figures.push(ranged('cost', cost, 'USD', formatUsd, costUsd ? `${hours} × ${perHour}` : perHour));
  }
  return figures;
}

function tokensPerParameter(
  { tokensPerParameter: ratio }: ComputeEstimate,
  parameters: number,
): DetailNode[] {
  if (ratio === undefined) return [];
  return [
    {
      ...named('tokens per parameter'),
      value: ratio,
      unit: 'tokens',
      formula: say(
        '{0} training tokens / {1} parameters; compute-optimal is about 20',
        formatCount(ratio * parameters),
        formatCount(parameters),
      ),
      source: SOURCES.chinchilla,
    },
  ];
}
