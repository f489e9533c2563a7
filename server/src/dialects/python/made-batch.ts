import { REPEATED } from '../../config/python/expressions';
import { isMadeOf } from '../../config/python/made-of';
import { isNone } from '../../config/python/node-of-value';
import { isText } from '../../config/python/texts';
import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import type { ModelChain } from './model-chain';

/** Arguments of a model that have a row for each sample. */
const OF_SAMPLES = /^(?:input_ids|inputs_embeds|input_values|pixel_values|labels)$/;
/** What makes a tensor of a list with a row for each of its items. */
const STACKS = /^torch\.(?:stack|tensor|as_tensor|LongTensor)$/;
/** What gives a tensor of as many samples. */
const SAME = /^(?:to|cuda|cpu|long|int|clone|detach|contiguous)$/;

const TOKENIZER = /Tokenizer\w*\.from_pretrained$/;

/** How many samples a batch has that the code makes, where that stands, and the texts that it is made of where they are written there. */
interface MadeBatch {
  readonly samples: number;
  readonly value: PyValue;
  readonly texts?: PyValue;
  /** There is one for each round of a loop over texts. */
  readonly each?: true;
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
      callee === '()' && id < before && TOKENIZER.test((of && calls[of.id]?.callee) ?? ''),
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

/** What brings samples together, or fills them up to be. */
const GATHERS = /(?:^|\.)(?:pad|pad_sequence|stack|cat|concat\w*|collate\w*)$/;

/** The one sample of a step whose model gets what a tokenizer makes of one text in the same round: `for text in texts: model(**tokenizer(text, return_tensors="pt"))`. */
export function oneText(
  { calls }: PyProgram,
  { ids }: ModelChain,
  { id: before, loops }: PyCall,
): MadeBatch | undefined {
  const inRound = (call: PyCall) =>
    call.id < before &&
    loops.length > 0 &&
    call.loops.length === loops.length &&
    call.loops.at(-1) === loops.at(-1);
  const forward = calls.findLast(
    (call) => call.callee === '()' && inRound(call) && call.of !== undefined && ids.has(call.of.id),
  );
  const tokenized = calls.filter(
    (call) =>
      call.callee === '()' && inRound(call) && TOKENIZER.test((call.of && calls[call.of.id]?.callee) ?? ''),
  );
  const [made] = tokenized;
  const [text] = made?.positional ?? [];
  if (!forward || !made || !text || tokenized.length > 1 || made.id > forward.id || !isText(text))
    return undefined;
  const isTensor = made.named.some(({ key, value }) => key === 'return_tensors' && !isNone(value));
  const given = [...forward.positional, ...forward.named.map(({ value }) => value)];
  const gets =
    forward.open !== undefined ||
    given.some((value) => isMadeOf(value, made.id, calls) || ofCall(value) === made.id);
  const gathers = calls.some(({ callee, id }) => id > made.id && id < forward.id && GATHERS.test(callee));
  return isTensor && gets && !gathers ? { samples: 1, value: text, texts: text, each: true } : undefined;
}

const ofCall = (value: PyValue): number | undefined => (value.kind === 'unknown' ? value.of : undefined);

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
