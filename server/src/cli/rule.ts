import { KIND_REASONS, type Rule, rulePage } from '../rules/rule';
import { ruleExample } from '../rules/rule-examples';
import { closest, didYouMean } from '../wording/closest';
import { say } from '../wording/say';
import { isRuleId, RULE_PARTS, RULES } from '../workspace/rules';
import { EXIT } from './exit-codes';
import type { Output } from './output';

/** `oomlint rule [NAME]`: what a rule is about, or all of them in a line each. */
export function explainRule(name: string | undefined, format: 'table' | 'json', output: Output): number {
  if (name === undefined) {
    output.write(format === 'json' ? `${JSON.stringify(allRules(), null, 2)}\n` : list(output));
    return EXIT.fine;
  }
  if (!isRuleId(name)) {
    const hint = didYouMean(closest(name, Object.keys(RULES), 1)[0] ?? name, Object.keys(RULES));
    output.writeError(`oomlint: ${say('There is no rule `{0}`.{1}', name, hint)}\n`);
    return EXIT.couldNotRun;
  }
  const rule: Rule = RULES[name];
  output.write(
    format === 'json' ? `${JSON.stringify(ruleJson(name, rule), null, 2)}\n` : page(name, rule, output),
  );
  return EXIT.fine;
}

const ruleJson = (name: string, rule: Rule) => ({
  name,
  ...rule,
  reason: rule.reason ?? KIND_REASONS[rule.kind],
  example: ruleExample(name),
  url: rulePage(name),
});
const allRules = () => Object.entries<Rule>(RULES).map(([name, rule]) => ruleJson(name, rule));

/** What a terminal may be sent: characters that it would not show are named. */
const printable = (text: string) => text.trimEnd().replaceAll('\0', '\\0');

function page(name: string, rule: Rule, { paint }: Output): string {
  const { severity, summary, remedy, source } = rule;
  const files = Object.entries(ruleExample(name) ?? {});
  const lines = [
    `${paint('bold', name)}  ${paint('dim', severity)}`,
    '',
    summary,
    rule.reason ?? KIND_REASONS[rule.kind],
    '',
    remedy,
    ...files.flatMap(([file, text]) => [
      '',
      paint('dim', file),
      ...printable(text)
        .split('\n')
        .map((line) => (line === '' ? '' : `    ${line}`)),
    ]),
    '',
    paint('dim', source),
    paint('dim', rulePage(name)),
  ];
  return `${lines.join('\n')}\n`;
}

function list({ paint }: Output): string {
  const width = Math.max(...Object.keys(RULES).map((name) => name.length));
  const parts = RULE_PARTS.map(({ title, table }) => {
    const rows = Object.entries(table).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
    return `${paint('bold', title)}\n${rows.join('\n')}\n`;
  });
  return parts.join('\n');
}
