import { attributesOf } from './functions';
import type { Machine } from './machine';
import type { DataStep, Passed, PyProgram, PyUnknown, PyValue } from './value';

/** Under this name stands, among the attributes of an object, that its entries are no longer those that it was made with. */
const ENTRIES = '[*]';

/** Methods of a data set that give samples with the same columns and contents, or fewer of them. */
export const KEEPS_CONTENT =
  /^(?:shuffle|select|filter|take|skip|shard|sort|train_test_split|flatten_indices|(?:remove|rename|select)_columns?|cast|cast_column|class_encode_column|with_format|to_iterable_dataset)$/;

/** Methods that change a data set in place: a transform runs where samples are taken. */
const CHANGES = /^set_transform$/;

/** `data["train"] = data["train"].map(tokenize)`. */
export function changeEntries(machine: Machine, owner: PyValue): void {
  const id = owner.kind === 'object' ? owner.id : owner.kind === 'unknown' ? owner.entryOf : undefined;
  if (id !== undefined) attributesOf(machine, id).set(ENTRIES, { kind: 'unknown', range: owner.range });
}

export const hasOtherEntries = ({ attributes }: Pick<PyProgram, 'attributes'>, id: number): boolean =>
  attributes.get(id)?.has(ENTRIES) === true;

/** Steps from data to what a name stands for that are kept. */
const MOST_STEPS = 24;

const withStep = (data: NonNullable<PyUnknown['data']>, step: DataStep): Pick<PyUnknown, 'data'> =>
  data.steps.length < MOST_STEPS ? { data: { ...data, steps: [...data.steps, step] } } : {};

/** A part of data by its name: of what a call made, or of what was done with a part of that. */
export function partOfData(
  machine: Machine,
  owner: PyValue | undefined,
  key: string,
): Pick<PyUnknown, 'data'> {
  if (owner?.kind === 'unknown' && owner.data) return withStep(owner.data, { key });
  return owner?.kind === 'object' && !hasOtherEntries(machine, owner.id)
    ? { data: { of: owner.id, steps: [{ key }] } }
    : {};
}

/** What a method makes of a part of data. */
export const dataAfter = ({ data }: PyUnknown, method: string, passed: Passed): Pick<PyUnknown, 'data'> =>
  data ? withStep(data, { method, passed }) : {};

/** Whether what a method of an entry gives is still an entry as it was made, perhaps with fewer samples. */
export function entryAfter(
  machine: Machine,
  owner: PyUnknown,
  method: string,
  { open }: Passed,
): { readonly entryOf?: number } {
  if (CHANGES.test(method)) changeEntries(machine, owner);
  return owner.entryOf !== undefined && !open && KEEPS_CONTENT.test(method) ? { entryOf: owner.entryOf } : {};
}
