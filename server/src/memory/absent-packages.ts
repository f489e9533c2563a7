import type { TrainingRun } from '../run/fields';
import { STATE_PACKAGES, type StatePackage, UNKNOWN_PACKAGES } from '../terms/state-packages';

/** Packages that are known to be absent: all that are not named, unless what is not named may be there. */
export function absentPackages(run: TrainingRun): ReadonlySet<StatePackage> {
  const named = run['kernels.states'];
  if (named.includes(UNKNOWN_PACKAGES)) return new Set();
  return new Set(STATE_PACKAGES.filter((name) => !named.includes(name)));
}
