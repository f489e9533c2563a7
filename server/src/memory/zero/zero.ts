import type { TrainingRun } from '../../run/fields';
import type { Sharding } from '../sharding-scheme';
import type { WeightSums } from '../weights';
import { bf16Optimizer, isBf16Optimizer } from './bf16-optimizer';
import { partitionedStates } from './partitioned-states';
import { partitionedWeights } from './partitioned-weights';
import { wholeStates } from './whole-states';

/** DeepSpeed's engine by ZeRO stage, with offload. */
export function zero(run: TrainingRun, sums: WeightSums): Sharding {
  if (isBf16Optimizer(run)) return bf16Optimizer(run, sums);
  switch (run['zero.stage']) {
    case 0:
      return wholeStates(run, sums);
    case 3:
      return partitionedWeights(run, sums);
    default:
      return partitionedStates(run, sums);
  }
}
