import { REPEATED } from '../../config/python/expressions';
import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import type { ModelChain } from './model-chain';

/** Arguments of a model that have a row for each sample. */
const OF_SAMPLES = /^(?:input_ids|inputs_embeds|input_values|pixel_values|labels)$/;
/** What makes a tensor of a list with a row for each of its items. */
const STACKS = /^torch\.(?:stack|tensor|as_tensor|LongTensor)$/;
/** What gives a tensor of as many samples. */
const SAME = /^(?:to|cuda|cpu|long|int|clone|detach|contiguous)$/;

/** How many samples a batch has that the code makes, where that stands, and the texts that it is made of where they are written there. */
interface MadeBatch {
  readonly samples: number;
  readonly value: PyValue;
  readonly texts?: PyValue;
}

/** Samples of the tensors that the code itself gives the model before a step; undefined where it does not say how many there are. */
export function madeSamples(
  { calls }: PyProgram,
  { ids }: ModelChain,
  { id: before }: PyCall,
): MadeBatch | undefined {
  const forward = calls.findLast(
    ({ callee, of, id, named }) =>
      callee === '()' &&
      id < before &&
      ((of && ids.has(of.id)) || named.some(({ key }) => OF_SAMPLES.test(key) && key !== 'labels')),
  );
  const given = forward && [
    ...forward.named.filter(({ key }) => OF_SAMPLES.test(key)).map(({ value }) => value),
    ...forward.positional.slice(0, 1),
  ];
  for (const value of given ?? []) {
    const samples = rowsOf(calls, value);
    if (samples !== undefined) return { samples, value };
  }
  return undefined;
}

/** Samples of the one batch of a program that repeats what a tokenizer makes of a text, or of several, and gives the model all of it. */
export function repeatedSamples(
  { calls }: PyProgram,
  { ids }: ModelChain,
  { id: before }: PyCall,
): MadeBatch | undefined {
  const forward = calls.findLast(
    ({ callee, of, id, open }) => callee === '()' && id < before && open && of && ids.has(of.id),
  );
  const tokenized = calls.filter(
    ({ callee, of, id }) =>
      callee === '()' &&
      id < before &&
      /Tokenizer\w*\.from_pretrained$/.test((of && calls[of.id]?.callee) ?? ''),
  );
  const repeats = calls.filter(({ callee, id }) => callee === REPEATED && id < before);
  const [only, times] = repeats.length === 1 ? (repeats[0]?.positional ?? []) : [];
  const [made] = tokenized;
  if (!forward || !made || tokenized.length > 1 || only?.kind !== 'object' || only.id !== made.id)
    return undefined;
  const [given] = made.positional;
  const rows = given?.kind === 'list' ? given.items.length : given?.kind === 'scalar' ? 1 : undefined;
  return given &&
    rows !== undefined &&
    times?.kind === 'scalar' &&
    typeof times.value === 'number' &&
    times.value > 0
    ? { samples: rows * times.value, value: times, texts: given }
    : undefined;
}

function rowsOf(calls: readonly PyCall[], value: PyValue | undefined): number | undefined {
  if (value?.kind === 'unknown') return value.rows;
  if (value?.kind === 'either') {
    const [rows, ...others] = value.options.map((option) => rowsOf(calls, option));
    return others.every((other) => other === rows) ? rows : undefined;
  }
  const call = value?.kind === 'object' && value.item === undefined ? calls[value.id] : undefined;
  if (!call) return undefined;
  const [first] = call.positional;
  if (call.of && call.callee === 'unsqueeze')
    return first?.kind === 'scalar' && first.value === 0 ? 1 : undefined;
  if (call.of && SAME.test(call.callee)) return rowsOf(calls, call.of);
  return !call.of && STACKS.test(call.callee) && first?.kind === 'list' ? first.items.length : undefined;
}
