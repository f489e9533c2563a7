import type { ComputeEstimate, Spread } from '../../estimate-types';
import type { TrainingRun } from '../../run/fields';
import { formatCount, formatFlops, formatInteger } from '../../wording/figures';
import { formatDuration, formatUsd, priceLabel } from '../../wording/time';
import { SOURCES } from '../sources';
import { short } from './formula';
import type { DetailNode, Unit } from './node';

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
  const why = low === high ? undefined : `between ${format(low)} and ${format(high)}`;
  return { name, value: likely, unit, why, formula, source: SOURCES.computeNotes };
}

/** Time, throughput, energy and cost, and the work of the whole run, as far as they are known. */
export function timeFigures(
  compute: ComputeEstimate,
  run: TrainingRun,
  parameters: number,
): readonly DetailNode[] {
  const figures: DetailNode[] = [];
  const { time, pflopDaysTotal, pflopDaysPerStep, flopsPerStep, tokensPerStep, tokensPerParameter } = compute;
  const gpus = run['hardware.gpus'];
  const steps = pflopDaysTotal === undefined ? undefined : pflopDaysTotal / pflopDaysPerStep;
  const count = steps === undefined ? '' : formatInteger(steps);
  if (pflopDaysTotal !== undefined) {
    figures.push({
      name: 'FLOPs of the run',
      value: flopsPerStep * (steps ?? 0),
      unit: 'FLOP',
      formula: `${formatFlops(flopsPerStep)} x ${count} steps; a PFLOP-day is 1e15 x 86,400 FLOP`,
      source: SOURCES.computeNotes,
    });
  }
  if (time) {
    const { stepSeconds, ratedSeconds } = time;
    const rated = [
      ['computing', ratedSeconds.computing],
      ['optimizer', ratedSeconds.optimizer],
      ['data parallelism', ratedSeconds.dataParallel],
      ['tensor parallelism', ratedSeconds.tensorParallel],
      ['offload', ratedSeconds.offload],
    ] as const;
    const parts = rated
      .filter(([, seconds]) => seconds > 0)
      .map(([name, seconds]) => `${name} ${formatDuration(seconds)}`)
      .join(', ');
    const perSecond = (value: number) => `${formatInteger(value)} tokens/s`;
    figures.push(
      ranged(
        'time per step',
        stepSeconds,
        'seconds',
        formatDuration,
        `at rated speed ${parts}; over the share of it that published runs reach (${time.source})`,
      ),
      ranged(
        'throughput',
        time.tokensPerSecondPerGpu,
        'tokens/s',
        perSecond,
        `${formatInteger(tokensPerStep)} tokens / ${gpus} GPUs / ${formatDuration(stepSeconds.likely)}`,
      ),
    );
    if (time.runSeconds) {
      const formula = `${count} steps x ${formatDuration(stepSeconds.likely)}`;
      figures.push(ranged('time of the run', time.runSeconds, 'seconds', formatDuration, formula));
    }
    const hours = time.gpuHours && `${figure(time.gpuHours.likely)} GPU-hours`;
    if (time.energyKwh && time.gpuHours) {
      const kilowatts = time.energyKwh.likely / time.gpuHours.likely;
      const formula = `${hours} x ${figure(kilowatts)} kW, rated power and the building's share`;
      const kilowattHours = (value: number) => `${figure(value)} kWh`;
      figures.push(ranged('energy', time.energyKwh, 'kWh', kilowattHours, formula));
    }
    if (time.price) {
      const perHour = `${formatUsd(time.price.usdPerGpuHour.likely)} per GPU-hour, ${priceLabel(time.price)}`;
      const cost = time.costUsd ?? time.price.usdPerGpuHour;
      const formula = time.costUsd ? `${hours} x ${perHour}` : perHour;
      figures.push(ranged('cost', cost, 'USD', formatUsd, formula));
    }
  }
  if (tokensPerParameter !== undefined) {
    const tokens = formatCount(tokensPerParameter * parameters);
    figures.push({
      name: 'tokens per parameter',
      value: tokensPerParameter,
      unit: 'tokens',
      formula: `${tokens} training tokens / ${formatCount(parameters)} parameters; compute-optimal is about 20`,
      source: SOURCES.chinchilla,
    });
  }
  return figures;
}
