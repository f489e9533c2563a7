import * as z from 'zod/mini';
import { isEstimated } from '../../advice/changed-run';
import { type Fix, fixesFor } from '../../advice/fixes';
import { speedWords } from '../../advice/speed';
import { costsOf } from '../../features/advice-cards';
import { type Desk, isInsideFolders, nameOf, type OfferedChange } from '../desk';
import { idOf } from '../offered-id';
import { MISSING_FACT, questionsOf } from '../questions';
import { configAt, sentenceOf } from '../run-summary';
import { described, path, runOptionsOf, STATED } from '../stated';
import { toolOf } from '../tool';
import { unifiedDiff } from '../unified-diff';

/** What a person may want to stay as it is, and the fields that it stands for. */
const KEPT: Readonly<
  Record<'method' | 'sequence' | 'micro_batch' | 'optimizer' | 'precision' | 'hardware', RegExp>
> = {
  method: /^(?:method|lora|quantization)\./,
  sequence: /^batch\.sequence$/,
  micro_batch: /^batch\.micro$/,
  optimizer: /^optimizer\./,
  precision: /^precision\./,
  hardware: /^hardware\./,
};
const NAMES = ['method', 'sequence', 'micro_batch', 'optimizer', 'precision', 'hardware'] as const;

const OPTION = z.object({
  id: described(z.string(), 'Pass it to apply_change.'),
  title: z.string(),
  verdict: described(z.literal('fits'), 'Of the changed files, which were read and estimated again.'),
  peak_before_bytes: z.number(),
  peak_after_bytes: z.number(),
  price: described(z.array(z.string()), 'What it costs beside memory: time, rounding, data, another method.'),
  by_hand: described(z.array(z.string()), 'What no file has a key for: the person has to do it.'),
  files: z.array(
    z.object({
      file: z.string(),
      create: z.boolean(),
      note: described(z.boolean(), 'Oomlint alone reads what is written there; the training does not.'),
    }),
  ),
  diff: described(z.string(), 'Unified diff over all files that change.'),
});

export const makeRunFit = toolOf({
  name: 'make_run_fit',
  title: 'Find changes that make a run fit',
  description:
    'Changes of the config files that make a run fit, least loss of quality and speed first. Each was written into the texts, read again and estimated before it is listed; none is written to the disk. To fit it on other hardware pass gpu, gpus, nodes. The person chooses: show title, price and diff, then call apply_change with the id.',
  input: z.object({
    file: path(),
    ...STATED,
    keep: z.optional(
      described(z.array(z.enum(NAMES)), 'What must stay as it is; options that change it are left out.'),
    ),
  }),
  output: z.object({
    file: z.string(),
    verdict: described(z.enum(['fits', 'tight', 'exceeds', 'unknown']), 'As the files are now.'),
    unknown: described(z.array(MISSING_FACT), 'Ask these first: without them there are no options.'),
    options: z.array(OPTION),
    left_out: described(
      z.number(),
      'Options that would change what is to be kept, or files outside of the folder.',
    ),
  }),
  writes: false,
  async run({ file, keep = [], ...given }, desk) {
    const stated = runOptionsOf(given);
    const workspace = desk.workspace(stated);
    const analysis = await configAt(file, workspace, desk);
    const verdict = analysis.estimate?.verdict ?? 'unknown';
    const name = nameOf(analysis.uri, desk);
    const unknown = questionsOf(analysis);
    if (!isEstimated(analysis))
      return {
        text: sentenceOf(analysis, desk),
        data: { file: name, verdict, unknown, options: [], left_out: 0 },
      };
    const fixes = await fixesFor(analysis, workspace);
    const options: z.output<typeof OPTION>[] = [];
    for (const fix of fixes) {
      if (changes(fix, keep) || !(await isInsideFolders(fix.files, desk))) continue;
      const { title, byHand, files } = fix;
      const offered: OfferedChange = { uri: analysis.uri, stated, title, files, byHand };
      const id = idOf(offered);
      desk.offered.set(id, offered);
      options.push(optionOf(id, fix, desk));
    }
    const left = fixes.length - options.length;
    return {
      text: wordsOf(sentenceOf(analysis, desk), verdict, options, left),
      data: { file: name, verdict, unknown, options, left_out: left },
    };
  },
});

function changes({ moves }: Fix, keep: readonly (keyof typeof KEPT)[]): boolean {
  const fields = moves.flatMap((move) => Object.keys(move.changes));
  return keep.some((name) => fields.some((field) => KEPT[name].test(field)));
}

function optionOf(id: string, fix: Fix, desk: Desk): z.output<typeof OPTION> {
  const price = [speedWords(fix.relativeTime), costsOf(fix)].filter((words) => words !== undefined);
  return {
    id,
    title: fix.title,
    verdict: 'fits',
    peak_before_bytes: fix.beforeBytes,
    peak_after_bytes: fix.afterBytes,
    price,
    by_hand: fix.byHand.map((line) => line.replaceAll('`', '')),
    files: fix.files.map(({ uri, create = false, note = false }) => ({
      file: nameOf(uri, desk),
      create,
      note,
    })),
    diff: unifiedDiff(fix.files.map((written) => ({ ...written, name: nameOf(written.uri, desk) }))),
  };
}

function wordsOf(
  present: string,
  verdict: string,
  options: readonly z.output<typeof OPTION>[],
  left: number,
): string {
  if (verdict === 'fits') return `${present} Nothing has to change.`;
  const lines = options.map(({ id, title }, index) => `${index + 1}. [${id}] ${title}`);
  const others =
    left > 0 ? [`${left} more would change what is to be kept, or files outside of the folder.`] : [];
  const none = options.length === 0 ? ['No change of its files was found that makes it fit.'] : [];
  return [present, ...lines, ...none, ...others].join('\n');
}
