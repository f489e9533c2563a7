import type { Estimate, Verdict } from './estimate';

const BY_HARM: Readonly<Record<Verdict, number>> = { fits: 0, unknown: 1, tight: 2, exceeds: 3 };

/** Orders verdicts by harm: above zero where the first is the worse. One that nobody knows is worse than "fits" alone. */
export function compareVerdicts(a: Verdict, b: Verdict): number {
  return BY_HARM[a] - BY_HARM[b];
}

/** Whether a run fits by all that was read of it: only code of its own, which is not read, may make it larger. */
export function fitsAsRead(estimate: Pick<Estimate, 'verdict' | 'unmodelled'> | undefined): boolean {
  const { verdict, unmodelled = [] } = estimate ?? {};
  return verdict === 'fits' || (unmodelled.length > 0 && unmodelled.every((name) => name === 'open-code'));
}
