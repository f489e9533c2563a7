import type { Severity } from '../rules/rule';
import type { RuleId, TaughtRuleId } from '../rules/rule-id';
import type { Range } from './place';

export type { Severity } from '../rules/rule';

/** The name of a rule: one of ours, or one that a team teaches. */
export type ProblemCode = RuleId | TaughtRuleId;

/** Something wrong with a file, at the place where it is wrong. Plain data: editors and the command line render it. */
export interface Problem {
  /** The rule that it breaks. */
  readonly code: ProblemCode;
  readonly severity: Severity;
  readonly message: string;
  readonly range: Range;
  /** Other places that take part in it. */
  readonly related?: readonly { readonly uri: string; readonly range: Range; readonly message: string }[];
  /** Address of the documentation or source of the rule. */
  readonly source?: string;
  /** Machine-readable detail for fixes. */
  readonly data?: Readonly<Record<string, unknown>>;
}
