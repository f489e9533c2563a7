import type { TrainingRun } from '../run/fields';
import { combine, emptyLedger, type Ledger } from './ledger';
import { segmentOf } from './segment';
import type { TracedStage } from './traced-run';

/** One pipeline stage: the part of the model that its GPUs hold. */
export interface PipelineStage {
  readonly index: number;
  readonly stages: readonly TracedStage[];
  /** Micro batches whose activations are alive at once when the stage begins its first backward. */
  readonly inFlight: number;
}

/** Rounds layers to ranks as frameworks do: the first stages take the remainder. */
function layersOf(layers: number, stages: number, index: number): { from: number; to: number } {
  const from = Math.floor((layers * index) / stages);
  return { from, to: Math.floor((layers * (index + 1)) / stages) };
}

/**
 * Micro batches in flight on a stage. 1F1B: `min(m, p - i)` (`schedules.py`, warm-up plus the running one); GPipe: all;
 * interleaved: `2 (p - i - 1) + (v - 1) p + 1` chunks of a v-th of the stage's layers.
 */
export function microBatchesInFlight(run: TrainingRun, index: number): number {
  const p = run['parallel.pipeline'];
  const m = run['batch.accumulation'];
  switch (run['parallel.pipelineSchedule']) {
    case 'gpipe':
      return m;
    case 'interleaved': {
      const v = run['parallel.virtualStages'];
      return Math.min(m * v, 2 * (p - index - 1) + (v - 1) * p + 1) / v;
    }
    default:
      return Math.min(m, p - index);
  }
}

/**
 * The pipeline stages that can be the worst: the first (most micro batches in flight, and the embedding), the second
 * where stages differ, and the last (head and loss). Without pipeline parallelism: the whole model.
 */
export function pipelineStages(traced: readonly TracedStage[], run: TrainingRun): PipelineStage[] {
  const p = run['parallel.pipeline'];
  if (p <= 1) return [{ index: 0, stages: traced, inFlight: 1 }];
  const layers = traced.reduce((sum, t) => sum + (t.stage.role === 'layer' ? t.copies : 0), 0);
  return [...new Set([0, 1, p - 1])].map((index) => {
    const { from, to } = layersOf(layers, p, index);
    const stages: TracedStage[] = [];
    let layer = 0;
    let seenLayer = false;
    for (const t of traced) {
      if (t.stage.role !== 'layer') {
        const first = !seenLayer;
        if ((first && index === 0) || (!first && index === p - 1)) stages.push(t);
        continue;
      }
      seenLayer = true;
      const copies = Math.min(layer + t.copies, to) - Math.max(layer, from);
      if (copies > 0) stages.push({ ...t, copies });
      layer += t.copies;
    }
    return { index, stages, inFlight: microBatchesInFlight(run, index) };
  });
}

/** Activations of the micro batches in flight beside the one that is walked. Bytes per GPU. */
export function inFlightLedger(stage: PipelineStage, run: TrainingRun): Ledger {
  if (stage.inFlight <= 1) return emptyLedger();
  let kept = emptyLedger();
  for (const traced of stage.stages) {
    const segment = segmentOf(traced, run, 'pass');
    kept = combine(kept, [segment.forward.exit, Math.ceil(traced.copies / segment.layers)]);
  }
  return combine([kept, stage.inFlight - 1]);
}
