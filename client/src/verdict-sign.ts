import type { KnownConfig } from '../../server/src/shared/protocol';

/** How a run comes out, and how Problems have that. */
export type JudgedRun = Pick<KnownConfig, 'verdict' | 'severity'>;

/** Of no problem, or one that is reported otherwise than its verdict alone would be. */
const SIGNS = { fits: 'pass', tight: 'warning', exceeds: 'error', unknown: 'question' } as const;
const OF_PROBLEMS = { error: 'error', warning: 'warning', information: 'info', hint: 'info' } as const;

/**
 * The icon of a verdict, wherever it is shown: that of its problem. A run that does not fit as it is read, and may as it is started, is a
 * warning in all of them.
 */
export function verdictSign({
  verdict,
  severity,
}: JudgedRun): 'pass' | 'warning' | 'error' | 'question' | 'info' {
  return severity === undefined || verdict === 'unknown' ? SIGNS[verdict] : OF_PROBLEMS[severity];
}
