import { ELEMENT_BYTES, type Weight } from '../model/tape';
import type { DType, TrainingRun } from '../run/fields';
import type { TracedStage } from './traced-run';

/**
 * Bytes per element of a quantized weight at rest. 4-bit: half a byte and an fp32 scale per block of 64; with double
 * quantization the scales take one byte and an fp32 second scale per 256 of them
 * (`bitsandbytes/functional.py`, `quantize_4bit`). int8: one byte, and fp32 row statistics.
 */
export function quantizedBytes(weight: Weight, double: boolean): number {
  if (weight.quantization === 'int8') return 1 + 4 / (weight.shape.at(-1) ?? 1);
  return double ? 0.5 + 1 / 64 + 4 / (64 * 256) : 0.5 + 4 / 64;
}

/** Elements of one GPU before data-parallel sharding, tied weights once. */
export interface WeightSums {
  /** Trained elements, adapters included. */
  readonly trained: number;
  /** Adapters alone (a part of `trained`). */
  readonly adapters: number;
  readonly frozen: number;
  /** Quantized elements, and their bytes with scales. */
  readonly quantized: number;
  readonly quantizedBytes: number;
  /** Elements that stage-3 ZeRO keeps whole on every GPU. */
  readonly persistentTrained: number;
  readonly persistentFrozen: number;
  /** Largest single weight, elements. */
  readonly largest: number;
  /** Elements over all tensor- and expert-parallel ranks, whole model. */
  readonly total: number;
  readonly totalTrained: number;
}

/** Weights of one copy of a stage, tied ones left out. */
export function ownWeights(traced: TracedStage): readonly Weight[] {
  return traced.tape.weights.filter((weight) => weight.tiedTo === undefined);
}

export function sumWeights(stages: readonly TracedStage[], run: TrainingRun): WeightSums {
  const threshold = run['zero.persistenceThreshold'];
  const double = run['quantization.double'];
  const sums = {
    trained: 0,
    adapters: 0,
    frozen: 0,
    quantized: 0,
    quantizedBytes: 0,
    persistentTrained: 0,
    persistentFrozen: 0,
    largest: 0,
    total: 0,
    totalTrained: 0,
  };
  for (const traced of stages) {
    const { copies } = traced;
    for (const weight of ownWeights(traced)) {
      const local = weight.localElements;
      sums.total += copies * weight.elements;
      sums.largest = Math.max(sums.largest, local);
      if (weight.quantization !== 'none') {
        sums.quantized += copies * local;
        sums.quantizedBytes += copies * local * quantizedBytes(weight, double);
        continue;
      }
      const persistent = local <= threshold;
      if (weight.trainable) {
        sums.totalTrained += copies * weight.elements;
        sums.trained += copies * local;
        if (weight.role === 'adapter') sums.adapters += copies * local;
        if (persistent) sums.persistentTrained += copies * local;
      } else {
        sums.frozen += copies * local;
        if (persistent) sums.persistentFrozen += copies * local;
      }
    }
  }
  return sums;
}

/** Unquantized elements of one copy of a stage on this GPU, trained and frozen, tied weights included. */
export function stageElements(traced: TracedStage): {
  trained: number;
  frozen: number;
  quantizedBytes: number;
} {
  let trained = 0;
  let frozen = 0;
  let packed = 0;
  for (const weight of ownWeights(traced)) {
    if (weight.quantization !== 'none') packed += weight.localElements * quantizedBytes(weight, false);
    else if (weight.trainable) trained += weight.localElements;
    else frozen += weight.localElements;
  }
  return { trained, frozen, quantizedBytes: packed };
}

export function bytesPer(dtype: DType): number {
  return ELEMENT_BYTES[dtype];
}
