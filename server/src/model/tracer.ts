import { rotatedInput, scaledRows } from './adapter-rotations';
import { branch } from './adapters';
import { decomposed } from './dora';
import { type LinearSpec, ProductTracer } from './product-tracer';
import { ELEMENT_BYTES, type Tensor, type Weight } from './tape';
import type { ExpertAdapter } from './trace-settings';
import { addsVirtualTokens, withVirtualTokens } from './virtual-tokens';

export type { CustomSpec } from './operator-tracer';
export type { LinearSpec, Split } from './product-tracer';
export type { Tensor, Weight } from './tape';
export type { AdapterSettings, LinearRole, TraceSettings } from './trace-settings';

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
    const adapts = adapter?.targets(spec.name, spec.role ?? 'matrix') === true;
    if (!adapter || !adapts) return this.project(x, spec).base;
    const kind = adapter.kind ?? 'lora';
    const input = kind === 'lora' ? x : rotatedInput(this, adapter, x, spec.name);
    const { base, localOut, rows, columns, weight } = this.project(input, spec);
    if (kind === 'lora') return this.adapt(x, base, spec, localOut, rows, columns, weight);
    if (kind === 'boft') return scaledRows(this, base, spec.name, spec.out);
    if (input !== x) return base;
    const inFeatures = (x.shape.at(-1) ?? 0) * rows;
    return branch(this, adapter, { path: spec.name, inFeatures, outFeatures: spec.out, x, base });
  }

  /** The adapter of a linear layer that was computed by other means: `base` is its result. */
  withAdapter(x: Tensor, base: Tensor, spec: LinearSpec, weight?: Weight): Tensor {
    const { adapter } = this.settings;
    if ((adapter?.kind ?? 'lora') !== 'lora' || !adapter?.targets(spec.name, spec.role ?? 'matrix'))
      return base;
    return this.adapt(x, base, spec, spec.out, 1, 1, weight);
  }

  /**
   * The adapter of a linear layer of so many inputs whose own weight a kernel reads (`outproj_weight=self.out_proj.weight` in Mamba's): it is
   * there and counts as trained, and nothing goes through it. The kernel has to name it among its weights: that it has no gradient, and so no
   * states of an optimizer, is not followed (some megabytes less, but where gradients lie in one flat buffer).
   */
  idleAdapter(spec: LinearSpec, inFeatures: number): readonly Weight[] {
    const { adapter, computeDtype } = this.settings;
    if (!adapter?.targets(spec.name, spec.role ?? 'matrix')) return [];
    const probe = new Tracer(this.settings);
    probe.linear(probe.input([1, 1, inFeatures], computeDtype, false, spec.name), spec);
    const weights = probe.finish().weights.filter(({ role }) => role === 'adapter');
    this.adopt(weights);
    return weights;
  }

  /** Product with the stacked weight of experts, `[experts, out, in]` or its transpose, with their adapters. */
  expertLinear(x: Tensor, weight: Weight, spec: Parameters<ProductTracer['linearWith']>[2]): Tensor {
    const { adapter } = this.settings;
    const chosen = (adapter?.kind ?? 'lora') === 'lora' ? adapter?.experts?.(spec.name) : undefined;
    if (!adapter || !chosen) return this.linearWith(x, weight, spec);
    return chosen.as === 'modules'
      ? this.adaptExperts(x, weight, spec, chosen)
      : this.adaptStack(x, weight, spec, chosen.rank);
  }

  /** One adapter per expert; where gate and up are stacked, each has its own. */
  private adaptExperts(
    x: Tensor,
    weight: Weight,
    spec: Parameters<ProductTracer['linearWith']>[2],
    { rank, together }: ExpertAdapter,
  ): Tensor {
    const { adapter } = this.settings;
    const base = this.linearWith(x, weight, spec);
    if (!adapter) return base;
    // One module per projection, unless a grouped one is adapted as a whole.
    const apart = together !== true && !this.settings.behaviours.adaptsGatedExpertsTogether;
    const modules = isJoint(spec.name) && apart ? 2 : 1;
    const [a, b] = this.expertFactors(x, weight, spec.name, rank * modules, rank);
    return this.scope(() => {
      // Unsloth casts the factors to the input's type instead (`forward_native_grouped_mm`).
      const type = this.settings.unsloth === true ? x.dtype : adapter.dtype;
      const cast = this.hold(this.cast(this.hold(x), type, `${spec.name}.lora_cast`));
      const dropped = this.dropout(cast, adapter.dropout, `${spec.name}.lora_dropout`, 'adapter');
      const low = this.linearWith(dropped, a, { name: `${spec.name}.lora_A`, out: rank });
      const high = this.linearWith(low, b, { name: `${spec.name}.lora_B`, out: spec.out });
      const sum = this.add(base, this.scale(high, `${spec.name}.lora_scaling`), `${spec.name}.lora_add`);
      return this.cast(sum, base.dtype, `${spec.name}.lora_result`);
    });
  }

  /**
   * LoRA of a stacked parameter (PEFT, `ParamWrapper`): the sum of the weight and its change is multiplied and kept, and both parameters of
   * the module stay patched until it returns.
   */
  private adaptStack(
    x: Tensor,
    weight: Weight,
    spec: Parameters<ProductTracer['linearWith']>[2],
    rank: number,
  ): Tensor {
    const [a, b] = this.expertFactors(x, weight, spec.name, rank, rank);
    const changed = this.settings.behaviours.makesWholeChangeOfExperts
      ? this.withWholeChange(weight, [a, b], spec.name, rank)
      : this.withFoldedChange(weight, [a, b], spec.name, rank);
    const sum = this.hold(changed);
    const rows = x.elements / (x.shape.at(-1) ?? 1);
    const flops = 2 * rows * (x.shape.at(-1) ?? 0) * spec.out;
    return this.fused({
      name: spec.name,
      inputs: [x, sum],
      outputs: [{ shape: [...x.shape.slice(0, -1), spec.out], dtype: x.dtype }],
      savesInputs: [x, sum],
      weights: spec.bias ? [spec.bias] : [],
      flops,
      backwardFlops: 2 * flops,
      expensive: true,
    });
  }

  /** One `baddbmm` of factors that are cast to the weight's type (`_LoraFactorsProxy`, `get_delta_factors`). */
  private withFoldedChange(
    weight: Weight,
    [a, b]: readonly [Weight, Weight],
    name: string,
    rank: number,
  ): Tensor {
    const casts = a.dtype === weight.dtype ? 0 : ELEMENT_BYTES[weight.dtype];
    return this.fused({
      name: `${name}.weight_sum`,
      inputs: [],
      outputs: [{ shape: [weight.localElements], dtype: weight.dtype }],
      savesBytes: casts * (a.localElements + b.localElements),
      weights: [weight, a, b],
      flops: 2 * weight.localElements * rank,
    });
  }

  /** The change is made whole, scaled, cast to the weight's type, and named while the module runs (`_LoraParameterProxy`). */
  private withWholeChange(
    weight: Weight,
    [a, b]: readonly [Weight, Weight],
    name: string,
    rank: number,
  ): Tensor {
    const { autocast, computeDtype } = this.settings;
    const product = autocast ? computeDtype : a.dtype;
    const shape = [weight.localElements];
    const casts = a.dtype === product ? 0 : ELEMENT_BYTES[product];
    const change = this.fused({
      name: `${name}.delta_weight`,
      inputs: [],
      outputs: [{ shape, dtype: product }],
      savesBytes: casts * (a.localElements + b.localElements),
      weights: [a, b],
      flops: 2 * weight.localElements * rank,
    });
    const scaled = this.scale(change, `${name}.delta_scaling`);
    const delta = this.hold(this.cast(scaled, weight.dtype, `${name}.delta_cast`));
    return this.fused({
      name: `${name}.weight_sum`,
      inputs: [delta],
      outputs: [{ shape, dtype: weight.dtype }],
      gradRules: ['alias'],
      weights: [weight],
    });
  }

  /** Both factors of all experts; `low` is the width between them in the first. */
  private expertFactors(
    x: Tensor,
    weight: Weight,
    name: string,
    low: number,
    rank: number,
  ): [Weight, Weight] {
    const [count = 1] = weight.shape;
    const share = weight.localElements / weight.elements;
    const width = x.shape.at(-1) ?? 1;
    const out = weight.elements / count / width;
    const local = count * share;
    return [
      this.adapterWeight(`${name}.lora_A`, [count, low, width], [local, low, width], weight),
      this.adapterWeight(`${name}.lora_B`, [count, out, rank], [local, out, rank], weight),
    ];
  }

  /**
   * A module that runs on parts of its rows, each as many as `x` has features, without a graph; of all it keeps its input alone, and
   * plays each part again in backward (Unsloth, `unsloth_zoo/tiled_mlp.py`, `TiledMLP`, `tiled_forward_arctic_size`). Rows and width stay.
   */
  tiled(x: Tensor, name: string, body: (t: Tracer, x: Tensor) => Tensor): Tensor {
    const width = x.shape.at(-1) ?? 1;
    const rows = x.elements / width;
    const most = Math.min(rows, width);
    const inner = new Tracer({ ...this.settings, batch: 1, sequence: most });
    const given = inner.input([1, most, width], x.dtype, x.requiresGrad, `${name}.part`);
    const result = body(inner, given);
    inner.output(result);
    const part = inner.finish();
    const sum = (of: 'flops' | 'backwardFlops') =>
      (part.operations.reduce((all, operation) => all + operation[of], 0) * rows) / most;
    this.adopt(part.weights);
    const out = this.tensor(x.shape, result.dtype, x.requiresGrad, name);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      saves: x.requiresGrad ? [x.storage] : [],
      part,
      weights: part.weights,
      weightGrads: part.operations.flatMap(({ weightGrads }) => weightGrads),
      flops: sum('flops'),
      backwardFlops: x.requiresGrad ? sum('flops') + sum('backwardFlops') : 0,
      expensive: true,
    });
    return out;
  }

  /** Registers the weights of modules that leave nothing on this tape, adapters included: `body` plays one pass of them on another. */
  registerWeightsOf(body: (probe: Tracer) => void): void {
    const probe = new Tracer(this.settings);
    body(probe);
    this.adopt(probe.finish().weights);
  }

  /** A lookup, with the adapter of its table, virtual tokens before it, or trained rows of it. */
  override embedding(ids: Tensor, spec: Parameters<ProductTracer['embedding']>[1]): Tensor {
    const looked = this.noisy(super.embedding(ids, spec), spec.tokens === true);
    const { adapter, raisesCopies, weightDtype, wideActivations } = this.settings;
    // What a copy in fp32 gives goes on in the type of the other weights (`unsloth/models/llama.py`, `inputs_embeds.to`).
    const own = raisesCopies === true ? this.cast(looked, weightDtype, `${spec.name}.cast`) : looked;
    const out = wideActivations === true ? this.cast(looked, 'fp32', `${spec.name}.wide`) : own;
    if (!adapter || spec.tiedTo !== undefined) return out;
    const isTable = spec.tokens === true;
    if (isTable && addsVirtualTokens(adapter.kind)) return withVirtualTokens(this, out, adapter, spec);
    if (isTable && (adapter.tokens ?? 0) > 0) {
      const rows = this.adapterWeight(`${spec.name}.token_adapter`, [adapter.tokens ?? 0, spec.columns]);
      return this.fused({
        name: `${spec.name}.token_adapter`,
        inputs: [out],
        outputs: [{ shape: out.shape, dtype: out.dtype }],
        weights: [rows],
      });
    }
    if (!adapter.targets(spec.name, 'head') || (adapter.kind ?? 'lora') !== 'lora') return out;
    return this.adaptTable(ids, out, spec.name, spec.rows, spec.columns);
  }

  /** NEFTune's hook: the noise and the sum are tensors of their own (`neftune_post_forward_hook`). */
  private noisy(embedded: Tensor, tokens: boolean): Tensor {
    if (!tokens || this.settings.noisyEmbeddings !== true || this.settings.evaluating) return embedded;
    return this.fused({
      name: 'neftune',
      inputs: [embedded],
      outputs: [{ shape: embedded.shape, dtype: embedded.dtype }],
      gradRules: [embedded.requiresGrad ? 'alias' : 'none'],
      forwardScratch: embedded.storage.bytes,
    });
  }

  /** LoRA of an embedding: rows of the first factor are looked up, then multiplied with the second. */
  private adaptTable(ids: Tensor, base: Tensor, name: string, rows: number, columns: number): Tensor {
    const { adapter } = this.settings;
    if (!adapter) return base;
    const rank = adapter.rankOf?.(name) ?? adapter.rank;
    const a = this.adapterWeight(`${name}.lora_embedding_A`, [rank, rows]);
    const b = this.adapterWeight(`${name}.lora_embedding_B`, [columns, rank]);
    const low = this.fused({
      name: `${name}.lora_embedding_A`,
      inputs: [ids],
      outputs: [{ shape: [...ids.shape, rank], dtype: adapter.dtype }],
      savesInputs: [ids],
      weights: [a],
    });
    const high = this.linearWith(low, b, { name: `${name}.lora_embedding_B`, out: columns });
    return this.cast(
      this.add(base, this.scale(high, `${name}.lora_scaling`), `${name}.lora_add`),
      base.dtype,
      `${name}.lora_result`,
    );
  }

  /** PEFT's LoRA branch: `result + lora_B(lora_A(dropout(x))) * scaling`, in the adapter's type. */
  private adapt(
    x: Tensor,
    base: Tensor,
    spec: LinearSpec,
    out: number,
    rows: number,
    columns: number,
    weight?: Weight,
  ): Tensor {
    const { adapter } = this.settings;
    if (!adapter) return base;
    // Unsloth computes the branch in the input's type and casts the factors to it.
    const dtype = this.settings.unsloth === true ? x.dtype : adapter.dtype;
    const rank = adapter.rankOf?.(spec.name) ?? adapter.rank;
    const localIn = x.shape.at(-1) ?? 0;
    const a = this.adapterWeight(`${spec.name}.lora_A.weight`, [rank, localIn * rows], [rank, localIn]);
    const b = this.adapterWeight(`${spec.name}.lora_B.weight`, [out * columns, rank], [out, rank]);
    const bias = adapter.ownBias
      ? this.adapterWeight(`${spec.name}.lora_B.bias`, [out * columns], [out])
      : undefined;
    const magnitude = adapter.dora
      ? this.adapterWeight(`${spec.name}.lora_magnitude_vector.weight`, [out * columns], [out])
      : undefined;
    // `peft/tuners/lora/layer.py`, `Linear.forward`: the input and its copy are named until it returns.
    return this.scope(() => {
      const input = columns > 1 ? this.gatherSequence(x) : x;
      const cast = this.hold(this.cast(this.hold(input), dtype, `${spec.name}.lora_cast`));
      const drop = () =>
        this.hold(this.dropout(cast, adapter.dropout, `${spec.name}.lora_dropout`, 'adapter'));
      const down = (dropped: Tensor) =>
        this.linearWith(dropped, a, { name: `${spec.name}.lora_A`, out: rank });
      const up = (low: Tensor) => this.linearWith(low, b, { name: `${spec.name}.lora_B`, out, bias });
      let branch: Tensor;
      if (magnitude && weight) {
        const dropped = drop();
        branch = decomposed(this, {
          name: spec.name,
          x: dropped,
          base: dropped === cast ? base : undefined,
          biased: spec.bias === true,
          weight,
          magnitude,
          rank,
          out,
          low: () => up(down(dropped)),
        });
      } else {
        const high = up(this.scope(() => down(drop())));
        const part = rows > 1 && high.elements > base.elements ? this.scatterSequence(high) : high;
        branch = this.scale(part, `${spec.name}.lora_scaling`);
      }
      const sum = this.add(base, branch, `${spec.name}.lora_add`);
      return this.cast(sum, base.dtype, `${spec.name}.lora_result`);
    });
  }
}

/** Gate and up projections side by side. */
function isJoint(path: string): boolean {
  return path.endsWith('gate_up_proj');
}
