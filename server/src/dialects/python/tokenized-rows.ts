import { codeOf, type PyCall, type PyProgram, type PyValue } from '../../config/python/value';
import { isAtLeast } from '../../terms/version';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';
import { readTokenizedLength } from './tokenized-length';

/** First release whose trainer takes samples that have tokens as they are, whatever else it is passed (`sft_trainer.py`, `is_processed`). */
const TAKES_TOKENS = '0.14';
/** How many calls data is followed back through. */
const DEEPEST = 12;

/** Whether a function of the file makes tokens of samples: it names their column, or gives back what a tokenizer makes of them. */
function makesTokens(given: PyValue | undefined): boolean {
  if (given?.kind !== 'function') return false;
  const text = codeOf(given);
  return /["']input_ids["']/.test(text) || /(?:\breturn|:)\s+(?:self\.)?tokenizer\s*\(/.test(text);
}

const sourceOf = (value: PyValue | undefined): number | undefined =>
  value?.kind === 'object' ? value.id : value?.kind === 'unknown' ? value.of : undefined;

const mapsToTokens = (call: PyCall | undefined): boolean =>
  call?.callee === 'map' && makesTokens(argumentOf(call, 'function', 0));

/**
 * Whether what a trainer gets as data was brought into tokens by the file, followed back through what was done with it since. A part of it,
 * `data["train"]`, is not followed: of the file's data it is that of its last `map`.
 */
function isTokenized({ calls }: PyProgram, trainer: PyCall): boolean {
  const given = argumentOf(trainer, 'train_dataset');
  let id = sourceOf(given);
  if (id === undefined) {
    const last = calls.findLast(({ callee, id: at }) => callee === 'map' && at < trainer.id);
    return given?.kind === 'unknown' && mapsToTokens(last);
  }
  for (let depth = 0; id !== undefined && depth < DEEPEST; depth += 1) {
    const call: PyCall | undefined = calls[id];
    if (mapsToTokens(call)) return true;
    id = call?.of?.id ?? sourceOf(call?.positional[0]);
  }
  return false;
}

/**
 * The length of samples that the file brings into tokens itself, where TRL's trainer takes them: it cuts them once more to its own limit,
 * and packs them into blocks of that.
 */
export function readTokenizedRows(calls: Calls, trainer: PyCall, context: ReadContext): void {
  const { program, draft } = calls;
  const packs = draft.valueOf('batch.packed') === true;
  if (packs || isAtLeast(context.known['version.trl'], TAKES_TOKENS) === false) return;
  if (!isTokenized(program, trainer)) return;
  const limit = draft.valueOf('batch.sequence');
  const before = draft.facts.filter(({ field }) => field === 'batch.sequence');
  draft.forget('batch.sequence');
  readTokenizedLength(calls, trainer, context);
  const cut = draft.valueOf('batch.sequence');
  if (typeof cut === 'number' && (typeof limit !== 'number' || cut <= limit)) return;
  draft.forget('batch.sequence');
  draft.facts.push(...before);
}
