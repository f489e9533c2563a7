import * as z from 'zod/mini';
import { fitsAsRead } from '../../results/verdict-order';
import { canonicalUri } from '../../text/uri';
import type { Workspace } from '../../workspace/analyze';
import { type Desk, isInsideFolders, nameOf, type OfferedChange } from '../desk';
import { RUN, sentenceOf, summaryOf } from '../run-summary';
import { described } from '../stated';
import { toolOf } from '../tool';
import { ToolError } from '../tool-error';
import { unifiedDiff } from '../unified-diff';

export const applyChange = toolOf({
  name: 'apply_change',
  title: 'Write a change of make_run_fit',
  description:
    'Writes one option of make_run_fit into the config files; the only tool that writes. The files must be as they were when the option was made, and the changed files are read and estimated once more before anything is written. Call it only when the person has chosen this option.',
  input: z.object({ id: described(z.string(), 'Id of an option of make_run_fit.') }),
  output: z.object({
    written: z.array(z.string()),
    by_hand: described(z.array(z.string()), 'What is left for the person to do.'),
    run: RUN,
  }),
  writes: true,
  async run({ id }, desk) {
    const { uri, stated, files, byHand, title } = offeredAs(id, desk);
    const before = desk.workspace(stated);
    if (!(await isInsideFolders(files, desk)))
      throw new ToolError(`"${title}" changes files outside of the folder.`, AGAIN);
    for (const file of files) await mustBeAsItWas(file, before, desk);
    const proven = await before.preview(uri, new Map(files.map(({ uri: own, after }) => [own, after])));
    if (!proven || !fitsAsRead(proven.estimate))
      throw new ToolError(
        `"${title}" does not make the run fit any more: something else has changed.`,
        AGAIN,
      );
    if (!(await desk.write(files))) throw new ToolError(`"${title}" was refused.`, 'Ask the person why.');
    desk.offered.delete(id);
    const written = files.map((file) => nameOf(file.uri, desk));
    const hand = byHand.map((line) => line.replaceAll('`', ''));
    const rest = hand.length > 0 ? ` By hand: ${hand.join(' ')}` : '';
    return {
      text: `Written: ${written.join(', ')}. ${sentenceOf(proven, desk)}${rest}`,
      data: { written, by_hand: hand, run: summaryOf(proven, desk) },
    };
  },
});

const AGAIN = 'Call make_run_fit again.';

/** Throws `ToolError` where there is none of that id. */
function offeredAs(id: string, desk: Desk): OfferedChange {
  const offered = desk.offered.get(id);
  if (!offered) throw new ToolError(`There is no option with the id "${id}".`, AGAIN);
  return offered;
}

/** What a change would do, for the person who is asked about it. Throws `ToolError` where there is none of that id. */
export function describedOffer(id: string, desk: Desk): { readonly title: string; readonly diff: string } {
  const { title, files } = offeredAs(id, desk);
  return {
    title,
    diff: unifiedDiff(files.map((written) => ({ ...written, name: nameOf(written.uri, desk) }))),
  };
}

async function mustBeAsItWas(
  { uri, before, create }: OfferedChange['files'][number],
  workspace: Workspace,
  desk: Desk,
): Promise<void> {
  const present = await workspace.text(uri);
  if (create ? present === undefined : present === before) return;
  throw new ToolError(`${nameOf(canonicalUri(uri), desk)} has changed since the option was made.`, AGAIN);
}
