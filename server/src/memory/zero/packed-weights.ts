import type { Weight } from '../../model/tape';
import type { TrainingRun } from '../../run/fields';
import { elementBytes, packedBytes } from '../quantization';
import type { WeightSums } from '../weights';
import { engineWidth } from './engine-states';

/**
 * Whether stage 3 splits packed weights: 4-bit ones of bitsandbytes are parameters, which are all split whatever their type is
 * (`partition_parameters.py`, `_convert_to_zero_parameters`; recorded with bf16 and uint8 under DeepSpeed 0.19.8). Their scales are attributes,
 * whole on every GPU. 8-bit ones are held under a second name (`MatmulLtState.CB`).
 */
const splitsPacked = (run: TrainingRun): boolean => /^(?:nf4|fp4)$/.test(run['quantization.kind']);

/** Bytes of packed weights that are split, without scales. */
export function splitCodes(run: TrainingRun, sums: WeightSums): number {
  const kind = run['quantization.kind'];
  return kind === 'none' || !splitsPacked(run) ? 0 : sums.quantized * elementBytes(kind, run);
}

/** What a weight takes when it is gathered, in elements of the engine's type; 0 where it is never split. */
export function gatheredElements(weight: Weight, run: TrainingRun): number {
  if (weight.quantization === 'none') return weight.localElements;
  return splitsPacked(run) ? packedBytes(weight, run) / engineWidth(run) : 0;
}
