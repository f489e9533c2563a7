import { isNone, knownNode } from '../../config/python/node-of-value';
import type { PyProgram, PyValue } from '../../config/python/value';
import { integerOf } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import type { Draft } from '../draft';

/** Sizes of `ParallelismConfig` (accelerate 1.15, `parallelism_config.py`), and the fields that they are. */
const SIZES: Readonly<Record<string, FieldPath>> = {
  tp_size: 'parallel.tensor',
  cp_size: 'parallel.context',
  sp_size: 'parallel.ulysses',
  dp_replicate_size: 'parallel.replicate',
};

/**
 * `ParallelismConfig(tp_size=2, ...)` as a dictionary of what its call states. One that is made of nothing takes its sizes from the
 * environment, and one that is made elsewhere is not known.
 */
export function parallelismOf(program: PyProgram, value: PyValue): PyValue {
  const made = value.kind === 'object' && value.item === undefined ? program.calls[value.id] : undefined;
  if (!made || !/(^|\.)ParallelismConfig$/.test(made.callee)) return value;
  if (made.named.length === 0 || made.open) return { kind: 'unknown', range: value.range };
  return {
    kind: 'dict',
    range: value.range,
    entries: made.named.filter(({ key }) => Object.hasOwn(SIZES, key)),
  };
}

/** States the sizes that `Accelerator(parallelism_config=...)` is given; false where nobody sees them. */
export function stateSizes(program: PyProgram, draft: Draft, value: PyValue): boolean {
  const given = parallelismOf(program, value);
  if (given.kind !== 'dict') return isNone(value);
  for (const { key, value: size, used } of given.entries) {
    const field = Object.hasOwn(SIZES, key) ? SIZES[key] : undefined;
    const count = integerOf(knownNode(size));
    if (field && count !== undefined) draft.state(field, count, size, key);
    else if (field) draft.leaveUncounted({ range: used }, key, [field]);
  }
  return true;
}
