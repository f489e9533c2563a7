import { isNone } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { fileIn, PYTORCH } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';
import { isCastWhole, preparationOf } from './kbit-preparation';

const CHECKPOINT = fileIn(PYTORCH, 'torch/utils/checkpoint.py');
const ENABLE =
  'https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.gradient_checkpointing_enable';

/** The calls on a model that turn checkpointing on, first to last. */
export function checkpointingCalls(calls: Calls, on: readonly PyCall[]): readonly PyCall[] {
  const enabled = on.filter(({ callee }) => /^gradient_checkpointing_(en|dis)able$/.test(callee));
  const last = enabled.at(-1);
  if (last && last.callee !== 'gradient_checkpointing_enable') return [];
  const prepared = preparationOf(on);
  const asked = prepared && argumentOf(prepared, 'use_gradient_checkpointing', 1);
  const prepares = prepared && !isCastWhole(calls) && (asked?.kind !== 'scalar' || asked.value !== false);
  const found = [...(last ? [last] : []), ...(prepares ? [prepared] : [])];
  return found.sort((a, b) => a.id - b.id);
}

/**
 * How a model recomputes that code of the file lets recompute, and no trainer again: as the last call asks. `gradient_checkpointing_enable`
 * without words asks for reentry until transformers 5 (`modeling_utils.py`); PEFT hands it words in any case, be they empty, and PyTorch
 * reenters where they do not say (peft 0.21.2, `utils/other.py`, `prepare_model_for_kbit_training`).
 */
export function readReentry({ draft }: Calls, call: PyCall, { known }: ReadContext): void {
  const prepares = call.callee !== 'gradient_checkpointing_enable';
  const words = argumentOf(call, 'gradient_checkpointing_kwargs', prepares ? 2 : 0);
  const asked = entryOf(words, 'use_reentrant');
  draft.forget('activations.reentrant');
  if (asked?.kind === 'scalar' && typeof asked.value === 'boolean')
    draft.state('activations.reentrant', asked.value, asked, 'use_reentrant');
  else if (words && !isNone(words) && (words.kind !== 'dict' || asked || words.open)) return;
  else if (prepares || words?.kind === 'dict')
    draft.assume('activations.reentrant', true, say('{0} default', 'PyTorch'), CHECKPOINT);
  else {
    const fifth = isAtLeast(known['version.transformers'], '5.0') === true;
    const note = fifth ? say('default of transformers 5') : say('default of transformers 4');
    draft.assume('activations.reentrant', !fifth, note, ENABLE);
  }
}

/** The same under a trainer: one that turns checkpointing on itself does so again, after whatever the code did (`trainer.py`, `_inner_training_loop`). */
export function readReentryBefore(
  calls: Calls,
  on: readonly PyCall[],
  config: PyCall | undefined,
  context: ReadContext,
): void {
  const call = checkpointingCalls(calls, on).at(-1);
  if (call && !turnsOn(config, context)) readReentry(calls, call, context);
}

/** Configs of TRL ask for checkpointing by themselves since this release (`trl/trainer/base_config.py`). */
const ASKS = '0.22';

function turnsOn(config: PyCall | undefined, { known }: ReadContext): boolean {
  const asked =
    config &&
    (argumentOf(config, 'gradient_checkpointing') ?? argumentOf(config, 'activation_checkpointing'));
  if (asked) return asked.kind !== 'scalar' || asked.value === true;
  const ofTrl = /^trl\.(?:.*\.)?\w+Config$/.test(config?.callee ?? '');
  return ofTrl && isAtLeast(known['version.trl'], ASKS) !== false;
}

function entryOf(words: PyValue | undefined, name: string): PyValue | undefined {
  return words?.kind === 'dict' ? words.entries.find(({ key }) => key === name)?.value : undefined;
}
