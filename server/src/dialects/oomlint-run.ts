import { entryOf } from '../config/lookup';
import type { ConfigDocument, ConfigNode, MapEntry, MapNode } from '../config/node';
import { isBlank, plainOf } from '../config/scalar';
import { FIELD_PATHS, FIELDS, type FieldPath, type FieldSpec, isFieldPath } from '../run/fields';
import { modelField } from '../run/model-field';
import { fieldNames, findField, parseFact } from '../run/parse-field';
import { locationOf } from '../text/place';
import { suggested } from '../wording/closest';
import { say } from '../wording/say';
import type { Dialect, KeySpec, ReadContext, Reading } from './dialect';
import { Draft } from './draft';
import type { JsonType } from './framework-keys';
import { type Words, word } from './words';

/** Every field is stated by its name. */
const ownWords: Words = Object.fromEntries(
  FIELD_PATHS.map((field) => [field, (value: never) => [word(`run.${field}`, value)]]),
);

/** Groups of the vocabulary: `batch`, `optimizer`, ... */
const GROUPS: ReadonlySet<string> = new Set(
  FIELD_PATHS.filter((path) => path.includes('.')).map((path) => path.slice(0, path.indexOf('.'))),
);

function detectRun(root: ConfigNode, fileName: string): number {
  const run = entryOf(root, 'run')?.value;
  if (!run) return 0;
  if (/\.oomlint\.(ya?ml|jsonc?)$/i.test(fileName) && (run.kind === 'map' || isBlank(run))) return 1;
  if (run.kind !== 'map') return 0;
  const known = run.entries.filter((entry) => isVocabulary(entry)).length;
  // Launchers of other tools have a `run:` mapping, too: most of its keys must be ours.
  return known > 0 && known * 2 >= run.entries.length ? 1 : 0;
}

function isVocabulary(entry: MapEntry): boolean {
  const { key, value } = entry;
  if (isFieldPath(key) && key.includes('.')) return true;
  if (value.kind === 'map' && GROUPS.has(key)) {
    return (
      value.entries.length === 0 ||
      value.entries.some((inner) => findField(`${key}.${inner.key}`) !== undefined)
    );
  }
  if (GROUPS.has(key) && isBlank(value)) return true;
  return value.kind === 'scalar' && findField(key) !== undefined;
}

function readRun(document: ConfigDocument, _context: ReadContext): Reading {
  const draft = new Draft(document);
  const run = entryOf(document.root, 'run')?.value;
  if (run?.kind === 'map') readGroup(run, '', draft);
  return draft.reading();
}

function readGroup(group: MapNode, prefix: string, draft: Draft): void {
  for (const entry of group.entries) {
    const path = prefix === '' ? entry.key : `${prefix}.${entry.key}`;
    const field = fieldOf(path, entry.value);
    if (field) readField(field, entry, path, draft);
    else if (isGroup(path)) readInner(entry, path, draft);
    else reportUnknown(entry, path, prefix, draft);
  }
}

/** Field by its path or an alias; a mapping is a field only where the field takes an object. */
function fieldOf(path: string, value: ConfigNode): FieldPath | undefined {
  if (value.kind === 'map' && isGroup(path)) return undefined;
  const field = findField(path);
  return field === 'model.id' && path === 'model' ? modelField(plainOf(value)) : field;
}

function isGroup(path: string): boolean {
  return FIELD_PATHS.some((field) => field.startsWith(`${path}.`));
}

function readInner(entry: MapEntry, path: string, draft: Draft): void {
  if (entry.value.kind === 'map') readGroup(entry.value, path, draft);
  else if (!isBlank(entry.value)) {
    const inner = FIELD_PATHS.filter((field) => field.startsWith(`${path}.`)).map((field) =>
      field.slice(path.length + 1),
    );
    const message = say(
      '`{0}` is a group: {1}{2}.',
      path,
      inner.slice(0, 6).join(', '),
      inner.length > 6 ? ', ...' : '',
    );
    draft.report('wrong-type', 'error', message, entry.value.range, { data: { key: path } });
  }
}

function readField(field: FieldPath, entry: MapEntry, path: string, draft: Draft): void {
  const { value } = entry;
  // Blank while it is being typed: the default applies.
  if (isBlank(value)) return;
  const location = locationOf(value.range, draft.uri);
  const parsed = parseFact(field, plainOf(value), { kind: 'file', location, key: `run.${path}` });
  if ('error' in parsed) {
    draft.report('wrong-value', 'error', `\`${path}\`: ${parsed.error}`, value.range, { data: { field } });
    draft.facts.push(parsed.rejected);
    return;
  }
  draft.facts.push(parsed.value);
  if (parsed.value.field === 'model.path') {
    draft.links.push({ path: parsed.value.value, range: value.range, key: `run.${path}`, role: 'model' });
  }
}

function reportUnknown(entry: MapEntry, path: string, prefix: string, draft: Draft): void {
  const siblings = FIELD_PATHS.filter((field) => prefix === '' || field.startsWith(`${prefix}.`));
  const names =
    prefix === '' ? [...GROUPS, ...fieldNames()] : siblings.map((field) => field.slice(prefix.length + 1));
  const near = draft.near(entry.key, names, 2);
  const hint = suggested(near, '`');
  draft.report('unknown-key', 'error', say('There is no field `{0}`.{1}', path, hint), entry.keyRange, {
    data: near.length > 0 ? { replacement: near[0], suggestions: near } : { key: path },
  });
}

let keys: readonly KeySpec[] | undefined;

function keySpecs(): KeySpec[] {
  const root: KeySpec = {
    path: 'run',
    type: 'object',
    doc: 'A training run, spelled out in the vocabulary of Oomlint.',
  };
  const groups = [...GROUPS].map((group): KeySpec => {
    const fields = FIELD_PATHS.filter((path) => path.startsWith(`${group}.`));
    const names = fields.map((path) => `\`${path.slice(group.length + 1)}\``).join(', ');
    // A group's short form, such as `zero: 3`, is an alias of one of its fields.
    return {
      path: `run.${group}`,
      type: findField(group) ? 'any' : 'object',
      doc: `Group of ${names}.`,
      sentences: [['Group of {0}.', names]],
    };
  });
  return [root, ...groups, ...FIELD_PATHS.filter((path) => !GROUPS.has(path)).map(keySpec)];
}

/** Types of fields as schemas and completion call them. */
export const FIELD_JSON_TYPES: Readonly<Record<FieldSpec['type'], JsonType>> = {
  text: 'string',
  integer: 'integer',
  number: 'number',
  flag: 'boolean',
  choice: 'string',
  list: 'array',
  object: 'object',
};

function keySpec(path: FieldPath): KeySpec {
  const spec: FieldSpec = FIELDS[path];
  // Sizes may be written with a unit (`80GiB`, `5e8`), lists with commas.
  const loose = (spec.type === 'integer' && spec.unit !== undefined) || spec.type === 'list';
  const { default: fallback } = spec;
  return {
    path: `run.${path}`,
    type: loose ? 'any' : FIELD_JSON_TYPES[spec.type],
    doc: spec.doc,
    fields: [path],
    ...(spec.type === 'choice' ? { values: spec.values } : {}),
    ...(typeof fallback === 'string' || typeof fallback === 'number' || typeof fallback === 'boolean'
      ? { default: fallback }
      : {}),
  };
}

/**
 * Oomlint's own file: a run spelled out field by field under `run:`, nested or with dotted keys, in YAML or JSON.
 * For runs whose framework has no config file, and for what-ifs.
 */
export const oomlintRun: Dialect = {
  id: 'oomlint-run',
  name: 'Oomlint run',
  ownScript: true,
  takesFieldValues: true,
  get keys() {
    keys ??= keySpecs();
    return keys;
  },
  words: ownWords,
  schema: { strict: true, required: ['run'], ofFields: true },
  // Not in comments, which like to say "to launch, run:".
  markers: /\brun["']?[ \t]*:|["']run["']\s*:/,
  detect: detectRun,
  read: readRun,
};
