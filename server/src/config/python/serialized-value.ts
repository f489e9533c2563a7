import type { PyValue } from './value';

/** The value that a text was made of (`json.dumps(settings)`); undefined of other values. */
export const serializedIn = (value: PyValue | undefined): PyValue | undefined =>
  value?.kind === 'unknown' ? value.serialized : undefined;
