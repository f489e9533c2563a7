import type { PyCall } from '../../config/python/value';
import { say } from '../../wording/say';
import { oneSize } from '../hf/padding';
import { argumentOf, type Calls } from './call-block';
import { mostPixels } from './image-sizes';

/** What DETR's processor makes of an image: its shorter side, and the longer one at most, in pixels (`DetrImageProcessor`, `size`). */
const [SHORTER, LONGER] = [800, 1333];

/**
 * Pixels of images that are brought to one size before DETR's processor scales them (`albumentations.Resize(480, 480)`): their sides go as they were to
 * each other. Of several sizes the one that gives most counts.
 */
export function readResizedImages({ program, draft }: Calls, load: PyCall): void {
  const sizes = program.calls.flatMap((call) => {
    if (call.id > load.id || !/^(?:albumentations|torchvision)\.(?:\w+\.)*Resize$/.test(call.callee))
      return [];
    const [first, second] = [argumentOf(call, 'height', 0), argumentOf(call, 'width', 1)];
    if (first?.kind !== 'scalar' || second?.kind !== 'scalar') return [];
    const [a, b] = [first.value, second.value];
    return typeof a === 'number' && typeof b === 'number' && a > 0 && b > 0
      ? [{ call, pixels: scaled(a, b), sides: `${a} x ${b}` }]
      : [];
  });
  const most = mostPixels(sizes);
  if (!most) return;
  const note = say('images are resized before the processor scales them to {0} pixels', String(SHORTER));
  draft.infer('batch.imagePixels', most.pixels, note, { range: most.call.calleeRange });
  // A mask of nothing but ones is left out (transformers 5.23, `masking_utils.py`, `_ignore_bidirectional_mask_sdpa`).
  if (new Set(sizes.map(({ sides }) => sides)).size === 1)
    draft.infer('attention.mask', false, oneSize(), {
      range: most.call.calleeRange,
    });
}

function scaled(a: number, b: number): number {
  const ratio = Math.max(a, b) / Math.min(a, b);
  const longer = Math.min(LONGER, Math.round(SHORTER * ratio));
  return longer * Math.round(longer / ratio);
}
