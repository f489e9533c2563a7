import type { ComputeEstimate } from '../estimate-types';
import { dataParallelSize } from '../memory/sharding-scheme';
import type { TracedStage } from '../memory/traced-run';
import type { TrainingRun } from '../run/fields';

/** FLOP of one PFLOP-day: 1e15 per second for a day. */
const PFLOP_DAY = 1e15 * 86_400;

/**
 * FLOPs of one optimizer step over all GPUs, read off the operators; a multiply-add is two. Backward computes a
 * gradient for each factor that needs one, so frozen weights cost half, and checkpointed layers run forward twice
 * (which MFU does not count).
 */
export function computeEstimate(stages: readonly TracedStage[], run: TrainingRun): ComputeEstimate {
  let forward = 0;
  let backward = 0;
  let recomputed = 0;
  const checkpointing = run['activations.checkpointing'];
  for (const { tape, copies, stage } of stages) {
    for (const operation of tape.operations) {
      forward += copies * operation.flops;
      backward += copies * operation.backwardFlops;
      if (stage.role !== 'layer') continue;
      if (checkpointing === 'full') recomputed += copies * operation.flops;
    }
  }
  // Traced FLOPs are those of one GPU: model-parallel ranks do their own share of the same samples.
  const ranks =
    dataParallelSize(run) * run['parallel.tensor'] * run['parallel.context'] * run['parallel.ulysses'];
  const factor = ranks * run['batch.accumulation'];
  const samples = run['batch.micro'] * run['batch.accumulation'] * dataParallelSize(run);
  const flopsPerStep = factor * (forward + backward + recomputed);
  const tokensPerStep = samples * run['batch.sequence'];
  const tokens = run['schedule.tokens'];
  const steps = run['schedule.steps'] ?? (tokens === undefined ? undefined : tokens / tokensPerStep);
  return {
    flopsPerStep,
    modelFlopsPerStep: factor * (forward + backward),
    forwardFlopsPerStep: factor * forward,
    tokensPerStep,
    pflopDaysPerStep: flopsPerStep / PFLOP_DAY,
    pflopDaysTotal: steps === undefined ? undefined : (steps * flopsPerStep) / PFLOP_DAY,
  };
}
