import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { convolution } from './convolution';

export interface PatchEmbeddingSpec {
  /** Module path of the convolution. */
  readonly name: string;
  readonly hidden: number;
  readonly images: number;
  readonly patches: number;
  readonly patchSize: number;
  readonly channels?: number;
  /** Frames that one patch spans (Qwen-VL: two). */
  readonly frames?: number;
  readonly bias?: boolean;
  /** Learned positions, one row per patch and class token. */
  readonly positions?: string;
  /** Learned token before the patches. */
  readonly classToken?: string;
}

/** Pixels to `[images, patches (+ 1), hidden]`. */
export function patchEmbedding(t: Tracer, spec: PatchEmbeddingSpec): Tensor {
  const { images, patches, hidden, patchSize } = spec;
  const channels = spec.channels ?? 3;
  const frames = spec.frames ?? 1;
  const pixels = t.batchInput(
    [images, channels * frames, patches * patchSize * patchSize],
    inputDtype(t.settings),
    'pixel_values',
  );
  const sizes = frames > 1 ? [frames, patchSize, patchSize] : [patchSize, patchSize];
  let x = convolution(t, pixels, {
    name: spec.name,
    kernel: [hidden, channels, ...sizes],
    out: [images, patches, hidden],
    bias: spec.bias,
  });
  let rows = patches;
  if (spec.classToken) {
    const token = t.weight({ name: spec.classToken, shape: [hidden] });
    rows += 1;
    x = t.concat(
      [t.expand(t.parameter(token), [images, 1, hidden]), x],
      [images, rows, hidden],
      'class_token',
    );
  }
  if (spec.positions) {
    const table = t.weight({ name: spec.positions, shape: [rows, hidden], role: 'embedding' });
    x = t.addWeight(x, table, 'positions');
  }
  return x;
}
