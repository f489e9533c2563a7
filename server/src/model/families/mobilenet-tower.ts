import { say } from '../../wording/say';
import { applyActivation } from '../layers/activation';
import { attend } from '../layers/attention';
import type { Block } from '../layers/block';
import { convolution } from '../layers/convolution';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import type { VisionTower } from './vision-tower';

const PREFIX = 'vision_tower.timm_model.';

/** Images of the processor, pixels of a side (`Gemma3nProcessor`, SigLIP's image processor at 768). */
const SIDE = 768;

/** Sides of what the stages give, and of the pooled grid (timm 1.0.31, `models/mobilenetv5.py`). */
const [STEM, FIRST, SECOND, THIRD, LAST, POOLED] = [SIDE / 2, SIDE / 4, SIDE / 8, SIDE / 16, SIDE / 32, 16];

interface Convolved {
  readonly from: number;
  readonly out: number;
  readonly kernel: number;
  /** Side of the result. */
  readonly side: number;
  readonly stride?: 2;
  readonly depthwise?: true;
  readonly bias?: true;
}

const imagesOf = (x: Tensor) => x.shape[0] ?? 1;

/** `[images, side^2, channels]`; with a stride the input is padded into a new tensor first (`Conv2dSame`). */
function convolved(t: Tracer, x: Tensor, name: string, spec: Convolved): Tensor {
  const images = imagesOf(x);
  const padded = (2 * spec.side + spec.kernel - 2) ** 2;
  const input = spec.stride === 2 ? t.copy(x, [images, padded, spec.from], `${name}.pad`) : x;
  return convolution(t, input, {
    name,
    kernel: [spec.out, spec.depthwise ? 1 : spec.from, spec.kernel, spec.kernel],
    out: [images, spec.side ** 2, spec.out],
    bias: spec.bias,
  });
}

/** `rms_norm2d` of timm 1.0.31: written out in the type of its input, but for the square, which autocast takes in fp32. */
function normed(t: Tracer, x: Tensor, name: string, channels: number): Tensor {
  return t.scope(() => {
    t.hold(x);
    const rows = [...x.shape.slice(0, -1), 1];
    const wide = t.settings.autocast ? t.cast(x, 'fp32', `${name}.float`) : x;
    const variance = t.hold(t.reduce(t.power(wide, `${name}.pow`), rows, `${name}.mean`));
    const product = t.mul(x, t.keepOutput(variance, `${name}.rsqrt`), `${name}.mul`);
    return t.mulWeight(product, t.weight({ name: `${name}.weight`, shape: [channels] }), `${name}.gain`);
  });
}

/** A norm and, unless the block is linear there, GELU: what came in has a name until both are done (`RmsNormAct2d`). */
function normAct(t: Tracer, x: Tensor, name: string, channels: number, act: boolean): Tensor {
  return t.scope(() => {
    const norm = normed(t, t.hold(x), name, channels);
    return act ? applyActivation(t, norm, 'gelu_pytorch_tanh') : norm;
  });
}

/** A convolution, its norm and, unless it is linear, GELU (`ConvNormAct`), with what it is called with. */
function convNormAct(t: Tracer, x: Tensor, name: string, spec: Convolved, act = true): Tensor {
  return t.scope(() => {
    t.hold(x);
    return normAct(t, convolved(t, x, `${name}.conv`, spec), `${name}.bn`, spec.out, act);
  });
}

function scaled(t: Tracer, x: Tensor, name: string, channels: number): Tensor {
  const gamma = t.weight({ name: `${name}.layer_scale.gamma`, shape: [channels] });
  return t.mulWeight(x, gamma, `${name}.layer_scale`);
}

/** `EdgeResidual`: one convolution that widens, one that narrows. */
function edge(name: string, from: number, inner: number, out: number, stride?: 2): Block {
  return (t, x) =>
    t.scope(() => {
      t.hold(x);
      const widened = convolved(t, x, `${name}.conv_exp`, {
        from,
        out: inner,
        kernel: 3,
        side: FIRST,
        stride,
      });
      const active = normAct(t, widened, `${name}.bn1`, inner, true);
      const narrowed = convolved(t, active, `${name}.conv_pwl`, { from: inner, out, kernel: 1, side: FIRST });
      const norm = normed(t, narrowed, `${name}.bn2`, out);
      return stride === 2 ? norm : t.add(norm, x, `${name}.residual`);
    });
}

interface Inverted {
  readonly from: number;
  readonly inner: number;
  readonly out: number;
  readonly side: number;
  /** Kernels of depthwise convolutions before the block widens, and between. The second halves the side. */
  readonly before?: number;
  readonly between?: number;
}

/** `UniversalInvertedResidual` with a layer scale, around a residual where its sizes stay. */
function inverted(name: string, { from, inner, out, side, before, between }: Inverted): Block {
  const wide = between === undefined ? side : 2 * side;
  return (t, x) =>
    t.scope(() => {
      t.hold(x);
      const first =
        before === undefined
          ? x
          : convNormAct(
              t,
              x,
              `${name}.dw_start`,
              { from, out: from, kernel: before, side: wide, depthwise: true },
              false,
            );
      const raised = convNormAct(t, first, `${name}.pw_exp`, { from, out: inner, kernel: 1, side: wide });
      const mid =
        between === undefined
          ? raised
          : convNormAct(t, raised, `${name}.dw_mid`, {
              from: inner,
              out: inner,
              kernel: between,
              side,
              stride: 2,
              depthwise: true,
            });
      const lowered = convNormAct(t, mid, `${name}.pw_proj`, { from: inner, out, kernel: 1, side }, false);
      const own = scaled(t, lowered, name, out);
      return between === undefined ? t.add(own, x, `${name}.residual`) : own;
    });
}

interface Attending {
  readonly width: number;
  readonly heads: number;
  readonly headDim: number;
  readonly side: number;
  /** Keys and values are of a grid half as wide. */
  readonly coarse: boolean;
}

/** `MobileAttention`: queries of all heads, one key and one value, which no fused kernel takes (`MultiQueryAttention2d`). */
function attention(name: string, { width, heads, headDim, side, coarse }: Attending): Block {
  const queries = heads * headDim;
  const shared = (t: Tracer, x: Tensor, part: 'key' | 'value') => {
    const path = `${name}.attn.${part}`;
    const grid = coarse ? side / 2 : side;
    const down = { from: width, out: width, kernel: 3, side: grid, stride: 2, depthwise: true } as const;
    const input = coarse ? normed(t, convolved(t, x, `${path}.down_conv`, down), `${path}.norm`, width) : x;
    const projected = convolved(t, input, `${path}.proj`, {
      from: width,
      out: headDim,
      kernel: 1,
      side: grid,
    });
    return t.hold(t.copy(projected, projected.shape, `${path}.contiguous`));
  };
  return (t, x) =>
    t.scope(() => {
      t.hold(x);
      const norm = t.hold(normed(t, x, `${name}.norm`, width));
      const attended = t.scope(() => {
        const path = `${name}.attn.query`;
        const asked = convolved(t, norm, `${path}.proj`, { from: width, out: queries, kernel: 1, side });
        const q = t.hold(t.copy(asked, asked.shape, `${path}.contiguous`));
        const context = attend(t, {
          name: `${name}.attn`,
          batch: imagesOf(x),
          q,
          k: shared(t, norm, 'key'),
          v: shared(t, norm, 'value'),
          heads,
          keyValueHeads: 1,
          headDim,
          causal: false,
          grouping: 'broadcast',
          kernels: 'calls-sdpa',
        });
        const laid = t.copy(t.view(context, asked.shape), asked.shape, `${name}.attn.output.contiguous`);
        return convolved(t, laid, `${name}.attn.output.proj`, { from: queries, out: width, kernel: 1, side });
      });
      return t.add(scaled(t, attended, name, width), x, `${name}.residual`);
    });
}

/** The blocks of `mobilenetv5_300m_enc` in their order; those that are alike are the same function. */
function blocks(): Block[] {
  const at = (stage: number, kind: string) => `${PREFIX}blocks.${stage}.${kind}`;
  const times = (count: number, ...parts: Block[]) => new Array<Block[]>(count).fill(parts).flat();
  const small = { from: 256, inner: 1024, out: 256, side: SECOND };
  const middle = { from: 640, out: 640, side: THIRD };
  const large = { from: 1280, inner: 2560, out: 1280, side: LAST };
  const coarse = { width: 640, heads: 12, headDim: 64, side: THIRD, coarse: true };
  const fine = { width: 1280, heads: 16, headDim: 96, side: LAST, coarse: false };
  return [
    edge(at(0, 'first'), 64, 256, 128, 2),
    ...times(2, edge(at(0, 'edge'), 128, 512, 128)),
    inverted(at(1, 'first'), { from: 128, inner: 768, out: 256, side: SECOND, before: 3, between: 5 }),
    ...times(
      2,
      inverted(at(1, 'five'), { ...small, before: 5 }),
      inverted(at(1, 'three'), { ...small, before: 3 }),
    ),
    inverted(at(2, 'first'), { from: 256, inner: 1536, out: 640, side: THIRD, before: 5, between: 5 }),
    ...times(7, inverted(at(2, 'five'), { ...middle, inner: 2560, before: 5 })),
    inverted(at(2, 'plain'), { ...middle, inner: 640 }),
    ...times(14, attention(at(2, 'attention'), coarse), inverted(at(2, 'wide'), { ...middle, inner: 1280 })),
    inverted(at(3, 'first'), { from: 640, inner: 3840, out: 1280, side: LAST, before: 5, between: 5 }),
    ...times(19, attention(at(3, 'attention'), fine), inverted(at(3, 'wide'), large)),
  ];
}

/** Both last grids side by side, two convolutions, pooled to 256 tokens and normed (`MobileNetV5MultiScaleFusionAdapter`). */
function fused(t: Tracer, x: Tensor): Tensor {
  const name = `${PREFIX}msfa`;
  const [from, inner, out] = [1920, 3840, 2048];
  const images = imagesOf(x);
  const finer = t.copy(x, [images, THIRD ** 2, 1280], `${name}.interpolate`);
  const both = t.copy(finer, [images, THIRD ** 2, from], `${name}.cat`);
  const raised = convNormAct(t, both, `${name}.ffn.pw_exp`, { from, out: inner, kernel: 1, side: THIRD });
  const lowered = convNormAct(
    t,
    raised,
    `${name}.ffn.pw_proj`,
    { from: inner, out, kernel: 1, side: THIRD },
    false,
  );
  // The gradient of an average needs what was averaged (`avg_pool2d_backward`).
  const pooled = t.fused({
    name: `${name}.avg_pool2d`,
    inputs: [lowered],
    outputs: [{ shape: [images, POOLED ** 2, out], dtype: lowered.dtype }],
    savesInputs: [lowered],
  });
  return normed(t, pooled, `${name}.norm`, out);
}

/** Gemma 3n's tower for images: timm's MobileNet V5, to `[images, 256, 2048]`, which the text's embedder takes. */
export function mobilenetTower(): VisionTower {
  const stem: Convolved = { from: 3, out: 64, kernel: 3, side: STEM, stride: 2, bias: true };
  return {
    name: 'vision_tower',
    embed: (t, images) => {
      const pixels = t.input([images, SIDE ** 2, 3], inputDtype(t.settings), false, 'pixel_values');
      return convNormAct(t, pixels, `${PREFIX}conv_stem`, stem);
    },
    layers: blocks(),
    project: fused,
    tokens: POOLED ** 2,
    note: { text: say('an image takes {0} tokens', String(POOLED ** 2)) },
  };
}
