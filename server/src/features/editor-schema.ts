import { schemaOf } from '../dialects/json-schema';
import { DIALECTS } from '../dialects/registry';
import { vocabularySchema } from '../dialects/vocabulary/vocabulary-schema';
import { projectFileSchema } from '../workspace/project-schema';
import { schemaText } from './key-documentation';

type Schema = Readonly<Record<string, unknown>>;

/** What makes each JSON schema, by its name: of the families of configs by their id, of vocabularies and of project files. */
export const SCHEMAS: ReadonlyMap<string, () => Schema> = new Map<string, () => Schema>([
  ...DIALECTS.map((dialect) => [dialect.id, () => schemaOf(dialect)] as const),
  ['vocabulary', vocabularySchema],
  ['project-file', projectFileSchema],
]);

/** Whether there is a schema of that name: families that a workspace teaches have none. */
export const hasSchema = (name: string): boolean => SCHEMAS.has(name);

/** Families of configs: the server offers each value with what the run would need with it, which no schema can. */
const FAMILIES: ReadonlySet<string> = new Set(DIALECTS.map(({ id }) => id));

/**
 * A schema by which another extension completes and explains YAML: in the language of the person, and without complaints, which the
 * server reports itself, once. Null where there is none of that name.
 */
export function editorSchema(name: string): unknown {
  const make = SCHEMAS.get(name);
  if (!make) return null;
  const schema = lenient(explained(make()));
  return FAMILIES.has(name) ? withoutValues(schema) : schema;
}

/** In the language of the person. A property may be called `description`, too: what it holds is a schema, no text. */
function explained(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(explained);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, inner]) => [
      name,
      name === 'description' && typeof inner === 'string' ? schemaText(inner) : explained(inner),
    ]),
  );
}

/** A schema that completes and explains as before and accepts everything: the server knows what each tool coerces and fills in. */
function lenient(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(lenient);
  if (typeof schema !== 'object' || schema === null) return schema;
  const {
    type,
    enum: values,
    anyOf,
    required: _required,
    properties,
    $defs,
    default: byDefault,
    ...rest
  } = schema as Record<string, unknown>;
  const inner = {
    ...rest,
    ...(byDefault !== undefined ? { default: byDefault } : {}),
    ...(properties === undefined ? {} : { properties: each(properties) }),
    ...($defs === undefined ? {} : { $defs: each($defs) }),
  };
  // References to blocks are text, too: what is no object has no properties to be checked.
  if (type === 'object' || type === 'array') return inner;
  const accepted = Array.isArray(anyOf)
    ? anyOf.map(lenient)
    : values !== undefined || type !== undefined
      ? [{ ...(type === undefined ? {} : { type }), ...(values === undefined ? {} : { enum: values }) }]
      : [];
  return accepted.length === 0 ? inner : { ...inner, anyOf: [...accepted, {}] };
}

function each(properties: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties as Record<string, unknown>).map(([name, schema]) => [name, lenient(schema)]),
  );
}

/** A lenient schema that explains values and offers none. A property may be called `default`, too: what it holds is a schema. */
function withoutValues(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutValues);
  if (typeof schema !== 'object' || schema === null) return schema;
  const {
    enum: _values,
    default: _default,
    type,
    properties,
    $defs,
    ...rest
  } = schema as Record<string, unknown>;
  const types = [type].flat().filter((one) => one !== undefined && one !== 'boolean' && one !== 'null');
  const inner = Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, withoutValues(one)]));
  const named = (held: unknown) =>
    Object.fromEntries(
      Object.entries(held as Record<string, unknown>).map(([name, one]) => [name, withoutValues(one)]),
    );
  return {
    ...inner,
    ...(types.length === 0 ? {} : { type: types.length === 1 ? types[0] : types }),
    ...(properties === undefined ? {} : { properties: named(properties) }),
    ...($defs === undefined ? {} : { $defs: named($defs) }),
  };
}
