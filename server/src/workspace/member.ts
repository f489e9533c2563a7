import type { RunMember } from '../dialects/dialect';
import type { ConfigReading } from './config-reading';

/** A file of a run, in the order in which the run reads them. */
export interface Member<C extends ConfigReading = ConfigReading> extends RunMember {
  readonly config: C;
}
