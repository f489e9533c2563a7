import type { TrainingRun } from '../../run/fields';
import type { OptimizerName } from '../../terms/optimizers';
import type { SplitWays } from '../dialect';
import { splitsByPlan } from '../hf/tensor-plan';

/** What `check_tensor_parallel_optimizer` of `schemas/validation.py` refuses. */
const WHOLE: readonly OptimizerName[] = ['adamw-8bit', 'paged-adamw-8bit'];

/** What `axolotl-rules.ts` reports of keys, as values of a run: ring attention is that of FlashAttention 2. */
export const axolotlSplits: SplitWays = {
  contextNeeds: { 'attention.implementation': 'flash2' },
  refuses(run, model) {
    const tensor = run['parallel.tensor'] > 1;
    const context = run['parallel.context'] > 1;
    // No mesh is made for FSDP 1 (`loaders/model.py`, `_apply_pre_model_load_setup`).
    if ((tensor || context) && run['parallel.data'] === 'fsdp1') return true;
    return (tensor && refusesTensor(run, model)) || (context && refusesContext(run));
  },
};

/** `loaders/utils.py`: a head of its own is one that its config states. */
const refusesTensor: SplitWays['refuses'] = (run, model) =>
  run['kernels.liger'] ||
  run['loss.implementation'] === 'liger' ||
  WHOLE.includes(run['optimizer.name']) ||
  model.config.tie_word_embeddings !== false ||
  !splitsByPlan(run, model);

const refusesContext = (run: TrainingRun): boolean =>
  run['attention.implementation'] !== 'flash2' || (run['batch.packed'] && run['batch.micro'] > 1);
