import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import type { DType } from '../../terms/dtypes';
import { post } from '../ledger';
import { stepTransient } from '../optimizers';
import {
  dataParallelSize,
  ledger,
  NONE,
  type Sharding,
  shardGroupSize,
  shardsOf,
  UNSPLIT,
} from '../sharding-scheme';
import { allStepped, bytesPer, type WeightSums } from '../weights';
import { scratch } from './buckets';
import { engineWidth, postStepped, wholeWeights } from './engine-states';
import { flattening } from './loading';
import { cloning } from './saving';
import { zeroWords } from './words';

/**
 * Who steps bf16 weights (`engine.py`, `_do_optimizer_sanity_check`): `BF16_Optimizer` at stage 1 where gradients accumulate in
 * fp32 and nothing is offloaded, and without ZeRO where they do so (until 0.18 by default) or under a pipeline.
 */
export function isBf16Optimizer(run: TrainingRun): boolean {
  if (run['precision.compute'] !== 'bf16' || run['offload.optimizer'] !== 'none') return false;
  const wide = accumulation(run) === 'fp32';
  if (run['zero.stage'] === 1) return wide;
  return run['zero.stage'] === 0 && (wide || run['parallel.pipeline'] > 1);
}

/** Type that gradients accumulate in (`engine.py`, `get_data_types`). */
function accumulation(run: TrainingRun): DType {
  const wide = run['zero.stage'] === 0 && behaviours(run).accumulatesBf16InFp32;
  return run['precision.gradientAccumulation'] ?? (wide ? 'fp32' : run['precision.compute']);
}

/**
 * `BF16_Optimizer` (`bf16_optimizer.py`): masters and states are partitioned; a full buffer of gradients in the type of the
 * accumulation lies on every GPU. Gradients of the weights are added to it when backward is over, zeroed but not freed, and
 * dropped by the step.
 */
export function bf16Optimizer(run: TrainingRun, sums: WeightSums): Sharding {
  const { trained } = sums;
  const width = engineWidth(run);
  const buffer = bytesPer(accumulation(run));
  const shards = shardsOf(run, sums);
  const atRest = wholeWeights(run, sums);
  postStepped(atRest, run, sums, trained / shards);
  post(atRest, 'gradients', trained * buffer);
  const gradients = ledger(['gradients', trained * width]);
  const accumulates = run['batch.accumulation'] > 1;
  // Masters are stepped with gradients of their own type.
  const cast = buffer === 4 ? 0 : (4 * trained) / shards;
  const transient =
    cast + stepTransient(run, allStepped(sums), bytesPer(run['precision.masterWeights']), shards);
  // Each gradient is added to its fp32 one by a cast, then all are cast to be reduced.
  const casts = buffer === width ? 0 : Math.max(sums.largest * buffer, trained * width);
  return {
    splits: { ...UNSPLIT, states: shardGroupSize(run) },
    explains: zeroWords(run),
    gathersStepped: run['zero.stage'] > 0 && dataParallelSize(run) > 1,
    atRest,
    throughout: NONE,
    gradientsBefore: accumulates ? gradients : NONE,
    gradientsAtStep: gradients,
    duringStep: ledger(['optimizer-transients', transient]),
    gradients: accumulates ? 'pass' : 'keep',
    plan: () => ({
      start: NONE,
      backward: NONE,
      stages: new Map(),
      end: [scratch(casts)],
      requests: { step: [transient] },
    }),
    host: [],
    statesFirst: true,
    loading: run['zero.stage'] > 0 ? flattening(run, sums) : undefined,
    saving: cloning(run, sums),
  };
}
