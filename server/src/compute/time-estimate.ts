import type { Accelerator } from '../hardware/accelerator';
import type { TracedStage } from '../memory/traced-run';
import type { WeightSums } from '../memory/weights';
import type { ComputeEstimate, Spread, TimeEstimate } from '../results/estimate';
import type { TrainingRun } from '../run/fields';
import { stepsOf } from './flops';
import { inTf32, multipliedIn } from './matrix-rates';
import { priceOf } from './price';
import { perUnit, product, times } from './spread';
import { stepTime } from './step-time';

const HOUR = 3600;

/**
 * Power that a data centre uses per power of its machines: 1.1 at large providers (LLaMA, arXiv 2302.13971, section 6),
 * 1.58 on average (Uptime Institute, survey of 2023). GPUs are taken at their rated power.
 */
const POWER_USAGE: Spread = { low: 1.1, likely: 1.1, high: 1.58 };

/** Time, GPU-hours, energy and cost as ranges; a sentence where there is none. */
export function timeEstimate(
  stages: readonly TracedStage[],
  sums: WeightSums,
  run: TrainingRun,
  accelerator: Accelerator,
  compute: ComputeEstimate,
): TimeEstimate | string {
  const forwardShare = compute.flopsPerStep > 0 ? compute.forwardFlopsPerStep / compute.flopsPerStep : 0;
  const step = stepTime(stages, sums, run, accelerator, forwardShare);
  if (typeof step === 'string') return step;
  const gpus = run['hardware.gpus'];
  const { denseFlops } = accelerator;
  const type = multipliedIn(run, accelerator);
  const lowered = type === 'fp32' && inTf32(run) ? denseFlops.tf32 : undefined;
  const rated = lowered ?? denseFlops[type] ?? denseFlops[run['precision.compute']];
  // FLOPs are those of full batches: of shorter samples no more is computed than the time is for.
  const share = (flops: number) =>
    rated === undefined ? undefined : perUnit((step.computed * flops) / (gpus * rated), step.seconds);
  // The convention counts pairs that a causal mask hides and kernels skip: on long sequences more than the card can do. What
  // is computed is counted there instead.
  const again = compute.recomputedFlopsPerStep;
  const computed = (share(compute.hfuFlopsPerStep)?.high ?? 0) > 1;
  const price = priceOf(run, accelerator);
  const steps = stepsOf(run, compute.tokensPerStep);
  const found: TimeEstimate = {
    stepSeconds: step.seconds,
    tokensPerSecondPerGpu: perUnit(compute.tokensPerStep / gpus, step.seconds),
    mfu: share(computed ? compute.flopsPerStep - again : compute.modelFlopsPerStep),
    hfu: share(computed ? compute.flopsPerStep : compute.hfuFlopsPerStep),
    ...(computed ? { withoutMasked: true as const } : {}),
    price,
    ratedSeconds: step.rated,
    source: step.source,
    leftOut: step.leftOut,
  };
  if (steps === undefined) return found;
  const gpuHours = times(step.seconds, (steps * gpus) / HOUR);
  const watts = accelerator.powerWatts;
  return {
    ...found,
    ...(run['evaluation.enabled'] ? { withoutEvaluations: true as const } : {}),
    runSeconds: times(step.seconds, steps),
    gpuHours,
    energyKwh: watts === undefined ? undefined : times(product(gpuHours, POWER_USAGE), watts / 1000),
    costUsd: price && product(gpuHours, price.usdPerGpuHour),
  };
}
