import type { Machine } from './machine';
import { childIn, type SyntaxNode } from './syntax-node';
import type { PyValue } from './value';

/** What cuts the tokens of a sample, or of a batch, is called so among the calls of a program. */
export const CUT_TOKENS = '[:n]';

/** The tokens of one sample: `batch["input_ids"][i]`. */
const SAMPLE = /\[(["'])input_ids\1\]\[[^\]:]+\]$/;
/** The tokens of a batch: `input_ids`, `batch["input_ids"]`, `batch.input_ids`. */
const BATCH = /(?:^|\.)input_ids$|\[(["'])input_ids\1\]$/;

/** Whether a place holds the tokens of one sample: `batch["input_ids"][i]`, a name in `__getitem__`, or one that was asked how many tokens it has. */
function isSample(machine: Machine, place: SyntaxNode): boolean {
  const text = machine.textOf(place);
  if (place.type === 'subscript') return SAMPLE.test(text);
  if (place.type !== 'identifier' || text !== 'input_ids') return false;
  // What gives one sample of a dataset of the file's own.
  const around = machine.running.at(-1);
  const name = around && childIn(around, 'name');
  if (name && machine.textOf(name) === '__getitem__') return true;
  const asked = machine.asked.at(-1);
  return asked !== undefined && /^len\(input_ids\)\s*>/.test(machine.textOf(asked));
}

/** How many tokens a slice leaves: those up to the length, `[:n]`, or the last ones, `[-n:]`. */
function tokensLeft(machine: Machine, slice: SyntaxNode): PyValue | undefined {
  const [end] = slice.children;
  if (slice.type !== 'slice' || !end || slice.children.length !== 1) return undefined;
  const text = machine.textOf(slice).trim();
  if (text.startsWith(':')) return machine.evaluate(machine, end);
  const isFromEnd = end.type === 'unary_operator' && end.tokens[0] === '-' && text.endsWith(':');
  return isFromEnd ? machine.evaluate(machine, childIn(end, 'argument')) : undefined;
}

/**
 * Tokens that are cut in their place are noted as a call of `CUT_TOKENS` with the length: those of a sample, `batch["input_ids"][i] =
 * batch["input_ids"][i][:length]`, or where they are too many (`if len(input_ids) > length: input_ids = input_ids[:length]`), and those of a batch,
 * `input_ids = input_ids[:, :length]`.
 */
export function noteCutTokens(machine: Machine, target: SyntaxNode, value: SyntaxNode): void {
  const ofSample = isSample(machine, target);
  const ofBatch = BATCH.test(machine.textOf(target));
  if (!ofSample && !ofBatch) return;
  const [owner, ...indices] = value.type === 'subscript' ? value.children : [];
  const last = indices.at(-1);
  if (!owner || last?.type !== 'slice') {
    const inner = childIn(value, 'arguments')?.children ?? [];
    for (const child of inner) noteCutTokens(machine, target, child);
    return;
  }
  const rows = indices.slice(0, -1);
  const isOfBatch =
    ofBatch &&
    rows.length === 1 &&
    rows.every((row) => machine.textOf(row).trim() === ':') &&
    machine.textOf(owner) === machine.textOf(target);
  const isOfSample = ofSample && rows.length === 0 && isSample(machine, owner);
  const left = isOfBatch || isOfSample ? tokensLeft(machine, last) : undefined;
  if (!left) return;
  const range = machine.rangeOf(value);
  const places = { range, calleeRange: machine.rangeOf(last), argumentsRange: range };
  machine.record({ positional: [left], named: [], callee: CUT_TOKENS, ...places });
}
