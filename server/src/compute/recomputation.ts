import { oncePer } from '../memo/remembered';
import { byCheckpointPeriod } from '../memory/checkpoint-period';
import { recomputedByModule, recomputesModules } from '../memory/megatron-recompute';
import { layersPerChunk } from '../memory/pipeline-split';
import { savesResult, untilLastSave } from '../memory/play';
import { keptOperations } from '../memory/segment';
import type { TracedStage } from '../memory/traced-run';
import type { Operation, Tape } from '../model/tape';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';

/** Operators that a checkpointed stage runs again before backward, each list with the number of copies that do. */
type Recomputed = readonly (readonly [operations: readonly Operation[], copies: number])[];

/**
 * What activation checkpointing computes again, by the rules of the memory walk:
 * - full, reentrant: the whole layer;
 * - full, not reentrant: until the last kept tensor is there, in the last layer of each checkpoint
 *   (`torch/utils/checkpoint.py`, `_StopRecomputationError`), and the others whole;
 * - selective: all operators but those whose results are kept; in Megatron, those of the modules that are named;
 * - elementwise: all but matrix products and attention;
 * - full, of modules that hold checkpointed layers (Swin's levels): all once more.
 */
export function recomputed(traced: TracedStage, run: TrainingRun): Recomputed {
  return [...recomputedByLayers(traced, run), ...recomputedByEnclosing(traced, run)];
}

/**
 * The checkpoint around several layers runs forward until what it kept is there; the layers' own keep nothing for it but what enters
 * them, so that without reentrance the last of them is not run.
 */
function recomputedByEnclosing({ stage, tape, copies }: TracedStage, run: TrainingRun): Recomputed {
  if (stage.enclosed === undefined || run['activations.checkpointing'] !== 'full' || !runsBackward(tape))
    return [];
  if (!behaviours(run).checkpointsWithinLevels) return [];
  if (run['activations.reentrant']) return [[tape.operations, copies]];
  if (stage.role !== 'layer') return [[untilStop(tape), copies]];
  return [[tape.operations, stage.enclosed === 'last' ? copies - 1 : copies]];
}

function recomputedByLayers({ stage, tape, copies, whole }: TracedStage, run: TrainingRun): Recomputed {
  const checkpointing = run['activations.checkpointing'];
  if (checkpointing === 'none' || stage.role !== 'layer' || whole || !runsBackward(tape)) return [];
  if (checkpointing === 'selective' && recomputesModules(run)) {
    return [[[...recomputedByModule(tape, run)], copies]];
  }
  if (checkpointing === 'selective') {
    const kept = new Set(keptOperations(tape, run));
    return [[tape.operations.filter((operation) => !kept.has(operation)), copies]];
  }
  if (checkpointing === 'elementwise') {
    return [[tape.operations.filter((operation) => !operation.expensive), copies]];
  }
  if (run['activations.reentrant']) return [[tape.operations, copies]];
  const checkpoints = Math.ceil(copies / run['activations.checkpointEvery']);
  return [
    [tape.operations, copies - checkpoints],
    [untilStop(tape), checkpoints],
  ];
}

/**
 * The model with the layers distinguished that keep all their activations: those that a period leaves out, and where only the first `activations.layers` of each
 * pipeline chunk are checkpointed (Megatron `block`), as many as the others come to, at the end.
 */
export function asCheckpointed(stages: readonly TracedStage[], run: TrainingRun): readonly TracedStage[] {
  if (run['activations.period'] !== undefined) return byCheckpointPeriod(stages, run);
  const perChunk = run['activations.layers'];
  if (perChunk === undefined || run['activations.checkpointing'] !== 'full') return stages;
  const layers = stages.reduce((sum, { stage, copies }) => sum + (stage.role === 'layer' ? copies : 0), 0);
  let left = layersPerChunk(run, layers).reduce((sum, count) => sum + Math.min(perChunk, count), 0);
  return stages.flatMap((traced) => {
    if (traced.stage.role !== 'layer') return [traced];
    const wrapped = Math.min(left, traced.copies);
    left -= wrapped;
    const parts = [
      { ...traced, copies: wrapped },
      { ...traced, copies: traced.copies - wrapped, whole: true },
    ];
    return parts.filter(({ copies }) => copies > 0);
  });
}

/** Nothing is computed again where no gradient comes through. */
function runsBackward(tape: Tape): boolean {
  return tape.operations.some((operation) => operation.saves.length > 0 || operation.weightGrads.length > 0);
}

/** The last operator keeps its inputs before it runs: only where it keeps a result must it run. */
const untilStop = oncePer((tape: Tape): readonly Operation[] => {
  const needed = untilLastSave(tape.operations);
  const last = needed.at(-1);
  return last && !savesResult(last) ? needed.slice(0, -1) : needed;
});
