import { SOURCES } from '../memory/sources';
import { type DetailNode, named, type Unit } from '../results/detail-node';
import type { ComputeEstimate, Spread } from '../results/estimate';
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
  const figures: DetailNode[] = [];
  const { time, pflopDaysTotal, pflopDaysPerStep, flopsPerStep, tokensPerStep, tokensPerParameter } = compute;
  const gpus = run['hardware.gpus'];
  const steps = pflopDaysTotal === undefined ? undefined : pflopDaysTotal / pflopDaysPerStep;
  const count = Math.round(steps ?? 0);
  if (pflopDaysTotal !== undefined) {
    figures.push({
      ...named('FLOPs of the run'),
      value: flopsPerStep * (steps ?? 0),
      unit: 'FLOP',
      formula: say(
        '{0} x {1} {1|step|steps}; a PFLOP-day is 1e15 x 86,400 FLOP',
        formatFlops(flopsPerStep),
        count,
      ),
      source: SOURCES.computeNotes,
    });
  }
  if (time) {
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
    figures.push(
      ranged(
        'time per step',
        stepSeconds,
        'seconds',
        formatDuration,
        say('at rated speed {0}; over the share of it that published runs reach ({1})', parts, time.source),
      ),
      ranged(
        'throughput',
        time.tokensPerSecondPerGpu,
        'tokens/s',
        perSecond,
        say(
          '{0} {0|token|tokens} / {1} {1|GPU|GPUs} / {2}',
          Math.round(tokensPerStep),
          gpus,
          formatDuration(stepSeconds.likely),
        ),
      ),
    );
    if (time.runSeconds) {
      const formula = say('{0} {0|step|steps} x {1}', count, formatDuration(stepSeconds.likely));
      figures.push(ranged('time of the run', time.runSeconds, 'seconds', formatDuration, formula));
    }
    const hours = time.gpuHours && say('{0} GPU-hours', figure(time.gpuHours.likely));
    if (time.energyKwh && time.gpuHours) {
      const kilowatts = time.energyKwh.likely / time.gpuHours.likely;
      const formula = say(
        "{0} x {1} kW, rated power and the building's share",
        hours ?? '',
        figure(kilowatts),
      );
      const kilowattHours = (value: number) => say('{0} kWh', figure(value));
      figures.push(ranged('energy', time.energyKwh, 'kWh', kilowattHours, formula));
    }
    if (time.price) {
      const perHour = say(
        '{0} per GPU-hour, {1}',
        formatUsd(time.price.usdPerGpuHour.likely),
        priceLabel(time.price),
      );
      const cost = time.costUsd ?? time.price.usdPerGpuHour;
      const formula = time.costUsd ? `${hours} x ${perHour}` : perHour;
      figures.push(ranged('cost', cost, 'USD', formatUsd, formula));
    }
  }
  if (tokensPerParameter !== undefined) {
    const tokens = formatCount(tokensPerParameter * parameters);
    figures.push({
      ...named('tokens per parameter'),
      value: tokensPerParameter,
      unit: 'tokens',
      formula: say(
        '{0} training tokens / {1} parameters; compute-optimal is about 20',
        tokens,
        formatCount(parameters),
      ),
      source: SOURCES.chinchilla,
    });
  }
  return figures;
}
