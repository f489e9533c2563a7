import { parse } from 'yaml';
import text from './examples.yaml' with { type: 'text' };

/** Files by their path: the first breaks the rule, the others lie beside it. */
export type RuleExample = Readonly<Record<string, string>>;

/** The names of rules stand at the start of a line, and nothing else does but comments. */
const NAME = /\n[^\s#]/;

/**
 * The smallest files that break a rule; undefined where none can be written. Of the file its entry alone is parsed: all of it takes longer
 * than everything else that `oomlint rule` does.
 */
export function ruleExample(rule: string): RuleExample | undefined {
  const start = `\n${text}`.indexOf(`\n${rule}:`);
  if (start < 0) return undefined;
  const own = text.slice(start);
  const end = own.search(NAME);
  const parsed = parse(end < 0 ? own : own.slice(0, end)) as Readonly<Record<string, RuleExample>>;
  return parsed[rule];
}
