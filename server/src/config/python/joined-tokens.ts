import type { Machine } from './machine';
import type { SyntaxNode } from './syntax-node';
import type { PyUnknown, PyValue } from './value';

/** What puts the tokens of several texts together into one row is called so among the calls of a program, with the calls that made them. */
export const JOINED_TOKENS = 'a + b';

/** The calls whose tokens a value is: `tokens["input_ids"]`, `tokenizer.encode(text)`, or such that were put together. */
function madeOf(machine: Machine, value: PyValue): readonly number[] {
  if (value.kind === 'object')
    return value.item === undefined && machine.calls[value.id]?.callee === 'encode' ? [value.id] : [];
  if (value.kind !== 'unknown') return [];
  if (value.joins) return value.joins;
  return value.of !== undefined && machine.calls[value.of]?.callee === '()' ? [value.of] : [];
}

/** `question["input_ids"] + answer["input_ids"] + [end]`: undefined where no tokens are among them. Those of two texts are noted as a call. */
export function joinedTokens(
  machine: Machine,
  left: PyValue,
  right: PyValue,
  node: SyntaxNode,
): PyUnknown | undefined {
  const sides = [left, right].map((side) => madeOf(machine, side));
  const joins = sides.flat();
  if (joins.length === 0) return undefined;
  if (sides.every(({ length }) => length > 0)) {
    const range = machine.rangeOf(node);
    const positional = joins.map((id): PyValue => ({ kind: 'object', id, range }));
    const places = { range, calleeRange: range, argumentsRange: range };
    machine.record({ positional, named: [], callee: JOINED_TOKENS, ...places });
  } else if (![left, right].some(({ kind }) => kind === 'list')) return undefined;
  return machine.unknown(node, { joins });
}
