import { KIND_REASONS, type Rule, type RuleKind } from '../../server/src/rules/rule';
import { RULE_PARTS } from '../../server/src/rules/rules';

const KINDS: Readonly<Record<RuleKind, string>> = {
  memory: 'memory',
  refused: 'refused by the framework',
  ignored: 'without effect',
  doubtful: 'doubtful',
  reading: 'how the file is read',
};

const HEAD = `# Rules

Every problem that Oomlint reports carries the name of a rule. \`oomlint rule NAME\` says the same in a terminal.

- A line: \`# oomlint: ignore[tight] measured on 12 May\`, at its end or on a line of its own above it. Several names are
  separated by commas. In JSON that allows comments: \`// oomlint: ignore[...]\`.
- A file: \`# oomlint: ignore-file[missing-file] the data lies on the cluster\`. \`# oomlint: off\` leaves a file alone.
- A project, in its \`oomlint.yaml\`, for all files or for some:

  \`\`\`yaml
  rules:
    tight: error            # off, hint, information, warning or error
  files:
    - match: legacy/**
      rules:
        deprecated-key: off
  \`\`\`

A comment that silences nothing is reported itself (\`unused-ignore\`), so that none outlives its reason.`;

function section(name: string, { kind, severity, summary, reason, remedy, example }: Rule): string {
  const why = reason ?? KIND_REASONS[kind];
  const lines = [
    `### ${name}`,
    `*${severity}, ${KINDS[kind]}*`,
    `${summary} ${why}`,
    `**What to do.** ${remedy}`,
    ...(example === undefined ? [] : [`\`\`\`\n${example}\n\`\`\``]),
  ];
  return lines.join('\n\n');
}

/** docs/rules.md. */
export function rulesPage(): string {
  const parts = RULE_PARTS.map(([title, rules]) =>
    [`## ${title}`, ...Object.entries(rules).map(([name, rule]) => section(name, rule))].join('\n\n'),
  );
  return `${[HEAD, 'This page is made by `node scripts/rules-page.mjs`.', ...parts].join('\n\n')}\n`;
}
