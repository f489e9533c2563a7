import { ELEMENT_BYTES, type TensorDType, type Weight } from '../model/tape';
import { formatBytes } from '../wording/figures';
import { factor, say } from '../wording/say';

/** Sizes by which dimensions of a shape are named. Per GPU. */
export interface SampleSizes {
  readonly batch: number;
  readonly sequence: number;
}

const samples = (n: number) => say('{0} {0|sample|samples}', String(n));
const tokens = (n: number) => say('{0} {0|token|tokens}', String(n));
const heads = (n: number) => say('{0} {0|head|heads}', String(n));

/** `1 sample x 4096 tokens x 14336`. */
export function shapeWords(shape: readonly number[], { batch, sequence }: SampleSizes): string {
  const words = shape.map((size, dimension) => {
    const pairs = shape.length === 2 && shape[0] === batch && shape[1] === sequence;
    if (pairs) return dimension === 0 ? samples(size) : tokens(size);
    if (shape.length >= 3 && dimension === 0 && size === batch) return samples(size);
    if (shape.length === 4 && dimension === 1) return heads(size);
    const tokensAt = shape.length === 4 ? 2 : 1;
    if (shape.length >= 3 && dimension === tokensAt && size === sequence) return tokens(size);
    if (shape.length <= 2 && dimension === 0 && size === batch * sequence) return tokens(size);
    return String(size);
  });
  return words.length > 0 ? words.join(' × ') : '1';
}

/** A number without needless zeros, to six digits. */
export function short(value: number): string {
  return factor(String(Number(value.toPrecision(6))));
}

/** ` x 32`, or nothing for one. */
export function timesWords(count: number): string {
  return Math.abs(count - 1) < 1e-6 ? '' : ` × ${short(count)}`;
}

/** `2 B x 1 sample x 4096 tokens x 14336 = 112 MiB, x 32`. `bytes` are those of one, as allocated. */
export function tensorFormula(
  shape: readonly number[],
  dtype: TensorDType,
  bytes: number,
  count: number,
  sizes: SampleSizes,
): string {
  const width = ELEMENT_BYTES[dtype];
  const elements = shape.reduce((product, size) => product * size, 1);
  const exact = width * elements;
  const blocks = exact === bytes ? '' : ` ${say('in blocks of 512 B')}`;
  return `${width} ${say('B')} × ${shapeWords(shape, sizes)} = ${formatBytes(bytes)}${blocks}${timesWords(count)}`;
}

/**
 * `2 B x 4096 x 14336 x 32 / 8 GPUs`: bytes of a weight's copies. `shards`: GPUs that share them; `whole`: bytes per
 * element that each of them may hold beside its shard.
 */
export function weightFormula(
  weight: Weight,
  copies: number,
  bytes: number,
  shards: number,
  whole = 0,
): string {
  const perElement = bytes / (weight.localElements * copies);
  const elements = weight.shape.reduce((product, size) => product * size, 1);
  const ranks = Math.round(elements / weight.localElements);
  const split = ranks > 1 ? ` / ${say('{0} {0|rank|ranks}', ranks)}` : '';
  const gpus = say('{0} {0|GPU|GPUs}', shards);
  const over = shards > 1 ? ` / ${gpus}` : '';
  if (whole > 0 && Math.abs(perElement - whole / shards - whole) < 1e-9) {
    // Small weights of ZeRO 3: their shard, and the whole beside it.
    const both = say('({0} B / {1} + {0} B kept whole)', whole, gpus);
    return `${both} × ${weight.shape.join(' × ')}${timesWords(copies)}${split}`;
  }
  return `${short(perElement * shards)} ${say('B')} × ${weight.shape.join(' × ')}${timesWords(copies)}${split}${over}`;
}
