import type { TrainingRun } from '../run/fields';
import type { TracedStage } from './traced-run';

/**
 * The stages with the layers cut apart that keep all their activations where a period states which are checkpointed (allenai/OLMo,
 * `olmo/model.py`, `should_checkpoint_block`). Layers are counted from the first stage given.
 */
export function byCheckpointPeriod(stages: readonly TracedStage[], run: TrainingRun): readonly TracedStage[] {
  const period = run['activations.period'];
  if (period === undefined || period === 0 || run['activations.checkpointing'] !== 'full') return stages;
  const length = Math.abs(period);
  const isWrapped = (layer: number) => (layer % length === 0) === period > 0;
  const cut: TracedStage[] = [];
  let layer = 0;
  for (const traced of stages) {
    if (traced.stage.role !== 'layer') {
      cut.push(traced);
      continue;
    }
    for (let copy = 0; copy < traced.copies; ) {
      const wrapped = isWrapped(layer + copy);
      const from = copy;
      while (copy < traced.copies && isWrapped(layer + copy) === wrapped) copy += 1;
      cut.push({ ...traced, copies: copy - from, ...(wrapped ? {} : { whole: true }) });
    }
    layer += traced.copies;
  }
  return cut;
}
