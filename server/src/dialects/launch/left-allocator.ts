import type { RunValues } from '../../run/fields';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { Section } from '../section';
import { ALLOCATOR_VARIABLES } from './allocator-environment';
import type { Launch } from './launch';

/**
 * A framework whose own command lets the allocator's segments grow, or rounds requests up, where nothing is set, does not where the environment has other settings, nor
 * where another launcher starts its program: whatever its config is taken for.
 */
export function stateLeftAllocator(
  launch: Launch,
  draft: Draft,
  isOwnCommand: boolean,
  variables: readonly string[] = ALLOCATOR_VARIABLES,
): void {
  const environment = new Section(launch.environment, draft, `${launch.path}.environment`);
  const set = environment.find(variables);
  const left = <K extends 'allocator.expandableSegments' | 'allocator.roundup'>(
    field: K,
    value: RunValues[K] & {},
  ): void => {
    if (draft.knows(field)) return;
    if (set) draft.state(field, value, set.node, set.key);
    else if (!isOwnCommand)
      draft.state(field, value, { range: launch.range }, launch.path, say('started by another launcher'));
  };
  left('allocator.expandableSegments', false);
  left('allocator.roundup', 1);
}
