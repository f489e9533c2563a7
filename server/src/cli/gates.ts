import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { CheckedFile, CheckedRun } from './checked-file';
import type { FailOn } from './fail-on';

/** What a build demands of its configs. */
export interface Gates {
  readonly failOn: FailOn;
  /** Every config has to be estimated: what is unknown does not pass. */
  readonly requireVerdict?: boolean;
  /** Highest peak, as a share of the GPU's memory. */
  readonly maxPeak?: number;
  /** Highest cost of a whole run, US dollars. */
  readonly maxCost?: number;
}

/** A demand that a config does not meet, for people. */
interface Unmet {
  readonly path: string;
  readonly message: string;
}

/** Demands beyond problems that some configs do not meet. */
export function unmetGates(files: readonly CheckedFile[], gates: Gates): Unmet[] {
  return files.flatMap(({ path, runs }) =>
    runs.flatMap((run) => demands(run, gates).map((message) => ({ path, message }))),
  );
}

function demands(run: CheckedRun, { requireVerdict, maxPeak, maxCost }: Gates): string[] {
  const { verdict, peak, capacityBytes, costUsd } = run;
  const found: string[] = [];
  if (requireVerdict && verdict === 'unknown') found.push(say('there is no verdict, and one is required.'));
  if (maxPeak !== undefined) {
    // What is not known passes no gate.
    if (!peak || capacityBytes === undefined) found.push(say('its peak is not known.'));
    else if (peak.processBytes > maxPeak * capacityBytes) {
      const share = `${((peak.processBytes / capacityBytes) * 100).toFixed(1)} %`;
      found.push(
        say(
          'its peak of {0} is {1} of the GPU, above {2}.',
          formatBytes(peak.processBytes),
          share,
          `${maxPeak * 100} %`,
        ),
      );
    }
  }
  if (maxCost !== undefined) {
    if (costUsd === undefined) found.push(say('its cost is not known.'));
    else if (costUsd > maxCost) found.push(say('it costs {0}, above {1}.', usd(costUsd), usd(maxCost)));
  }
  return found;
}

const usd = (amount: number) => `$${amount.toFixed(2)}`;

/** Whether problems of some file are as bad as the build minds. */
export function isFailed(files: readonly CheckedFile[], failOn: FailOn): boolean {
  const all = files.flatMap(({ problems }) => problems);
  switch (failOn) {
    case 'never':
      return false;
    case 'error':
      return all.some(({ severity }) => severity === 'error');
    case 'tight':
      return all.some(
        ({ severity, code }) => severity === 'error' || code === 'tight' || code === 'does-not-fit',
      );
    case 'warning':
      return all.some(({ severity }) => severity === 'error' || severity === 'warning');
  }
}
