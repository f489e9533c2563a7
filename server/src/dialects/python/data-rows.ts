import { hasOtherEntries } from '../../config/python/changed-entries';
import { isTrue, stringOf } from '../../config/python/node-of-value';
import type { DataStep, Passed, PyCall, PyProgram, PyValue } from '../../config/python/value';
import { argumentOf } from './call-block';

/** Samples of the parts of a data set. */
type Parts = ReadonlyMap<string, number>;
/** Samples of data, or of its parts; undefined where that is not known. */
type Rows = number | Parts | undefined;

/**
 * Samples of published data sets that notebooks evaluate on, as `datasets` counts them while it makes their parts: printed by
 * https://huggingface.co/docs/transformers/tasks/image_captioning, https://github.com/huggingface/notebooks/blob/5068b1142e8ed1e691c8b1e9f98e4473ebe55790/examples/speech_recognition.ipynb
 * and https://github.com/unslothai/notebooks/blob/bdda2efc7ad5ae129ea63cd2065d23c391406283/nb/Whisper.ipynb.
 */
const PUBLISHED: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'lambdalabs/pokemon-blip-captions': { train: 833 },
  timit_asr: { train: 4620, test: 1680 },
  'Etherll/kaira': { train: 1195 },
};

/** Methods that leave as many samples as there were. */
const KEEPS =
  /^(?:shuffle|sort|flatten|flatten_indices|(?:remove|rename|select|add)_columns?|cast|cast_column|class_encode_column|(?:set|with)_(?:format|transform))$/;
const DEEPEST = 24;

const numberOf = (value: PyValue | undefined): number | undefined =>
  value?.kind === 'scalar' && typeof value.value === 'number' ? value.value : undefined;

const ofEach = (rows: Rows, make: (count: number) => number): Rows =>
  rows === undefined || typeof rows === 'number'
    ? rows === undefined
      ? undefined
      : make(rows)
    : new Map([...rows].map(([name, count]) => [name, make(count)]));

/** `train`, `train[:5000]`, `train[100:200]`: so many of them where nobody knows how many there are. */
function ofSplit(split: string, published: Parts | undefined): number | undefined {
  const [, name = '', slice, from = '', to = ''] = /^(\w+)(\[(\d*):(\d*)\])?$/.exec(split) ?? [];
  const all = published?.get(name);
  if (slice === undefined) return all;
  if (to === '') return all === undefined ? undefined : Math.max(0, all - Number(from));
  return Math.max(0, Math.min(Number(to), all ?? Number.POSITIVE_INFINITY) - Number(from));
}

function loaded(call: PyCall): Rows {
  const path = stringOf(argumentOf(call, 'path', 0)) ?? '';
  const given = ['data_files', 'data_dir', 'revision'].some((name) => argumentOf(call, name));
  if (call.open || given || isTrue(argumentOf(call, 'streaming'))) return undefined;
  const parts = Object.hasOwn(PUBLISHED, path) && new Map(Object.entries(PUBLISHED[path] ?? {}));
  const split = argumentOf(call, 'split');
  if (!split) return parts || undefined;
  return ofSplit(stringOf(split) ?? '', parts || undefined);
}

/** As scikit-learn divides (`arrow_dataset.py`, `train_test_split`, https://github.com/huggingface/datasets/blob/4.4.1/src/datasets/arrow_dataset.py). */
function divided(rows: Rows, passed: Passed): Rows {
  const named = (name: string) => numberOf(passed.named.find(({ key }) => key === name)?.value);
  if (passed.named.some(({ key }) => key === 'train_size')) return undefined;
  const first = passed.positional[0];
  const size = first
    ? numberOf(first)
    : passed.named.some(({ key }) => key === 'test_size')
      ? named('test_size')
      : 0.25;
  const all = typeof rows === 'number' ? rows : undefined;
  if (size === undefined) return undefined;
  const test = size >= 1 ? size : all === undefined ? undefined : Math.ceil(size * all);
  if (test === undefined) return undefined;
  return new Map([['test', test], ...(all === undefined ? [] : [['train', all - test] as const])]);
}

/** A function that is given batches may give more samples than it got, unless the columns that were there stay. */
const mayMultiply = ({ named, open }: Passed): boolean =>
  open !== undefined ||
  (named.some(({ key, value }) => key === 'batched' && !(value.kind === 'scalar' && value.value === false)) &&
    named.some(({ key }) => key === 'remove_columns'));

function after(rows: Rows, step: DataStep): Rows {
  if ('key' in step) return typeof rows === 'object' ? rows.get(step.key) : undefined;
  const { method, passed } = step;
  if (KEEPS.test(method)) return rows;
  if (method === 'map') return mayMultiply(passed) ? undefined : rows;
  if (method === 'train_test_split') return divided(rows, passed);
  const given =
    passed.positional[0] ?? passed.named.find(({ key }) => key === 'indices' || key === 'n')?.value;
  const taken =
    method === 'select' && given?.kind === 'unknown'
      ? numberOf(given.times)
      : method === 'take'
        ? numberOf(given)
        : undefined;
  return taken === undefined
    ? undefined
    : rows === undefined
      ? taken
      : ofEach(rows, (all) => Math.min(all, taken));
}

function rowsOfCall(program: PyProgram, id: number, depth: number): Rows {
  const call = program.calls[id];
  if (!call || depth > DEEPEST || hasOtherEntries(program, id)) return undefined;
  if (call.of)
    return after(rowsOfCall(program, call.of.id, depth + 1), { method: call.callee, passed: call });
  if (/(?:^|\.)load_dataset$/.test(call.callee)) return loaded(call);
  return /^tqdm\./.test(call.callee) ? rowsOf(program, call.positional[0], depth + 1) : undefined;
}

function rowsOf(program: PyProgram, value: PyValue | undefined, depth = 0): Rows {
  if (value?.kind === 'object' && value.item === undefined) return rowsOfCall(program, value.id, depth);
  if (value?.kind !== 'unknown' || !value.data) return undefined;
  return value.data.steps.reduce(after, rowsOfCall(program, value.data.of, depth));
}

/** How many samples data has, as far as the text and what is published of it tell. */
export function samplesIn(program: PyProgram, data: PyValue | undefined): number | undefined {
  const rows = rowsOf(program, data);
  return typeof rows === 'number' && rows > 0 ? rows : undefined;
}
