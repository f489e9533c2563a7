import { ELEMENT_BYTES, type Tensor, type TensorDType, type Weight } from '../tape';
import type { Tracer } from '../tracer';

/** Logits that a chunk has at least (`unsloth_zoo/fused_losses/fused_linear.py`, `_MIN_LOGITS`), and tokens within which it stays. */
const LEAST_LOGITS = 512 * 151_936;
const TOKENS = { least: 512, most: 4096 } as const;
/** No chunk takes more (`_CHUNK_GB`); nor half of what is free, where that is less. */
const CHUNK_BYTES = 2 * 2 ** 30;
/** Bytes and columns of a tile of logits (`_BWD_TILE_BYTES`, `_SPLIT_COLS`), and fp32 numbers per token and split (`part`). */
const TILE_BYTES = 256 * 2 ** 20;
const SPLIT = 16_384;
const STATISTICS = 8;

const powerBelow = (x: number) => 2 ** Math.floor(Math.log2(Math.max(x, 1)));

/** What a chunk is sized by: tokens with a label, features, rows of the vocabulary, bytes of a logit and of all chunks together. */
interface Sizes {
  readonly scored: number;
  readonly width: number;
  readonly rows: number;
  readonly logit: number;
  readonly budget: number;
}

/** Tokens of a chunk (`fused_linear_rows`): a power of two near the tokens times features over vocabulary, as Liger takes them. */
function chunkTokens({ scored, width, rows, logit, budget }: Sizes): number {
  const least = Math.min(Math.max(powerBelow(LEAST_LOGITS / rows), TOKENS.least), TOKENS.most);
  const wanted = Math.min(Math.max(powerBelow((scored * width) / rows), least), TOKENS.most);
  return Math.min(wanted, Math.max(Math.floor(budget / (rows * logit)), 2), scored);
}

/** Tokens and columns of a tile (`_tiled_layout`). `narrow`: one split at a time, as small cards have it. */
function tileOf({ scored, rows, logit, budget: free }: Sizes, narrow: boolean) {
  const budget = Math.min(TILE_BYTES, free);
  const tokens = Math.max(Math.min(TOKENS.most, scored, Math.floor(budget / (SPLIT * logit))), 1);
  const wide = Math.max(Math.floor(budget / (tokens * logit)), SPLIT);
  const columns = narrow ? SPLIT : wide - (wide % SPLIT);
  return { tokens, columns: Math.min(columns, Math.ceil(rows / SPLIT) * SPLIT) };
}

/**
 * Bytes at the highest moment of Unsloth's cross-entropy over `input` of `[b, s, h]` (`fused_linear.py`, `_ce_impl`): a copy of the weight in
 * the type of the product; one buffer of a chunk's logits, in fp32 where the card multiplies into that, whose gradient takes their place;
 * the chunk's tokens, and their gradient in fp32 and in the type of the tokens. Where many tokens are scored and the head is frozen, tiles
 * of the vocabulary in place of chunks, with that gradient added up in fp32 (`_tiled_forward`).
 */
export function fusedChunkBytes(
  t: Tracer,
  input: Tensor,
  weight: Weight,
  dtype: TensorDType,
  rows: number,
): number {
  const { batch, freeBytes, lossTiles, halfLogits } = t.settings;
  const width = input.shape.at(-1) ?? 1;
  const bytes = ELEMENT_BYTES[dtype];
  const narrow = dtype === 'bf16' || dtype === 'fp16';
  // The last token of a sample has no label.
  const scored = Math.max(input.elements / width - batch, 1);
  const logit = narrow && halfLogits !== true ? ELEMENT_BYTES.fp32 : bytes;
  const budget = Math.min(CHUNK_BYTES, (freeBytes ?? Number.POSITIVE_INFINITY) / 2);
  const sizes: Sizes = { scored, width, rows, logit, budget };
  const copy = weight.dtype === dtype ? 0 : weight.localElements * bytes;
  const splits = Math.ceil(rows / SPLIT);
  const tiles = lossTiles !== undefined && scored >= lossTiles && narrow && !weight.trainable && splits > 2;
  if (tiles) {
    const { tokens, columns } = tileOf(sizes, lossTiles === 0);
    const ofToken = width * (bytes + ELEMENT_BYTES.fp32) + STATISTICS * splits * ELEMENT_BYTES.fp32;
    return copy + tokens * (columns * logit + ofToken);
  }
  const gradient = ELEMENT_BYTES.fp32 + ELEMENT_BYTES[input.dtype];
  return copy + chunkTokens(sizes) * (Math.ceil(rows / 8) * 8 * logit + width * (bytes + gradient));
}
