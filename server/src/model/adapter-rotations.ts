import { multiplied } from './adapters';
import type { ProductTracer } from './product-tracer';
import type { Tensor } from './tape';
import { ELEMENT_BYTES } from './tape';
import type { AdapterSettings } from './trace-settings';

/** Adapters that change the input of the layer instead: OFT, BOFT, and IA3 of feed-forward modules. `[..., in]` in and out. */
export function rotatedInput(t: ProductTracer, adapter: AdapterSettings, x: Tensor, path: string): Tensor {
  const width = x.shape.at(-1) ?? 0;
  if (adapter.kind === 'ia3') {
    if (adapter.feedForward?.(path) !== true) return x;
    const scale = t.adapterWeight(`${path}.ia3_l`, [1, width]);
    return multiplied(t, t.cast(x, adapter.dtype, `${path}.ia3_cast`), scale, x, `${path}.ia3`);
  }
  if (adapter.kind === 'oft') return rotated(t, adapter, x, path);
  return adapter.kind === 'boft' ? butterflied(t, adapter, x, path) : x;
}

/** Block of OFT (`oft/layer.py`, `adjust_oft_parameters`): the nearest one that divides the width, the smaller of two. */
function blockOf(size: number, width: number): number {
  if (size >= width) return width;
  let higher = size;
  while (higher < width && width % higher !== 0) higher++;
  let lower = size;
  while (lower > 1 && width % lower !== 0) lower--;
  return size - lower <= higher - size ? lower : higher;
}

function stated(adapter: AdapterSettings, byDefault: number): number {
  const size = adapter.blockSize ?? 0;
  return size > 0 ? size : byDefault;
}

/**
 * OFT (`oft/layer.py`): skew-symmetric blocks on the diagonal, each stored as its upper triangle, whose places are buffers.
 * The rotation is their Cayley transform as a Neumann series of five terms: the matrix, its square and cube are kept for
 * backward, and the sum for the product with the input. Under autocast the products take copies, made anew for each.
 */
function rotated(t: ProductTracer, adapter: AdapterSettings, x: Tensor, path: string): Tensor {
  const width = x.shape.at(-1) ?? 0;
  const block = blockOf(stated(adapter, 32), width);
  const count = Math.max(1, Math.floor(width / block));
  const triangle = (block * (block - 1)) / 2;
  const weight = t.adapterWeight(`${path}.oft_R.weight`, [count, triangle]);
  t.buffer(`${path}.oft_R.rows`, 2 * triangle, 'int64');
  const { autocast, computeDtype } = t.settings;
  const product = autocast ? computeDtype : adapter.dtype;
  const copies = product === adapter.dtype ? 2 : 5;
  const matrices = count * block * block * ELEMENT_BYTES[product];
  return t.scope(() => {
    const wide = t.hold(t.cast(x, adapter.dtype, `${path}.oft_cast`));
    const matrix = t.fused({
      name: `${path}.oft_R`,
      inputs: [],
      outputs: [{ shape: [count, block, block], dtype: product }],
      savesBytes: (1 + copies) * matrices,
      forwardScratch: matrices,
      weights: [weight],
    });
    const input = t.cast(wide, product, `${path}.oft_input`);
    const turned = t.matmul(input, matrix, x.shape, block, `${path}.oft`);
    // The blocks come first in the batched product's result: joining them copies.
    const joined = t.copy(turned, x.shape, `${path}.oft_reshape`);
    return t.cast(joined, x.dtype, `${path}.oft_result`);
  });
}

/**
 * BOFT (`boft/layer.py`): one butterfly factor of blocks, made a whole matrix of the input's width, permuted by a buffer as
 * large, and multiplied with an identity; a scale per output comes after the layer (`scaledRows`). Backward keeps the identity, the
 * permutation's copy in the input's type and the rotation. More than one factor takes its CUDA kernel.
 *
 * The permutation is made in host memory and not moved to its layer (`tuners_utils.py`, `_move_adapter_to_device_of_base_layer`,
 * moves parameters by name). Accelerate moves it with the model, a `device_map` of one GPU or not (`accelerator.py`,
 * `prepare_model`), but moves no model that bitsandbytes quantized: there it is copied at each use.
 */
function butterflied(t: ProductTracer, adapter: AdapterSettings, x: Tensor, path: string): Tensor {
  const width = x.shape.at(-1) ?? 0;
  const block = stated(adapter, 4);
  const count = Math.max(1, Math.ceil(width / block));
  const weight = t.adapterWeight(`${path}.boft_R`, [1, count, block, block]);
  if (t.settings.quantization === 'none') t.buffer(`${path}.boft_P`, width * width, 'fp32');
  const { autocast, computeDtype } = t.settings;
  const product = autocast ? computeDtype : x.dtype;
  const whole = width * width;
  const one = ELEMENT_BYTES[product];
  // The blocks' solve keeps both sides, its factors and pivots, in fp32 (`cayley_batch`).
  const solved = count * block * (3 * block + 1) * ELEMENT_BYTES.fp32;
  return t.scope(() => {
    t.hold(x);
    const rotation = t.hold(
      t.fused({
        name: `${path}.boft_rotation`,
        inputs: [],
        outputs: [{ shape: [width, width], dtype: product }],
        savesBytes: 2 * whole * one + solved,
        forwardScratch: whole * ELEMENT_BYTES.fp32,
        backwardScratch: whole * (one + ELEMENT_BYTES.fp32),
        weights: [weight],
        flops: 3 * 2 * whole * width,
        backwardFlops: 3 * 2 * whole * width,
      }),
    );
    return t.matmul(t.cast(x, product, `${path}.boft_cast`), rotation, x.shape, width, `${path}.boft`);
  });
}

/** The scale of BOFT after the layer: `result * boft_s`. `[..., out]` in and out. */
export function scaledRows(t: ProductTracer, base: Tensor, path: string, out: number): Tensor {
  return multiplied(t, base, t.adapterWeight(`${path}.boft_s`, [out, 1]), base, `${path}.boft_s`);
}
