import type { PyCall } from './value';

/** Methods that give weights another type. */
const CASTS = /^(?:half|float|double|bfloat16|type)$/;

/** Whether a method of a model may change the type of its weights: one named for a type, or `to` of what is no plain device. */
export const castsWeights = ({ callee, positional, named }: PyCall): boolean =>
  CASTS.test(callee) ||
  (callee === 'to' &&
    [...positional, ...named.map(({ value }) => value)].some(({ kind }) => kind !== 'scalar'));
