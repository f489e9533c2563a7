import type { CodeLens } from 'vscode';
import type { JudgedLens, KnownConfig } from '../../server/src/shared/protocol';

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

/** A plain blank behind an icon is not drawn in a lens. */
const GAP = '\u00a0';

/** Titles of lenses draw icons: the sign stands before a verdict. */
export function signVerdicts(lenses: readonly Pick<CodeLens, 'command'>[]): void {
  for (const lens of lenses) {
    const judged = judgedOf(lens);
    if (judged && lens.command) lens.command.title = `$(${verdictSign(judged)})${GAP}${lens.command.title}`;
  }
}

/** The protocol's library keeps on a lens what the server sent with it. */
function judgedOf(lens: object): JudgedLens | undefined {
  const data = 'data' in lens ? lens.data : undefined;
  return typeof data === 'object' && data !== null && 'verdict' in data ? (data as JudgedLens) : undefined;
}
