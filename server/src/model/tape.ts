import type { DType } from '../terms/dtypes';
import type { QuantizationKind } from '../terms/quantizations';
import type { StatePackage } from '../terms/state-packages';

/** Types that occur on the tape beside the float types. */
export type TensorDType = DType | 'bool' | 'int64' | 'uint8';

/** Bytes of one element. */
export const ELEMENT_BYTES: Readonly<Record<TensorDType, number>> = {
  fp32: 4,
  bf16: 2,
  fp16: 2,
  fp8: 1,
  bool: 1,
  uint8: 1,
  int64: 8,
};

/**
 * What a storage counts as in the breakdown. `weight-copy`: a weight in another type, cached until autocast exits. `kept-weight`: what else the
 * graph keeps of a weight until backward, such as a frozen one in another type, a rounded or an unpacked one.
 */
export type StorageKind = 'activation' | 'logits' | 'weight-copy' | 'kept-weight';

/** A block of memory; several tensors (views) may share one. */
export interface Storage {
  readonly id: number;
  /** Bytes per GPU, before allocator rounding. */
  readonly bytes: number;
  readonly kind: StorageKind;
  /** For people: which operator made it. */
  readonly name: string;
  /** Grows with the square of the sequence: a score for every pair of tokens. */
  readonly quadratic?: boolean;
  /** As large whatever the batch's length is: a gradient of a weight. */
  readonly fixed?: boolean;
  /** Made once per module and read by every micro batch of a step, however many of them are in flight. */
  readonly oncePerStep?: boolean;
}

/** A value during forward. Shapes are per GPU. */
export interface Tensor {
  readonly id: number;
  readonly shape: readonly number[];
  readonly elements: number;
  readonly dtype: TensorDType;
  readonly storage: Storage;
  /** Elements of the storage before its first one, where it is one of several parts side by side. */
  readonly offset?: number;
  readonly requiresGrad: boolean;
}

/** A parameter tensor. */
export interface Weight {
  /** Path inside its stage copy, for example `self_attn.q_proj.weight`. */
  readonly name: string;
  /** Shape over all tensor- and expert-parallel ranks. */
  readonly shape: readonly number[];
  /** Elements over all ranks. */
  readonly elements: number;
  /** Elements on one rank, after tensor and expert parallelism, before data-parallel sharding. */
  readonly localElements: number;
  /**
   * First dimension on one rank of the parameter that it is, or of each that it stands for: the experts of a stack, the
   * outputs of each expert's linear layer.
   */
  readonly rows: number;
  readonly dtype: DType;
  readonly quantization: QuantizationKind;
  readonly trainable: boolean;
  readonly role: 'matrix' | 'vector' | 'embedding' | 'head' | 'adapter';
  /** One of `experts`, of which each token passes `activeShare`. */
  readonly activeShare: number;
  /** Name of the weight it shares memory with (a tied head); counted once. */
  readonly tiedTo?: string;
  /** A trained copy of a weight that shares memory with another: the original takes nothing by itself. */
  readonly untied?: boolean;
  /** It is one of those that are trained, and no gradient of it comes: nothing that the loss hangs on reads it. */
  readonly idle?: boolean;
  /** What is trained is a copy of it: the original stays, frozen. */
  readonly copied?: boolean;
  /** Of an expert: there is one for each, split over expert-parallel ranks. */
  readonly expert: boolean;
  /** Products read a view of it, an expert or the transpose, which autograd keeps with all that it is a view of. */
  readonly viewed?: boolean;
  /** A linear layer of MS-AMP: held in fp16 with a scale, and its gradient in fp8 (`msamp/nn/linear.py`, `functional.py`). */
  readonly scaled?: boolean;
  /** Lies in fp32 though the other weights of the model do not. */
  readonly raised?: boolean;
  /** Lies in fp16 though the other weights of the model lie in fp32. */
  readonly halved?: boolean;
}

/** How the gradient of one input comes about in backward. */
export type GradRule =
  /** A new tensor of the input's size and type. */
  | 'new'
  /** The incoming gradient itself, or a view of it. */
  | 'alias'
  /** Written over the kept input itself. */
  | 'reuse'
  /** None flows this way. */
  | 'none';

/** One recorded operator with everything that forward and backward do to memory. */
export interface Operation {
  readonly name: string;
  readonly inputs: readonly Tensor[];
  /** Parallel to `inputs`. */
  readonly gradRules: readonly GradRule[];
  readonly outputs: readonly Tensor[];
  /** Storages that autograd keeps for this operator's backward (empty where no gradient flows). */
  readonly saves: readonly Storage[];
  /** Bytes needed beside inputs and outputs while it runs forward / backward. */
  readonly forwardScratch: number;
  readonly backwardScratch: number;
  /** Trainable weights whose gradient this operator's backward produces, with the bytes of that gradient. */
  readonly weightGrads: readonly {
    readonly weight: Weight;
    readonly bytes: number;
    readonly castFromBytes: number;
  }[];
  /** Weights it reads (for gathering, offload and counting). */
  readonly weights: readonly Weight[];
  /** Low-precision copies of weights that autocast caches until it exits. */
  readonly weightCopies: readonly Storage[];
  /** Forward FLOPs on this GPU; a multiply-add is two. */
  readonly flops: number;
  /** Forward FLOPs if no masked pair were skipped, as profilers count attention kernels; equal to `flops` elsewhere. */
  readonly unmaskedFlops?: number;
  /** Backward FLOPs on this GPU. */
  readonly backwardFlops: number;
  /**
   * Elementwise, so that XLA computes it again in whatever reads it. `listed` are those that TensorFlow's Grappler computes
   * again, too (`memory_optimizer.cc`, `GetCheapToRecomputeOps`). `AddV2`, which `+` makes since 1.15, is not among them.
   */
  readonly cheap?: 'listed' | 'unlisted';
  /**
   * What a compiler makes of it where it joins operators in one kernel: elementwise, which backward computes again, or a sum over
   * rows, whose result is kept. Unset: a kernel of its own, whose operands lie in memory.
   */
  readonly fusible?: 'pointwise' | 'reduction';
  /** The tape of one part of its rows, where it runs them part by part, and each part again in backward: what of that its scratch is. */
  readonly part?: Tape;
  /**
   * Gradients of inputs and weights that a function of its own made in forward and kept, of which it returns the very tensors:
   * nobody else names them, so that what comes later is added in place.
   */
  readonly keptGradients?: ReadonlyMap<Tensor | Weight, Storage>;
  /** Gradients of its weights are new tensors that nobody else names, so that what comes later is added in place (PyTorch's `input_buffer.cpp`, `can_accumulate_inplace`). */
  readonly ownsGradients?: boolean;
  /** Its gradient asks for the shapes of its inputs, where they are not known before the run (`math_grad.py`). */
  readonly asksShapes?: boolean;
  /** What a graph names alone: passed over where autograd records none. */
  readonly byGraph?: boolean;
  /** Marks operators whose output selective checkpointing keeps. */
  readonly expensive: boolean;
}

/**
 * A tensor that a module keeps beside its parameters and that is neither trained nor sharded (`register_buffer`), bytes per
 * GPU: of every copy of the stage, or one for all modules of the model, as large as the largest of them needs it.
 */
export interface Buffer {
  readonly name: string;
  readonly bytes: number;
  readonly shared: boolean;
  /** Whose it is: an adapter's, the model's, or the model's for masks of positions. */
  readonly of: 'adapter' | 'model' | 'positions';
}

/** The forward pass of one copy of a stage. */
export interface Tape {
  readonly operations: readonly Operation[];
  readonly weights: readonly Weight[];
  /** Those of adapters, and masks of all positions; others of a model are counted with its code (`RoPE`) or are too small to matter. */
  readonly buffers: readonly Buffer[];
  readonly entry: readonly Tensor[];
  /** Parallel to `entry`: the tensor of an earlier stage that it stands for, if any. */
  readonly origins: readonly (Tensor | undefined)[];
  readonly exit: readonly Tensor[];
  /** Bytes of results that the training loop itself keeps in a variable (logits), beside what autograd keeps. */
  readonly keptBytes: number;
  /**
   * Storages that nodes of the autograd graph hold as plain attributes: backward does not release them, they go when
   * nothing refers to the graph any more.
   */
  readonly graphHeld: readonly Storage[];
  /** Bytes of saved tensors that go to host memory until backward, where the run moves them all there. */
  readonly awayBytes?: number;
  /** Storages that the model's forward names until it returns (`inputs_embeds`), after the stage has no use for them. */
  readonly heldByModel: readonly Storage[];
  /** Storages that the model's forward names with a layer's result, until the next layer has returned. */
  readonly heldUntilNext?: readonly Storage[];
  /** Storages of the batch, which the training loop names until the step is over, whether autograd keeps them or not. */
  readonly heldByLoop: readonly Storage[];
  /** Inputs that the model's body makes and names until the loss has been taken: the graph keeps none of them. */
  readonly heldUntilLoss?: readonly Storage[];
  /** How many operators ran when the head had made its result, of which the others take the loss. Undefined: they are one. */
  readonly headOperations?: number;
  /** How often the head's module is called, where the loss is taken chunk by chunk. */
  readonly headCalls?: number;
  /** Packages whose kernels its layers run where they are installed. */
  readonly packages?: readonly StatePackage[];
  /** Those of them without which the layers do what is not on the tape. */
  readonly unplayedPackages?: readonly StatePackage[];
}
