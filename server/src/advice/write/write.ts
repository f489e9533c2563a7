import { Lines } from '../../config/lines';
import type { KeyPath } from '../../config/lookup';
import type { Word } from '../../dialects/words';
import { FIELDS, type FieldPath, type RunValues, type TrainingRun } from '../../run/fields';
import type { Fact, Origin } from '../../run/origin';
import { canonicalUri } from '../../text/uri';
import { madeAccelerate } from './new-accelerate';
import type { MadeConfig, NewConfigs } from './new-config';
import { madeDeepspeed, STATED_BY_DEEPSPEED } from './new-deepspeed';
import { growingSegments } from './set-allocator';
import { setKey } from './set-key';
import { launchesWith } from './set-launch';
import { pathInFile, type SourceFile } from './source-file';
import { type TextChange, withEdits } from './text-edits';
import { vocabulariesOf, wordsFor } from './vocabulary';

/** A file that a change touches. */
export interface WrittenFile {
  readonly uri: string;
  readonly before: string;
  readonly after: string;
  /** It does not exist yet. */
  readonly create?: boolean;
  /** Oomlint alone reads what is written there: the training does not change by it. */
  readonly note?: boolean;
}

/** What is to be written, and where. */
interface Writing {
  /** Files of the run, the one at hand first. */
  readonly files: readonly SourceFile[];
  readonly run: TrainingRun;
  /** Who states each value now. */
  readonly origins: Partial<Record<FieldPath, Origin>>;
  /** All that changes; words may depend on each other. */
  readonly changes: RunValues;
  /** Fields that need words of their own; others follow from these. */
  readonly fields: readonly FieldPath[];
  /** Where a config may be made that changes ask for. */
  readonly newConfigs?: NewConfigs;
}

/**
 * Writes changed fields in each file's own words: where a file states a field, there; else in the first file whose family
 * has words for it. Where none has them, a new config may say it that the run is given. Comments and formatting stay. Undefined where
 * some field cannot be stated anywhere.
 */
export function writeChanges(asked: Writing): WrittenFile[] | undefined {
  return withDeepspeed(asked) ?? withAccelerate(asked);
}

const created = ({ uri, text }: MadeConfig): WrittenFile => ({ uri, before: '', after: text, create: true });

function withDeepspeed(asked: Writing): WrittenFile[] | undefined {
  const made = madeDeepspeed(asked.newConfigs, asked.run, asked.changes);
  // What the new file states counts only where another one names it.
  const names = made && asked.files.some((file) => speak(file, 'parallel.data', 'zero', asked) !== undefined);
  const fields = names ? asked.fields.filter((field) => !STATED_BY_DEEPSPEED.includes(field)) : asked.fields;
  const changed = writeInPlace({ ...asked, fields });
  return changed && names ? [...changed, created(made)] : changed;
}

/** The launch of a script is given a config of Accelerate, for what the script has no words for. */
function withAccelerate(asked: Writing): WrittenFile[] | undefined {
  const { files, fields, newConfigs, run, changes } = asked;
  const isSpoken = (field: FieldPath) => writeInPlace({ ...asked, fields: [field] }) !== undefined;
  const made = madeAccelerate(newConfigs, run, changes, isSpoken);
  if (!made) return undefined;
  const changed = writeInPlace({ ...asked, fields: fields.filter((field) => !made.states.includes(field)) });
  if (!changed) return undefined;
  for (const file of files) {
    const present = changed.find(({ uri }) => uri === file.uri);
    const after = launchesWith(file, present?.after ?? file.text, made.config.path, files);
    if (after === undefined) continue;
    const launch: WrittenFile = { uri: file.uri, before: file.text, after };
    const others = changed.filter(({ uri }) => uri !== file.uri);
    // The order of the run's files: the one at hand first.
    const all = [...others, launch].sort((a, b) => placeIn(files, a) - placeIn(files, b));
    return [...all, created(made.config)];
  }
  return undefined;
}

const placeIn = (files: readonly SourceFile[], { uri }: WrittenFile) =>
  files.findIndex((file) => file.uri === uri);

/** Changes of files that there are. */
function writeInPlace(writing: Writing): WrittenFile[] | undefined {
  const texts = new Map(writing.files.map(({ uri, text }) => [uri, text]));
  const keyed: {
    readonly file: SourceFile;
    readonly below: readonly string[];
    readonly path: readonly string[];
    readonly word: Word;
  }[] = [];
  const places = new Map<string, TextChange[]>();
  for (const field of writing.fields) {
    const value = writing.changes[field];
    if (value === undefined) return undefined;
    const direct = directPlaces(writing, field, value);
    for (const { uri, change } of direct) places.set(uri, [...(places.get(uri) ?? []), change]);
    const elsewhere = writing.files.filter(
      (file) => statesIn(file, field) && !direct.some(({ uri }) => uri === file.uri),
    );
    if (direct.length > 0 && elsewhere.length === 0) continue;
    const candidates = elsewhere.length > 0 ? elsewhere : inOrder(writing.files, field);
    let isWritten = direct.length > 0;
    for (const file of candidates) {
      const spoken = speak(file, field, value, writing);
      if (!spoken) continue;
      isWritten = true;
      keyed.push(...spoken.map((found) => ({ file, ...found })));
      if (elsewhere.length === 0) break;
    }
    if (!isWritten) return undefined;
  }
  for (const [uri, changes] of places) texts.set(uri, withEdits(texts.get(uri) ?? '', unique(changes)));
  for (const { file, path, word } of keyed) {
    const next = setKey(texts.get(file.uri) ?? '', file.document.format, path, word.value);
    if (next === undefined) return undefined;
    texts.set(file.uri, next);
  }
  return writing.files.flatMap(({ uri, text }) => {
    const after = texts.get(uri) ?? text;
    return after === text ? [] : [{ uri, before: text, after }];
  });
}

function speak(file: SourceFile, field: FieldPath, value: unknown, { run, changes, newConfigs }: Writing) {
  const named = madeDeepspeed(newConfigs, run, changes)?.path;
  for (const vocabulary of vocabulariesOf(file)) {
    const words = wordsFor(vocabulary, field, value, run, changes, named);
    const placed = words?.map((word) => ({
      below: vocabulary.below,
      path: pathInFile(file, [...vocabulary.below, ...vocabulary.spell(word.key)]),
      word,
    }));
    if (placed?.every(hasPath)) return placed;
  }
  return undefined;
}

const hasPath = <T extends { readonly path?: KeyPath }>(found: T): found is T & { readonly path: KeyPath } =>
  found.path !== undefined;

/** Settings of the sharding that nobody states go where the sharding stands, before the order of the run's files. */
function inOrder(files: readonly SourceFile[], field: FieldPath): readonly SourceFile[] {
  if (!/^(?:fsdp|zero|offload|loading)\./.test(field)) return files;
  const holds = (file: SourceFile) => statesIn(file, 'parallel.data');
  return [...files.filter(holds), ...files.filter((file) => !holds(file))];
}

const stated = ({ reading }: SourceFile, field: FieldPath): Fact | undefined =>
  reading.facts.find((fact) => fact.field === field && fact.origin.kind === 'file' && fact.origin.location);

function statesIn(file: SourceFile, field: FieldPath): boolean {
  return stated(file, field) !== undefined;
}

/** Places where the value itself stands as it is meant: a number is changed where it is, whatever its key. */
function directPlaces({ files, origins, run }: Writing, field: FieldPath, value: unknown) {
  const found: { readonly uri: string; readonly change: TextChange }[] = [];
  // The environment of the program that trains: one place is enough.
  if (field === 'allocator.expandableSegments' && value === true) return growingSegments(files, run);
  for (const file of files) {
    const known = stated(file, field);
    const change = known && numberAt(file, known.origin, known.value, value);
    if (change) found.push({ uri: file.uri, change });
  }
  const origin = origins[field];
  const holder =
    origin?.location &&
    files.find(({ uri }) => canonicalUri(uri) === canonicalUri(origin.location?.uri ?? ''));
  if (origin?.kind === 'directive' && holder) {
    const change = inDirective(holder, origin, value);
    if (change) found.push({ uri: holder.uri, change });
  }
  return found;
}

function numberAt(
  file: SourceFile,
  { location }: Origin,
  present: unknown,
  value: unknown,
): TextChange | undefined {
  if (!location || typeof value !== 'number' || typeof present !== 'number') return undefined;
  const written = textAt(file.text, location.range);
  const bare = written.replace(/^(["'])(.*)\1$/s, '$2');
  if (bare.trim() === '' || Number(bare) !== present) return undefined;
  return { range: location.range, newText: written.replace(bare, String(value)) };
}

/** `name=value` in a comment. */
function inDirective(file: SourceFile, { location }: Origin, value: unknown): TextChange | undefined {
  if (!location) return undefined;
  const written = textAt(file.text, location.range);
  const equals = written.indexOf('=');
  const plain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return equals < 0 || !plain
    ? undefined
    : { range: location.range, newText: `${written.slice(0, equals + 1)}${value}` };
}

function textAt(text: string, range: TextChange['range']): string {
  const lines = new Lines(text);
  return text.slice(lines.offset(range.start), lines.offset(range.end));
}

/** Several fields may be stated by one place: a variable that is used twice is changed once. */
function unique(changes: readonly TextChange[]): TextChange[] {
  const seen = new Map(changes.map((change) => [JSON.stringify(change.range), change]));
  return [...seen.values()];
}

/** Fields that need no words where others say them. */
export function fieldsOf(changes: RunValues): FieldPath[] {
  return (Object.keys(changes) as FieldPath[]).filter((field) => Object.hasOwn(FIELDS, field));
}
