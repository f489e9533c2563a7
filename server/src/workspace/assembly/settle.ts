import { type Resolution, resolveRun } from '../../run/resolve';
import { statedByTheirFile } from '../overrides';
import type { Collected } from './collect';
import { statementsOf } from './statements';

/**
 * What the run is as far as its files say it, each read by itself. Families read their files again with it: what a key means
 * and whether a rule holds may depend on the size of the world, on versions and on what other files state.
 */
export function settle({ members, commandLine, around }: Collected): Resolution {
  const { facts } = statementsOf(statedByTheirFile(members));
  return resolveRun([...commandLine, ...facts, ...around]);
}
