import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import type { DType } from '../terms/dtypes';
import { upcastsRest } from './quantization';
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
 * Bytes of a frozen copy of the adapters, and of what is trained in full beside them. PEFT makes it in fp32 (`peft_model.py`, `add_adapter`,
 * `autocast_adapter_dtype`), and TRL lowers only what is trained; an engine that casts whole modules casts it as well.
 */
function referenceAdapterBytes(run: TrainingRun, sums: WeightSums): number {
  if (!run['method.referenceAdapter'] || run['method.kind'] !== 'lora') return 0;
  const lowered = behaviours(run).lowersFrozenModels ? bytesPer(run['precision.compute']) : undefined;
  const beside = lowered ?? (upcastsRest(run) ? 4 : bytesPer(run['precision.weights']));
  return sums.adapters * (lowered ?? 4) + (sums.trained - sums.adapters) * beside;
}

/**
 * Bytes per GPU of all frozen models that are resident beside the trained one: references, reward models, teachers.
 * `shards` is how many GPUs the scheme splits weights over; models that are not sharded lie whole on every GPU.
 */
export function frozenModelBytes(run: TrainingRun, sums: WeightSums, shards: number): number {
  const copies = frozenCopies(run);
  const others = run['method.frozenParameters'];
  const adapters = referenceAdapterBytes(run, sums) / shards;
  if (copies === 0 && others === 0) return adapters;
  const width = bytesPer(frozenDtype(run));
  const split = run['method.frozenSharded'] === false ? 1 : shards;
  return adapters + (copies * (sums.loaded * width + sums.quantizedBytes) + others * width) / split;
}
