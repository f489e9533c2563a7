import { FAMILIES } from '../dialects/families';
import type { Rule, RulePart } from '../rules/rule';
import type { RuleId } from '../rules/rule-id';
import { RUN_RULES } from '../rules/run';

/** Rules in the order of their page: those of every run, then those of each family. A rule that several have stands with one of them. */
export const RULE_PARTS: readonly RulePart[] = [
  { title: 'Every run', table: RUN_RULES },
  ...FAMILIES.flatMap(({ rules }) => rules ?? []),
];

/** Every rule there is, by its name: a test finds names that no part has. */
export const RULES = Object.assign({}, ...RULE_PARTS.map(({ table }) => table)) as Readonly<
  Record<RuleId, Rule>
>;

export function isRuleId(name: string): name is RuleId {
  return Object.hasOwn(RULES, name);
}
