import type { PyCall, PyValue } from './value';

/** What loads a model from a checkpoint. */
export const LOADS = /(^|\.)from_pretrained$/;

/** The same, and what makes a model of its name otherwise: pipelines, and classes that load as they are made. */
export const MAKES =
  /(?:^|\.)(?:from_pretrained|pipeline|from_hparams|load_model|SentenceTransformer|SparseEncoder|CrossEncoder|LLM|\w+Pipeline)$/;

/** Methods whose answers hold nothing of the model: tokens, texts and vectors. */
const ANSWERS =
  /^(?:generate|decode|batch_decode|encode|encode_batch|classify_batch|predict|rank|similarity|transcribe)$/;
/** What answers with texts, labels and images when it is called. */
export const PIPES = /pipeline$|Pipeline\w*(?:\.from_pretrained)?$/;

/** A model that is called answers with tensors, which hold its weights by their graph alone. */
const answersOnly = ({ callee, of, graphless }: PyCall, calls: readonly PyCall[]): boolean =>
  of !== undefined &&
  (ANSWERS.test(callee) ||
    (callee === '()' && (graphless === true || PIPES.test(calls[of.id]?.callee ?? ''))));

/** Whether a value is what a call made, holds it, or was made by a call that was given it or is a method of it. */
export function isMadeOf(
  value: PyValue,
  id: number,
  calls: readonly PyCall[],
  seen: Set<number> = new Set(),
): boolean {
  if (value.kind === 'list') return value.items.some((item) => isMadeOf(item, id, calls, seen));
  if (value.kind === 'either') return value.options.some((one) => isMadeOf(one, id, calls, seen));
  if (value.kind === 'dict')
    return value.open === true || value.entries.some((entry) => isMadeOf(entry.value, id, calls, seen));
  if (value.kind !== 'object') return false;
  if (value.id === id) return true;
  const call = calls[value.id];
  if (!call || seen.has(value.id) || answersOnly(call, calls)) return false;
  seen.add(value.id);
  const given = [...call.positional, ...call.named.map((argument) => argument.value)];
  if (call.of) given.push(call.of);
  return given.some((one) => isMadeOf(one, id, calls, seen));
}
