import type { Objective } from '../terms/objectives';

/**
 * What the programs of a run do that costs memory or time and that others do differently. Formulas ask for these names;
 * which product does what, since which version and by which source is in `table.ts` alone.
 */
export interface Behaviours {
  // --- how the model's code computes

  /** The model trains without the dropout that its config states; that of an adapter stays. */
  readonly ignoresDropout: boolean;
  /** The model is a static graph of TensorFlow's operators, which XLA may compile, and not one of modules. */
  readonly buildsGraph: boolean;
  /** One projection makes queries, keys and values of all query heads, keys and values repeated in it. */
  readonly joinsProjections: boolean;
  /** Rotated and plain parts of a head are concatenated, so that they lie head by head. */
  readonly concatenatesRotated: boolean;
  /** Under autocast of fp32 weights cosine and sine are fp32, and so are rotated queries and keys. */
  readonly rotatesInFp32: boolean;
  /** Values are copied out of a joint projection, to lie as the rotated keys do. */
  readonly copiesValues: boolean;
  /** Models write attention out: SDPA is not to be had but in those that call it themselves. */
  readonly writesAttentionOut: boolean;
  /** A sliding window that is narrower than the sequence reaches SDPA as a mask. */
  readonly masksWindows: boolean;
  /** A single key-value head is repeated by a stride of zero instead of a copy. */
  readonly expandsSingleHead: boolean;
  /** Keys and values are repeated for every query head before the attention kernel, which could group them. */
  readonly repeatsKeysAndValues: boolean;
  /** So they are before SDPA alone, mask or not. */
  readonly repeatsForSdpa: boolean;
  /** Classes of Granite with experts, or with layers that keep a state, make their logits fp32 before the loss, under the same name. */
  readonly widensGraniteLogits: boolean;
  /** Heads that are wider than any kernel takes in groups are grouped all the same, by plain matrix products. */
  readonly groupsWideHeads: boolean;
  /** SDPA's memory-efficient kernel takes heads in groups, in fp32 and as wide as they may be. */
  readonly groupsInEfficientKernel: boolean;
  /** Without an attention kernel, scale, mask and softmax of the scores are one operator that keeps its result. */
  readonly fusesScores: boolean;
  /** Without one, probabilities get the type that queries have before autocast casts them. */
  readonly castsProbabilitiesBack: boolean;
  /** The softmax keeps its input beside its result. */
  readonly softmaxKeepsInput: boolean;
  /** RMS norms are one kernel, which keeps its input and the reciprocal root. */
  readonly fusesRmsNorm: boolean;
  /** RMS norms multiply by their gain in fp32 and cast last. */
  readonly scalesNormsInFp32: boolean;
  /** Bias and activation are one operator, which keeps its input. */
  readonly fusesActivation: boolean;
  /** GELU's approximation is one operator instead of being written out. */
  readonly fusesApproximateGelu: boolean;
  /** `act(gate) * up` is one operator, which keeps gate and up. */
  readonly fusesGatedProduct: boolean;
  /** The decoders that once took the loss of logits in the logits' own type still do. */
  readonly lossInLogitsType: boolean;
  /** The head has a weight of its own where the model ties it to the embedding. */
  readonly hasOwnHead: boolean;

  /** Layers that keep a state run in PyTorch's own operators where packages of kernels are absent; else they fail without. */
  readonly runsStatesWithoutKernels: boolean;
  /** Without kernels, Mamba 2 sums products of all dimensions at once; else it multiplies matrices, chunk by chunk. */
  readonly sumsWholeProducts: boolean;
  /** Without kernels, the delta rule inverts the matrix of a chunk row by row; else it solves a triangular system. */
  readonly invertsChunksRowByRow: boolean;

  /** Layers of Gemma 3n that share keys and values have projections of their own all the same, which nothing reads. */
  readonly keepsProjectionsOfSharedKeys: boolean;
  /** The same of Gemma 4, whose class gave them up first. */
  readonly keepsProjectionsOfKeysInGemma4: boolean;

  // --- modules that a class lists to stay as they are

  /** Linear layers that a model's class lists (`_keep_in_fp32_modules`) stay out of quantization. */
  readonly leavesListedUnquantized: boolean;
  /** When the weights of such modules lie in fp32: with fp16 for the others, also beside weights of bitsandbytes, or in any case. */
  readonly raisesListed: 'never' | 'with-fp16' | 'with-fp16-or-quantized' | 'always';

  // --- mixture of experts

  /** Weights of a layer's experts are one stacked parameter instead of a linear layer each. */
  readonly stacksExperts: boolean;
  /** The same of Granite, whose experts were modules of their own kind for longer. */
  readonly stacksGraniteExperts: boolean;
  /** The grouped product of experts runs on every card, if need be as a loop of products. */
  readonly groupsProductsAnywhere: boolean;
  /** LoRA of grouped experts is one adapter of gate and up together. */
  readonly adaptsGatedExpertsTogether: boolean;
  /** LoRA of stacked experts makes its change whole before it is added to the weight; else one product adds it. */
  readonly makesWholeChangeOfExperts: boolean;
  /** Each expert is a module, and a loop runs one after the other. */
  readonly runsExpertsInLoop: boolean;
  /** Stacked experts are multiplied by PyTorch's grouped product, which is a loop of products where the card has no kernel for it. */
  readonly groupsProductsByPytorch: boolean;
  /** LoRA finds stacked experts by the names that their modules had before they were stacked. */
  readonly convertsNamesOfExperts: boolean;
  /** Patterns of modules are resolved for that, too, and not names alone. */
  readonly convertsPatternsOfExperts: boolean;
  /** Types of models for which names are taken so by this release of transformers, beside those of every release. */
  readonly convertsExpertsBeside: readonly string[];
  /** Types of models whose blocks of experts ZeRO 3 gathers whole, as one module without hooks inside. */
  readonly wholeExpertBlocks: readonly string[];
  /** Types of models that build experts before their router, so that ZeRO 3 numbers their weights first. */
  readonly buildsExpertsFirst: readonly string[];
  /** Hooks of a layer stand around its checkpoint, and do not run when it is computed again. */
  readonly hooksAroundCheckpoints: boolean;
  /** Types of models with Mamba's kernels of which LoRA refuses what those read themselves: the last projection, and the convolution. */
  readonly refusesMambaTargets: readonly string[];
  /** Chosen routing weights stay in fp32, and experts' results are weighted and summed in it. */
  readonly keepsRoutingInFp32: boolean;
  /** A model balances its experts as its own config asks. */
  readonly balancesByConfig: boolean;
  /** The balance of experts is taken of the router logits of all layers at once; else layer by layer. */
  readonly joinsRouterLogits: boolean;
  /** Autocast does not know the grouped product of experts, which runs in its input's type. */
  readonly groupedProductsIgnoreAutocast: boolean;
  /** The routing weight is multiplied in inside the experts' activation. */
  readonly weighsInsideExperts: boolean;

  // --- tensor, context and pipeline parallelism

  /** Each linear layer gathers a split sequence for itself, in backward once more; else a module does it for all of its own. */
  readonly gathersForEachLayer: boolean;
  /** Tensor parallelism splits the embedding by rows of the vocabulary; else each rank holds all of it. */
  readonly splitsEmbedding: boolean;
  /** The gradient of an embedding that is split by rows is made whole, and split afterwards. */
  readonly makesWholeEmbeddingGradients: boolean;
  /** Attention that bounds its masked scores (OPT) has no kernel but the eager one. */
  readonly writesBoundedAttentionOut: boolean;
  /** Attention that caps its scores (Gemma 2) is written out where it would be SDPA, which has no cap; else SDPA leaves it out. */
  readonly writesCappedAttentionOut: boolean;
  /** Layers whose loops name what they return (BLOOM, Falcon, GPT-J, GPT-Neo, MPT) return attention weights that nobody asked for. */
  readonly returnsUnaskedWeights: boolean;
  /** Eager attention that once bounded its masked scores from below (OPT) still does, and keeps them. */
  readonly boundsMaskedScores: boolean;
  /** Objectives whose trainer takes a loss of Liger's that is fused with the head, beside that of the model itself. */
  readonly ligerLosses: readonly Objective[];
  /** Where adapters beside quantized weights are cast to bf16, magnitudes of DoRA stay in fp32. */
  readonly keepsMagnitudes: boolean;
  /** Preference losses write the log-softmax of all logits out to pick the tokens' from it. */
  readonly keepsLogSoftmax: boolean;
  /** The loss of split logits is the default. */
  readonly takesLossOfSplitLogits: boolean;
  /** The loss of split logits writes its log-softmax out in new tensors; else it overwrites the logits. */
  readonly writesOutSplitLoss: boolean;
  /** Rows of the vocabulary on each tensor-parallel rank are padded to a multiple of this by default. Rows. */
  readonly vocabularyMultiple: number | undefined;
  /** Expert parallelism takes tensor-parallel ranks, so that experts are not split further. */
  readonly lendsTensorRanksToExperts: boolean;
  /** How context-parallel ranks exchange keys and values by default. */
  readonly contextMethod: 'ring' | 'all-gather';
  /** A ring keeps all keys and values that it received, and each step's result, to its end. */
  readonly ringKeepsSteps: boolean;
  /** A result that was sent to the next pipeline stage is freed, and the gradient that comes back lies in its place. */
  readonly freesSentResults: boolean;
  /** Each micro batch of a pipeline is received into a buffer of its own. */
  readonly receivesIntoBuffers: boolean;
  /** Layers that embedding and head each count as when layers are dealt to pipeline stages. */
  readonly layersPerEnd: number;

  // --- precision

  /** Every weight is computed in the type that it is stored in. */
  readonly computesInStoredType: boolean;
  /** Operators cast what they are given (`torch.autocast`). */
  readonly castsPerOperator: boolean;
  /** Weights have the compute type during forward and backward. */
  readonly lowersWeights: boolean;
  /** Adapters have the compute type too. */
  readonly lowersAdapters: boolean;
  /** Weights that are not sharded have the compute type between steps too. */
  readonly restsLowered: boolean;
  /** Weights are stepped as masters, whether these lie beside or instead of the ones that are computed with. */
  readonly stepsMasters: boolean;
  /** Masters lie beside weights of the compute type. */
  readonly keepsMastersBeside: boolean;
  /** The optimizer holds an fp32 copy of each lowered weight. */
  readonly copiesLoweredWeights: boolean;
  /** Shards hold masters, and weights are cast when they are gathered. */
  readonly castsWhenGathered: boolean;
  /** Weights and gradients move into flat buffers of the trainer's own. */
  readonly flattensIntoBuffers: boolean;
  /** Frozen models beside the trained one get the compute type. */
  readonly lowersFrozenModels: boolean;
  /** What a model returns is given back in fp32. */
  readonly returnsFp32: boolean;

  // --- quantized weights

  /** 4-bit products keep their input for backward, which needs it for no frozen weight. */
  readonly quantizedKeepsInput: boolean;
  /** Quantized weights are unpacked to fp16 first, and then cast to the compute type. */
  readonly unpacksToFp16: boolean;

  // --- checkpointing and accumulation

  /** With adapters, embedded tokens are made to require a gradient, so that checkpointed layers have one to give. */
  readonly makesInputsRequireGradients: boolean;
  /** So they are where whole layers are frozen: those below what is trained run again, and backward goes through them to the embedding. */
  readonly differentiatesFrozenLayers: boolean;
  /** A checkpoint lies around a layer's FSDP unit, or within it. */
  readonly checkpointsLie: 'around' | 'within';
  /** Selective checkpointing computes the named modules again; else it keeps products and attention. */
  readonly recomputesModules: boolean;
  /** Levels of a model are checkpointed as wholes, and each of the layers in them by itself, which so runs forward three times. */
  readonly checkpointsWithinLevels: boolean;
  /** Selective checkpointing computes every second product of a layer's weights again. */
  readonly recomputesEverySecondProduct: boolean;
  /** torch.compile is given the whole model, whose backward is one node; else each layer. */
  readonly compilesWholeModel: boolean;
  /** Gradients are filled with zeros between steps instead of being dropped. */
  readonly zeroesGradients: boolean;
  /** Liger's loss adds to the head's gradient in place instead of making a new tensor for each chunk. */
  readonly ligerAddsInPlace: boolean;

  // --- data parallelism

  /** FSDP 1 wraps adapters as units of their own. */
  readonly wrapsAdaptersApart: boolean;
  /** FSDP 2 wraps what heads and ends the model apart from its root. */
  readonly wrapsEndsApart: boolean;
  /** FSDP 2 splits stacked experts inside where there are fewer of them than GPUs; else by whole experts, with padding. */
  readonly splitsFewExpertsInside: boolean;
  /**
   * The loss is taken of what the model returns, outside FSDP's root: the root's forward has ended then, and backward enters it
   * only after the loss's gradient.
   */
  readonly takesLossOutsideModel: boolean;
  /** The module of the head takes the loss, so that a unit of FSDP 2 around it is entered by the gradient of the loss. */
  readonly takesLossInHead: boolean;
  /** FSDP 2 wraps the embedding apart whatever it does with the head, and does not gather it for its backward. */
  readonly wrapsEmbeddingApart: boolean;
  /** Backward of FSDP 2 ends with the last micro step alone: each other one keeps the input of the last reduction. */
  readonly keepsLastReduction: boolean;
  /** FSDP 2's root, or what of it is wrapped apart, is given back after its forward as layers are. */
  readonly reshardsEnds: boolean;
  /** FSDP splits a quantized weight with its scales, whatever type it is stored in. */
  readonly splitsQuantizedWeights: boolean;
  /** DeepSpeed without ZeRO accumulates the gradients of bf16 weights in fp32 unless set otherwise. */
  readonly accumulatesBf16InFp32: boolean;
  /** With accumulation FSDP 1 is set to reduce gradients with the last micro batch alone: those before stay whole. */
  readonly defersFsdp1Reduction: boolean;
  /** The same of FSDP 2. */
  readonly defersFsdp2Reduction: boolean;
  /** Trained weights are cast to fp32 on the host, in every process, before FSDP 2 shards them. */
  readonly upcastsBeforeSharding: boolean;
  /** Each layer of GPT-2 has a mask of all positions. */
  readonly masksEachGpt2Layer: boolean;
  /** The state dictionary of the whole model is named until FSDP 2 has sharded all of it: what lies on the GPU stays beside its shards. */
  readonly namesWholeWhileSharding: boolean;
  /** ZeRO 1 and 2 flatten the trained weights on the GPU instead of the host. */
  readonly flattensOnGpu: boolean;
  /** ZeRO 2 makes its reduction buckets before backward takes the loss's gradient. */
  readonly makesBucketsBeforeLoss: boolean;
  /** ZeRO 3 fills its bucket in the type that it reduces in, and casts no gradient but one that the bucket does not take. */
  readonly fillsBucketsAsSent: boolean;
  /** Beside the groups of each kind of parallelism there is one of all GPUs, one of a model and one of an expert's copies. */
  readonly opensExtraGroups: boolean;

  /** An optimizer that is not set how steps weight by weight. */
  readonly stepsWeightByWeight: boolean;

  // --- loading, evaluation and saving

  /** Weights that change their type are filled in host memory, by every process or by those that the scheme names. */
  readonly fillsWeightsOnHost: boolean;
  /** Evaluation for the loss alone makes logits though the training loss never does. */
  readonly evaluatesWithLogits: boolean;
  /** A language model returns keys and values of all layers in evaluation. */
  readonly evaluatesWithCache: boolean;
  /** So does one that reads the setting of its own part of the config, whatever is set on the whole. */
  readonly evaluatesWithTextCache: boolean;
  /** Idefics 3 writes over the places that the text has, and leaves features of images that find none. */
  readonly leavesSurplusImages: boolean;
  /** SmolVLM asks for whole tiles alone, and not for as many as there are images. */
  readonly asksForWholeTiles: boolean;
  /** Threads read weights onto the GPU ahead of the one that quantizes them. */
  readonly readsAheadOfQuantizing: boolean;
  /** Largest file of a saved checkpoint. Bytes. */
  readonly savedFileBytes: number;
  /** A trainer that looks for a micro batch which fits takes nine tenths of the one before, and not half. */
  readonly lowersBatchByTenth: boolean;
  /** cuBLAS has a workspace of 32 MiB on Blackwell, as on Hopper. */
  readonly hasWideBlackwellWorkspaces: boolean;
  /** All kernels of the library are loaded with the CUDA context instead of when they are first used. */
  readonly loadsAllKernels: boolean;

  // --- speed

  /** Elementwise operators are fused with their neighbours. */
  readonly fusesElementwise: boolean;
  /** fp32 products run as TF32 where the card can. */
  readonly multipliesInTf32: boolean;
}
