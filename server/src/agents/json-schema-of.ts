import * as z from 'zod/mini';

/** The schema of a tool's input or answer, as JSON Schema. */
export function jsonSchemaOf(schema: z.ZodMiniObject): Readonly<Record<string, unknown>> {
  const { $schema: _draft, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}
