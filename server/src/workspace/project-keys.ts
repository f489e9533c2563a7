import type { KeySpec } from '../dialects/dialect';
import type { JsonType } from '../dialects/framework-keys';
import { FIELD_JSON_TYPES } from '../dialects/oomlint-run';
import { FIELD_PATHS, FIELDS, type FieldPath, type FieldSpec } from '../run/fields';
import { findField, shortAlias } from '../run/parse-field';
import { say } from '../wording/say';
import { isRuleId, RULES } from './rules';

/** Levels of a rule, as they are written. */
const LEVEL_WORDS: readonly string[] = ['off', 'hint', 'information', 'warning', 'error'];

/** Rows of an `oomlint.yaml`, in the language of the person: its sections, the fields by their short names, the rules. */
export function projectKeys(): readonly KeySpec[] {
  const section = (path: string, type: JsonType, doc: string): KeySpec => ({ path, type, doc });
  const hardware = FIELD_PATHS.filter((field) => field.startsWith('hardware.'));
  return [
    section('targets', 'object', say('The hardware that the runs below this folder go to.')),
    section('defaults', 'object', say('Facts for every config below this folder.')),
    section('files', 'array', say('Facts for some configs: later entries win over earlier ones.')),
    section('measured', 'array', say('What runs measured, for runs that are still like them.')),
    section('vocabularies', 'array', say('Files that teach Oomlint the flags of a team.')),
    section('rules', 'object', say('How bad the problems of a rule are, or that they are not reported.')),
    section('files.match', 'string', say('The configs that the entry is about: patterns as in .gitignore.')),
    ...hardware.map((field) => fieldRow('targets', field)),
    ...['defaults', 'files'].flatMap((group) => FIELD_PATHS.map((field) => fieldRow(group, field))),
    ...Object.keys(RULES).map((name) => ruleRow(name)),
  ];
}

/** The row of a key; any name of a field will do, nested or dotted, in a section or at the top. */
export function projectRow(path: readonly string[]): KeySpec | undefined {
  const [first = '', ...rest] = path.filter((part) => !/^\[\d+\]$/.test(part));
  const sections = projectKeys();
  const own = sections.find((row) => row.path === [first, ...rest].join('.'));
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
