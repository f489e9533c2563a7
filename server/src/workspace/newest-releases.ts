import { newestReleases, versionStatements } from '../environment/versions';
import type { Fact } from '../run/origin';
import { commandLineFacts } from './command-line-facts';

/** What is stated of a run that is held to the newest releases of its packages. */
export const newestReleaseFacts = (): Fact[] =>
  commandLineFacts({ set: versionStatements(newestReleases()) });
