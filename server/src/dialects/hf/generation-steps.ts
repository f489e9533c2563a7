import { integerOf } from '../../config/scalar';
import type { ReadContext } from '../dialect';
import type { DefaultValue, Section } from '../section';

/** How many micro batches are generated in one call, by the arguments of TRL's trainers and of those that are built on them. */
export function readGenerationSteps(
  section: Section,
  { known }: ReadContext,
  byDefault: DefaultValue<number>,
): void {
  const all = section.find('generation_batch_size');
  const size = integerOf(all?.node);
  // It counts the sequences of all processes.
  const gpus = known['hardware.gpus'];
  const ranks = typeof gpus === 'number' ? gpus : 1;
  if (all && size !== undefined && size > 0) section.state('rollout.batch', Math.ceil(size / ranks), all);
  const steps = section.find('steps_per_generation');
  const count = integerOf(steps?.node);
  if (steps && count !== undefined && count > 0) section.state('rollout.steps', count, steps);
  else section.assume('rollout.steps', byDefault, 'steps_per_generation');
}
