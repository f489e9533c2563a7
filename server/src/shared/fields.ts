/** The fields of a run, as an editor asks for their values. Part of the door through which the client sees the engine. */

export { accelerators } from '../../data/gpus.json';
export { default as popular } from '../../data/popular.json';
export { FIELDS, type FieldSpec, isFieldPath, type RunValues } from '../run/fields';
export { findField, parseFact, shortAlias } from '../run/parse-field';
