/** How bad a problem is, as an editor ranks it. */
export type Severity = 'error' | 'warning' | 'information' | 'hint';

/**
 * What a rule is about:
 * - `memory`: what the estimate states of the run;
 * - `refused`: the framework stops at it, at its start or at the first step;
 * - `ignored`: the framework goes on as if it were not there;
 * - `doubtful`: it runs, perhaps not as it was meant;
 * - `reading`: what Oomlint could not read, or reads in one way of several.
 */
export type RuleKind = 'memory' | 'refused' | 'ignored' | 'doubtful' | 'reading';

/** A rule, in English: its words are Markdown. */
export interface Rule {
  readonly kind: RuleKind;
  /** As it is reported where nothing is in doubt: a problem of a run that is only partly known is milder. */
  readonly severity: Severity;
  /** What is wrong, in a sentence. */
  readonly summary: string;
  /** What to do about it. */
  readonly remedy: string;
  /** Where it is written down: the source of the framework at a release, its manual, or a page of ours where the rule is our own. */
  readonly source: string;
  /** Why, where the kind and the summary do not say it. */
  readonly reason?: string;
}

/** Address of a page of ours, for a rule that no framework has: `docs/configs.md#examples`. */
export function ourPage(path: string): string {
  return `https://github.com/oomlint/oomlint/blob/main/${path}`;
}

/** Where a rule is written down for people. */
export function rulePage(id: string): string {
  return ourPage(`docs/rules.md#${id}`);
}

/** What all rules of a kind have in common. */
export const KIND_REASONS: Readonly<Record<RuleKind, string>> = {
  memory: 'It follows from the estimate of the whole run, with all files that take part in it.',
  refused: 'The framework checks this and stops: at its start, or at the first step that needs it.',
  ignored: 'The framework reads on as if it were not there, so the run is not the one that was written down.',
  doubtful: 'The framework takes it. What comes out is seldom what was meant.',
  reading: 'It says how Oomlint read the file, not that the run is wrong.',
};

/** A rule of one kind, at its usual severity where none is given. */
const of =
  (kind: RuleKind, usual: Severity) =>
  (
    summary: string,
    remedy: string,
    source: string,
    more: Partial<Pick<Rule, 'severity' | 'reason'>> = {},
  ): Rule => ({ kind, severity: usual, summary, remedy, source, ...more });

export const memory = of('memory', 'warning');
export const refused = of('refused', 'error');
export const ignored = of('ignored', 'warning');
export const doubtful = of('doubtful', 'warning');
export const reading = of('reading', 'information');

/** Rules under a title, by their names. */
export interface RulePart {
  readonly title: string;
  readonly table: Readonly<Record<string, Rule>>;
}
