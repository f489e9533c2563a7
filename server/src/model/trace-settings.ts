import type { Behaviours } from '../behaviours/behaviours';
import { REFERENCE } from '../behaviours/products';
import { behavioursOf } from '../behaviours/resolve';
import type { AdapterKind } from '../terms/adapters';
import type { AttentionKernel } from '../terms/attention-kernels';
import type { ContextMethod } from '../terms/context-methods';
import type { DType } from '../terms/dtypes';
import type { Fp8Recipe } from '../terms/fp8-recipes';
import type { HeadOutput } from '../terms/head-outputs';
import type { Divergence, LogitHold, LossKind } from '../terms/losses';
import type { Objective } from '../terms/objectives';
import type { QuantizationKind } from '../terms/quantizations';
import type { StatePackage } from '../terms/state-packages';
import type { FakeQuantization } from './fake-quantization';

/** Heads and routers are neither quantized nor adapted by `all-linear`. */
export type LinearRole = 'matrix' | 'head' | 'router';

/** Parts of a layer whose linear layers run as one function with their LoRA branches. */
export type FusedLora = 'mlp' | 'qkv' | 'output';

/** LoRA of experts' stacked weights. */
export interface ExpertAdapter {
  readonly as: 'modules' | 'parameter';
  readonly rank: number;
  /** One linear layer makes gate and up of an expert, and has one adapter. */
  readonly together?: boolean;
}

/** What PEFT reads of a model's config for virtual tokens (`peft/utils/other.py`, `_prepare_prompt_learning_config`). */
export interface PromptSizes {
  /** Elements of a token that is embedded. */
  readonly width: number;
  /** Elements of a token's keys, and as many of its values, in each of so many layers. */
  readonly keyWidth: number;
  readonly layers: number;
}

/** Adapters as the tracer needs them. */
export interface AdapterSettings {
  /** Default `lora`. */
  readonly kind?: AdapterKind;
  readonly rank: number;
  readonly dropout: number;
  readonly dtype: DType;
  readonly dora: boolean;
  /** Type of DoRA's magnitudes, where it is another. */
  readonly magnitudes?: DType;
  /** The second LoRA matrix has a bias. */
  readonly ownBias?: boolean;
  /** The first LoRA matrix is frozen. */
  readonly frozenFirst?: boolean;
  /** Block of OFT and BOFT; decomposition factor of LoKr. */
  readonly blockSize?: number;
  /** Bank of VB-LoRA: its vectors, and the elements of each. */
  readonly vectors?: number;
  readonly vectorLength?: number;
  /** Of prompt, prefix and p-tuning. */
  readonly virtualTokens?: number;
  readonly encoderSize?: number;
  /** An encoder makes the prefixes. */
  readonly projectsPrefix?: boolean;
  /** Rows of the token embedding that are trained. */
  readonly tokens?: number;
  readonly prompt?: PromptSizes;
  /** IA3 scales the input of that module instead of its output. */
  readonly feedForward?: (modulePath: string) => boolean;
  /** Whether the linear layer of that module path gets an adapter. */
  readonly targets: (modulePath: string, role: LinearRole) => boolean;
  /**
   * How the experts' stacked weight of that path gets LoRA: as one adapter per expert's module, or of the stacked parameter,
   * whose change is made whole. Undefined: not at all.
   */
  readonly experts?: (weightPath: string) => ExpertAdapter | undefined;
  /** Rank of that module's adapter, where modules differ. */
  readonly rankOf?: (modulePath: string) => number;
}

/** What the forward pass of a frozen model that states what the trained one learns takes, without a graph. Bytes per GPU. */
export interface TeacherForward {
  /** Highest of its embedding and layers. */
  readonly bodyBytes: number;
  /** Its last hidden state. */
  readonly hiddenBytes: number;
  /** Keys and values of all layers, which it returns where nobody tells it not to. */
  readonly cacheBytes: number;
}

/** Type that pixels come in: that of the weights, unless what is between the products is in fp32. */
export function inputDtype({ wideActivations, weightDtype }: TraceSettings): DType {
  return wideActivations === true ? 'fp32' : weightDtype;
}

/** What a forward pass depends on beside the architecture. Sizes are per GPU and micro step. */
/** What the balance of the experts is taken over. */
interface RouterLoss {
  readonly layers: number;
  readonly experts: number;
  readonly chosen: number;
  /** Its gradient reaches the routers: reentrant checkpoints run them first without a graph, and nothing collects their logits again. */
  readonly reached: boolean;
}

export interface TraceSettings {
  readonly batch: number;
  readonly sequence: number;
  readonly targetSequence: number;
  readonly images: number;
  /** Pixels of an image, for towers that keep its size. */
  readonly imagePixels?: number;
  /** Tiles of an image, where the run states how many. */
  readonly imageTiles?: number;
  /** Labels that a head tells apart, where the run states how many. */
  readonly labels?: number;
  /** The code that comes with the checkpoint makes the model. */
  readonly ownCode?: boolean;
  /** Samples hold sound. */
  readonly sound?: boolean;
  /** Type of the weights that operators read. */
  readonly weightDtype: DType;
  /** Type that matrices are multiplied in. Differs from the weights' only under autocast. */
  readonly computeDtype: DType;
  readonly autocast: boolean;
  /** Without autocast, all between the products is in fp32, though the weights are not: products take and give their type. */
  readonly wideActivations?: boolean;
  readonly attention: AttentionKernel;
  /** A mask reaches the kernel: SDPA takes its memory-efficient path and repeats keys and values. */
  readonly attentionMask: boolean;
  /** The card is older than Ampere: SDPA has no flash kernel there, and its memory-efficient one takes neither bf16 nor grouped heads. */
  readonly oldSdpa?: boolean;
  /** Layers ask SDPA to group heads whatever the mask. */
  readonly groupsMasked?: boolean;
  readonly liger: boolean;
  /** Unsloth computes LoRA branches in the input's type (`kernels/fast_lora.py`). */
  readonly unsloth?: boolean;
  /** Layers are Unsloth's own, which hand SDPA grouped heads as they are (`models/llama.py`, `SDPA_HAS_GQA`). */
  readonly ownLayers?: boolean;
  /** A kernel of Unsloth takes heads of 512 dimensions in place of SDPA (`kernels/large_head_attention.py`), and the card has it. */
  readonly wideHeads?: boolean;
  readonly fusedLora?: readonly string[];
  /** Packages of kernels that layers which keep a state do without. */
  readonly absentPackages?: ReadonlySet<StatePackage>;
  /** Who multiplies in fp8. */
  readonly fp8?: Fp8Recipe;
  readonly loss: LossKind;
  /** What the GPU has left when the first loss is computed, bytes; unset: enough. Losses that are sized by it ask. */
  readonly freeBytes?: number;
  /** Scored tokens from which on a loss in chunks goes by tiles of the vocabulary; unset: never. 0: whatever their count, on small cards. */
  readonly lossTiles?: number;
  /** Logits of a loss in chunks are in the type of the product: the card multiplies into no fp32. */
  readonly halfLogits?: boolean;
  /** SDPA's memory-efficient kernel takes heads in groups. */
  readonly groupsInKernel?: boolean;
  /** Layers are Megatron's own, and not Transformer Engine's. */
  readonly ownModules?: boolean;
  /** Which divergence from a teacher distillation takes. */
  readonly divergence?: Divergence;
  /** The teacher, where its logits are compared with the model's. */
  readonly teacher?: TeacherForward;
  /** transformers' label smoother takes the loss. */
  readonly labelSmoothing?: boolean;
  readonly zLoss?: boolean;
  /** Experts are balanced from the router logits of all layers. */
  readonly routerLoss?: RouterLoss;
  /** Tokens of a completion, which alone are scored. */
  readonly completion?: number;
  /** Elements of the hidden states that the model returns beside its logits; 0 or unset: it returns none. */
  readonly returnedHidden?: number;
  /** Noise is added to the embedded tokens. */
  readonly noisyEmbeddings?: boolean;
  /** What the programs of the run do. */
  readonly behaviours: Behaviours;
  /** Own kernels of TensorFlow code, and the type of its layer norms (unset: that of the activations). */
  readonly fusedLayerNorm?: boolean;
  readonly fusedSoftmax?: boolean;
  readonly fusedGelu?: boolean;
  readonly normDtype?: DType;
  /** XLA compiles forward and backward together. */
  readonly onePiece?: boolean;
  /** What forward reads of a layer's variables is copied, and backward reads the copy. */
  readonly copiedReads?: boolean;
  /** Share of the tokens that logits are computed of. Default 1. */
  readonly tokenShare?: number;
  /** The model is in evaluation mode: dropout gives its input back. */
  readonly evaluating?: boolean;
  /** How long the training loop keeps the logits. */
  readonly keptLogits?: LogitHold;
  /** torch.compile fuses elementwise operators. */
  readonly compiled?: boolean;
  /** What backward of a layer reads is left to its partitioner, which computes elementwise results again. */
  readonly partitioned?: boolean;
  readonly objective: Objective;
  readonly tensorParallel: number;
  /** Between attention and MLP each tensor-parallel rank holds its part of the sequence. */
  readonly sequenceParallel: boolean;
  /** Tensor-parallel ranks hold rows of the embedding; default: each holds all. */
  readonly embeddingSplit?: boolean;
  /** No data-parallel scheme reduces gradients, so that what tensor-parallel ranks have parts of the sum of stays as it is until the step. */
  readonly leavesPartialGradients?: boolean;
  /** What a head that is split by rows of the vocabulary gives each rank; unset: all logits unless the loss works on parts. */
  readonly headOutput?: HeadOutput;
  readonly contextParallel: number;
  /** Ranks among which attention's heads are exchanged against tokens; default 1. */
  readonly ulysses?: number;
  /** How context-parallel ranks exchange keys and values; default `ring`. */
  readonly contextMethod?: ContextMethod;
  /** Ranks that share a sample's tokens (context parallelism and Ulysses): attention still pairs all of them. Default 1. */
  readonly sequenceRanks?: number;
  /** Tokens that packed samples let one token see: attention kernels skip other samples. Unset: the whole sequence. */
  readonly documentTokens?: number;
  readonly expertParallel: number;
  /** Tensor parallelism inside experts; default as outside. */
  readonly expertTensorParallel?: number;
  /** Tokens per expert at most, as a multiple of its even share; unset: none is dropped. */
  readonly capacityFactor?: number;
  /** Rows of the vocabulary are padded to a multiple of this on every tensor-parallel rank; unset: not at all. */
  readonly vocabularyMultiple?: number;
  readonly quantization: QuantizationKind;
  /** MLPs run on parts of the tokens, one after the other. */
  readonly tiledMlp?: boolean;
  /** Weights are rounded anew in each forward pass (quantization-aware training). */
  readonly fakeQuantization?: FakeQuantization;
  /** Weights of experts are quantized too. */
  readonly quantizedExperts?: boolean;
  /** A stack of packed experts is unpacked again in backward, and not kept (Unsloth, `moe_utils.py`, `_GroupedMMRecompute`). */
  readonly unpacksExpertsAgain?: boolean;
  /** Experts have linear layers each, which the tape records as one stack. */
  readonly linearExperts?: boolean;
  /** The output projection is quantized too. */
  readonly quantizedHead?: boolean;
  readonly adapter?: AdapterSettings;
  /**
   * The embedded tokens are made to require a gradient though nothing below is trained, so that checkpointed layers have
   * one to give (transformers' `enable_input_require_grads`).
   */
  readonly inputRequiresGrad?: boolean;
  /** Whether a base weight is trained; `linear` is that of a linear layer. */
  readonly trainable: (name: string, linear?: boolean) => boolean;
  /**
   * Whether a module still makes what it gets require a gradient, which a method that freezes it ends (`_requires_grad` of transformers'
   * encoders of sound). Unset: it does.
   */
  readonly raisesInput?: (module: string) => boolean;
  /** Embedding and head lie in bf16 though the other weights do not. */
  readonly lowEnds?: boolean;
  /** Modules by the ends of their names whose frozen weights lie in fp16 where the others are in fp32. */
  readonly halfModules?: readonly string[];
  /** Modules, by names within a path, whose linear layers are not quantized. */
  readonly plainModules?: readonly string[];
  /** Modules that the model's class lists lie in fp32 though the other weights do not. */
  readonly raisesListed?: boolean;
  /** The head has a weight of its own where the model ties it to the embedding. */
  readonly ownHead?: boolean;
  /** No cache takes keys and values from layer to layer: activation checkpointing turns it off (`GradientCheckpointingLayer`). */
  readonly withoutCache?: boolean;
  /** Weights that are trained as copies of their own (PEFT's `modules_to_save`): a tied one is tied no longer. */
  readonly copied?: (name: string) => boolean;
  /** Of those that are tied, and both trained, there is one copy. */
  readonly tiesCopies?: boolean;
  /** Such copies lie in fp32 though the other weights do not. */
  readonly raisesCopies?: boolean;
}

/** One token through the model on one GPU: enough to see every weight. */
export const ONE_TOKEN: TraceSettings = {
  batch: 1,
  sequence: 1,
  targetSequence: 1,
  images: 1,
  weightDtype: 'bf16',
  computeDtype: 'bf16',
  autocast: false,
  attention: 'sdpa',
  attentionMask: false,
  liger: false,
  loss: 'full',
  behaviours: behavioursOf(REFERENCE),
  objective: 'lm',
  tensorParallel: 1,
  sequenceParallel: false,
  contextParallel: 1,
  expertParallel: 1,
  quantization: 'none',
  trainable: () => true,
};
