import { isAccelerated } from '../behaviours/accelerated';
import { behaviours } from './behaviours';
import { evenDataParallelSize } from './derive';
import type { RunValues, TrainingRun } from './fields';

/**
 * Micro batches that a framework tries one after the other until one fits, largest first: from the one that is set down to one sample.
 * Composer halves (`_adjust_device_train_microbatch_size`), Accelerate does what its release does (`find_executable_batch_size`).
 */
export function triedBatches(run: TrainingRun): readonly number[] {
  const isTenth = isAccelerated(run.framework) && behaviours(run).lowersBatchByTenth;
  const tried: number[] = [];
  for (
    let micro = run['batch.micro'];
    micro >= 1;
    micro = isTenth ? Math.floor(micro * 0.9) : Math.floor(micro / 2)
  )
    tried.push(micro);
  return tried;
}

/** Whether a smaller micro batch leaves the accumulation as it is, and with it a step of fewer samples. */
export const keepsAccumulation = (run: TrainingRun): boolean => isAccelerated(run.framework);

/**
 * What of a run is another with a smaller micro batch that the framework found. Composer shares the samples of a step out among more micro
 * batches; the Trainer of transformers keeps its accumulation, so that a step has fewer samples (`get_total_train_batch_size`). Evaluation
 * keeps the batch that is set.
 */
export function withMicroBatch(run: TrainingRun, micro: number): RunValues {
  const from = run['batch.micro'];
  const evaluation = run['evaluation.enabled'] ? { 'evaluation.batch': run['evaluation.batch'] ?? from } : {};
  if (!keepsAccumulation(run))
    return {
      ...evaluation,
      'batch.micro': micro,
      'batch.accumulation': Math.ceil((from * run['batch.accumulation']) / micro),
    };
  const copies = evenDataParallelSize(run);
  return {
    ...evaluation,
    'batch.micro': micro,
    ...(copies === undefined ? {} : { 'batch.global': micro * run['batch.accumulation'] * copies }),
  };
}
