import type { Resolution } from '../../run/resolve';
import { resolvedWithMeasured } from '../measured-facts';
import { statedByTheirFile } from '../overrides';
import type { Collected } from './collect';
import { statementsOf } from './statements';

/**
 * What the run is as far as its files say it, each read by itself. Families read their files again with it: what a key means
 * and whether a rule holds may depend on the size of the world, on versions and on what other files state.
 */
export function settle({ members, commandLine, around, measured }: Collected): Resolution {
  const { facts } = statementsOf(statedByTheirFile(members));
  return resolvedWithMeasured([...commandLine, ...facts, ...around], measured, members).resolution;
}
