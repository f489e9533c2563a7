import type { TrainingRun } from '../../run/fields';
import { emptyLedger, post } from '../ledger';
import { stepTransient } from '../optimizers';
import { ledger, NONE, type Sharding, UNSPLIT } from '../sharding-scheme';
import { SOURCES } from '../sources';
import { allStepped, type WeightSums } from '../weights';
import { joinedOnce } from './buckets';
import { engineWidth, hostStates, postStepped, sentCast, wholeWeights } from './engine-states';
import { cloning } from './saving';
import { zeroWords } from './words';

/** Gradients that are reduced at a time (`engine.py`, `MEMORY_OPT_ALLREDUCE_SIZE`), elements. */
const ALLREDUCE_SIZE = 500_000_000;

/**
 * Stage 0 with 16-bit weights is `FP16_Optimizer` (`fp16/fused_optimizer.py`): whole fp32 masters and states on every GPU.
 * Gradients are reduced when backward is over.
 */
export function wholeStates(run: TrainingRun, sums: WeightSums): Sharding {
  const width = engineWidth(run);
  const atRest = wholeWeights(run, sums);
  postStepped(atRest, run, sums, sums.trained);
  const gradients = ledger(['gradients', sums.trained * width]);
  const accumulates = run['batch.accumulation'] > 1;
  const transient = width < 4 ? sums.trained * 4 : stepTransient(run, allStepped(sums), width);
  const duringStep = emptyLedger();
  post(duringStep, 'optimizer-transients', transient);
  return {
    splits: UNSPLIT,
    explains: zeroWords(run),
    atRest,
    throughout: NONE,
    gradientsBefore: accumulates ? gradients : NONE,
    gradientsAtStep: gradients,
    duringStep,
    gradients: accumulates ? 'pass' : 'keep',
    plan: () => ({
      start: NONE,
      backward: NONE,
      stages: new Map(),
      end: [joinedOnce(Math.min(ALLREDUCE_SIZE, sums.trained), width + sentCast(run), SOURCES.zero12)],
      requests: { step: [transient] },
    }),
    host: hostStates(run, sums, sums.trained),
    statesFirst: true,
    saving: cloning(run, sums),
  };
}
