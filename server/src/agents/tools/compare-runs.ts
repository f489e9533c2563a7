import * as z from 'zod/mini';
import { compareRuns as compared } from '../../features/compare';
import { formatBytes } from '../../wording/figures';
import { configAt, RUN, sentenceOf, summaryOf } from '../run-summary';
import { described, path, runOptionsOf, STATED } from '../stated';
import { toolOf } from '../tool';
import { ToolError } from '../tool-error';

export const compareTwoRuns = toolOf({
  name: 'compare_runs',
  title: 'Compare two training runs',
  description:
    'What sets two runs apart, and what each difference costs in bytes per GPU: of two configs, or of one config and its version in git (`revision`).',
  input: z.object({
    before: described(path(), 'The starting point. With `revision`, the file as that commit has it.'),
    after: z.optional(described(path(), 'The other run; the same file as it is now where it is left out.')),
    revision: z.optional(described(z.string(), 'A commit of git for `before`, such as "HEAD" or "main".')),
    ...STATED,
  }),
  output: z.object({
    before: RUN,
    after: RUN,
    differences: described(
      z.array(
        z.object({
          fields: z.array(z.string()),
          before: z.string(),
          after: z.string(),
          bytes: described(z.number(), 'That the peak gains; they add up to the whole difference.'),
        }),
      ),
      'Empty too where one of the two has no estimate.',
    ),
  }),
  writes: false,
  async run({ before, after = before, revision, ...given }, desk) {
    const stated = runOptionsOf(given);
    if (revision === undefined && after === before)
      throw new ToolError('It is the same run twice.', 'Name another file as `after`, or a `revision`.');
    const present = desk.workspace(stated);
    if (revision !== undefined && !desk.atRevision)
      throw new ToolError('There is no version control here.', 'Name another file as `after`.');
    const first =
      (revision === undefined
        ? undefined
        : await desk.atRevision?.(revision, stated, (past) => configAt(before, past, desk))) ??
      (await configAt(before, present, desk));
    const last = await configAt(after, present, desk);
    const differences = (compared(first, last)?.differences ?? []).map(({ fields, ...rest }) => ({
      fields: [...fields],
      before: rest.before,
      after: rest.after,
      bytes: rest.bytes,
    }));
    const lines = differences.map(
      (one) =>
        `- ${one.fields.join(', ')}: ${one.before} → ${one.after}, ${one.bytes < 0 ? '−' : '+'}${formatBytes(Math.abs(one.bytes))}`,
    );
    return {
      text: [`Before: ${sentenceOf(first, desk)}`, `After: ${sentenceOf(last, desk)}`, ...lines].join('\n'),
      data: { before: summaryOf(first, desk), after: summaryOf(last, desk), differences },
    };
  },
});
