import type { PyCall, PyDict, PyValue } from '../../config/python/value';
import type { Range } from '../../text/place';
import { argumentOf } from './call-block';
import { positiveNumber } from './image-sizes';

/** What takes images out of messages (`qwen_vl_utils/vision_process.py`, `fetch_image`). */
const TAKES_IMAGES = /(?:^|\.)process_vision_info$/;

interface PartSize {
  readonly pixels: number;
  readonly range: Range;
  readonly name: string;
}
export interface PartSizes {
  readonly exact: readonly PartSize[];
  readonly bounds: readonly PartSize[];
}
const NONE: PartSizes = { exact: [], bounds: [] };

const entryOf = ({ entries }: PyDict, key: string) => entries.find((entry) => entry.key === key)?.value;

/** Parts of messages that are images, however deep in lists. */
function imagesIn(value: PyValue | undefined): readonly PyDict[] {
  if (value?.kind === 'list') return value.items.flatMap(imagesIn);
  if (value?.kind !== 'dict') return [];
  return entryOf(value, 'image') ? [value] : imagesIn(entryOf(value, 'content'));
}

/** The size that a part states: both sides, which it is brought to, or the most pixels that it is left. */
function sizeOf(part: PyDict): { readonly exact?: PartSize; readonly bound?: PartSize } | undefined {
  const height = entryOf(part, 'resized_height');
  const [a, b] = [positiveNumber(height), positiveNumber(entryOf(part, 'resized_width'))];
  if (height && a !== undefined && b !== undefined)
    return { exact: { pixels: a * b, range: height.range, name: 'resized_height' } };
  const most = entryOf(part, 'max_pixels');
  const pixels = positiveNumber(most);
  return most && pixels !== undefined
    ? { bound: { pixels, range: most.range, name: 'max_pixels' } }
    : undefined;
}

/** Sizes that images of messages are given. Where one of them states none, or some state the one and some the other, the largest is not known. */
export function imagePartSizes(calls: readonly PyCall[]): PartSizes {
  const taken = calls.filter(({ callee }) => TAKES_IMAGES.test(callee));
  const parts = taken.map((call) => imagesIn(argumentOf(call, 'conversations', 0)));
  const sizes = parts.flat().map(sizeOf);
  if (parts.some(({ length }) => length === 0) || sizes.includes(undefined)) return NONE;
  const exact = sizes.flatMap((size) => size?.exact ?? []);
  const bounds = sizes.flatMap((size) => size?.bound ?? []);
  return exact.length > 0 && bounds.length > 0 ? NONE : { exact, bounds };
}
