import { say } from '../wording/say';
import type { DiffContext } from './diff-json';
import {
  causeWords,
  diffHeadline,
  outcomeChange,
  partWords,
  peakChange,
  restWords,
  timeChanges,
  versionWords,
} from './diff-words';
import { cell, markdownTable } from './markdown-table';
import { displayPath } from './report';
import { isWorse, type RunDiff, type TreeDiff } from './run-diff';

/** Runs in the table; the rest is counted, as a comment has a longest length. */
const MOST_RUNS = 50;

/**
 * The difference as a comment on a pull request. Its first line tells it from others, invisibly: `oomlint-diff`, the tag, the commit
 * that it speaks of, and the date of that commit.
 */
export function diffMarkdown(diff: TreeDiff, context: DiffContext): string {
  const { folder, head, at, tag, versions } = context;
  const shown = diff.runs.slice(0, MOST_RUNS);
  const rows = shown.map((run) => {
    const path = displayPath(run.uri, folder);
    const name =
      run.kind === 'new' ? `${path} (${say('new')})` : run.kind === 'removed' ? `~~${path}~~` : path;
    return [
      `${isWorse(run) ? '❌ ' : ''}${cell(outcomeChange(run))}`,
      ...[name, peakChange(run), timeChanges(run).join(', ')].map(cell),
    ];
  });
  const table = markdownTable(
    [say('Outcome'), say('Config'), say('Peak of one GPU'), say('Time and cost')],
    rows,
  );
  const more = diff.runs.length - shown.length;
  const rest = [...(more > 0 ? [say('and {0} more', more)] : []), restWords(diff)].filter(Boolean);
  const details = shown.map((run) => detail(run, context)).filter(Boolean);
  return `${[
    `[//]: <> (oomlint-diff, tag=${tag.replace(/[^\w.-]/g, '-')}, valid-at=${at}, commit=${head ?? ''})`,
    `**${[versionWords(versions), diffHeadline(diff)].filter(Boolean).join(' ')}**`,
    ...table,
    ...(rest.length > 0 ? [`${rest.join(', ')}.`] : []),
    ...(details.length > 0
      ? [
          `<details><summary>${say('What makes the difference')}</summary>\n\n${details.join('\n\n')}\n\n</details>`,
        ]
      : []),
  ].join('\n\n')}\n`;
}

function detail(run: RunDiff, { folder }: DiffContext): string {
  const causes = causeWords(run, folder).map(
    ({ text, place }) => `- ${text}${place === '' ? '' : ` (${place})`}`,
  );
  const parts = partWords(run);
  const problems = run.newProblems.map(
    ({ message, code }) => `- \`${code}\` ${message.replace(/\s*\n\s*/g, ' ')}`,
  );
  const lines = [...causes, ...(parts === '' ? [] : [`- ${parts}`]), ...problems];
  return lines.length === 0 ? '' : `**${displayPath(run.uri, folder)}**\n\n${lines.join('\n')}`;
}
