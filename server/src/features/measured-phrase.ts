import type { MeasuredKind } from '../measured/measurement';
import { formatBytes, formatBytesOf } from '../wording/figures';
import { say } from '../wording/say';
import type { MeasuredBeside } from './measured-protocol';
import type { Compared } from './measured-run';

/** What a kind of figure counts, for people. */
export const KIND_WORDS: Readonly<Record<MeasuredKind, () => string>> = {
  allocated: () => say('in tensors'),
  active: () => say('in blocks in use'),
  reserved: () => say('held by the allocator'),
  torch: () => say('in tensors or held'),
  process: () => say('on the card'),
  host: () => say('of the machine'),
};

/** The figure that is nearest to what the card has to hold. */
const ORDER: readonly MeasuredKind[] = ['process', 'reserved', 'torch', 'active', 'allocated'];

/** `measured 61.2 of 79.1 GiB held by the allocator, estimated 60.4 GiB`; undefined where nothing has its like. */
export function measuredPhrase(
  { compared, changedSince }: MeasuredBeside,
  capacityBytes: number,
): string | undefined {
  const [first] = ORDER.flatMap((kind) => compared.filter((one: Compared) => one.kind === kind));
  if (!first) return undefined;
  const words = say(
    'measured {0} {1}, estimated {2}',
    formatBytesOf(first.measuredBytes, capacityBytes),
    KIND_WORDS[first.kind](),
    formatBytes(first.estimatedBytes),
  );
  return changedSince ? say('{0} · config changed since', words) : words;
}
