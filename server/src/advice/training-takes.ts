import type { FieldPath, RunValues, TrainingRun } from '../run/fields';
import type { Analysis } from '../workspace/analysis';
import { type ReadFile, vocabulariesOf, wordsFor } from './write/vocabulary';

/** What is known about a run beside its files: no change of the training, and no key of its own anywhere. */
const BESIDE_THE_FILES = /^(?:hardware|model|version|compute)\.|^batch\.sequence$/;

/**
 * Whether the training takes these values: a family of the run's files has words for each, or code of a person's own is part of the
 * run, which may do more than its files say. Frameworks that are started by a config or by flags alone do what they have words for:
 * Megatron-LM trains no adapters.
 */
export function trainingTakes(
  analysis: Pick<Analysis, 'members' | 'document' | 'dialect' | 'reading' | 'resolved'>,
  changes: RunValues,
  fields: readonly FieldPath[],
): boolean {
  const { run } = analysis.resolved;
  const asked = fields.filter((field) => !BESIDE_THE_FILES.test(field));
  const files = analysis.members ?? [analysis];
  if (!run || asked.length === 0 || isOpen(files)) return true;
  return asked.every((field) => files.some((file) => hasWords(file, field, changes, run)));
}

/** What code has no switch for where the library that it calls has none: whoever wants it writes another program. */
const OF_LIBRARIES: ReadonlySet<FieldPath> = new Set([
  'activations.offload',
  'kernels.liger',
  'loss.implementation',
]);

/** Whether code that is read can state them: the trainer that it calls has words for what only a library brings. */
export function codeTakes(
  analysis: Pick<Analysis, 'members' | 'document' | 'dialect' | 'reading' | 'resolved'>,
  changes: RunValues,
  fields: readonly FieldPath[],
): boolean {
  const { run } = analysis.resolved;
  const files = analysis.members ?? [analysis];
  const asked = fields.filter((field) => OF_LIBRARIES.has(field));
  if (!run || !files.some(({ dialect }) => dialect.format === 'python')) return true;
  return asked.every((field) => files.some((file) => hasWords(file, field, changes, run)));
}

/**
 * Whether a code that is read leaves open how the base is stored: what loads it names its quantization, or there is none. Only a file of a family
 * that has a switch for it, such as a recipe that the code parses, may say otherwise.
 */
export function leavesQuantization(
  analysis: Pick<Analysis, 'members' | 'document' | 'dialect' | 'reading' | 'resolved'>,
): boolean {
  const { run } = analysis.resolved;
  const files = analysis.members ?? [analysis];
  const isCode = ({ dialect }: ReadFile) => dialect.format === 'python';
  if (!run || !files.some(isCode)) return true;
  const field = 'quantization.kind';
  return files.some((file) => !isCode(file) && hasWords(file, field, { [field]: 'nf4' }, run));
}

/** A library's files alone are beside a script, as are those that a script of a person's own is given. */
function isOpen(files: readonly ReadFile[]): boolean {
  const trainers = files.filter(({ dialect }) => dialect.isLibrary !== true);
  return trainers.length === 0 || trainers.some(isOwnCode);
}

const isOwnCode = ({ dialect, reading }: ReadFile): boolean =>
  dialect.ownScript === true || (reading.keys ?? []).some(({ ownScript }) => ownScript === true);

function hasWords(file: ReadFile, field: FieldPath, changes: RunValues, run: TrainingRun): boolean {
  return vocabulariesOf(file).some(
    (vocabulary) => wordsFor(vocabulary, field, changes[field], run, changes) !== undefined,
  );
}
