import type { Fact } from '../../run/origin';
import { resolvedWithMeasured, type WithMeasured } from '../measured-facts';
import { neededReleases } from '../needed-releases';
import { statedByTheirFile } from '../overrides';
import type { Collected } from './collect';
import { statementsOf } from './statements';

/** What the files of a run settle by themselves. */
export interface SettledRun {
  /** The statements that it was settled from. */
  readonly stating: readonly Fact[];
  readonly joined: WithMeasured;
}

/**
 * What the run is as far as its files say it, each read by itself. Families read their files again with it: what a key means
 * and whether a rule holds may depend on the size of the world, on versions and on what other files state.
 */
export function settle({ members, commandLine, around, measured }: Collected): SettledRun {
  const { facts } = statementsOf(statedByTheirFile(members));
  const stating = [...commandLine, ...facts, ...around];
  return { stating, joined: resolvedWithMeasured(stating, measured, members, neededReleases(members)) };
}
