import type { Block } from './block';
import { causalConvolution } from './causal-convolution';

interface ShortConvolutionSpec {
  /** Module path inside the layer. */
  readonly module: string;
  readonly hidden: number;
  readonly kernel: number;
  readonly bias: boolean;
}

/**
 * LFM2's mixer (`Lfm2ShortConv`): a joint projection in three, a short depthwise convolution of the product of two, and the
 * third as its gate. The convolution is the kernel of `causal-conv1d`, which keeps its input.
 */
export function shortConvolution(spec: ShortConvolutionSpec): Block {
  const { module, hidden, kernel, bias } = spec;
  return (t, x) =>
    t.scope(() => {
      const ranks = t.settings.tensorParallel;
      const joint = t.hold(
        t.linear(x, { name: `${module}.in_proj`, out: 3 * hidden, bias, split: 'column' }),
      );
      const width = hidden / ranks;
      const [write = joint, read = joint, value = joint] = t.split(joint, [width, width, width]);
      const gated = t.mul(write, value, `${module}.gated`);
      const convolved = causalConvolution(t, gated, {
        name: `${module}.conv`,
        width: hidden,
        kernel,
        bias,
        activates: false,
      });
      const mixed = t.copy(t.mul(read, convolved, `${module}.read`), convolved.shape, `${module}.contiguous`);
      return t.linear(mixed, { name: `${module}.out_proj`, out: hidden, bias, split: 'row' });
    });
}
