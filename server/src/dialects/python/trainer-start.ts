import type { PyCall, PyProgram, PyValue } from '../../config/python/value';

/** The call that starts a trainer, or what a function made of it: `train_on_responses_only(trainer)`. */
export const startOf = ({ calls }: PyProgram, { id }: PyCall): PyCall | undefined =>
  calls.find(
    ({ callee, of }) => callee === 'train' && of !== undefined && (of.id === id || isGiven(calls[of.id], id)),
  );

/** Whether a call is given what another made. */
export const isGiven = (call: PyCall | undefined, id: number): boolean =>
  call !== undefined &&
  [...call.positional, ...call.named.map(({ value }: { readonly value: PyValue }) => value)].some(
    (value) => value.kind === 'object' && value.id === id,
  );
