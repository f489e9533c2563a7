import type { FieldPath } from './fields';

/** A model named by a path is a path: it starts like one or ends in `.json`. */
export function modelField(value: unknown): FieldPath {
  const isPath =
    typeof value === 'string' && (/^(?:[./~\\]|[a-z]:[\\/])/i.test(value) || value.endsWith('.json'));
  return isPath ? 'model.path' : 'model.id';
}
