import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

/** What a spectrogram is compared by, with `labels` `[b, frames, bins]`. */
interface Predicted {
  readonly labels: Tensor;
  /** Frames as the decoder and as the postnet give them, `[b, frames, bins]`. */
  readonly before: Tensor;
  readonly after: Tensor;
  /** Whether speech ends with each frame, `[b, frames]`. */
  readonly stops: Tensor;
}

const product = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/**
 * `masked_select`, where nothing is filling: the mask is spread out and becomes an index of 8 bytes for each dimension (`IndexingUtils.h`,
 * `expandTensors`); backward counts how many are selected before each element (`IndexKernel.cpp`, `masked_scatter_cuda_impl`). Of any shape to
 * as many elements.
 */
function selected(t: Tracer, x: Tensor, mask: Tensor, name: string): Tensor {
  return t.fused({
    name,
    inputs: [x, mask],
    outputs: [{ shape: [x.elements], dtype: x.dtype }],
    savesInputs: [x, mask],
    forwardScratch: x.elements * (x.shape.length * ELEMENT_BYTES.int64 + ELEMENT_BYTES.bool),
    backwardScratch: x.elements * ELEMENT_BYTES.int64,
  });
}

/** `L1Loss`: the difference is kept for its sign; fp32 under autocast (`autocast_mode.h`, fp32 list). */
function distance(t: Tracer, x: Tensor, labels: Tensor, name: string): Tensor {
  const wide = t.settings.autocast ? t.cast(x, 'fp32', `${name}.float`) : x;
  return t.reduce(t.keepInput(t.add(wide, labels, `${name}.sub`), `${name}.abs`), [1], name);
}

/**
 * Guided attention: heads of all layers side by side, each product with how far a frame is from its token
 * (`SpeechT5GuidedMultiheadAttentionLoss`). `[b, heads, frames, tokens]` each.
 */
function guided(t: Tracer, attentions: readonly Tensor[], heads: number): Tensor {
  const parts = attentions.map((x) => {
    const [batch = 1, all = 1, ...rest] = x.shape;
    return t.slice(x, [batch, Math.min(heads < 0 ? all : heads, all), ...rest]);
  });
  const [batch = 1, , frames = 1, tokens = 1] = attentions[0]?.shape ?? [];
  const shape = [batch, parts.reduce((sum, x) => sum + (x.shape[1] ?? 0), 0), frames, tokens];
  return t.scope(() => {
    const joined = t.hold(t.concat(parts, shape, 'loss.attentions'));
    const pairs = [batch, 1, frames, tokens];
    const made = { shape: pairs, dtype: 'fp32' as const };
    // Both coordinates of each pair, their difference, its square and what becomes of that.
    const scratch = 5 * frames * tokens * ELEMENT_BYTES.fp32;
    const far = t.hold(t.fused({ name: 'loss.guide', inputs: [], outputs: [made], forwardScratch: scratch }));
    const mask = t.hold(
      t.fused({ name: 'loss.mask', inputs: [], outputs: [{ shape: pairs, dtype: 'bool' }] }),
    );
    const losses = t.hold(t.mul(joined, far, 'loss.guided'));
    return t.reduce(selected(t, losses, mask, 'loss.guided.select'), [1], 'loss.guided.mean');
  });
}

/**
 * `SpeechT5SpectrogramLoss`: two distances of spectrograms `[b, frames, bins]`, the ends of speech, and the attention of the decoder to the text,
 * `[b, heads, steps, tokens]` of each layer. One number, `[1]`.
 */
export function spectrogramLoss(
  t: Tracer,
  { labels, before, after, stops }: Predicted,
  attentions: readonly Tensor[],
  heads: number,
): Tensor {
  return t.scope(() => {
    const mask = t.hold(t.compare(t.hold(labels), 'loss.padding_mask'));
    const named = (x: Tensor, name: string) => t.hold(selected(t, t.hold(x), mask, name));
    const truth = named(labels, 'loss.labels');
    const [raw, refined] = [named(before, 'loss.before'), named(after, 'loss.after')];
    const far = t.add(
      distance(t, refined, truth, 'loss.l1_after'),
      distance(t, raw, truth, 'loss.l1_before'),
      'loss.l1',
    );
    const ends = t.hold(
      t.fused({ name: 'loss.stop_mask', inputs: [], outputs: [{ shape: stops.shape, dtype: 'bool' }] }),
    );
    const scores = t.hold(selected(t, t.hold(stops), ends, 'loss.stops'));
    const wide = t.settings.autocast ? t.cast(scores, 'fp32', 'loss.stops.float') : scores;
    const ending = t.fused({
      name: 'loss.bce',
      inputs: [wide],
      outputs: [{ shape: [1], dtype: wide.dtype }],
      savesInputs: [wide],
      savesBytes: product(stops.shape) * ELEMENT_BYTES.fp32,
    });
    const loss = t.add(far, ending, 'loss.sum');
    return attentions.length === 0 ? loss : t.add(loss, guided(t, attentions, heads), 'loss');
  });
}
