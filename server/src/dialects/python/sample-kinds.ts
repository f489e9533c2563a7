import type { PyCall, PyDict, PyProgram, PyValue } from '../../config/python/value';
import { argumentOf } from './call-block';

/** Columns that TRL takes images from (`grpo_trainer.py`, `_set_signature_columns_if_needed`). */
const IMAGE_COLUMNS: ReadonlySet<string> = new Set(['image', 'images']);
/** How a text names sound: types of parts, columns, and arguments of processors. */
const SOUND = /^(?:audios?|audio_url|input_audio|sounds?|speech|wave(?:form)?s?|voice)$/i;
const COLLATOR = /(^|\.)UnslothVisionDataCollator$/;

const isWritten = (value: PyValue | undefined) => value?.kind === 'scalar' && typeof value.value === 'string';
const entryOf = ({ entries }: PyDict, key: string) => entries.find((entry) => entry.key === key)?.value;

/** A message whose content is a string, which no part of another kind stands in. */
function isText(message: PyValue): boolean {
  if (message.kind !== 'dict' || message.open) return false;
  return isWritten(entryOf(message, 'content'));
}

function isTextRow(row: PyValue): boolean {
  if (row.kind !== 'dict' || row.open || row.entries.some(({ key }) => IMAGE_COLUMNS.has(key))) return false;
  const prompt = entryOf(row, 'prompt');
  if (prompt?.kind === 'list') return prompt.items.every(isText);
  return isWritten(prompt);
}

/** Whether every sample is one of texts alone: `train_dataset` is made of rows that the text holds. */
export function writesTextRows({ calls }: PyProgram, trainer: PyCall): boolean {
  const given = argumentOf(trainer, 'train_dataset');
  const made = given?.kind === 'object' && given.item === undefined ? calls[given.id] : undefined;
  if (!made || !/(^|\.)Dataset\.from_list$/.test(made.callee)) return false;
  const [rows] = made.positional;
  return rows?.kind === 'list' && rows.items.length > 0 && rows.items.every(isTextRow);
}

/** Whether the text builds what a collator gets. Rows that come as they were loaded may hold anything. */
function buildsRows({ calls }: PyProgram, trainer: PyCall): boolean {
  const given = argumentOf(trainer, 'train_dataset');
  return !(given?.kind === 'object' && /(^|\.)load_dataset$/.test(calls[given.id]?.callee ?? ''));
}

/**
 * Whether samples hold images and no sound: the text builds what `UnslothVisionDataCollator` gets of parts that are images, and names
 * sound nowhere.
 */
export function buildsImages(program: PyProgram, trainer: PyCall): boolean {
  if (!program.calls.some(({ callee }) => COLLATOR.test(callee)) || !buildsRows(program, trainer))
    return false;
  const named = program.words();
  return named.has('image') && ![...named].some((word) => SOUND.test(word));
}

/** What samples hold that the text builds for a collator, and names sound: sound, and images where it names them, too. */
export function builtSound(program: PyProgram, trainer: PyCall): { readonly images: boolean } | undefined {
  if (argumentOf(trainer, 'data_collator') === undefined || !buildsRows(program, trainer)) return undefined;
  const named = program.words();
  return [...named].some((word) => SOUND.test(word)) ? { images: named.has('image') } : undefined;
}
