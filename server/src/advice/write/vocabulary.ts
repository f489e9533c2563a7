import { entryAt, entryOf, nodeAt } from '../../config/lookup';
import type { ConfigNode } from '../../config/node';
import { textsOf } from '../../config/scalar';
import type { KeySpec } from '../../dialects/dialect';
import { isInUse, movedRow } from '../../dialects/key-rows';
import { KeyTable } from '../../dialects/key-table';
import { wordOf } from '../../dialects/key-value';
import { type Wish, type Word, type Words, word } from '../../dialects/words';
import { versionIn } from '../../environment/versions';
import { oncePer } from '../../memo/remembered';
import { FIELDS, type FieldPath, type RunValues, type TrainingRun } from '../../run/fields';
import type { SourceFile } from './source-file';

/** Where a family's keys stand in a file, how they are spelled there, and which words and rows hold for them. */
interface FamilyWriter {
  readonly words: Words;
  readonly rows: readonly KeySpec[];
  readonly table: KeyTable;
  /** Path of the block that holds the keys. */
  readonly below: readonly string[];
  readonly block: ConfigNode | undefined;
  readonly spell: (key: string) => readonly string[];
}

const tableOf = oncePer((rows: readonly KeySpec[]) => new KeyTable(rows));

const dotted = (key: string) => key.split('.');

/** A file as its family read it. */
export type ReadFile = Pick<SourceFile, 'document' | 'dialect' | 'reading' | 'whole'>;

/** The vocabularies of a file: its family's, and those of the configs that a script writes. */
export function vocabulariesOf(file: ReadFile): FamilyWriter[] {
  const { document, dialect, reading, whole } = file;
  const root = whole?.document.root ?? document.root;
  // Words of a script that another one runs stand elsewhere in each of them.
  if (document.follows || whole?.document.follows) return [];
  if (document.format === 'shell') return [...commandVocabulary(file), ...writtenVocabularies(file)];
  if (document.format === 'python') return callVocabularies(file);
  const words = dialect.words ?? {};
  const rows = dialect.keys;
  const table = tableOf(rows);
  const make = (below: readonly string[], spell = dotted): FamilyWriter => ({
    words,
    rows,
    table,
    below,
    block: nodeAt(root, below),
    spell,
  });
  if (entryOf(root, 'MODEL_ARGS')) return [make(['MODEL_ARGS'], (key) => [`--${key.replaceAll('_', '-')}`])];
  // Blocks such as `training_args:` hold the keys of a family whole.
  const nested = reading.facts.some(
    ({ origin }) => origin.kind === 'file' && origin.key?.startsWith('training_args.'),
  );
  return [make(nested ? ['training_args'] : [])];
}

/** The index of the command that a script is for, as it stands in paths: the one whose flags were read. */
export function commandOf({ reading }: Pick<ReadFile, 'reading'>): string | undefined {
  const counts = new Map<string, number>();
  for (const { origin } of reading.facts) {
    const index =
      origin.kind === 'file' ? /^commands\.(\[\d+\])\.arguments\./.exec(origin.key ?? '')?.[1] : undefined;
    if (index !== undefined) counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

function commandVocabulary(file: ReadFile): FamilyWriter[] {
  const { document, dialect, reading } = file;
  const index = commandOf(file);
  if (index === undefined) return [];
  const commands = nodeAt(document.root, 'commands');
  const command = commands?.kind === 'list' ? commands.items[Number(index.slice(1, -1))] : undefined;
  const block = entryOf(command, 'arguments')?.value;
  const program = reading.keys?.find(
    ({ below }) => below[0] === 'commands' && below[1] === index && below[2] === 'arguments',
  );
  const rows = program?.rows ?? stripped(dialect.keys, 'commands.*.arguments.');
  return [
    {
      words: program?.words ?? {},
      rows,
      table: tableOf(rows),
      below: ['commands', index, 'arguments'],
      block,
      spell: (key) => [key],
    },
  ];
}

const strippedRows = new WeakMap<readonly KeySpec[], readonly KeySpec[]>();
function stripped(rows: readonly KeySpec[], prefix: string): readonly KeySpec[] {
  const known = strippedRows.get(rows);
  if (known) return known;
  const fresh = rows.flatMap((row) =>
    row.path.startsWith(prefix) ? [movedRow(row.path.slice(prefix.length), row)] : [],
  );
  strippedRows.set(rows, fresh);
  return fresh;
}

/** DeepSpeed configs that a script writes from here-documents. */
function writtenVocabularies({ document, reading }: ReadFile): FamilyWriter[] {
  const files = nodeAt(document.root, ['files']);
  if (files?.kind !== 'map') return [];
  return files.entries.flatMap(({ key, value }): FamilyWriter[] => {
    const group = reading.keys?.find(({ below }) => below[0] === 'files' && below[1] === key);
    if (!group || value.kind !== 'map') return [];
    return [
      {
        words: group.words ?? {},
        rows: group.rows,
        table: tableOf(group.rows),
        below: ['files', key],
        block: value,
        spell: dotted,
      },
    ];
  });
}

/** The arguments of the calls that were read, each in the words of its own. */
function callVocabularies({ document, reading }: ReadFile): FamilyWriter[] {
  return (reading.keys ?? []).flatMap(({ below, rows, words = {} }): FamilyWriter[] => {
    const block = nodeAt(document.root, below);
    return block ? [{ words, rows, table: tableOf(rows), below, block, spell: dotted }] : [];
  });
}

/** The words by which a vocabulary states that a field has a value; undefined where it has none. */
export function wordsFor(
  vocabulary: FamilyWriter,
  field: FieldPath,
  value: unknown,
  run: TrainingRun,
  changes: RunValues,
  deepspeed?: string,
): readonly Word[] | undefined {
  const at = (key: string) => entryAt(vocabulary.block, vocabulary.spell(key))?.value;
  const wish: Wish = {
    run,
    changes,
    deepspeed,
    text: (key) => {
      const node = at(key);
      return node && (node.kind === 'scalar' ? node.text : '');
    },
    items: (key) => textsOf(at(key)) ?? [],
  };
  const speak = vocabulary.words[field] as
    | ((value: unknown, wish: Wish) => readonly Word[] | undefined)
    | undefined;
  if (speak) {
    const words = speak(value, wish);
    return words?.every(({ key, value: written }) => takesKey(vocabulary, key, written, wish))
      ? words
      : undefined;
  }
  const row = plainRow(vocabulary, field, value, wish);
  const spelled = row && (row.sets === undefined ? (value as Word['value']) : wordOf(row, value));
  return row && [word(row.path, spelled)];
}

/** Whether the release that the run is made with has a key; what stands in the file is taken by it, and may be taken away. */
function takesKey({ table }: FamilyWriter, key: string, written: Word['value'], wish: Wish): boolean {
  const row = table.find(key);
  if (!row) return false;
  return written === undefined || wish.text(key) !== undefined || isOfRelease(row, wish.run);
}

const isOfRelease = (row: KeySpec, run: TrainingRun) => isInUse(row, (name) => versionIn(run, name));

/** Rows by the field that they set or shape first: a search asks for the words of each move again and again. */
const rowsByField = oncePer((rows: readonly KeySpec[]): ReadonlyMap<string, readonly KeySpec[]> => {
  const found = new Map<string, KeySpec[]>();
  for (const row of rows) {
    for (const field of new Set([row.sets, row.fields?.[0]])) {
      if (field !== undefined) found.set(field, [...(found.get(field) ?? []), row]);
    }
  }
  return found;
});

/** A row that states the field in its own value: the one that stands in the file, else the first that is no second name. */
function plainRow(
  { rows }: FamilyWriter,
  field: FieldPath,
  value: unknown,
  { text, run }: Wish,
): KeySpec | undefined {
  const kind = FIELDS[field].type;
  const own = rowsByField(rows).get(field) ?? [];
  const states = own.some(({ sets }) => sets === field);
  const plain = own.filter((row) => {
    const { path, type, fields, values, deprecated, sets } = row;
    if (deprecated !== undefined || path.includes('*')) return false;
    if (states) return sets === field && wordOf(row, value) !== undefined;
    return (
      fields?.[0] === field &&
      ((kind === 'integer' && (type === 'integer' || type === 'any') && typeof value === 'number') ||
        (kind === 'number' && (type === 'number' || type === 'integer')) ||
        (kind === 'flag' && type === 'boolean' && fields.length === 1) ||
        // Names of GPUs are ours: platforms have names of their own.
        (kind === 'text' && path.startsWith('run.')) ||
        (kind === 'choice' && type === 'string' && (values?.includes(value as string) ?? false))) &&
      (kind !== 'integer' || type !== 'any' || fields.length === 1)
    );
  });
  return (
    plain.find(({ path }) => text(path) !== undefined) ??
    plain.find((row) => row.alias === undefined && isOfRelease(row, run))
  );
}
