import { type LinearSpec, ProductTracer } from './product-tracer';
import type { Tensor, Weight } from './tape';

export type { CustomSpec } from './operator-tracer';
export type { LinearSpec, Split } from './product-tracer';
export type { Tensor, Weight } from './tape';
export type { AdapterSettings, LinearRole, ModelCode, TraceSettings } from './trace-settings';

/**
 * Plays a forward pass on shapes alone and records, per operator, what PyTorch's autograd would keep, what it would
 * allocate, and what it computes. Families describe their layers by calling it, in the order of the reference code.
 *
 * The rules of what is kept follow `tools/autograd/derivatives.yaml` of PyTorch: a linear keeps its input only for
 * the weight's gradient, a product keeps each factor for the other's gradient, sums keep nothing.
 *
 * Each class adds one kind of operator: `TapeRecorder` none, `OperatorTracer` views and elementwise ones,
 * `ProductTracer` matrix products, this one linear layers with their adapters.
 */
export class Tracer extends ProductTracer {
  /**
   * Linear layer on the last dimension of `x`, with its adapter where the run adapts it. `x` holds the features that
   * are on this rank; `out` counts those of all ranks.
   */
  linear(x: Tensor, spec: LinearSpec): Tensor {
    const { adapter } = this.settings;
    const { base, localOut, rows, columns } = this.project(x, spec);
    if (!adapter?.targets(spec.name, spec.role ?? 'matrix')) return base;
    return this.adapt(x, base, spec, localOut, rows, columns);
  }

  /** A trained weight of an adapter, in the adapter's type. */
  adapterWeight(name: string, shape: readonly number[], local: readonly number[] = shape): Weight {
    const dtype = this.settings.adapter?.dtype;
    return this.weight({ name, shape, local, role: 'adapter', trainable: true, dtype });
  }

  /** PEFT's LoRA branch: `result + lora_B(lora_A(dropout(x))) * scaling`, in the adapter's type. */
  private adapt(
    x: Tensor,
    base: Tensor,
    spec: LinearSpec,
    out: number,
    rows: number,
    columns: number,
  ): Tensor {
    const { adapter } = this.settings;
    if (!adapter) return base;
    const { rank, dtype } = adapter;
    const localIn = x.shape.at(-1) ?? 0;
    const a = this.adapterWeight(`${spec.name}.lora_A.weight`, [rank, localIn * rows], [rank, localIn]);
    const b = this.adapterWeight(`${spec.name}.lora_B.weight`, [out * columns, rank], [out, rank]);
    if (adapter.dora) {
      this.weight({
        name: `${spec.name}.lora_magnitude_vector`,
        shape: [out * columns],
        local: [out],
        role: 'adapter',
        trainable: true,
        dtype,
      });
    }
    // `peft/tuners/lora/layer.py`, `Linear.forward`: the input and its copy are named until it returns.
    return this.scope(() => {
      const input = columns > 1 ? this.gatherSequence(x) : x;
      const cast = this.hold(this.cast(this.hold(input), dtype, `${spec.name}.lora_cast`));
      const low = this.scope(() => {
        const dropped = this.hold(
          this.dropout(cast, adapter.dropout, `${spec.name}.lora_dropout`, 'adapter'),
        );
        return this.linearWith(dropped, a, { name: `${spec.name}.lora_A`, out: rank });
      });
      const high = this.linearWith(low, b, { name: `${spec.name}.lora_B`, out });
      const part = rows > 1 && high.elements > base.elements ? this.scatterSequence(high) : high;
      const scaled = this.scale(part, `${spec.name}.lora_scaling`);
      const sum = this.add(base, scaled, `${spec.name}.lora_add`);
      return this.cast(sum, base.dtype, `${spec.name}.lora_result`);
    });
  }
}
