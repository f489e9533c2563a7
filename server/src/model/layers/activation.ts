import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';

/** Names of transformers' `ACT2FN` that keep their input and run as one operator. */
const FUSED = new Set([
  'silu',
  'swish',
  'gelu',
  'gelu_pytorch_tanh',
  'gelu_python_tanh',
  'mish',
  'hardswish',
]);

/**
 * Activation function by its `ACT2FN` name. `silu` and the built-in `gelu` keep their input, `relu` its result; `gelu_new`
 * and its relatives are written in Python and keep four tensors of the input's size (`NewGELUActivation`: measured 8 bytes
 * per bf16 element). Of any shape, `[..., n]` in and out.
 */
export function applyActivation(t: Tracer, x: Tensor, kind: string, name = 'act_fn'): Tensor {
  // litgpt calls `F.gelu(x, approximate='tanh')` where transformers writes the function out (`model.py`, `GptNeoxMLP`).
  // Megatron fuses bias and activation, which keeps its input (`fusions/fused_bias_gelu.py`).
  const { fusesActivation, fusesApproximateGelu } = t.settings.behaviours;
  const fused = FUSED.has(kind) || (fusesApproximateGelu && kind.startsWith('gelu')) || fusesActivation;
  if (fused) return t.keepInput(x, name);
  switch (kind) {
    case 'relu':
    case 'sigmoid':
    case 'tanh':
      return t.keepOutput(x, name);
    case 'relu2':
      // The input has a name to the end (`ReLUSquaredActivation`); autocast squares in fp32, as `pow` (`autocast_mode.h`).
      return t.scope(() => {
        const relu = t.hold(t.keepOutput(t.hold(x), `${name}.relu`));
        return t.power(t.settings.autocast ? t.cast(relu, 'fp32', `${name}.float`) : relu, `${name}.square`);
      });
    case 'quick_gelu': {
      const gate = t.keepOutput(t.scale(x, `${name}.scale`), `${name}.sigmoid`);
      return t.mul(x, gate, name);
    }
    case 'gelu_new':
    case 'gelu_fast':
    case 'gelu_10':
    case 'gelu_accurate':
      return pythonTanhGelu(t, x, name);
    case 'bloom_gelu':
      return bloomGelu(t, x, name);
    case 'xielu':
      return xielu(t, x, name);
    case 'linear':
    case 'identity':
      return x;
    default:
      return t.keepInput(x, name);
  }
}

/**
 * BLOOM's `GeLUFunction` keeps its input alone and computes both ways out of elementwise operators: at most four results
 * at a time forward and five backward (`modeling_bloom.py`, `bloom_gelu_forward`, `bloom_gelu_back`).
 */
function bloomGelu(t: Tracer, x: Tensor, name: string): Tensor {
  const bytes = x.elements * ELEMENT_BYTES[x.dtype];
  return t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype: x.dtype }],
    savesInputs: [x],
    forwardScratch: 3 * bytes,
    backwardScratch: 4 * bytes,
  });
}

/** `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, operator by operator. `pow` runs in fp32 under autocast. */
function pythonTanhGelu(t: Tracer, x: Tensor, name: string): Tensor {
  return t.scope(() => {
    const half = t.scale(t.hold(x), `${name}.half`);
    const wide = t.settings.autocast ? t.cast(x, 'fp32', `${name}.float`) : x;
    const cube = t.power(wide, `${name}.pow`);
    const sum = t.add(x, t.scale(cube, `${name}.coefficient`), `${name}.add`);
    const tanh = t.keepOutput(t.scale(sum, `${name}.inner`), `${name}.tanh`);
    return t.mul(half, t.scale(tanh, `${name}.plus_one`), name);
  });
}

/**
 * xIELU in Python (`XIELUActivation._xielu_python`): two learned scalars, and both sides of a `where` computed of every
 * element. Scalars of one element raise what they are multiplied with to their type, and autocast takes `expm1` in fp32.
 */
function xielu(t: Tracer, x: Tensor, name: string): Tensor {
  const weights = ['alpha_p', 'alpha_n'].map((part) => t.weight({ name: `${name}.${part}`, shape: [1] }));
  const { autocast, weightDtype } = t.settings;
  const dtype = autocast ? 'fp32' : x.dtype;
  const product = autocast && weightDtype === 'fp32' ? 'fp32' : x.dtype;
  const bytes = (type: typeof dtype) => x.elements * ELEMENT_BYTES[type];
  return t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: x.shape, dtype }],
    savesInputs: [x],
    // `alpha_p * x`; `expm1` and the difference that is multiplied by `alpha_n`; the mask of `where`.
    savesBytes: bytes(product) + 2 * bytes(dtype) + x.elements,
    weights,
    // The first side, and of the second its product, `beta * x` and their sum.
    forwardScratch: bytes(product) + bytes(dtype) + bytes(x.dtype),
    // Gradients of both sides and of what `alpha_n` multiplies; the mask is freed by then.
    backwardScratch: 3 * bytes(dtype) - x.elements,
  });
}
