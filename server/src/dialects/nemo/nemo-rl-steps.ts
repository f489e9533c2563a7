import { integerOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Section } from '../section';

/** What the algorithms that generate take where the config states nothing, and the steps that stand for no limit (`algorithms/*.py`). */
const GENERATING: Readonly<Record<string, { prompts: number; completions: number; passes?: number }>> = {
  grpo: { prompts: 32, completions: 16 },
  distillation: { prompts: 128, completions: 1 },
  ppo: { prompts: 32, completions: 16, passes: 4 },
};
/** Steps that `GRPOConfig` and `PPOConfig` have where epochs are to end the run. */
const NO_LIMIT = 100_000;

/**
 * Optimizer steps of the run. A step of an algorithm that generates trains on all of its samples, one global batch after the other
 * (`num_global_batches` of `models/policy/workers/*.py`), PPO `ppo_epochs` times. Nothing where passes over the data end the run, whose
 * number of samples no file states.
 */
export function readSteps(section: Section, algorithm: string, context: ReadContext): void {
  const block = section.section(algorithm);
  const found = block.find('max_num_steps');
  const steps = integerOf(found?.node);
  if (!found || steps === undefined || steps < 0 || steps >= NO_LIMIT) return;
  const most = say('`max_num_epochs` may end it before');
  const generating = GENERATING[algorithm];
  if (!generating) {
    block.state('schedule.steps', steps, found, most);
    return;
  }
  const stated = section.integer('policy.train_global_batch_size') ?? context.known['batch.global'];
  const global = typeof stated === 'number' ? stated : 0;
  const prompts = block.integer('num_prompts_per_step') ?? generating.prompts;
  const completions = block.integer('num_generations_per_prompt') ?? generating.completions;
  const passes = generating.passes === undefined ? 1 : (block.integer('ppo_epochs') ?? generating.passes);
  const updates = global > 0 ? Math.floor((prompts * completions) / global) * passes : 0;
  if (updates < 1) return;
  const note = say('{0} steps of {1} optimizer {1|step|steps} each', String(steps), updates);
  block.state('schedule.steps', steps * updates, found, `${note}; ${most}`);
}
