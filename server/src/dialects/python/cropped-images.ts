import type { PyCall, PyValue } from '../../config/python/value';
import { say } from '../../wording/say';
import { argumentOf, type Calls } from './call-block';

/** What cuts images to one size, and what brings them to it, in the libraries that notebooks prepare images with. */
const LIBRARIES = '^(?:torchvision|albumentations|kornia)\\.(?:\\w+\\.)*';
const CROPS = new RegExp(`${LIBRARIES}(?:RandomResizedCrop|CenterCrop|RandomCrop)$`);
const RESIZES = new RegExp(`${LIBRARIES}Resize$`);

const numberOf = (value: PyValue | undefined): number | undefined =>
  value?.kind === 'scalar' && typeof value.value === 'number' && value.value > 0 ? value.value : undefined;

/** Pixels of `(480)`, `((480, 640))`, `(height=480, width=640)`; undefined where they are not written out. */
function pixelsOf(call: PyCall): number | undefined {
  const first = argumentOf(call, 'size', 0) ?? argumentOf(call, 'height', 0);
  const [rows, columns] =
    first?.kind === 'list' ? first.items : [first, argumentOf(call, 'width', 1) ?? first];
  const [height, width] = [numberOf(rows), numberOf(columns)];
  return height === undefined || width === undefined ? undefined : height * width;
}

/**
 * Pixels of images that a notebook cuts or scales itself, for models that take any size. What cuts them counts before what scales them; of several
 * sizes the one that gives most. Where none is written out they have the size of the model's own processor.
 */
export function readCroppedImages({ program, draft }: Calls): void {
  const sizes = (callees: RegExp) =>
    program.calls.flatMap((call) => {
      const pixels = callees.test(call.callee) ? pixelsOf(call) : undefined;
      return pixels === undefined ? [] : [{ call, pixels }];
    });
  const crops = sizes(CROPS);
  const [most] = (crops.length > 0 ? crops : sizes(RESIZES)).sort((a, b) => b.pixels - a.pixels);
  if (!most) return;
  const name = most.call.callee.split('.').at(-1) ?? '';
  const note = say('`{0}` makes images of this size', name);
  draft.infer('batch.imagePixels', most.pixels, note, { range: most.call.calleeRange });
}
