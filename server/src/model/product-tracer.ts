import { isRounded, keptOfRounding } from './fake-quantization';
import { OperatorTracer } from './operator-tracer';
import {
  ELEMENT_BYTES,
  type Storage,
  type StorageKind,
  type Tensor,
  type TensorDType,
  type Weight,
} from './tape';
import { gradOf } from './tape-recorder';
import { gatherOf, localRows, logitsOf, sequenceRanks, splitsEmbedding } from './tensor-parallel';
import type { LinearRole } from './trace-settings';

/** How tensor parallelism splits a weight: by output, by input, by vocabulary rows, or not at all. */
export type Split = 'column' | 'row' | 'vocabulary' | 'none';

export interface LinearSpec {
  /** Module path inside the stage, for example `self_attn.q_proj`. */
  readonly name: string;
  /** Output features over all ranks. */
  readonly out: number;
  readonly bias?: boolean;
  readonly split?: Split;
  readonly role?: LinearRole;
  /** Output features on this rank, where ranks hold copies (fewer key heads than ranks). */
  readonly local?: number;
  /** Name of the weight it shares, for a head tied to the embedding. */
  readonly tiedTo?: string;
  readonly kind?: StorageKind;
  /** Its model's class lists it among the modules that stay in fp32 (`_keep_in_fp32_modules`). */
  readonly listed?: boolean;
}

/** Kinds whose product saves its input beside the packed weight (their `autograd.Function`s). */
const KEEP_INPUT: ReadonlySet<Weight['quantization']> = new Set([
  'awq',
  'aqlm',
  'hqq',
  'eetq',
  'quanto',
  'ao-int4',
  'ao-int8',
]);

/** Kinds whose quantizers in transformers do not ask which modules a class lists (`quantizer_gptq.py`, `quantizer_hqq.py`). */
const IGNORES_LISTED: ReadonlySet<Weight['quantization']> = new Set(['gptq', 'hqq']);

/** Whether autocast keeps what it casts of a weight until it exits. */
const isCached = ({ trainable, dtype }: Weight): boolean => trainable && dtype === 'fp32';

/** bitsandbytes' 4-bit kinds. */
function isPacked(weight: Weight): boolean {
  return weight.quantization === 'nf4' || weight.quantization === 'fp4';
}

/** Matrix products: of two activations, with plain, autocast and quantized weights, and lookups in a table. */
export abstract class ProductTracer extends OperatorTracer {
  private copies = new Map<string, Storage>();
  private whole = new Map<number, Tensor>();
  private gathered = false;

  /** `shape` with its sequence `factor` times as long. */
  private withSequence(shape: readonly number[], factor: number): number[] {
    const at = shape.length - 2;
    return shape.map((size, i) => (i === at ? size * factor : size));
  }

  /** Ranks that hold the parts of `x` along the sequence, if `x` is such a part. */
  private partsOf(x: Tensor): number {
    const ranks = sequenceRanks(this.settings);
    if (ranks === 1) return 1;
    return x.shape.at(-2) === Math.ceil(this.settings.sequence / ranks) ? ranks : 1;
  }

  /** The whole sequence of which `x` is a part, from all ranks; backward leaves the part's gradient. Nothing is kept. */
  gatherSequence(x: Tensor): Tensor {
    const parts = this.partsOf(x);
    if (parts === 1) return x;
    this.gathered = true;
    const known = this.whole.get(x.id);
    if (known) return known;
    const whole = this.copy(x, this.withSequence(x.shape, parts), 'all_gather');
    this.whole.set(x.id, whole);
    return whole;
  }

  /** This rank's part of a sum over ranks, along the sequence. */
  scatterSequence(x: Tensor, name = 'reduce_scatter'): Tensor {
    const ranks = sequenceRanks(this.settings);
    return ranks === 1 ? x : this.copy(x, this.withSequence(x.shape, 1 / ranks), name);
  }

  /** Batched matrix product of two activations: `[.., m, k] x [.., k, n]`. */
  matmul(
    a: Tensor,
    b: Tensor,
    shape: readonly number[],
    inner: number,
    name = 'bmm',
    kind?: StorageKind,
  ): Tensor {
    // `[batch, heads, queries, keys]` of a sequence with itself. Scores with values give rows, which may be as wide as the sequence is long.
    const square = shape.length === 4 && shape[2] === shape[3];
    const pairs = square && !a.storage.quadratic && !b.storage.quadratic;
    const out = this.tensor(shape, a.dtype, a.requiresGrad || b.requiresGrad, name, kind, pairs);
    const saves: Storage[] = [];
    if (b.requiresGrad) saves.push(a.storage);
    if (a.requiresGrad) saves.push(b.storage);
    const flops = 2 * out.elements * inner;
    this.record({
      name,
      inputs: [a, b],
      outputs: [out],
      saves,
      flops,
      backwardFlops: (a.requiresGrad ? flops : 0) + (b.requiresGrad ? flops : 0),
      expensive: true,
    });
    return out;
  }

  /** Type that a matrix product runs in: the compute type under autocast, else the input's own. */
  private matrixDtype(x: Tensor): TensorDType {
    const { autocast, computeDtype, weightDtype, wideActivations } = this.settings;
    if (autocast) return computeDtype;
    return wideActivations === true ? weightDtype : x.dtype;
  }

  /**
   * The copy of a weight in the type of the product: autocast caches it for trainable leaves in fp32, and makes it per call for frozen ones and
   * those in 16 bits (`aten/src/ATen/autocast_mode.cpp`, `cached_cast`).
   */
  private weightCopy(weight: Weight): Storage {
    const known = this.copies.get(weight.name);
    if (known) return known;
    const bytes = weight.localElements * ELEMENT_BYTES[this.settings.computeDtype];
    if (!isCached(weight)) return this.keptWeight(bytes, weight.name);
    const copy = this.storage(bytes, weight.name, 'weight-copy');
    this.copies.set(weight.name, copy);
    return copy;
  }

  /** What the graph keeps of a weight until backward, as large whatever the batch is. */
  private keptWeight(bytes: number, name: string): Storage {
    return { ...this.storage(bytes, name, 'kept-weight'), fixed: true };
  }

  /**
   * Copies of a quantized weight while it is unpacked: Lightning quantizes from fp16 whatever the compute type is
   * (`plugins/precision/bitsandbytes.py`, `dtype=torch.half`), so it is unpacked to fp16 and then cast.
   */
  get unpackedCopies(): number {
    return this.settings.behaviours.unpacksToFp16 && this.settings.computeDtype !== 'fp16' ? 2 : 1;
  }

  /**
   * What a product in fp8 keeps and makes beside a plain one. Transformer Engine (`module/linear.py`) keeps the input in fp8,
   * transposed, and both layouts of the weight's fp8 copy; with block-wise scales, an fp32 for every 128 elements of the
   * input and every 128 x 128 of the weight; the weight's are made by the first micro batch of a step and read by all
   * (`get_weight_workspace`, `is_first_microbatch`). torchao (`float8/float8_linear.py`) keeps input and weight as they are and
   * casts both anew, the gradient too. Embeddings, heads and what is not a multiple of 16 stay.
   */
  private lowered(
    weight: Weight,
    input: Tensor,
  ): { input?: Storage; weight?: Storage; forward: number; backward: number } | undefined {
    const kind = this.settings.fp8 ?? 'none';
    if (weight.scaled === true) return this.scaledProduct(weight, input);
    if (kind.startsWith('ms-amp')) return undefined;
    const fits =
      weight.role === 'matrix' && weight.shape.length === 2 && weight.shape.every((size) => size % 16 === 0);
    if (kind === 'none' || weight.quantization !== 'none' || !fits) return undefined;
    const { localElements } = weight;
    if (kind === 'torchao') {
      const casts = localElements + input.elements;
      return {
        forward: casts,
        backward: casts + (input.elements * (weight.shape[0] ?? 0)) / (weight.shape[1] ?? 1),
      };
    }
    const block = kind === 'blockwise';
    const ofInput = input.elements * (1 + (block ? 4 / 128 : 0));
    const ofWeight = 2 * localElements * (1 + (block ? 4 / 128 ** 2 : 0));
    return {
      input: this.storage(ofInput, `${weight.name}.fp8_input`, 'activation'),
      weight: { ...this.storage(ofWeight, `${weight.name}.fp8`, 'activation'), oncePerStep: true },
      forward: ofInput,
      backward: input.elements,
    };
  }

  /**
   * MS-AMP (0.4, `nn/functional.py`, `_FP8GemmFunction`): input and weight are cast to fp8 in every forward pass, and the node
   * holds both as plain attributes. Backward casts the incoming gradient to fp8 in both layouts, and transposes both.
   */
  private scaledProduct(
    weight: Weight,
    input: Tensor,
  ): { input: Storage; weight: Storage; forward: number; backward: number } {
    const held = {
      input: this.storage(input.elements, `${weight.name}.fp8_input`, 'activation'),
      weight: this.storage(weight.localElements, `${weight.name}.fp8`, 'activation'),
    };
    this.holdInGraph(held.input);
    this.holdInGraph(held.weight);
    const rows = input.elements / (weight.shape[1] ?? 1);
    const gradient = rows * (weight.shape[0] ?? 1);
    return { ...held, forward: 0, backward: 2 * gradient + weight.localElements + input.elements };
  }

  /** bitsandbytes' 4-bit product keeps its input in old versions only; those of other kinds save it for backward. */
  private keepsQuantizedInput(weight: Weight): boolean {
    return isPacked(weight)
      ? this.settings.behaviours.quantizedKeepsInput
      : KEEP_INPUT.has(weight.quantization);
  }

  /**
   * LLM.int8 (`bitsandbytes/autograd/_functions.py`, `MatMul8bitLt`): the input is cast to fp16 and quantized row by row;
   * the product is made in int32, then in fp16, then in the input's type. The node holds its input as it was given, as a
   * plain attribute, and backward makes a copy of the weight in that type.
   */
  private multiplyInt8(
    x: Tensor,
    weight: Weight,
    bias: Weight | undefined,
    outFeatures: number,
    name: string,
    kind?: StorageKind,
  ): Tensor {
    const out = this.tensor([...x.shape.slice(0, -1), outFeatures], x.dtype, x.requiresGrad, name, kind);
    const flops = 2 * out.elements * (x.shape.at(-1) ?? 0);
    const half = x.dtype === 'fp16' ? 0 : ELEMENT_BYTES.fp16;
    if (x.requiresGrad) this.holdInGraph(x.storage);
    this.record({
      name,
      inputs: [x],
      outputs: [out],
      saves: x.requiresGrad ? [x.storage] : [],
      forwardScratch: x.elements * (half + 1) + out.elements * (4 + half),
      backwardScratch: x.requiresGrad ? weight.localElements * ELEMENT_BYTES[x.dtype] : 0,
      weights: bias ? [weight, bias] : [weight],
      weightGrads: bias?.trainable ? [gradOf(bias, x.dtype)] : [],
      flops,
      backwardFlops: x.requiresGrad ? flops : 0,
      expensive: true,
    });
    return out;
  }

  /**
   * A stack of experts whose packed weights a parametrization unpacks all at once when they are read
   * (https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.49.0/bitsandbytes/nn/parametrize.py).
   */
  private unpacksStack(weight: Weight): boolean {
    const bits = weight.quantization === 'int8' || isPacked(weight);
    return bits && weight.expert && weight.role !== 'adapter' && this.settings.linearExperts !== true;
  }

  /**
   * What a product in `dtype` makes of its weight: storages that autograd keeps, copies of a weight that is trained, bytes while
   * forward and backward run.
   */
  private weightRead(
    weight: Weight,
    dtype: TensorDType,
    keeps: boolean,
  ): {
    readonly saves: Storage[];
    readonly copies: Storage[];
    readonly forward: number;
    readonly backward: number;
  } {
    const nothing = { saves: [], copies: [], forward: 0, backward: 0 };
    // Experts are unpacked one after the other.
    const apart = weight.expert ? (weight.shape[0] ?? 1) : 1;
    const bytes = (weight.localElements * ELEMENT_BYTES[dtype]) / apart;
    if (isRounded(weight, this.settings.fakeQuantization)) return this.roundedRead(weight, dtype, keeps);
    if (this.unpacksStack(weight)) {
      if (this.settings.unpacksExpertsAgain === true)
        return { ...nothing, forward: bytes * apart, backward: keeps ? bytes * apart : 0 };
      // The product is made with the unpacked stack, which autograd keeps.
      return keeps
        ? { ...nothing, saves: [this.keptWeight(bytes * apart, weight.name)] }
        : { ...nothing, forward: bytes * apart };
    }
    if (weight.quantization !== 'none') {
      // Only the packed weight is kept, and unpacked again in backward (`MatMul4Bit`).
      const unpacked = bytes * this.unpackedCopies;
      return { ...nothing, forward: unpacked, backward: keeps ? unpacked : 0 };
    }
    if (weight.dtype !== dtype && weight.role === 'adapter' && this.settings.unsloth === true)
      return { ...nothing, ...this.explicitCast(weight, bytes, keeps) };
    if (weight.dtype !== dtype && weight.scaled !== true) {
      const copy = this.weightCopy(weight);
      return {
        ...nothing,
        saves: keeps ? [copy] : [],
        copies: isCached(weight) ? [copy] : [],
        forward: isCached(weight) || keeps ? 0 : copy.bytes,
      };
    }
    return this.settings.copiedReads === true && weight.role === 'matrix' && keeps
      ? { ...nothing, saves: [this.keptWeight(bytes, weight.name)] }
      : nothing;
  }

  /**
   * Unsloth casts an adapter's factor itself, which autocast does not see and so does not cache. Its kernels save the factor as it is and
   * cast it anew in backward (`unsloth/kernels/utils.py`, `matmul_lora`; `fast_lora.py`, `save_for_backward`); where it compiles PEFT's
   * layers, the graph keeps the cast one (`unsloth_zoo/compiler.py`, `lora_forward`).
   */
  private explicitCast(
    weight: Weight,
    bytes: number,
    keeps: boolean,
  ): { readonly saves: Storage[]; readonly forward: number; readonly backward: number } {
    if (keeps && this.settings.liger !== true)
      return { saves: [this.keptWeight(bytes, weight.name)], forward: 0, backward: 0 };
    return { saves: [], forward: bytes, backward: keeps ? bytes : 0 };
  }

  /**
   * The rounded weight, which the product keeps, and what its own backward keeps (`FakeQuantizedLinear.forward`). It has the weight's type,
   * and is cast where the product's is another.
   */
  private roundedRead(
    weight: Weight,
    dtype: TensorDType,
    keeps: boolean,
  ): { readonly saves: Storage[]; readonly copies: Storage[]; forward: number; backward: number } {
    const own = weight.localElements * ELEMENT_BYTES[weight.dtype];
    const rounded = weight.localElements * ELEMENT_BYTES[dtype];
    const cast = weight.dtype === dtype ? 0 : own;
    const saves = keeps ? [this.keptWeight(rounded, `${weight.name}.rounded`)] : [];
    if (weight.trainable)
      saves.push(
        this.keptWeight(keptOfRounding(weight, this.settings.fakeQuantization), `${weight.name}.rounding`),
      );
    // The gradient of the rounded weight lies beside the weight's own.
    return {
      saves,
      copies: [],
      forward: cast + (keeps ? 0 : rounded),
      backward: weight.trainable ? own : 0,
    };
  }

  /** The input of a linear layer as its activation's quantizer rounds it: a tensor of its own, and a mask (`_per_token_forward`). */
  private roundedInput(x: Tensor, weight: Weight): Tensor {
    if (this.settings.fakeQuantization !== 'int8-int4' || !isRounded(weight, this.settings.fakeQuantization))
      return x;
    return this.fused({
      name: `${weight.name}.rounded_input`,
      inputs: [x],
      outputs: [{ shape: x.shape, dtype: x.dtype }],
      savesBytes: x.elements * ELEMENT_BYTES.bool,
    });
  }

  /** Product with a registered weight, of which `inFeatures x outFeatures` take part on this rank. */
  private multiply(
    x: Tensor,
    weight: Weight,
    bias: Weight | undefined,
    outFeatures: number,
    name: string,
    kind?: StorageKind,
    ownType = false,
    gathers = 1,
  ): Tensor {
    if (weight.quantization === 'int8' && !this.unpacksStack(weight))
      return this.multiplyInt8(x, weight, bias, outFeatures, name, kind);
    // bitsandbytes multiplies in its compute type and returns the input's (`Linear4bit.forward`).
    const quantized = weight.quantization !== 'none';
    let dtype = quantized ? this.settings.computeDtype : this.matrixDtype(x);
    if (ownType && !quantized) dtype = weight.dtype;
    // What a module is called with stays until it returns, beside the copy that autocast makes of it.
    if (x.dtype !== dtype && !quantized) {
      const product = this.scope(() =>
        this.multiply(
          this.cast(this.hold(x), dtype, `${name}.cast`),
          weight,
          bias,
          outFeatures,
          name,
          kind,
          ownType,
          gathers,
        ),
      );
      return this.settings.wideActivations === true ? this.cast(product, x.dtype, `${name}.result`) : product;
    }
    const input = this.roundedInput(this.cast(x, dtype, `${name}.cast`), weight);
    const shape = [...this.withSequence(x.shape, gathers).slice(0, -1), outFeatures];
    const trainable = weight.trainable || (bias?.trainable ?? false);
    const grad = x.requiresGrad || trainable;
    const out = this.tensor(shape, dtype, grad, name, kind);
    const flops = 2 * out.elements * (x.shape.at(-1) ?? 0);
    const saves: Storage[] = [];
    // The gathered input; in backward once more, beside the whole sequence's gradient before it is reduced to a part.
    const whole = gathers > 1 ? gathers * input.elements * ELEMENT_BYTES[dtype] : 0;
    let forwardScratch = whole;
    let backwardScratch = whole * ((weight.trainable ? 1 : 0) + (x.requiresGrad ? 1 : 0));
    const keepsInput = quantized && x.requiresGrad && this.keepsQuantizedInput(weight);
    const lowered = this.lowered(weight, input);
    if (weight.trainable || keepsInput) saves.push(lowered?.input ?? input.storage);
    if (lowered?.weight && (x.requiresGrad || weight.scaled === true)) saves.push(lowered.weight);
    forwardScratch += lowered?.forward ?? 0;
    backwardScratch += lowered?.backward ?? 0;
    if (keepsInput && isPacked(weight)) this.holdInGraph(input.storage);
    const read = this.weightRead(weight, dtype, x.requiresGrad);
    saves.push(...read.saves);
    forwardScratch += read.forward;
    backwardScratch += read.backward;
    const weightGrads = [weight, ...(bias ? [bias] : [])]
      .filter((w) => w.trainable)
      .map((w) => gradOf(w, dtype));
    this.record({
      name,
      inputs: [input],
      outputs: [out],
      saves,
      forwardScratch,
      backwardScratch,
      weights: bias ? [weight, bias] : [weight],
      weightGrads,
      weightCopies: read.copies,
      flops,
      backwardFlops: (x.requiresGrad ? flops : 0) + (weight.trainable ? flops : 0),
      expensive: true,
    });
    return quantized ? this.cast(out, x.dtype, `${name}.result`) : out;
  }

  /** Product with a weight registered before, of `out` features on this rank (stacked experts, factored weights). */
  linearWith(
    x: Tensor,
    weight: Weight,
    spec: {
      readonly name: string;
      readonly out: number;
      readonly bias?: Weight;
      /** Autocast does not know the product: it runs in the weight's type. */
      readonly ownType?: boolean;
    },
  ): Tensor {
    return this.multiply(x, weight, spec.bias, spec.out, spec.name, undefined, spec.ownType);
  }

  /**
   * Convolution of `x` with registered weights, to `out.shape`: keeps its input, and what autocast makes of the kernel for the input's gradient.
   * One formula is that of all gradients (`convolution_backward`), so that the input is kept where the kernel is frozen, too.
   */
  convolve(
    x: Tensor,
    kernel: Weight,
    bias: Weight | undefined,
    out: { readonly name: string; readonly shape: readonly number[]; readonly flops: number },
  ): Tensor {
    const { autocast, computeDtype } = this.settings;
    const { name, shape, flops } = out;
    const input = autocast ? this.cast(x, computeDtype, `${name}.cast`) : x;
    const weights = bias ? [kernel, bias] : [kernel];
    const trained = weights.filter((weight) => weight.trainable);
    const result = this.tensor(shape, input.dtype, x.requiresGrad || trained.length > 0, name);
    const read = autocast
      ? this.weightRead(kernel, computeDtype, x.requiresGrad)
      : { saves: [], copies: [], forward: 0, backward: 0 };
    this.record({
      name,
      inputs: [input],
      outputs: [result],
      saves: [...(result.requiresGrad ? [input.storage] : []), ...read.saves],
      forwardScratch: read.forward,
      backwardScratch: read.backward,
      weights,
      weightGrads: trained.map((weight) => gradOf(weight, input.dtype)),
      weightCopies: read.copies,
      flops,
      backwardFlops: (x.requiresGrad ? flops : 0) + (kernel.trainable ? flops : 0),
      expensive: true,
    });
    return result;
  }

  /** Linear layer without an adapter. */
  plainLinear(x: Tensor, spec: LinearSpec): Tensor {
    return this.project(x, spec).base;
  }

  protected project(
    x: Tensor,
    spec: LinearSpec,
  ): { base: Tensor; localOut: number; rows: number; columns: number; weight: Weight } {
    const { tensorParallel } = this.settings;
    const split = spec.split ?? 'none';
    const columns = split === 'column' || split === 'vocabulary' ? tensorParallel : 1;
    const rows = split === 'row' ? tensorParallel : 1;
    const input = columns > 1 && gatherOf(this.settings) === 'once' ? this.gatherSequence(x) : x;
    const gathers = columns > 1 ? this.partsOf(input) : 1;
    if (gathers > 1) this.gathered = true;
    // Megatron's own linear layers, of which the head is always one, gather into a buffer that stays (`tensor_parallel/layers.py`, "mpu").
    if (gathers > 1 && (split === 'vocabulary' || this.settings.ownModules))
      this.ownBuffer('mpu', input.elements * gathers, input.dtype, true);
    const localIn = x.shape.at(-1) ?? 0;
    const localOut =
      spec.local ?? (split === 'vocabulary' ? localRows(spec.out, this.settings) : spec.out / columns);
    const role = spec.role ?? 'matrix';
    const { quantizedHead, quantization, behaviours, raisesListed, autocast } = this.settings;
    const stays =
      spec.listed === true && behaviours.leavesListedUnquantized && !IGNORES_LISTED.has(quantization);
    const raised = spec.listed === true && raisesListed === true;
    const weight = this.weight({
      name: `${spec.name}.weight`,
      shape: [spec.out, localIn * rows],
      local: [localOut, localIn],
      role: role === 'head' ? 'head' : 'matrix',
      quantizable: !stays && (role === 'matrix' || (role === 'head' && quantizedHead === true)),
      raised,
      linear: true,
      tiedTo: spec.tiedTo,
    });
    const bias = spec.bias
      ? this.weight({ name: `${spec.name}.bias`, shape: [spec.out], local: [localOut] })
      : undefined;
    // What comes in is cast to the weight's type (`T5DenseGatedActDense.forward`), and so the product is of it.
    const ownType = raised && !autocast;
    let base = this.multiply(input, weight, bias, localOut, spec.name, spec.kind, ownType, gathers);
    // What was gathered before is summed over the ranks into parts again.
    if (rows > 1 && this.gathered) base = this.scatterSequence(base, `${spec.name}.reduce_scatter`);
    if (split === 'vocabulary' && columns > 1 && logitsOf(this.settings) === 'gathered') {
      base = this.copy(base, [...base.shape.slice(0, -1), spec.out], `${spec.name}.gather`);
    }
    return { base, localOut, rows, columns, weight };
  }

  /**
   * Bytes of the table's gradient in fp32 where the whole model is compiled: it is summed there and cast at its end
   * (`torch/_decomp/decompositions.py`, `embedding_dense_backward`).
   */
  private raisedGradient(weight: Weight): number {
    const { compiled, behaviours, unsloth } = this.settings;
    const raises = compiled && behaviours.compilesWholeModel && !unsloth && weight.dtype !== 'fp32';
    return raises && weight.trainable ? weight.localElements * ELEMENT_BYTES.fp32 : 0;
  }

  /** Token, position or type embedding. Backward makes a dense gradient of the whole table. */
  embedding(
    ids: Tensor,
    spec: {
      readonly name: string;
      readonly rows: number;
      readonly columns: number;
      readonly split?: Split;
      /** Name of the weight it shares, for a decoder that embeds with the encoder's table. */
      readonly tiedTo?: string;
      /** The model's table of tokens (`get_input_embeddings`). */
      readonly tokens?: boolean;
      /** The head is tied to it. */
      readonly headTied?: boolean;
      /** Sets of virtual tokens that PEFT trains for it (`num_transformer_submodules`), of which the first is used. Default 1. */
      readonly promptSets?: number;
    },
  ): Tensor {
    const { tensorParallel } = this.settings;
    const rows = splitsEmbedding(this.settings);
    const split = rows || spec.headTied === true || tensorParallel === 1;
    const weight = this.weight({
      name: `${spec.name}.weight`,
      shape: [spec.rows, spec.columns],
      local: [
        split && spec.split === 'vocabulary' ? localRows(spec.rows, this.settings) : spec.rows,
        spec.columns,
      ],
      role: 'embedding',
      tiedTo: spec.tiedTo,
    });
    // A leaf that requires a gradient is held by the graph.
    const leaf = spec.tokens === true && !weight.trainable && this.settings.inputRequiresGrad === true;
    const shape = [...ids.shape, spec.columns];
    const grad = weight.trainable || leaf;
    const out = this.tensor(shape, weight.dtype, grad, spec.name, 'activation', ids.storage.quadratic);
    // The whole table is rounded, of which the lookup keeps nothing (`FakeQuantizedEmbedding`).
    const rounds = this.settings.fakeQuantization === 'int8-int4';
    const table = rounds ? weight.localElements * ELEMENT_BYTES[weight.dtype] : 0;
    const rounding =
      rounds && weight.trainable
        ? [this.keptWeight(keptOfRounding(weight, 'int8-int4'), `${spec.name}.rounding`)]
        : [];
    const makesWhole = rows && this.settings.behaviours.makesWholeEmbeddingGradients && weight.trainable;
    const whole = makesWhole ? wholeGradient(weight) : 0;
    const stays = whole > 0 && this.settings.leavesPartialGradients === true;
    // The rank's own rows are copied once the incoming gradient is gone.
    const lent = Math.min(out.elements, weight.localElements) * ELEMENT_BYTES[weight.dtype];
    const gradient = gradOf(weight, weight.dtype);
    this.record({
      name: spec.name,
      inputs: [ids],
      gradRules: ['none'],
      outputs: [out],
      saves: [...(weight.trainable ? [ids.storage] : leaf ? [out.storage] : []), ...rounding],
      forwardScratch: table,
      backwardScratch:
        (whole === 0 || stays ? 0 : whole - lent) +
        (weight.trainable ? table : 0) +
        this.raisedGradient(weight),
      weights: [weight],
      weightGrads: weight.trainable ? [stays ? { ...gradient, bytes: whole } : gradient] : [],
    });
    return out;
  }

  /** A weight of an adapter, in the adapter's type, trained but for LoRA's first matrix where that is frozen. `experts`: the stack that it has one of for each, split and passed as they are. */
  adapterWeight(
    name: string,
    shape: readonly number[],
    local: readonly number[] = shape,
    experts?: Pick<Weight, 'activeShare'>,
  ): Weight {
    const { dtype: type, magnitudes, frozenFirst } = this.settings.adapter ?? {};
    const dtype = /\.lora_magnitude_vector\.weight$/.test(name) ? (magnitudes ?? type) : type;
    const { activeShare = 1 } = experts ?? {};
    const expert = experts !== undefined;
    const trainable = !(frozenFirst === true && /\.lora_A(?:\.weight)?$/.test(name));
    return this.weight({ name, shape, local, role: 'adapter', trainable, dtype, expert, activeShare });
  }
}

/** Bytes of a split table's gradient while it is whole: DTensor has no other way for an index that every rank holds. */
function wholeGradient({ elements, localElements, dtype }: Weight): number {
  return localElements < elements ? elements * ELEMENT_BYTES[dtype] : 0;
}
