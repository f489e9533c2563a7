import { fileIn, TRL } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { TrlMethod } from './trl-method';

/** Releases since which a trainer compares a model that has adapters with a copy of these, and no longer with the base under them. */
const SINCE: Partial<Record<TrlMethod, string>> = { grpo: '0.27', rloo: '0.27', dpo: '0.29', kto: '1.2' };

/** Where PEFT has no second adapter of stacked parameters, TRL makes none (`Version(peft.__version__) < Version("0.20.0")`). */
const TAKES_STACKS = '0.20';

/**
 * The adapter `ref` that TRL makes of a model whose adapters the file has put on it (`dpo_trainer.py`, `model.add_adapter("ref",
 * default_config)`). Unsloth takes that out of the trainers of rollouts (`unsloth/models/rl.py`, `add_adapter_block_pattern`).
 */
export function readReferenceAdapter(
  draft: Draft,
  method: TrlMethod,
  { known }: ReadContext,
  adapted: { readonly range: Range } | undefined,
): void {
  const since = SINCE[method];
  if (!adapted || since === undefined || isAtLeast(known['version.trl'], since) === false) return;
  const isRollout = method === 'grpo' || method === 'rloo';
  if (isRollout && draft.valueOf('kernels.unsloth') === true) return;
  if (draft.knows('lora.targetParameters') && isAtLeast(known['version.peft'], TAKES_STACKS) === false)
    return;
  draft.assume(
    'method.referenceAdapter',
    true,
    say('TRL copies adapters that the model has already, to compare with'),
    fileIn(TRL, `trl/trainer/${method}_trainer.py`),
  );
}
