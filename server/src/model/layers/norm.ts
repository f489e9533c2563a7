import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

export interface RmsNormSpec {
  readonly name: string;
  /**
   * `llama`: fp32 inside, back to the input type, then the gain. `gemma`: gain of `1 + w` in fp32, cast last.
   * `olmo`: as Llama's, but cast last.
   * `torch`: `F.rms_norm`, one fused operator since torch 2.9, composite before.
   */
  readonly style: 'llama' | 'gemma' | 'olmo' | 'torch';
  /** False for norms without a gain (OLMo 1, some Q/K norms). */
  readonly gain?: boolean;
}

/**
 * Root-mean-square norm over the last dimension, as transformers computes it: the composite keeps an fp32 copy of its input,
 * the normalized values and the reciprocal root (one per row). Liger's kernel keeps input and reciprocal root. `[..., h]` in
 * and out.
 */
export function rmsNorm(t: Tracer, x: Tensor, spec: RmsNormSpec): Tensor {
  const { fusesRmsNorm, scalesNormsInFp32 } = t.settings.behaviours;
  const width = x.shape.at(-1) ?? 1;
  const gain = spec.gain === false ? undefined : t.weight({ name: `${spec.name}.weight`, shape: [width] });
  const rows = x.elements / width;
  // Transformer Engine's norms are fused and keep the same (`ops/basic/rmsnorm.py`).
  if (t.settings.liger || spec.style === 'torch' || fusesRmsNorm) {
    return t.fused({
      name: spec.name,
      inputs: [x],
      outputs: [{ shape: x.shape, dtype: x.dtype }],
      savesInputs: [x],
      savesBytes: rows * ELEMENT_BYTES.fp32,
      weights: gain ? [gain] : [],
      // Liger writes the input's gradient over the output's (`ops/rms_norm.py`, `in_place`).
      gradRules: [!x.requiresGrad ? 'none' : t.settings.liger && spec.style !== 'torch' ? 'alias' : 'new'],
      fusible: t.settings.liger && spec.style !== 'torch' ? undefined : 'reduction',
    });
  }
  // litgpt multiplies by the gain in fp32 and casts last (`model.py`, `RMSNorm`); torchtune gives `F.rms_norm` an fp32
  // input, whose composite does the same (`modules/rms_norm.py`).
  return t.scope(() => {
    t.hold(x);
    const inner = () => {
      const wide = t.cast(x, 'fp32', `${spec.name}.float`);
      // Gemma norms in a function of its own, which names its input; Llama gives the name to the result.
      if (spec.style === 'gemma' || scalesNormsInFp32) t.hold(wide);
      const square = t.power(wide, `${spec.name}.pow`);
      const variance = t.hold(t.reduce(square, [...x.shape.slice(0, -1), 1], `${spec.name}.mean`));
      const root = t.keepOutput(t.scale(variance, `${spec.name}.eps`), `${spec.name}.rsqrt`);
      return t.mul(wide, root, `${spec.name}.mul`);
    };
    if (spec.style === 'gemma' || spec.style === 'olmo' || scalesNormsInFp32) {
      const normed = spec.style === 'gemma' && !scalesNormsInFp32 ? t.scope(inner) : t.hold(inner());
      const scaled = gain ? t.mulWeight(normed, { ...gain, dtype: 'fp32' }, `${spec.name}.gain`) : normed;
      return t.cast(scaled, x.dtype, `${spec.name}.type_as`);
    }
    const normed = t.hold(inner());
    const narrow = t.cast(normed, x.dtype, `${spec.name}.to`);
    return gain ? t.mulWeight(narrow, gain, `${spec.name}.gain`) : narrow;
  });
}

/**
 * `nn.LayerNorm`: keeps its input, mean and reciprocal deviation (fp32, one each per row). Under autocast it runs in fp32
 * (`autocast_mode.h`, fp32 list), so a low-precision input is copied first. `[..., h]` in and out.
 */
export function layerNorm(
  t: Tracer,
  x: Tensor,
  spec: { readonly name: string; readonly bias?: boolean; readonly gain?: boolean },
): Tensor {
  const width = x.shape.at(-1) ?? 1;
  const weights = [];
  if (spec.gain !== false) weights.push(t.weight({ name: `${spec.name}.weight`, shape: [width] }));
  if (spec.bias !== false && spec.gain !== false) {
    weights.push(t.weight({ name: `${spec.name}.bias`, shape: [width] }));
  }
  const input = t.settings.autocast ? t.cast(x, 'fp32', `${spec.name}.float`) : x;
  return t.fused({
    name: spec.name,
    inputs: [input],
    outputs: [{ shape: x.shape, dtype: input.dtype }],
    savesInputs: [input],
    savesBytes: (2 * x.elements * ELEMENT_BYTES.fp32) / width,
    weights,
    fusible: 'reduction',
  });
}
