/** The fields of a run, as an editor asks for their values. Part of the door through which the client sees the engine. */

import gpus from '../../data/gpus.json';

export { default as popular } from '../../data/popular.json';
export { FIELDS, type FieldSpec, isFieldPath, type RunValues } from '../run/fields';
export { findField, parseFact, shortAlias } from '../run/parse-field';

/** Of a card what a list of them shows: a build of the client has no more of the table (`scripts/modules.mjs`). */
interface ListedCard {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly vendor: string;
  readonly architecture: string;
  readonly marketedGb: number;
  readonly denseFlops: { readonly bf16?: number; readonly fp16?: number };
}
export const accelerators: readonly ListedCard[] = gpus.accelerators;
