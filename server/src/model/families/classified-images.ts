import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import { layerNormed } from '../layers/block';
import { classificationHead } from '../layers/classification';
import type { ImageNote, Stage } from '../model';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { hiddenStage, take } from './decoder-model';
import { imagesOf } from './image-encoders';

/** Side of an image in pixels: of as many as the run states, else that of the config. */
export function imageSide({ settings: { imagePixels } }: Tracer, config: ConfigReader): number {
  return imagePixels === undefined
    ? config.size('image_size')
    : Math.max(1, Math.round(Math.sqrt(imagePixels)));
}

/** Square images of so many pixels a side, `[images, channels, side^2]`. */
export function squareImages(t: Tracer, channels: number, side: number): Tensor {
  return t.batchInput([imagesOf(t), channels, side ** 2], inputDtype(t.settings), 'pixel_values');
}

interface Pooling {
  readonly norm: string;
  /** Channels of what is pooled. */
  readonly hidden: number;
  /** The norm is that of the mean, or of each token before. */
  readonly normsMean: boolean;
}

/** The mean of all tokens, in whichever order they are laid out, and a norm before it or behind. */
export function poolingStage({ norm, hidden, normsMean }: Pooling): Stage {
  const normed = layerNormed(norm);
  return hiddenStage('pooler', 'norm', 1, (t, x) => {
    const mean = (y: Tensor) => t.reduce(y, [y.shape[0] ?? 1, hidden], 'mean');
    return normsMean ? normed(t, mean(x)) : mean(normed(t, x));
  });
}

/** A classifier of what is pooled. */
export function labelStage(config: ConfigReader): Stage {
  return {
    name: 'classifier',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const pooled = t.enter(take(flow, 'hidden'), 'hidden');
      const labels = config.labels(2);
      flow.set('loss', classificationHead(t, pooled, { name: 'classifier', labels, bias: true }));
    },
  };
}

/** What a model takes every image for, pixels of a side. */
export function imagesOfSide(side: number): readonly ImageNote[] {
  return [
    {
      text: say(
        "an image is taken for {0} x {0} pixels, the size of the model's processor; `batch.imagePixels` replaces it",
        String(side),
      ),
      unless: ['batch.imagePixels'],
    },
  ];
}

/** The same where an image is no square. */
export function imagesOfSides(rows: number, columns: number): readonly ImageNote[] {
  return [
    {
      text: say(
        'an image is taken for the largest that the processor makes, {0} x {1} pixels; `batch.imagePixels` replaces it',
        String(rows),
        String(columns),
      ),
      unless: ['batch.imagePixels'],
    },
  ];
}

/** Side of a square of so many pixels. */
export const sideOfPixels = (pixels: number) => Math.max(1, Math.round(Math.sqrt(pixels)));
