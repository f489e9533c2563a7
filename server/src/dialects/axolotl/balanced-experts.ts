import type { FieldValue } from '../../run/fields';
import type { ReadContext } from '../dialect';
import type { Section } from '../section';
import { routerWeight } from '../trl/balanced-experts';

const KEY = 'output_router_logits';
/** Blocks that replace fields of the model's config, by their names and the old ones (`utils/schemas/deprecated.py`). */
const BLOCKS = ['overrides_of_model_config', 'model_config', 'overrides_of_model_kwargs', 'model_kwargs'];

/** Trainers that Axolotl takes of TRL, and that weigh the balance of the experts themselves. */
const OF_TRL = { dpo: 'dpo', ipo: 'dpo', kto: 'kto', grpo: 'grpo' } as const;

/** Whether the experts are balanced by the logits of their routers: its own trainer goes by the model's config, those of TRL do by their weight. */
export function readAxolotlExperts(
  section: Section,
  objective: FieldValue<'method.objective'> | undefined,
  context: ReadContext,
): void {
  const method =
    objective !== undefined && objective in OF_TRL ? OF_TRL[objective as keyof typeof OF_TRL] : undefined;
  const byTrainer = method && routerWeight(method, context);
  if (byTrainer?.value) section.assume('loss.routerLogits', byTrainer);
  else section.take(...BLOCKS.map((block) => `${block}.${KEY}`));
}
