import type { TrainingRun } from '../run/fields';
import { post } from './ledger';
import {
  dataParallelSize,
  ledger,
  NONE,
  postStates,
  referenceBytes,
  residentBytes,
  type Sharding,
} from './sharding-scheme';
import { allStepped, bytesPer, type WeightSums } from './weights';

/**
 * Megatron's data parallelism: whole weights on every replica, contiguous main gradients (fp32 unless told otherwise)
 * that live for the whole run, fp32 main weights and states, which the distributed optimizer shards over the replicas.
 */
export function megatronReplicas(run: TrainingRun, sums: WeightSums): Sharding {
  const base = sums.trained - sums.adapters;
  const sharded = run['parallel.distributedOptimizer'] ? dataParallelSize(run) : 1;
  const atRest = ledger(
    ['weights', (base + sums.frozen) * residentBytes(run)],
    ['quantized-weights', sums.quantizedBytes],
    ['adapters', sums.adapters * bytesPer(run['lora.dtype'])],
    ['reference-model', referenceBytes(run, sums, 1)],
    ['gradients', sums.trained * bytesPer(run['precision.gradientAccumulation'] ?? 'fp32')],
  );
  if (run['precision.compute'] !== 'fp32') post(atRest, 'master-weights', (sums.trained * 4) / sharded);
  postStates(atRest, run, sums.trained / sharded, 4, allStepped(sums));
  return {
    atRest,
    throughout: NONE,
    duringBackward: NONE,
    gradientsBefore: NONE,
    gradientsAtStep: NONE,
    duringStep: NONE,
    gradients: 'pass',
    shardAfterStage: false,
    gradientShardBytes: 0,
    stageForward: () => NONE,
    stageBackward: () => NONE,
    host: [],
  };
}
