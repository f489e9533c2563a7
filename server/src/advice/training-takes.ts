import type { FieldPath, RunValues, TrainingRun } from '../run/fields';
import type { Analysis } from '../workspace/analysis';
import { leavesTrainerOpen } from '../workspace/open-trainer';
import { type ReadFile, vocabulariesOf, wordsFor } from './write/vocabulary';

/** A run and the files that state it. */
type Stated = Pick<Analysis, 'members' | 'document' | 'dialect' | 'reading' | 'resolved'>;

/** What is known about a run beside its files, or comes from the environment of any: no key of its own anywhere. */
const BESIDE_THE_FILES =
  /^(?:hardware|model|version|compute)\.|^batch\.sequence$|^allocator\.expandableSegments$/;

/**
 * Whether the training takes these values: a family of the run's files has words for each, or code of a person's own is part of the
 * run, which may do more than its files say. Frameworks that are started by a config or by flags alone do what they have words for:
 * Megatron-LM trains no adapters.
 */
export function trainingTakes(analysis: Stated, changes: RunValues, fields: readonly FieldPath[]): boolean {
  const asked = fields.filter((field) => !BESIDE_THE_FILES.test(field));
  return asked.length === 0 || leavesTrainerOpen(filesOf(analysis)) || haveWords(analysis, changes, asked);
}

/** What code has no switch for where the library that it calls has none: whoever wants it writes another program. */
const OF_LIBRARIES: ReadonlySet<FieldPath> = new Set([
  'activations.offload',
  'kernels.liger',
  'loss.implementation',
]);

/** Whether code that is read can state them: the trainer that it calls has words for what only a library brings. */
export function codeTakes(analysis: Stated, changes: RunValues, fields: readonly FieldPath[]): boolean {
  const asked = fields.filter((field) => OF_LIBRARIES.has(field));
  return !filesOf(analysis).some(isCode) || haveWords(analysis, changes, asked);
}

/**
 * Whether a code that is read leaves open how the base is stored: what loads it names its quantization, or there is none. Only a file of a family
 * that has a switch for it, such as a recipe that the code parses, may say otherwise.
 */
export function leavesQuantization(analysis: Stated): boolean {
  const { run } = analysis.resolved;
  const files = filesOf(analysis);
  if (!run || !files.some(isCode)) return true;
  const field = 'quantization.kind';
  return files.some((file) => !isCode(file) && hasWords(file, field, { [field]: 'nf4' }, run));
}

const filesOf = (analysis: Stated): readonly ReadFile[] => analysis.members ?? [analysis];

const isCode = ({ dialect }: ReadFile): boolean => dialect.format === 'python';

/** Whether some file of the run has words for each field; of a run that is not whole it is not asked. */
function haveWords(analysis: Stated, changes: RunValues, fields: readonly FieldPath[]): boolean {
  const { run } = analysis.resolved;
  const files = filesOf(analysis);
  return !run || fields.every((field) => files.some((file) => hasWords(file, field, changes, run)));
}

function hasWords(file: ReadFile, field: FieldPath, changes: RunValues, run: TrainingRun): boolean {
  return vocabulariesOf(file).some(
    (vocabulary) => wordsFor(vocabulary, field, changes[field], run, changes) !== undefined,
  );
}
