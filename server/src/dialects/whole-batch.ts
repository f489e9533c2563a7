import { integerOf } from '../config/scalar';
import { say } from '../wording/say';
import type { ReadContext } from './dialect';
import type { Draft } from './draft';
import { forbid } from './refusal';
import type { Section } from './section';

/** A `global_train_batch_size` that the GPUs cannot share evenly; `source`: where the trainer stops on it. */
export function checkWholeBatch(
  section: Section,
  { known }: Pick<ReadContext, 'known'>,
  draft: Draft,
  source: string,
): void {
  const gpus = known['hardware.gpus'];
  const global = section.find('global_train_batch_size');
  const size = integerOf(global?.node);
  forbid(typeof gpus === 'number' && size !== undefined && size % gpus !== 0, global?.node, draft, {
    code: 'batch-not-divisible',
    message: say('A global batch of {0} cannot be divided over {1} GPUs.', String(size), String(gpus)),
    source,
  });
}
