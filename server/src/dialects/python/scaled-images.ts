import type { PyAssignment, PyCall } from '../../config/python/value';
import { ASSUMED_SIDE } from '../../model/families/vision-tower';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';
import { longestEdge, mostPixels, pixelsOf, positiveNumber } from './image-sizes';
import { imagePartSizes, type PartSizes } from './message-images';

/** What brings an image to a size (PIL, OpenCV, torchvision, albumentations), with the place of the size among its arguments. */
const EXACT: readonly (readonly [RegExp, string, number])[] = [
  [/^resize$/, 'size', 0],
  [/(?:^|\.)ImageOps\.(?:fit|pad)$/, 'size', 1],
  [/^cv2\.resize$/, 'dsize', 1],
  [/^torchvision\.transforms\.(?:v2\.)?functional\.(?:resize|center_crop)$/, 'size', 1],
  [
    /^(?:torchvision|albumentations)\.(?:\w+\.)*(?:Resize|CenterCrop|RandomCrop|RandomResizedCrop)$/,
    'size',
    0,
  ],
];
/** What makes an image smaller that is larger than a size, and keeps its shape. */
const BOUNDS: readonly (readonly [RegExp, string, number])[] = [
  [/^thumbnail$/, 'size', 0],
  [/(?:^|\.)ImageOps\.contain$/, 'size', 1],
];
/** Processors by the last part of their names. */
const PROCESSOR = /Processor(?:Fast)?\.from_pretrained$/;
/** Models whose processor bounds the pixels of an image, also as the "longest edge" of its size (`image_processing_qwen2_vl.py`). */
const BOUNDS_PIXELS = /^(?:qwen2_vl|qwen2_5_vl|qwen3_vl|qwen3_vl_moe|qwen3_5|qwen3_5_moe|glm4v|glm4v_moe)$/;

interface Size {
  readonly pixels: number;
  readonly range: Range;
  readonly name: string;
}

/** Sizes that messages state of their images, where the model's own functions read them. */
const messageSizes = (calls: readonly PyCall[], type: string): PartSizes =>
  BOUNDS_PIXELS.test(type) ? imagePartSizes(calls) : { exact: [], bounds: [] };

function sizesBy(
  calls: readonly PyCall[],
  kinds: readonly (readonly [RegExp, string, number])[],
): readonly Size[] {
  return calls.flatMap((call): Size[] => {
    const kind = kinds.find(([callee]) => callee.test(call.callee));
    const pixels = kind && pixelsOf(call, kind[1], kind[2], false);
    if (pixels === undefined) return [];
    return [{ pixels, range: call.calleeRange, name: call.callee.split('.').at(-1) ?? '' }];
  });
}

/** The most pixels that a processor is asked to leave an image: `max_pixels`, and where it counts them so, `size`. */
function processorBounds(
  calls: readonly PyCall[],
  assignments: readonly PyAssignment[],
  type: string,
): readonly Size[] {
  if (!BOUNDS_PIXELS.test(type)) return [];
  const passed = calls.flatMap((call) =>
    PROCESSOR.test(call.callee)
      ? [argumentOf(call, 'max_pixels') ?? longestEdge(argumentOf(call, 'size'))]
      : [],
  );
  const set = assignments.flatMap(({ attribute, value }) =>
    /(?:^|\.)max_pixels$/.test(attribute)
      ? [value]
      : /(?:^|\.)image_processor\.size$/.test(attribute)
        ? [longestEdge(value)]
        : [],
  );
  return [...passed, ...set].flatMap((value): Size[] => {
    const pixels = positiveNumber(value);
    return value && pixels !== undefined ? [{ pixels, range: value.range, name: 'max_pixels' }] : [];
  });
}

/**
 * Pixels of images that the code brings to a size before a model with a tower sees them, or that it or the processor bounds: of several sizes the
 * one that gives most counts, and of a size and a bound the smaller.
 */
export function readScaledImages({ program, draft }: Calls, before: PyCall, { model }: ReadContext): void {
  const config = model?.config;
  if (typeof config?.vision_config !== 'object' || draft.knows('batch.imagePixels')) return;
  const calls = program.calls.filter(({ id }) => id < before.id);
  const type = String(config.model_type);
  const messages = messageSizes(calls, type);
  const exact = mostPixels([...sizesBy(calls, EXACT), ...messages.exact]);
  const bound = mostPixels([
    ...sizesBy(calls, BOUNDS),
    ...processorBounds(calls, program.assignments, type),
    ...messages.bounds,
  ]);
  if (exact && (!bound || exact.pixels <= bound.pixels)) {
    const note = say('`{0}` makes images of this size', exact.name);
    draft.infer('batch.imagePixels', exact.pixels, note, { range: exact.range });
  } else if (bound) {
    const note = say(
      '`{0}` is the most that an image may have: where images are smaller, less is needed',
      bound.name,
    );
    draft.infer(
      'batch.imagePixels',
      bound.pixels,
      note,
      { range: bound.range },
      undefined,
      exact === undefined,
    );
  } else inferSmaller(program, draft, type);
}

/** Images that code makes smaller which is not followed: to how many pixels only numbers tell. */
function inferSmaller(program: Calls['program'], draft: Calls['draft'], type: string): void {
  const smaller = BOUNDS_PIXELS.test(type) ? program.madeSmaller() : undefined;
  if (!smaller) return;
  const { name, pixels, range } = smaller;
  const note =
    pixels === undefined
      ? say(
          '`{0}` makes images smaller, to a size that is not read: {1} × {1} pixels are taken, and where they are smaller, less is needed',
          name,
          String(ASSUMED_SIDE),
        )
      : say('`{0}` is the most that an image may have: where images are smaller, less is needed', name);
  draft.infer('batch.imagePixels', pixels ?? ASSUMED_SIDE ** 2, note, { range }, undefined, true);
}
