import type { ConfigNode } from '../config/node';
import { say } from '../wording/say';
import type { Draft } from './draft';

/** Tokens that are assumed where nothing limits the length: most fine-tuning data is shorter. */
const ASSUMED = 2048;

/**
 * Nothing limits the length of a sample: one long sample decides the peak. The estimate then takes a length that it
 * names, and the file gets a note at the place where the limit belongs.
 */
export function assumeLength(draft: Draft, key: string, at: ConfigNode | undefined, source: string): void {
  draft.infer(
    'batch.sequence',
    ASSUMED,
    say('nothing limits the length of a sample: {0} tokens are assumed', String(ASSUMED)),
    at,
    key,
    true,
  );
  if (!at) return;
  draft.report(
    'missing-length-cap',
    'information',
    say(
      'Nothing limits the length of a sample, so one long sample decides the peak: the estimate assumes {0} tokens. Set `{1}`.',
      String(ASSUMED),
      key,
    ),
    at.range,
    { source, data: { key, value: ASSUMED } },
  );
}
