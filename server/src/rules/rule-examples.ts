import { parse } from 'yaml';
import text from './examples.yaml' with { type: 'text' };

/** Files by their path: the first breaks the rule, the others lie beside it. */
export type RuleExample = Readonly<Record<string, string>>;

let examples: Readonly<Record<string, RuleExample>> | undefined;

/** The smallest files that break a rule; undefined where none can be written. Read when somebody asks for one. */
export function ruleExample(rule: string): RuleExample | undefined {
  examples ??= parse(text) as Readonly<Record<string, RuleExample>>;
  return Object.hasOwn(examples, rule) ? examples[rule] : undefined;
}
