import type { TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import { combine, type Ledger, post, totalOf } from './ledger';
import type { Sharding } from './sharding-scheme';
import type { Point } from './step';

interface Saved {
  readonly run: TrainingRun;
  readonly sharding: Sharding;
  readonly constant: Ledger;
}

/**
 * What a GPU holds at most while a checkpoint is saved between two steps, where the run states how it saves: what the scheme
 * gathers at a time (`Sharding.saving`). Replicas and ZeRO 1 and 2 copy from where the weights lie; nothing is made on the GPU.
 */
export function savingPoints({ run, sharding, constant }: Saved): Point[] {
  if (run['saving.weights'] === 'none') return [];
  const ledger = combine(sharding.atRest, constant);
  const gathered = sharding.saving?.gathered;
  if (gathered && gathered.bytes > 0) {
    const { bytes, label, formula, source } = gathered;
    post(ledger, 'gathered-parameters', bytes, { name: label, formula, source });
  }
  const label = gathered?.label ?? say('weights are copied from where they lie');
  return [{ moment: 'saving', label, ledger, bytes: totalOf(ledger) }];
}
