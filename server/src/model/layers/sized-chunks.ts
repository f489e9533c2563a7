import type { LossKind } from '../../terms/losses';
import { ELEMENT_BYTES } from '../tape';
import type { TraceSettings } from '../trace-settings';

/** What chunks of a loss may take (`unsloth_zoo/fused_losses/cross_entropy_loss.py`, `_CE_TARGET_GB_CAP`); half of what is free, where that is less. */
const CHUNK_BUDGET_BYTES = 4 * 2 ** 30;
/** Bytes counted for each logit (`_CE_BYTES_PER_LOGIT`). */
const BUDGETED_LOGIT_BYTES = 16;

const budgetOf = (free = Number.POSITIVE_INFINITY) => Math.min(free / 2, CHUNK_BUDGET_BYTES);

/** Tokens of one chunk: the count of chunks is one, or a multiple of four (`get_chunk_size`). `fixed`: bytes that no chunking lessens. */
export function sizedChunk(
  tokens: number,
  rows: number,
  fixed: number,
  { loss, freeBytes }: Pick<TraceSettings, 'loss' | 'freeBytes'>,
): number {
  if (loss !== 'budgeted-chunks') return freeChunk(tokens, rows, loss === 'half-free-chunks', freeBytes);
  const half = budgetOf(freeBytes);
  const budget = fixed < half ? half - fixed : half;
  const exact = (tokens * rows * BUDGETED_LOGIT_BYTES) / budget;
  const chunks = exact <= 1 ? 1 : Math.min(tokens, 4 * Math.ceil(exact / 4));
  return Math.ceil(tokens / chunks);
}

/**
 * The same where half of what is free is the budget whatever the card, and each logit counts as fp32 (`cross_entropy_loss.py` of
 * 2025.9.1 to 2026.9.3). Fours of chunks were rounded to the nearest count, so that one chunk took as much as all that was free, and
 * upwards since 2026.7.1. `free`: bytes; unset: enough.
 */
function freeChunk(tokens: number, rows: number, upwards: boolean, free = Number.POSITIVE_INFINITY): number {
  const exact = (tokens * rows * ELEMENT_BYTES.fp32) / (free / 2);
  if (upwards && exact <= 1) return tokens;
  const fours = upwards ? Math.ceil(exact / 4) : nearest(exact / 4);
  return Math.ceil(tokens / Math.min(tokens, Math.max(1, 4 * fours)));
}

/** The nearest integer, of two the even one (Python's `round`). */
function nearest(value: number): number {
  const below = Math.floor(value);
  if (value - below === 0.5) return below % 2 === 0 ? below : below + 1;
  return Math.round(value);
}

/** Bytes of a token as a frozen head is given it, per feature. */
const INPUT_BYTES = ELEMENT_BYTES.bf16;

/**
 * The most tokens whose loss is computed in one chunk, over a frozen head of `rows` of `width` features; undefined where the longest batch
 * has the longest chunk: other losses cut into a fixed count of chunks, or into chunks of a fixed length.
 */
export function mostInOneChunk(
  loss: LossKind,
  rows: number,
  width: number,
  free: number,
): number | undefined {
  if (loss === 'budgeted-chunks')
    return Math.floor(budgetOf(free) / (rows * BUDGETED_LOGIT_BYTES + width * INPUT_BYTES));
  // Up to two chunks are nearer to none than to four.
  if (loss === 'free-chunks') return Math.floor(free / (rows * ELEMENT_BYTES.fp32));
  return loss === 'half-free-chunks' ? Math.floor(free / 2 / (rows * ELEMENT_BYTES.fp32)) : undefined;
}
