import type { FieldValue } from '../../run/fields';
import { isAtLeast } from '../../terms/version';
import type { ReadContext } from '../dialect';
import type { Section } from '../section';

/** Trainers of preferences that pass the weight on (`rlhf_trainers/rlhf_mixin.py`). */
const PREFERENCES: ReadonlySet<FieldValue<'method.objective'>> = new Set([
  'dpo',
  'kto',
  'orpo',
  'cpo',
  'simpo',
]);

/** A weight above zero has the model return the logits of its routers (`trainers/seq2seq_trainer.py` since 3.7, trainers of preferences since 3.8). */
export function readSwiftExperts(
  section: Section,
  objective: FieldValue<'method.objective'>,
  { versions }: ReadContext,
): void {
  const since = objective === 'lm' ? '3.7' : PREFERENCES.has(objective) ? '3.8' : undefined;
  if (since === undefined || isAtLeast(versions?.['ms-swift']?.version, since) === false) return;
  section.take('router_aux_loss_coef');
}
