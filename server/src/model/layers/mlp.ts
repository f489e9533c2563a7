import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { applyActivation } from './activation';
import { fusedLoraMlp, fusesLora } from './fused-lora';

interface GatedMlpSpec {
  /** Module path, for example `mlp`. */
  readonly name: string;
  readonly inner: number;
  readonly activation: string;
  readonly bias?: boolean;
  /** Names of the three projections; default those of Llama. */
  readonly projections?: { readonly gate: string; readonly up: string; readonly down: string };
  readonly clamps?: Clamps;
}

/** Gate and up are clamped, the gate before its activation (DeepSeek V4) or behind it (Step 3.5): `clamp` keeps what it was given. */
export type Clamps = 'before' | 'behind';

/** `act(gate) * up` of clamped factors. `[..., inner]` of both, and of the result. */
export function clampedProduct(
  t: Tracer,
  gate: Tensor,
  up: Tensor,
  activation: string,
  { name, clamps }: { readonly name: string; readonly clamps: Clamps },
): Tensor {
  const limited = clamps === 'before' ? t.keepInput(gate, `${name}.clamp_gate`) : gate;
  const activated = applyActivation(t, limited, activation, 'act_fn');
  const left = clamps === 'before' ? activated : t.keepInput(activated, `${name}.clamp_gate`);
  return t.mul(left, t.keepInput(up, `${name}.clamp_up`), 'gated_product');
}

/** `GptOssExperts._apply_gate`. `[..., inner]` of gate and up, and of the result. */
export function clampedGate(t: Tracer, gate: Tensor, up: Tensor, name: string): Tensor {
  const low = t.keepInput(gate, `${name}.clamp_gate`);
  const high = t.keepInput(up, `${name}.clamp_up`);
  const sigmoid = t.keepOutput(t.scale(low, `${name}.alpha`), `${name}.sigmoid`);
  const glu = t.mul(low, sigmoid, `${name}.glu`);
  return t.mul(t.scale(high, `${name}.plus_one`), glu, `${name}.product`);
}

/** `down(act(gate(x)) * up(x))`, width of `x` in and out. `[..., h]` in and out. */
export function gatedMlp(t: Tracer, x: Tensor, spec: GatedMlpSpec): Tensor {
  const width = x.shape.at(-1) ?? 0;
  const names = spec.projections ?? { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' };
  const column = { out: spec.inner, bias: spec.bias, split: 'column' as const };
  const gateSpec = { name: `${spec.name}.${names.gate}`, ...column };
  const upSpec = { name: `${spec.name}.${names.up}`, ...column };
  const downSpec = { name: `${spec.name}.${names.down}`, out: width, bias: spec.bias, split: 'row' as const };
  const { clamps } = spec;
  if (!clamps && isFusable(spec.activation) && fusesLora(t, 'mlp', [gateSpec, upSpec, downSpec]))
    return fusedLoraMlp(t, x, { gate: gateSpec, up: upSpec, down: downSpec }, `${spec.name}.lora_mlp`);
  const gate = t.linear(x, gateSpec);
  const makeUp = () => t.linear(x, upSpec);
  const product = clamps
    ? clampedProduct(t, gate, makeUp(), spec.activation, { name: spec.name, clamps })
    : gatedProduct(t, gate, spec.activation, makeUp);
  return t.linear(product, downSpec);
}

/** Activations that fused kernels of gated MLPs know. */
function isFusable(activation: string): boolean {
  return activation === 'silu' || activation === 'swish' || activation.startsWith('gelu');
}

/**
 * `act(gate) * up`. Liger fuses it for silu and gelu, keeps gate and up only, and writes their gradients over them
 * (`ops/swiglu.py`, `ops/geglu.py`). `[..., inner]` of both, and of the result.
 */
export function gatedProduct(t: Tracer, gate: Tensor, activation: string, makeUp: () => Tensor): Tensor {
  const fusable = isFusable(activation);
  if (t.settings.liger && fusable) {
    const up = makeUp();
    return t.fused({
      name: 'liger_glu',
      inputs: [gate, up],
      outputs: [{ shape: gate.shape, dtype: gate.dtype }],
      savesInputs: [gate, up],
      gradRules: [gate.requiresGrad ? 'reuse' : 'none', up.requiresGrad ? 'reuse' : 'none'],
    });
  }
  if (t.settings.behaviours.fusesGatedProduct && fusable) {
    // One operator that keeps its input alone, gate and up side by side (`fusions/fused_bias_swiglu.py`).
    const up = makeUp();
    return t.fused({
      name: 'bias_swiglu',
      inputs: [gate, up],
      outputs: [{ shape: gate.shape, dtype: gate.dtype }],
      savesInputs: [gate, up],
    });
  }
  const activated = applyActivation(t, gate, activation, 'act_fn');
  return t.mul(activated, makeUp(), 'gated_product');
}

interface PlainMlpSpec {
  readonly name: string;
  readonly inner: number;
  readonly activation: string;
  readonly bias?: boolean;
  readonly projections: { readonly up: string; readonly down: string };
}

/** `down(act(up(x)))`, width of `x` in and out. `[..., h]` in and out. */
export function plainMlp(t: Tracer, x: Tensor, spec: PlainMlpSpec): Tensor {
  const width = x.shape.at(-1) ?? 0;
  const up = t.linear(x, {
    name: `${spec.name}.${spec.projections.up}`,
    out: spec.inner,
    bias: spec.bias,
    split: 'column',
  });
  const activated = applyActivation(t, up, spec.activation, `${spec.name}.act`);
  return t.linear(activated, {
    name: `${spec.name}.${spec.projections.down}`,
    out: width,
    bias: spec.bias,
    split: 'row',
  });
}
