import { KIND_REASONS, type Rule, type RuleKind } from '../../server/src/rules/rule';
import { ruleExample } from '../../server/src/rules/rule-examples';
import { RULE_PARTS } from '../../server/src/workspace/rules';

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

/** A name of it by what stands at its end, for the colours of the page. */
const LANGUAGES: Readonly<Record<string, string>> = { json: 'jsonc', sh: 'bash', py: 'python', toml: 'toml' };

/** A file of an example, under its name. */
function listing([file, text]: readonly [string, string]): string {
  const language = LANGUAGES[file.split('.').at(-1) ?? ''] ?? 'yaml';
  return `\`${file}\`\n\n\`\`\`${language}\n${text.trimEnd().replaceAll('\0', '\\0')}\n\`\`\``;
}

/** What an address leads to, in a word. */
function sourceLink(source: string): string {
  const [, repository, path] =
    /^https:\/\/github\.com\/[^/]+\/([^/]+)\/blob\/[^/]+\/(.*)$/.exec(source) ?? [];
  if (repository === 'oomlint')
    return `[${path}](${path?.startsWith('docs/') ? path.slice(5) : `../${path}`})`;
  const name = repository === undefined ? new URL(source).host : `${repository}: ${path}`;
  return `[${name}](${source})`;
}

function section(name: string, { kind, severity, summary, reason, remedy, source }: Rule): string {
  const why = reason ?? KIND_REASONS[kind];
  const lines = [
    `### ${name}`,
    `*${severity}, ${KINDS[kind]}*`,
    `${summary} ${why}`,
    `**What to do.** ${remedy}`,
    ...Object.entries(ruleExample(name) ?? {}).map(listing),
    `Source: ${sourceLink(source)}`,
  ];
  return lines.join('\n\n');
}

/** docs/rules.md. */
export function rulesPage(): string {
  const parts = RULE_PARTS.map(({ title, table }) =>
    [`## ${title}`, ...Object.entries(table).map(([name, rule]) => section(name, rule))].join('\n\n'),
  );
  return `${[HEAD, 'This page is made by `node scripts/rules-page.mjs`.', ...parts].join('\n\n')}\n`;
}
