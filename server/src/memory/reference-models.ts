import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import type { DType } from '../terms/dtypes';
import { bytesPer, type WeightSums } from './weights';

/**
 * Type of the frozen models beside the trained one: as stated; else an engine that casts whole modules casts them too
 * (TRL, `prepare_deepspeed`), and others leave them as they are loaded.
 */
export function frozenDtype(run: TrainingRun): DType {
  const { lowersFrozenModels } = behaviours(run);
  return (
    run['method.frozenDtype'] ?? (lowersFrozenModels ? run['precision.compute'] : run['precision.weights'])
  );
}

/** Frozen models of the size of the trained one: the reference unless its answers were computed before, and others. */
export function frozenCopies(run: TrainingRun): number {
  const reference = run['method.referenceModel'] && !run['method.precomputedReference'] ? 1 : 0;
  return reference + run['method.frozenModels'];
}

/**
 * Bytes per GPU of all frozen models that are resident beside the trained one: references, reward models, teachers.
 * `shards` is how many GPUs the scheme splits weights over; models that are not sharded lie whole on every GPU.
 */
export function frozenModelBytes(run: TrainingRun, sums: WeightSums, shards: number): number {
  const copies = frozenCopies(run);
  const others = run['method.frozenParameters'];
  // PEFT makes a second adapter in fp32, and what brings the first down to bf16 goes by what is trained.
  const adapters = run['method.referenceAdapter'] ? sums.adapters * bytesPer('fp32') : 0;
  if (copies === 0 && others === 0) return adapters / shards;
  const width = bytesPer(frozenDtype(run));
  const split = run['method.frozenSharded'] === false ? 1 : shards;
  return (copies * (sums.loaded * width + sums.quantizedBytes) + others * width) / split + adapters / shards;
}
