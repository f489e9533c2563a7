import type { KeySpec } from '../dialects/dialect';
import { FIELD_JSON_TYPES } from '../dialects/oomlint-run';
import { FIELD_PATHS, FIELDS, type FieldPath, type FieldSpec } from '../run/fields';
import { findField, shortAlias } from '../run/parse-field';
import { isRuleId, RULES } from './rules';

/** Levels of a rule, as they are written. */
const LEVEL_WORDS: readonly string[] = ['off', 'hint', 'information', 'warning', 'error'];

/** Sections of an `oomlint.yaml` and the keys that only they have. */
export const PROJECT_SECTIONS: readonly KeySpec[] = [
  { path: 'targets', type: 'object', doc: 'The hardware that the runs below this folder go to.' },
  { path: 'defaults', type: 'object', doc: 'Facts for every config below this folder.' },
  { path: 'files', type: 'array', doc: 'Facts for some configs: later entries win over earlier ones.' },
  {
    path: 'measured',
    type: 'array',
    doc: 'What runs measured, for runs that are still like them: written by `oomlint measured RUN --learn`.',
  },
  {
    path: 'vocabularies',
    type: 'array',
    doc: 'Files that teach Oomlint the flags of a team, relative to this one.',
  },
  {
    path: 'rules',
    type: 'object',
    doc: 'How bad the problems of a rule are, or that they are not reported.',
  },
  {
    path: 'files.match',
    type: 'string',
    doc: 'The configs that the entry is about: patterns as in .gitignore, relative to this folder.',
  },
  { path: 'measured.source', type: 'string', doc: 'Log or folder of the run.' },
  {
    path: 'measured.when',
    type: 'object',
    doc: 'What the run was: with other values its facts do not count.',
  },
  {
    path: 'measured.keys',
    type: 'object',
    doc: 'Keys at the top of the config, such as the data set, with the values that they had.',
  },
];

/** The English sentence about a section or one of its own keys. */
export function sectionText(path: string): string {
  return PROJECT_SECTIONS.find((row) => row.path === path)?.doc ?? path;
}

/** Rows of an `oomlint.yaml`: its sections, the fields by their short names, the rules. */
export function projectKeys(): readonly KeySpec[] {
  const hardware = FIELD_PATHS.filter((field) => field.startsWith('hardware.'));
  return [
    ...PROJECT_SECTIONS,
    ...hardware.map((field) => fieldRow('targets', field)),
    ...['defaults', 'files'].flatMap((group) => FIELD_PATHS.map((field) => fieldRow(group, field))),
    ...Object.keys(RULES).map((name) => ruleRow(name)),
  ];
}

/** The row of a key; any name of a field will do, nested or dotted, in a section or at the top. */
export function projectRow(path: readonly string[]): KeySpec | undefined {
  const [first = '', ...rest] = path.filter((part) => !/^\[\d+\]$/.test(part));
  const own = projectKeys().find((row) => row.path === [first, ...rest].join('.'));
  if (own) return own;
  const isFacts = first === 'targets' || first === 'defaults' || first === 'files';
  const field = findField((isFacts ? rest : [first, ...rest]).join('.'));
  return field && fieldRow(isFacts ? first : 'defaults', field);
}

function fieldRow(section: string, field: FieldPath): KeySpec {
  const spec: FieldSpec = FIELDS[field];
  return {
    path: `${section}.${shortAlias(field)}`,
    type: FIELD_JSON_TYPES[spec.type],
    doc: spec.doc,
    fields: [field],
    ...(spec.type === 'choice' && { values: spec.values }),
  };
}

function ruleRow(name: string): KeySpec {
  const summary = isRuleId(name) ? RULES[name].summary : name;
  return { path: `rules.${name}`, type: 'string', doc: summary, values: LEVEL_WORDS };
}
