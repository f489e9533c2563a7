import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { Section } from '../section';
import { ALLOCATOR_VARIABLES } from './allocator-environment';
import type { Launch } from './launch';

/**
 * A framework whose own command lets the allocator's segments grow, where nothing is set, does not where the environment has other settings, nor
 * where another launcher starts its program: whatever its config is taken for.
 */
export function stateLeftAllocator(
  launch: Launch,
  draft: Draft,
  isOwnCommand: boolean,
  variables: readonly string[] = ALLOCATOR_VARIABLES,
): void {
  if (draft.knows('allocator.expandableSegments')) return;
  const environment = new Section(launch.environment, draft, `${launch.path}.environment`);
  const set = environment.find(variables);
  if (set) draft.state('allocator.expandableSegments', false, set.node, set.key);
  else if (!isOwnCommand)
    draft.state(
      'allocator.expandableSegments',
      false,
      { range: launch.range },
      launch.path,
      say('started by another launcher'),
    );
}
