import { attend } from '../layers/attention';
import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

/** Attention within windows, by the names of Swin's configuration. */
interface WindowSpec {
  readonly hidden: number;
  readonly heads: number;
  /** Cells of a side of a window, where the grid is larger. */
  readonly window: number;
  readonly shifted: boolean;
  readonly bias: boolean;
  readonly dropout: number;
  readonly attentionDropout: number;
}

/** Sides of windows and of a grid that is filled up to whole ones. */
interface Windows {
  readonly images: number;
  readonly cells: number;
  readonly side: number;
  readonly padded: number;
  readonly shifted: boolean;
}

/** A window as large as the grid is not shifted (`set_shift_and_window_size`). */
function windowsOf(x: Tensor, { window, shifted }: WindowSpec): Windows {
  const [images = 1, cells = 1] = x.shape;
  const grid = Math.max(1, Math.round(Math.sqrt(cells)));
  const side = Math.min(window, grid);
  return {
    images,
    cells,
    side,
    padded: Math.ceil(grid / side) * side,
    shifted: shifted && side > 1 && grid > window,
  };
}

/**
 * A learned number for each distance of two cells and each head, and where windows are shifted what keeps cells of different sides of the image
 * apart: `[windows, heads, n, n]`. SDPA fills rows up to whole vectors (`attention.cpp`, `pad_bias`), in the type that it multiplies in.
 */
function biasOf(t: Tracer, spec: WindowSpec, windows: Windows): Tensor {
  const { heads, window } = spec;
  const { images, side, padded, shifted } = windows;
  const cells = side ** 2;
  const name = 'attention.relative_position_bias';
  t.ownBuffer(`${name}.relative_position_index`, window ** 4, 'int64');
  const table = t.weight({
    name: `${name}.relative_position_bias_table`,
    shape: [(2 * window - 1) ** 2, heads],
  });
  const own = { shape: [1, heads, cells, cells], dtype: t.settings.weightDtype };
  const looked = t.fused({ name, inputs: [], outputs: [own], weights: [table] });
  const bias = t.hold(t.copy(looked, own.shape, `${name}.contiguous`));
  const count = images * (padded / side) ** 2;
  const whole = [count, heads, cells, cells];
  const combined = shifted ? t.hold(apart(t, bias, whole)) : bias;
  const { autocast, computeDtype, attention } = t.settings;
  if (attention !== 'sdpa') return combined;
  const lowered = autocast ? t.cast(combined, computeDtype, `${name}.cast`) : combined;
  // 16 bytes of a row at a time.
  const vector = 16 / ELEMENT_BYTES[lowered.dtype];
  const row = Math.ceil(cells / vector) * vector;
  const [rows = 1] = lowered.shape;
  const full = t.copy(lowered, [rows, heads, cells, row], `${name}.pad`);
  return shifted ? full : t.expand(full, [count, heads, cells, row]);
}

/** The mask of shifted windows, once for each image, and its sum with the bias. */
function apart(t: Tracer, bias: Tensor, [count = 1, heads = 1, cells = 1]: readonly number[]): Tensor {
  const shape = [count, 1, cells, cells];
  const mask = t.hold(
    t.fused({ name: 'attn_mask', inputs: [], outputs: [{ shape, dtype: t.settings.weightDtype }] }),
  );
  return t.fused({
    name: 'combined_mask',
    inputs: [bias, mask],
    outputs: [{ shape: [count, heads, cells, cells], dtype: bias.dtype }],
  });
}

/** Cells in rows of windows, `[windows, n, h]`: filled up, shifted and copied window by window. */
function partitioned(t: Tracer, x: Tensor, { images, side, padded, shifted }: Windows): Tensor {
  const hidden = x.shape[2] ?? 1;
  // `pad` copies also what it adds nothing to (`constant_pad_nd`, `clone`).
  const full = t.hold(t.copy(x, [images, padded ** 2, hidden], 'pad'));
  const rolled = shifted ? t.copy(full, full.shape, 'roll') : full;
  return t.copy(rolled, [images * (padded / side) ** 2, side ** 2, hidden], 'windows');
}

/** `SwinAttention` between the two ways of laying out an image. From `[images, cells, h]` to the same. */
export function windowAttention(t: Tracer, x: Tensor, spec: WindowSpec): Tensor {
  const { hidden, heads } = spec;
  const windows = windowsOf(x, spec);
  const { images, cells, padded, shifted } = windows;
  const rows = t.hold(partitioned(t, x, windows));
  const attended = t.scope(() => {
    t.hold(rows);
    const project = (part: string) =>
      t.hold(t.linear(rows, { name: `attention.${part}_proj`, out: hidden, bias: spec.bias }));
    const context = attend(t, {
      name: 'attention',
      batch: rows.shape[0],
      q: project('q'),
      k: project('k'),
      v: project('v'),
      heads,
      keyValueHeads: heads,
      headDim: hidden / heads,
      causal: false,
      dropout: spec.attentionDropout,
      bias: biasOf(t, spec, windows),
    });
    return t.linear(context, { name: 'attention.o_proj', out: hidden, bias: true });
  });
  const dropped = t.hold(t.dropout(attended, spec.dropout, 'attention.dropout'));
  const whole = t.copy(dropped, [images, padded ** 2, hidden], 'windows.reverse');
  const rolled = shifted ? t.copy(whole, whole.shape, 'roll.reverse') : whole;
  return padded ** 2 === cells ? rolled : t.copy(rolled, x.shape, 'crop');
}
