import type { Estimated } from '../advice/changed-run';
import { entryOf } from '../config/lookup';
import type { FieldPath } from '../run/fields';
import type { Range } from '../text/place';
import { say } from '../wording/say';
import type { ProjectPlace } from '../workspace/project-place';
import type { Action } from './action';
import { fileEdits } from './file-edits';
import type { LearnedFact } from './learned-facts';
import { learnedFile } from './learned-file';
import { baseName } from './markdown';
import { overlaps } from './ranges';

/** Fields whose keys a fact is offered at, beside its own: lengths hang on the limit that is stated, memory on the card. */
const OFFERED_AT: Partial<Record<FieldPath, FieldPath>> = {
  'batch.longestSequence': 'batch.sequence',
  'batch.meanSequence': 'batch.sequence',
  'batch.varied': 'batch.sequence',
  'hardware.gpuMemory': 'hardware.gpu',
  'hardware.outsideAllocator': 'hardware.gpu',
  'hardware.otherProcesses': 'hardware.gpu',
};
/** Keys that name the folder that the run wrote into. */
const OUTPUT_KEYS = ['output_dir', 'logging_dir', 'save_path'];

/** What a measured run can teach, at the keys that it is about, at the folder that it wrote into, and at the top of the file. */
export function learnActions(
  analysis: Estimated,
  facts: readonly LearnedFact[],
  run: { readonly place: string; readonly project: ProjectPlace | undefined },
  range: Range,
): Action[] {
  const everywhere = range.start.line === 0 || isAtOutput(analysis, range);
  return facts
    .filter(({ field }) => everywhere || isAt(analysis, OFFERED_AT[field] ?? field, range))
    .flatMap((learned): Action[] => {
      const made = learnedFile([learned], run.place, analysis, run.project);
      if ('problem' in made) return [];
      const { uri, before = '', after } = made;
      const edits = fileEdits([{ uri, before, after, create: made.before === undefined }]);
      const title = say('Add to {0} what the run measured: {1}', baseName(uri), learned.words);
      return [{ title, edits, kind: LEARN_KIND }];
    });
}

/** What learning is: it puts nothing right. */
export const LEARN_KIND = 'refactor.rewrite';

function isAt({ resolved, uri }: Estimated, field: FieldPath, range: Range): boolean {
  const place = resolved.origins[field]?.location;
  return (
    place !== undefined &&
    place.uri === uri &&
    place.range.start.line <= range.end.line &&
    place.range.end.line >= range.start.line
  );
}

function isAtOutput({ document: { root } }: Estimated, range: Range): boolean {
  return OUTPUT_KEYS.some((key) => {
    const entry = root?.kind === 'map' ? entryOf(root, key) : undefined;
    return (
      entry !== undefined && overlaps({ start: entry.keyRange.start, end: entry.value.range.end }, range)
    );
  });
}
