import { fieldSchema } from '../run/field-schema';
import { FIELD_PATHS, FIELDS, type FieldSpec } from '../run/fields';
import type { Dialect, KeySpec } from './dialect';

type Schema = Readonly<Record<string, unknown>>;

const DRAFT = 'http://json-schema.org/draft-07/schema#';
/** Spellings of flags that YAML readers and Pydantic accept. */
const FLAG_WORDS = ['true', 'false', 'yes', 'no', 'on', 'off', 'True', 'False'];

interface Branch {
  spec?: KeySpec;
  readonly children: Map<string, Branch>;
}

/** JSON Schema (draft 7) of a config family, made from its key table: for editors that complete from schemas. */
export function schemaOf(dialect: Dialect): Schema {
  const tree: Branch = { children: new Map() };
  for (const spec of dialect.keys) {
    let branch = tree;
    for (const segment of spec.path.split('.')) {
      const next = branch.children.get(segment) ?? { children: new Map() };
      branch.children.set(segment, next);
      branch = next;
    }
    branch.spec = spec;
  }
  const properties = dialect.schema?.ofFields ? { run: runSchema(tree) } : propertiesOf(tree, dialect);
  return {
    $schema: DRAFT,
    title: `${dialect.name} config`,
    description: `Keys of ${dialect.name} that Oomlint knows.`,
    type: 'object',
    properties,
    ...(dialect.schema?.required ? { required: dialect.schema.required } : {}),
  };
}

function propertiesOf(branch: Branch, dialect: Dialect): Schema {
  return Object.fromEntries(
    [...branch.children].map(([name, child]) => [name, branchSchema(child, dialect)]),
  );
}

function branchSchema(branch: Branch, dialect: Dialect): Schema {
  const { spec } = branch;
  const inner = branch.children.size > 0 ? { properties: propertiesOf(branch, dialect) } : {};
  if (!spec) return { type: 'object', ...inner };
  return {
    description: spec.doc,
    ...(spec.default === undefined ? {} : { default: spec.default }),
    ...(spec.deprecated === undefined ? {} : { deprecated: true }),
    ...valueSchema(spec, dialect),
    ...inner,
  };
}

/** Values that something fills in when the run starts: OmegaConf, the environment, a template. */
const FILLED: Schema = { type: 'string', pattern: '\\$[{(\\w]|\\{\\{|^`' };
/** Python's YAML reads `1e-5` as text, and the tools make a number of it. */
const NUMERIC: Schema = { type: 'string', pattern: '^\\s*[-+]?[\\d._]+([eE][-+]?\\d+)?\\s*$' };

function valueSchema(spec: KeySpec, dialect: Dialect): Schema {
  if (spec.type === 'any') return {};
  const { strict, blank, dropsAuto, instead } = dialect.schema ?? {};
  if (!strict) return lenientSchema(spec, instead ? [instead] : []);
  const accepted: Schema[] = [typeSchema(spec)];
  if (spec.type === 'boolean') accepted.push({ enum: [...FLAG_WORDS, 0, 1] });
  if (spec.type === 'string' && blank) accepted.push({ type: 'boolean' });
  if (spec.auto || (dropsAuto && spec.path.includes('.'))) accepted.push({ const: 'auto' });
  if (blank || spec.default === null) accepted.push({ type: 'null' });
  return accepted.length === 1 ? typeSchema(spec) : { anyOf: accepted };
}

/** As the key check judges: only keys that bear on the run, and never a blank or a value that is filled in. */
function lenientSchema(spec: KeySpec, more: readonly Schema[]): Schema {
  const usual = typeSchema(spec);
  const flags = spec.type === 'boolean' ? [{ enum: [...FLAG_WORDS, 0, 1] }] : [];
  // Editors complete from the first; anything is accepted.
  if (!spec.fields) return { anyOf: [usual, ...flags, {}] };
  const numbers = spec.type === 'integer' || spec.type === 'number' ? [NUMERIC] : [];
  return { anyOf: [usual, ...flags, ...numbers, FILLED, ...more, { type: 'null' }] };
}

function typeSchema(spec: KeySpec): Schema {
  if (spec.values) return { enum: spec.values };
  return { type: spec.type };
}

/** Fields nested by group, under their dotted path, and under their aliases. */
function runSchema(tree: Branch): Schema {
  const run = tree.children.get('run');
  const properties: Record<string, Schema> = {};
  for (const field of FIELD_PATHS) {
    const spec: FieldSpec = FIELDS[field];
    for (const name of [field, ...(spec.aliases ?? [])])
      properties[name] ??= { $ref: `#/properties/run/$defs/${field}` };
  }
  for (const [group, branch] of run?.children ?? []) {
    if (branch.children.size === 0) continue;
    const names = [...branch.children.keys()].filter((name) => `${group}.${name}` in properties);
    const nested = {
      type: 'object',
      description: branch.spec?.doc,
      properties: Object.fromEntries(
        names.map((name) => [name, { $ref: `#/properties/run/$defs/${group}.${name}` }]),
      ),
    };
    const short = properties[group];
    properties[group] = short ? { anyOf: [nested, short] } : nested;
  }
  return {
    type: 'object',
    description: run?.spec?.doc,
    properties,
    $defs: Object.fromEntries(FIELD_PATHS.map((field) => [field, fieldSchema(field)])),
  };
}
