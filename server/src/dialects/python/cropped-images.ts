import { say } from '../../wording/say';
import type { Calls } from './call-block';
import { mostPixels, pixelsOf } from './image-sizes';

/** What cuts images to one size, and what brings them to it, in the libraries that notebooks prepare images with. */
const LIBRARIES = '^(?:torchvision|albumentations|kornia)\\.(?:\\w+\\.)*';
const CROPS = new RegExp(`${LIBRARIES}(?:RandomResizedCrop|CenterCrop|RandomCrop)$`);
const RESIZES = new RegExp(`${LIBRARIES}Resize$`);

/**
 * Pixels of images that a notebook cuts or scales itself, for models that take any size. What cuts them counts before what scales them; of several
 * sizes the one that gives most. Where none is written out they have the size of the model's own processor.
 */
export function readCroppedImages({ program, draft }: Calls): void {
  const sizes = (callees: RegExp) =>
    program.calls.flatMap((call) => {
      const pixels = callees.test(call.callee) ? pixelsOf(call, 'size', 0, true) : undefined;
      return pixels === undefined ? [] : [{ call, pixels }];
    });
  const crops = sizes(CROPS);
  const most = mostPixels(crops.length > 0 ? crops : sizes(RESIZES));
  if (!most) return;
  const name = most.call.callee.split('.').at(-1) ?? '';
  const note = say('`{0}` makes images of this size', name);
  draft.infer('batch.imagePixels', most.pixels, note, { range: most.call.calleeRange });
}
