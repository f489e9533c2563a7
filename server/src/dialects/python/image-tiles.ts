import type { PyCall } from '../../config/python/value';
import { say } from '../../wording/say';
import { argumentOf, type Calls } from './call-block';
import { longestEdge, positiveNumber } from './image-sizes';

/** Processors by the last part of their names: they come of the model's name, or of its type. */
const PROCESSOR = /Processor\.from_pretrained$/;

/** Models whose processor scales an image to a side of its own before it cuts it (`image_processing_idefics3.py`, `size`). */
const SCALED = /^(?:idefics3|smolvlm)$/;

/**
 * Tiles of an image as a processor is asked to make them: none but the image itself (`do_image_splitting=False`), or as many as fit the side that
 * images are scaled to, with the image as one more (`size={"longest_edge": 3 * 384}`).
 */
export function readImageTiles({ program, draft }: Calls, config: Readonly<Record<string, unknown>>): void {
  const type = String(config.model_type);
  for (const call of program.calls) {
    if (!PROCESSOR.test(call.callee)) continue;
    const splits = argumentOf(call, 'do_image_splitting');
    if (splits?.kind === 'scalar' && splits.value === false) {
      const note = say('images are not cut into tiles');
      draft.infer('batch.imageTiles', 1, note, { range: splits.range });
      return;
    }
    const [size, side] = [argumentOf(call, 'size'), tileSide(call, config)];
    const longest = positiveNumber(longestEdge(size));
    if (!size || longest === undefined || side === undefined || !SCALED.test(type)) continue;
    const note = say(
      'images are scaled to {0} pixels and cut into tiles of {1}',
      String(longest),
      String(side),
    );
    draft.infer('batch.imageTiles', Math.ceil(longest / side) ** 2 + 1, note, { range: size.range });
    return;
  }
}

/** A tile is as large as the tower's images, unless the processor is asked for others. */
function tileSide(
  call: PyCall,
  { vision_config: vision }: Readonly<Record<string, unknown>>,
): number | undefined {
  const own = argumentOf(call, 'max_image_size');
  if (own) return positiveNumber(longestEdge(own));
  const size =
    typeof vision === 'object' && vision !== null && 'image_size' in vision ? vision.image_size : undefined;
  return typeof size === 'number' ? size : undefined;
}
