import type { Estimate } from '../results/estimate';
import type { RunValues } from '../run/fields';
import type { Resolution } from '../run/resolve';
import { withBand, withoutVerdict } from './open-estimate';

/**
 * Images that do not go into a text whose length is assumed, as nothing cuts it: what runs may as well be longer by them. A verdict
 * holds where it is that of such a text, too; what exceeds without its images does so with them.
 */
export function overUncutImages(
  estimate: Estimate,
  { values, origins }: Pick<Resolution, 'values' | 'origins'>,
  otherwise: (changes: RunValues) => Estimate | undefined,
): Estimate {
  const { crowdsText, verdict } = estimate;
  const length = values['batch.sequence'];
  const { guess, orElse } = origins['batch.sequence'] ?? {};
  const isUncut = guess === true && orElse !== undefined;
  if (crowdsText === undefined || length === undefined || !isUncut) return estimate;
  if (verdict === 'unknown' || verdict === 'exceeds') return estimate;
  const whole = otherwise({ 'batch.sequence': length + crowdsText });
  const widened = whole ? withBand(estimate, [whole.peak]) : estimate;
  return whole?.verdict === verdict ? widened : withoutVerdict(widened, 'cut-image-tokens');
}
