import { isRounded } from '../fake-quantization';
import type { LinearSpec } from '../product-tracer';
import { ELEMENT_BYTES, type Tensor, type Weight } from '../tape';
import type { FusedLora } from '../trace-settings';
import type { Tracer } from '../tracer';

/**
 * Linear layers with their LoRA branches as one `autograd.Function` each for the queries, keys and values, for the output
 * projection and for the gated MLP (Axolotl 0.19, `kernels/lora.py`, `LoRA_QKV`, `LoRA_O`, `LoRA_MLP`; Unsloth 2026.10.9,
 * `kernels/fast_lora.py`). They work in the input's type, keep the input once instead of a copy per branch, and of the MLP
 * gate and up alone, over which backward writes their gradients. Factors of another type Axolotl keeps as copies. Unsloth casts them anew,
 * keeps no layer's input after its dropout but the mask of each, and leaves layers with biases to PEFT.
 */
export function fusesLora(t: Tracer, part: FusedLora, specs: readonly LinearSpec[]): boolean {
  const { adapter, fusedLora, quantization, tensorParallel, fakeQuantization } = t.settings;
  // Layers whose inputs are rounded run one by one (`fast_lora.py`, `_has_activation_fake_quantizer`).
  if (fakeQuantization === 'int8-int4') return false;
  // 8-bit weights are refused (`schemas/validation.py`, `check_lora_kernels_8bit`).
  if (!adapter || tensorParallel > 1 || quantization === 'int8' || fusedLora?.includes(part) !== true)
    return false;
  if ((adapter.kind ?? 'lora') !== 'lora' || adapter.dora) return false;
  if (t.settings.unsloth === true && specs.some(({ bias }) => bias)) return false;
  return specs.every(({ name, role }) => adapter.targets(name, role ?? 'matrix'));
}

/** Weights of layers that take `width` features, and what they take beside them. Bytes and FLOPs. */
interface Branches {
  readonly weights: Weight[];
  /** Factors in the type of the input, where theirs is another. */
  readonly copies: number;
  /** The largest base weight unpacked. */
  readonly unpacked: number;
  readonly base: number;
  readonly branch: number;
}

function branchesOf(t: Tracer, x: Tensor, layers: readonly { spec: LinearSpec; width: number }[]): Branches {
  const { adapter } = t.settings;
  const rows = x.elements / (x.shape.at(-1) ?? 1);
  const weights: Weight[] = [];
  let copies = 0;
  let unpacked = 0;
  let base = 0;
  let branch = 0;
  for (const { spec, width } of layers) {
    const { name, out, bias } = spec;
    const rank = adapter?.rankOf?.(name) ?? adapter?.rank ?? 1;
    const weight = t.weight({ name: `${name}.weight`, shape: [out, width], quantizable: true });
    weights.push(
      weight,
      t.adapterWeight(`${name}.lora_A.weight`, [rank, width]),
      t.adapterWeight(`${name}.lora_B.weight`, [out, rank]),
    );
    if (bias) weights.push(t.weight({ name: `${name}.bias`, shape: [out] }));
    if (adapter?.ownBias) weights.push(t.adapterWeight(`${name}.lora_B.bias`, [out]));
    const factors = rank * (width + out);
    if (adapter?.dtype !== x.dtype && t.settings.unsloth !== true) copies += factors * ELEMENT_BYTES[x.dtype];
    // Rounded weights stay with the function until backward (`ctx.custom_saved_tensors`).
    if (isRounded(weight, t.settings.fakeQuantization)) copies += out * width * ELEMENT_BYTES[x.dtype];
    if (weight.quantization !== 'none') unpacked = Math.max(unpacked, out * width * ELEMENT_BYTES[x.dtype]);
    base += 2 * rows * width * out;
    branch += 2 * rows * factors;
  }
  return { weights, copies, unpacked, base, branch };
}

/** The input after the dropout that the layers of one function share; Unsloth makes it anew of the masks. */
function dropped(t: Tracer, x: Tensor, name: string): readonly Tensor[] {
  const { adapter, unsloth } = t.settings;
  if (unsloth === true) return [x];
  const other = t.dropout(x, adapter?.dropout ?? 0, `${name}.lora_dropout`, 'adapter');
  return other === x ? [x] : [x, other];
}

/** Bytes of the masks of dropout that Unsloth keeps of inputs with so many elements, and of the largest input that it drops of. */
function masksOf(t: Tracer, dtype: Tensor['dtype'], elements: readonly number[]) {
  const { adapter, unsloth } = t.settings;
  if (unsloth !== true || (adapter?.dropout ?? 0) === 0) return { kept: 0, scratch: 0 };
  const kept = elements.reduce((sum, each) => sum + each * ELEMENT_BYTES.bool, 0);
  return { kept, scratch: Math.max(...elements) * ELEMENT_BYTES[dtype] };
}

/** `LoRA_QKV` and `LoRA_O`: all of the layers take `x`; one result for each. From `[b, s, h]` to `[b, s, out]` of each. */
export function fusedLoraLinears(t: Tracer, x: Tensor, specs: readonly LinearSpec[], name: string): Tensor[] {
  const width = x.shape.at(-1) ?? 0;
  const inputs = dropped(t, x, name);
  const all = branchesOf(
    t,
    x,
    specs.map((spec) => ({ spec, width })),
  );
  const masks = masksOf(
    t,
    x.dtype,
    specs.map(() => x.elements),
  );
  return t.custom({
    name,
    inputs,
    outputs: specs.map(({ out }) => ({ shape: [...x.shape.slice(0, -1), out], dtype: x.dtype })),
    savesInputs: inputs,
    savesBytes: all.copies + masks.kept,
    forwardScratch: all.unpacked + masks.scratch,
    backwardScratch: all.unpacked + masks.scratch,
    weights: all.weights,
    flops: all.base + all.branch,
    backwardFlops: all.base + 2 * all.branch,
    expensive: true,
  });
}

/** `LoRA_MLP`: gate, up, their product and the way down. `[b, s, h]` in and out. */
export function fusedLoraMlp(
  t: Tracer,
  x: Tensor,
  { gate, up, down }: { readonly gate: LinearSpec; readonly up: LinearSpec; readonly down: LinearSpec },
  name: string,
): Tensor {
  const width = x.shape.at(-1) ?? 0;
  const inputs = dropped(t, x, name);
  const all = branchesOf(t, x, [
    { spec: gate, width },
    { spec: up, width },
    { spec: down, width: up.out },
  ]);
  // Gate or up of all tokens; the product of both, and its gradient.
  const wide = (x.elements / width) * up.out;
  const inner = wide * ELEMENT_BYTES[x.dtype];
  const masks = masksOf(t, x.dtype, [x.elements, x.elements, wide]);
  return t.fused({
    name,
    inputs,
    outputs: [{ shape: [...x.shape.slice(0, -1), down.out], dtype: x.dtype }],
    savesInputs: inputs,
    savesBytes: 2 * inner + all.copies + masks.kept,
    forwardScratch: inner + all.unpacked + masks.scratch,
    backwardScratch: inner + all.unpacked + masks.scratch,
    weights: all.weights,
    flops: all.base + all.branch,
    backwardFlops: all.base + 2 * all.branch,
    expensive: true,
  });
}
