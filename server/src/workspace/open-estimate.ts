import { withChanges } from '../memo/on-demand';
import type { Estimate, Peak } from '../results/estimate';

/** The same with a band that holds those of others, too. */
export function withBand(
  estimate: Estimate,
  others: readonly Pick<Peak, 'lowerBytes' | 'upperBytes'>[],
): Estimate {
  const { peak } = estimate;
  const all = [peak, ...others];
  const lowerBytes = Math.min(...all.map((each) => each.lowerBytes));
  const upperBytes = Math.max(...all.map((each) => each.upperBytes));
  return withChanges(estimate, { peak: { ...peak, lowerBytes, upperBytes } });
}

/** The same without a verdict, for what is not known of the run (`terms/unmodelled-features.ts`). */
export const withoutVerdict = (estimate: Estimate, unknown: string): Estimate =>
  withChanges(estimate, { verdict: 'unknown', unmodelled: [...(estimate.unmodelled ?? []), unknown] });

/** Of runs that this one may be as well, the one with another verdict that is farthest from it; one without an estimate may have any. */
export function otherVerdict<O extends { readonly estimate?: Estimate }>(
  { verdict, peak }: Estimate,
  others: readonly O[],
): O | undefined {
  const distance = ({ estimate }: O) =>
    Math.abs((estimate?.peak.processBytes ?? peak.processBytes) - peak.processBytes);
  return others
    .filter(({ estimate }) => estimate?.verdict !== 'unknown' && estimate?.verdict !== verdict)
    .sort((a, b) => distance(b) - distance(a))[0];
}
