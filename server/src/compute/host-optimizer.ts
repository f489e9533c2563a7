import { shardGroupSize } from '../memory/sharding';
import type { WeightSums } from '../memory/weights';
import type { TrainingRun } from '../run/fields';

/**
 * Seconds per billion parameters that the processors of a node need to step them. DeepSpeed's CPU Adam 0.7 (8.2 s for 11.6
 * billion, DeepSpeed #735; 0.55 on each of four nodes with 72 billion, #6834); at its slowest 3.0 with eight processes on two
 * Xeon 8358 (LLaMA-7B, gist chenyaofo/d4cd6a20), PyTorch's Adam 4.8 (56 s in #735).
 */
const PER_BILLION = { likely: 0.7, high: 4.8 } as const;

/** Seconds of an optimizer step on the CPU; at its best it is not known, so it is none. */
export function hostOptimizerSeconds(sums: WeightSums, run: TrainingRun): { likely: number; high: number } {
  if (run['offload.optimizer'] === 'none') return { likely: 0, high: 0 };
  const node = run['hardware.gpus'] / run['hardware.nodes'];
  const alone = run['parallel.data'] === 'none' || run['parallel.data'] === 'ddp';
  const owned = sums.trained / (run['parallel.pipeline'] * (alone ? 1 : shardGroupSize(run)));
  const billions = (run['offload.optimizerRatio'] * owned * node) / 1e9;
  return { likely: PER_BILLION.likely * billions, high: PER_BILLION.high * billions };
}
