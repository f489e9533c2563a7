import type { PyCall } from '../../config/python/value';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Calls } from './call-block';
import { callsOnModel, type ModelChain } from './model-chain';

const KEY = 'prepare_model_for_kbit_training';

/** The first call that prepares a model for training beside quantized weights. */
export const preparationOf = <Call extends Pick<PyCall, 'callee'>>(
  calls: readonly Call[],
): Call | undefined =>
  calls.find(({ callee }) => /(^|\.)prepare_model_for_(kbit|int8)_training$/.test(callee));

/**
 * PEFT casts whatever is in 16 bits to fp32, also of a model that is not quantized at all, and turns checkpointing on for a quantized one
 * alone (peft 0.21.2, `utils/other.py`, `prepare_model_for_kbit_training`, as since 0.3). To be read before the adapters, which are made of the weights.
 */
export function readPreparation(
  { program, draft }: Calls,
  chain: ModelChain,
  trainer: PyCall,
  { known, model }: ReadContext,
): void {
  const prepared = preparationOf(callsOnModel(program, chain, trainer.id));
  if (!prepared || prepared.conditions.length > 0 || !model) return;
  const isOpen = draft.unread.some(({ fields }) => fields?.includes('quantization.kind'));
  const kind = draft.valueOf('quantization.kind') ?? known['quantization.kind'] ?? 'none';
  const type = draft.valueOf('precision.weights');
  if (isOpen || kind !== 'none' || (type !== 'fp16' && type !== 'bf16')) return;
  draft.forget('precision.weights');
  const note = say('`{0}` casts the weights to fp32, which are not quantized', KEY);
  draft.state('precision.weights', 'fp32', { range: prepared.calleeRange }, KEY, note);
}

/** Whether weights that are not quantized were cast: nothing turns checkpointing on with that. */
export const isCastWhole = ({ draft }: Calls): boolean =>
  draft.facts.some(({ field, origin }) => field === 'precision.weights' && origin.key === KEY);
