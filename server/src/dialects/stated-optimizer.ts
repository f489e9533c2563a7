import { type OptimizerValues, optimizerStatements } from './optimizer-names';
import type { FoundKey, Section } from './section';

/** States what an optimizer's name states, because of the key that names it. A name that is not known is left, as its states are not. */
export function stateOptimizer(section: Section, values: OptimizerValues | undefined, found: FoundKey): void {
  if (!values) section.leave(found, ['optimizer.name', 'optimizer.implementation']);
  for (const { field, value } of optimizerStatements(values ?? {}))
    section.state(field, value as never, found);
}
