import type { ApplyPlan } from '../advice/apply-plan';
import type { Fix } from '../advice/fixes';
import { PRICES } from '../advice/moves';
import { speedWords } from '../advice/speed';
import { changedLines } from '../advice/write/text-edits';
import type { WrittenFile } from '../advice/write/write';
import type { RunValues } from '../run/fields';
import { pathOfUri, relativePath } from '../text/uri';
import { say } from '../wording/say';
import type { FileChange, FixCard, Planned } from './advice-protocol';

/** What would be written, and what it comes to, as an editor shows it. `folders` are those of the workspace. */
export function plannedOf(plan: ApplyPlan, values: RunValues, folders: readonly string[]): Planned {
  const { files, note, byHand, left, after } = plan;
  return {
    values,
    files: [...files, ...(note ? [note] : [])].map((file) => fileChange(file, folders)),
    byHand,
    left,
    ...(after?.estimate && {
      peakBytes: after.estimate.peak.processBytes,
      verdict: after.estimate.verdict,
    }),
  };
}

/** A fix as a card of the panel. */
export function fixCard(fix: Fix, folders: readonly string[]): FixCard {
  return {
    id: fix.title,
    name: fix.name,
    beforeBytes: fix.beforeBytes,
    afterBytes: fix.afterBytes,
    verdict: fix.verdict,
    speed: speedWords(fix.relativeTime),
    costs: costsOf(fix),
    files: fix.files.map((file) => fileChange(file, folders)),
    byHand: fix.byHand,
    values: fix.changes,
  };
}

/** What a fix costs beside time, for people; undefined where it costs nothing. */
export function costsOf({ moves }: Fix): string | undefined {
  const dearest = Math.max(0, ...moves.map(({ price }) => price));
  if (dearest >= PRICES.method) return say('another method of training');
  if (dearest >= PRICES.data) return say('shorter samples');
  if (dearest >= PRICES.hardware) return say('more hardware');
  return dearest >= PRICES.rounding ? say('rounded values') : undefined;
}

/** Lines that differ, under the name that people see in their editor. */
function fileChange(
  { uri, before, after, create, note }: WrittenFile,
  folders: readonly string[],
): FileChange {
  const paths = folders.flatMap((folder) => relativePath(folder, uri) ?? []);
  const name = paths.sort((a, b) => a.length - b.length)[0] ?? pathOfUri(uri).replace(/^.*\//, '');
  const { removed, added } = changedLines(before, after);
  return { name, uri, removed, added, ...(create && { create }), ...(note && { note }) };
}
