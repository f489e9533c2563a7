import type { Block } from './block';
import { clampedGate, gatedProduct } from './mlp';

interface FusedMlpSpec {
  readonly name: string;
  readonly inner: number;
  /** `clamped`: gpt-oss's gate. */
  readonly activation: string;
  readonly gateUp: string;
  readonly down: string;
  readonly bias?: boolean;
  readonly dropout?: number;
  /** What is added to gate and up, made of the input (Zamba2's adapters). `[b, s, h]` to both widths. */
  readonly added?: Block;
}

/** Gated MLP whose gate and up projections are one linear, split into two views. */
export function fusedGatedMlp(spec: FusedMlpSpec): Block {
  return (t, x) => {
    const projected = t.linear(x, {
      name: `${spec.name}.${spec.gateUp}`,
      out: 2 * spec.inner,
      bias: spec.bias,
      split: 'column',
    });
    const joint = spec.added ? t.add(projected, spec.added(t, x), `${spec.name}.added`) : projected;
    const half = (joint.shape.at(-1) ?? 0) / 2;
    const [gate = joint, up = joint] = t.split(joint, [half, half]);
    const product =
      spec.activation === 'clamped'
        ? clampedGate(t, gate, up, spec.name)
        : gatedProduct(t, gate, spec.activation, () => up);
    const out = t.linear(product, {
      name: `${spec.name}.${spec.down}`,
      out: x.shape.at(-1) ?? 0,
      bias: spec.bias,
      split: 'row',
    });
    return t.dropout(out, spec.dropout ?? 0, `${spec.name}.dropout`);
  };
}
