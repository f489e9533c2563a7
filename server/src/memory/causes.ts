import type { Category, Estimate, Moment, Part } from '../results/estimate';
import { FIELD_PATHS, type FieldPath } from '../run/fields';

/** Which statements of a run shape which parts of its peak: hovers, inlay hints and the verdict all ask here. */

const STATES: readonly Category[] = ['weights', 'master-weights', 'gradients', 'optimizer-states'];
const PER_TOKEN: readonly Category[] = ['activations', 'checkpoints', 'logits-and-loss'];
const ADAPTERS: readonly Category[] = ['adapters', 'gradients', 'optimizer-states'];
const MODEL: readonly Category[] = [...STATES, 'quantized-weights', 'reference-model', ...PER_TOKEN];
const GATHERED: readonly Category[] = ['gathered-parameters'];
const EVALUATED: readonly Category[] = ['activations', 'logits-and-loss'];
const COMMUNICATION: readonly Category[] = ['communication-buffers'];
/** What is split over GPUs. */
const SPLIT: readonly Category[] = [...STATES, 'quantized-weights', 'adapters', 'reference-model'];
/** The peak is that of the fullest pipeline stage: which one that is decides whether it holds the head, too. */
const OF_STAGES: readonly Category[] = [...SPLIT, ...PER_TOKEN];
/** Blocks that PyTorch's allocator keeps beside what is allocated. */
const ALLOCATOR: readonly Category[] = ['allocator-overhead'];
/** Kernels replace operators, and with them what autograd keeps. */
const KERNELS: readonly Category[] = ['activations'];
const LOSS: readonly Category[] = ['logits-and-loss'];

/**
 * Parts of the peak that a field shapes directly; a test changes every field and holds the table to what moves. A field that
 * is absent here has no part of its own: schedules, LoRA's alpha and the like. Nor have some that sound as if:
 *
 * - `zero.allgatherBucket`: stages 1 and 2 gather in place into the flat weights (`all_gather_into_tensor_dp_groups`,
 *   DeepSpeed's `runtime/utils.py`); only where torch has no such collective is there a bucket.
 * - `ddp.bucketCap`: buckets hold each gradient once, however many they are.
 * - `fsdp.useOriginalParameters`: original parameters are views of the flat one.
 */
const SHAPED: Partial<Record<FieldPath, readonly Category[]>> = {
  'model.id': MODEL,
  'model.path': MODEL,
  'model.config': MODEL,
  'model.changes': MODEL,
  'model.class': MODEL,
  'model.code': [...STATES, ...GATHERED, ...PER_TOKEN],
  'model.tied': STATES,
  'method.kind': [...STATES, 'adapters', 'activations'],
  'method.objective': ['reference-model', ...STATES, ...PER_TOKEN],
  'method.referenceModel': ['reference-model', ...LOSS],
  'method.referenceAdapter': ['reference-model'],
  'method.precomputedReference': ['reference-model'],
  'method.scoringForwards': LOSS,
  'method.frozenModels': ['reference-model'],
  'method.frozenParameters': ['reference-model'],
  'method.teacher': ['logits-and-loss', 'activations'],
  'method.frozenDtype': ['reference-model'],
  'method.frozenSharded': ['reference-model'],
  'method.otherModels': ['other-models'],
  'method.valueModel': [...STATES, 'quantized-weights', 'adapters'],
  'method.valueStep': [...STATES, ...PER_TOKEN],
  'method.valueOffload': STATES,
  'method.valueTurn': [...STATES, 'reference-model', ...PER_TOKEN],
  'method.valueTogether': ['activations', 'logits-and-loss'],
  'rollout.sequences': ['logits-and-loss'],
  'method.trainable': ['gradients', 'optimizer-states', 'activations'],
  'rollout.engine': ['reserved-for-others', 'activations'],
  'rollout.batch': EVALUATED,
  'rollout.steps': EVALUATED,
  'rollout.completion': ['logits-and-loss'],
  'rollout.tensor': ['gathered-parameters', 'activations'],
  'rollout.sleep': ['reserved-for-others'],
  'rollout.quantized': ['reserved-for-others'],
  'rollout.sharesWeights': ['reserved-for-others'],
  'rollout.offload': STATES,
  'method.newLayers': [...STATES, ...PER_TOKEN],
  'method.spreadLayers': ['gradients', 'optimizer-states', 'activations'],
  'method.switchSteps': ['optimizer-states'],
  'method.trainableLayers': ['gradients', 'optimizer-states', 'activations'],
  'lora.kind': [...ADAPTERS, 'activations', 'logits-and-loss'],
  'lora.rank': [...ADAPTERS, 'activations'],
  'lora.rankPattern': ADAPTERS,
  'lora.targetPattern': [...ADAPTERS, 'activations'],
  'lora.targetParameters': [...ADAPTERS, 'activations'],
  'lora.feedForward': [...ADAPTERS, 'activations'],
  'lora.exclude': [...ADAPTERS, 'activations'],
  'lora.layers': [...ADAPTERS, 'activations'],
  'lora.bias': ['gradients', 'optimizer-states'],
  'lora.trainsRest': ['gradients', 'optimizer-states', 'master-weights'],
  'lora.ownBias': ADAPTERS,
  'lora.frozenFirst': [...ADAPTERS, 'activations'],
  'lora.blockSize': [...ADAPTERS, 'activations'],
  'lora.virtualTokens': [...ADAPTERS, 'activations', 'logits-and-loss'],
  'lora.vectors': ADAPTERS,
  'lora.vectorLength': [...ADAPTERS, 'activations'],
  'lora.encoderSize': ADAPTERS,
  'lora.prefixProjection': ADAPTERS,
  'lora.tokens': ADAPTERS,
  'lora.dropout': ['activations'],
  'lora.targets': [...ADAPTERS, 'activations'],
  'lora.modulesToSave': [...ADAPTERS, 'weights'],
  'lora.task': [...ADAPTERS, 'weights'],
  'lora.tiesCopies': [...ADAPTERS, 'weights'],
  'lora.dtype': [...ADAPTERS, 'activations'],
  'lora.dora': ['adapters', 'activations'],
  'quantization.kind': ['quantized-weights', 'weights', 'activations'],
  'quantization.double': ['quantized-weights'],
  'quantization.bits': ['quantized-weights'],
  'quantization.groupSize': ['quantized-weights'],
  'model.ownCode': ['weights'],
  'model.linearExperts': ['quantized-weights', 'weights', 'activations'],
  'quantization.experts': ['quantized-weights', 'weights'],
  'quantization.storage': ['quantized-weights'],
  'quantization.skippedParts': ['quantized-weights', 'weights'],
  'quantization.partial': ['quantized-weights'],
  'quantization.checkpointBytes': ['quantized-weights'],
  'quantization.plainShare': ['quantized-weights'],
  'quantization.head': ['quantized-weights', 'weights'],
  'quantization.fake': ['activations', 'logits-and-loss', 'gradients'],
  'quantization.prepared': ['weights', 'activations'],
  'quantization.recast': ['weights', 'activations'],
  'precision.weights': [...STATES, 'reference-model', ...PER_TOKEN],
  'precision.compute': [...STATES, 'autocast-cache', 'gathered-parameters', ...PER_TOKEN],
  'precision.scheme': [...STATES, 'autocast-cache', ...PER_TOKEN],
  'precision.layerNorm': ['activations', 'autocast-cache'],
  'precision.gradientAccumulation': ['gradients', ...COMMUNICATION],
  'precision.reduce': ['gradients', ...COMMUNICATION],
  'precision.masterWeights': ['master-weights', 'optimizer-states'],
  'precision.optimizerStates': ['optimizer-states'],
  'precision.fp8': [...STATES, 'activations'],
  'optimizer.name': ['optimizer-states', 'optimizer-transients', 'master-weights', 'gradients'],
  'optimizer.implementation': ['optimizer-transients'],
  'optimizer.lateZero': ['gradients'],
  'optimizer.inBackward': ['gradients', 'optimizer-transients'],
  'optimizer.precisionAware': ['master-weights', 'optimizer-transients'],
  'optimizer.rank': ['optimizer-states', 'optimizer-transients'],
  'optimizer.targets': ['optimizer-states', 'optimizer-transients'],
  'optimizer.extraStates': ['optimizer-states'],
  'optimizer.compensation': ['optimizer-states'],
  'optimizer.blockSize': ['optimizer-states'],
  'optimizer.wideEmbeddings': ['optimizer-states'],
  'optimizer.embeddingsApart': ['optimizer-transients'],
  'batch.micro': PER_TOKEN,
  'batch.accumulation': ['gradients', 'activations'],
  'batch.sequence': PER_TOKEN,
  'batch.targetSequence': PER_TOKEN,
  'batch.choices': PER_TOKEN,
  'batch.images': PER_TOKEN,
  'batch.imagePixels': PER_TOKEN,
  'batch.imageTiles': PER_TOKEN,
  'model.labels': ['weights', ...PER_TOKEN],
  'batch.sound': PER_TOKEN,
  'batch.varied': ALLOCATOR,
  'batch.meanSequence': ALLOCATOR,
  'batch.longestSequence': PER_TOKEN,
  'batch.packed': ALLOCATOR,
  'batch.pairMask': ['activations'],
  'attention.implementation': ['activations', 'workspaces'],
  'attention.mask': ['activations'],
  'attention.groupsMasked': ['activations'],
  'attention.unmaskedBatches': ['activations'],
  'activations.checkpointing': ['activations', 'checkpoints'],
  'activations.checkpointEvery': ['activations', 'checkpoints'],
  'activations.reentrant': ['activations', 'checkpoints'],
  'activations.layers': ['activations', 'checkpoints'],
  'activations.period': ['activations', 'checkpoints'],
  'activations.modules': ['activations', 'checkpoints'],
  'activations.distributed': ['checkpoints'],
  'activations.offload': ['checkpoints', 'activations'],
  'activations.offloadOverlap': ['activations'],
  'loss.implementation': ['logits-and-loss'],
  'loss.divergence': ['logits-and-loss'],
  'loss.keptLogits': LOSS,
  'loss.tokenShare': LOSS,
  'loss.zLoss': LOSS,
  'loss.routerLogits': ['activations', 'logits-and-loss'],
  'loss.labelSmoothing': LOSS,
  'kernels.liger': ['activations', 'logits-and-loss'],
  'kernels.unsloth': ['activations', 'logits-and-loss'],
  'kernels.compile': ['activations'],
  'precision.halfModules': ['weights', 'activations'],
  'precision.wideActivations': ['activations', 'logits-and-loss'],
  'kernels.compileParts': ['activations', 'logits-and-loss'],
  'kernels.uncompiled': ['activations', 'logits-and-loss'],
  'kernels.states': ['activations'],
  'kernels.xla': KERNELS,
  'kernels.fusedLayerNorm': KERNELS,
  'kernels.fusedSoftmax': KERNELS,
  'kernels.fusedGelu': KERNELS,
  'kernels.lora': ['activations'],
  'kernels.tiledMlp': ['activations'],
  'kernels.wideHeads': ['activations'],
  'kernels.transformerEngine': ['workspaces'],
  'kernels.groupedExperts': ['workspaces'],
  'allocator.expandableSegments': ALLOCATOR,
  'allocator.maxSplit': ALLOCATOR,
  'allocator.roundup': ALLOCATOR,
  'allocator.cublasWorkspace': ['workspaces'],
  'parallel.data': [...SPLIT, ...GATHERED, ...COMMUNICATION],
  'parallel.fusionBuffer': COMMUNICATION,
  'parallel.variableSplit': ['optimizer-states', ...COMMUNICATION],
  'parallel.variableGroups': ['optimizer-states', ...COMMUNICATION],
  'parallel.replicate': SPLIT,
  'parallel.tensor': [...SPLIT, 'activations', 'logits-and-loss'],
  'parallel.sequence': ['activations'],
  'parallel.userBuffers': ['cuda-context'],
  'parallel.embedding': [...SPLIT, ...GATHERED],
  'parallel.headOutput': ['logits-and-loss'],
  'parallel.pipeline': OF_STAGES,
  'parallel.pipelineSchedule': OF_STAGES,
  'parallel.virtualStages': ['activations'],
  'parallel.stageLayers': OF_STAGES,
  'parallel.firstStageLayers': OF_STAGES,
  'parallel.lastStageLayers': OF_STAGES,
  'parallel.embeddingLayers': OF_STAGES,
  'parallel.headLayers': OF_STAGES,
  'parallel.vocabularyMultiple': [...STATES, 'logits-and-loss'],
  'parallel.contextMethod': ['activations'],
  'parallel.expertTensor': [...STATES, 'activations'],
  'parallel.capacityFactor': ['activations'],
  'parallel.context': PER_TOKEN,
  'parallel.ulysses': PER_TOKEN,
  'parallel.expert': STATES,
  'parallel.distributedOptimizer': STATES,
  'zero.stage': [...STATES, ...GATHERED, ...COMMUNICATION],
  'zero.reduceBucket': COMMUNICATION,
  'zero.overlapCommunication': COMMUNICATION,
  'zero.contiguousGradients': COMMUNICATION,
  'zero.prefetchBucket': GATHERED,
  'zero.persistenceThreshold': ['weights', ...GATHERED],
  'zero.maxLiveParameters': GATHERED,
  'zero.maxReuseDistance': GATHERED,
  'zero.subGroup': ['optimizer-transients'],
  'zero.sequenceReduce': COMMUNICATION,
  'zero.hpzPartition': ['weights'],
  'zero.micsShard': [...STATES, ...GATHERED],
  'zero.leafModules': GATHERED,
  'fsdp.strategy': [...SPLIT, ...GATHERED, ...COMMUNICATION],
  'fsdp.wrap': ['gradients', ...GATHERED, ...COMMUNICATION],
  'fsdp.separateEnds': ['gradients', ...GATHERED, ...COMMUNICATION],
  'fsdp.reshardsEnds': GATHERED,
  'fsdp.minParameters': ['gradients', ...GATHERED, ...COMMUNICATION],
  'fsdp.reshardSize': GATHERED,
  'fsdp.backwardPrefetch': GATHERED,
  'fsdp.forwardPrefetch': GATHERED,
  'fsdp.checkpoints': ['checkpoints', 'activations'],
  'fsdp.syncEachBatch': ['gradients'],
  'fsdp.gathersWholeExperts': ['gradients', ...GATHERED, ...COMMUNICATION],
  'ddp.gradientAsBucketView': ['gradients'],
  'offload.optimizer': ['master-weights', 'optimizer-states', 'gradients'],
  'offload.optimizerRatio': ['master-weights', 'optimizer-states'],
  'offload.parameters': [...STATES, 'gathered-parameters'],
  'loading.placement': ['weights', ...GATHERED],
  'loading.embedding': ['weights'],
  'evaluation.enabled': EVALUATED,
  'evaluation.batch': EVALUATED,
  'evaluation.sequence': EVALUATED,
  'evaluation.predictions': ['logits-and-loss'],
  'evaluation.accumulation': ['logits-and-loss'],
  'evaluation.samples': ['logits-and-loss'],
  'evaluation.concatenates': ['logits-and-loss'],
  'evaluation.keepsCache': ['activations'],
  'evaluation.generatedTokens': EVALUATED,
  'evaluation.beams': EVALUATED,
  'saving.weights': GATHERED,
  'saving.hostOffload': GATHERED,
  'hardware.gpus': SPLIT,
  'hardware.reservedFraction': ['reserved-for-others'],
  'hardware.otherProcesses': ['reserved-for-others'],
  'hardware.outsideAllocator': ['cuda-context'],
};

/** Fields whose cost lands in host memory as well. */
const ON_HOST: ReadonlySet<FieldPath> = new Set<FieldPath>([
  'offload.optimizer',
  'offload.optimizerRatio',
  'offload.parameters',
  'offload.pinMemory',
  'offload.optimizerBuffers',
  'offload.parameterBuffers',
  'offload.parameterBufferSize',
  'offload.parametersInHost',
  'activations.offload',
  'loading.placement',
  'loading.embedding',
  'loading.newWeights',
  'loading.hostCopies',
  'evaluation.predictions',
  'evaluation.samples',
  'evaluation.accumulation',
  'saving.weights',
  'saving.optimizer',
  'saving.hostOffload',
]);
/** Fields of moments beside the step: their parts are at the peak only where that moment is the peak. */
const BESIDE_STEP: Readonly<Record<string, Moment>> = {
  loading: 'initialization',
  evaluation: 'evaluation',
  saving: 'saving',
};

/** Fields that decide what there is to fill rather than what fills it. */
const CAPACITY: ReadonlySet<FieldPath> = new Set<FieldPath>(['hardware.gpu', 'hardware.gpuMemory']);

/**
 * Fields that matter only through others, or in what is not estimated: nothing can be stated about them alone. What a release does otherwise
 * moves most parts of some runs and none of others; steps count where the run switches layers (LISA).
 */
const INDIRECT: ReadonlySet<FieldPath> = new Set<FieldPath>([
  'batch.global',
  'hardware.nodes',
  'framework',
  'features.unmodelled',
  'schedule.steps',
  ...FIELD_PATHS.filter((field) => field.startsWith('version.')),
]);

/** The same from the other end: fields to look at when a part is too large, the one to change first. */
const LEVERS: Readonly<Record<Category, readonly FieldPath[]>> = {
  weights: [
    'parallel.data',
    'zero.stage',
    'fsdp.strategy',
    'precision.weights',
    'offload.parameters',
    'model.id',
    'model.path',
  ],
  'quantized-weights': ['quantization.kind', 'model.id', 'model.path'],
  adapters: ['lora.rank', 'lora.targets'],
  'reference-model': ['method.referenceModel', 'method.objective', 'model.id'],
  'other-models': ['method.otherModels'],
  'master-weights': [
    'zero.stage',
    'fsdp.strategy',
    'offload.optimizer',
    'precision.masterWeights',
    'optimizer.name',
    'precision.weights',
  ],
  gradients: [
    'zero.stage',
    'fsdp.strategy',
    'precision.gradientAccumulation',
    'batch.accumulation',
    'method.kind',
    'precision.weights',
  ],
  'optimizer-states': [
    'offload.optimizer',
    'optimizer.name',
    'zero.stage',
    'fsdp.strategy',
    'parallel.data',
    'precision.optimizerStates',
  ],
  'optimizer-transients': ['optimizer.implementation', 'optimizer.name'],
  activations: [
    'activations.checkpointing',
    'batch.micro',
    'batch.sequence',
    'batch.global',
    'attention.implementation',
  ],
  checkpoints: ['batch.micro', 'batch.sequence', 'batch.global', 'activations.offload'],
  'logits-and-loss': [
    'batch.micro',
    'batch.sequence',
    'batch.global',
    'loss.implementation',
    'kernels.liger',
  ],
  'gathered-parameters': [
    'fsdp.wrap',
    'zero.maxLiveParameters',
    'zero.prefetchBucket',
    'zero.stage',
    'fsdp.strategy',
  ],
  'communication-buffers': ['zero.reduceBucket', 'zero.overlapCommunication', 'zero.stage'],
  'autocast-cache': ['precision.scheme', 'precision.compute'],
  workspaces: ['allocator.cublasWorkspace', 'attention.implementation'],
  'reserved-for-others': ['hardware.reservedFraction', 'hardware.otherProcesses'],
  'allocator-overhead': [],
  'cuda-context': [],
};

/** What fields have to do with the memory of a run. Bytes are in the estimate's own parts. */
export interface Causation {
  /** Parts of the peak that the fields shape; they need not be in the estimate. */
  readonly categories: ReadonlySet<Category>;
  /** They decide how much there is to fill. */
  readonly capacity: boolean;
  /** Their cost lands in host memory, too. */
  readonly host: boolean;
}

/** What fields shape; undefined where they matter only through others, or where there are none. */
export function causation(
  fields: readonly FieldPath[],
  estimate: Pick<Estimate, 'peak'> | undefined,
): Causation | undefined {
  if (fields.every((field) => INDIRECT.has(field))) return undefined;
  const atPeak = fields.filter((field) => {
    const moment = BESIDE_STEP[field.split('.')[0] ?? ''];
    return moment === undefined || estimate === undefined || estimate.peak.moment === moment;
  });
  return {
    categories: new Set(atPeak.flatMap((field) => SHAPED[field] ?? [])),
    capacity: fields.some((field) => CAPACITY.has(field)),
    host: fields.some((field) => ON_HOST.has(field)),
  };
}

/** Parts of an estimate among the categories, heaviest first, empty ones left out. */
export function heldBy(categories: ReadonlySet<Category>, estimate: Pick<Estimate, 'parts'>): Part[] {
  return estimate.parts
    .filter((part) => categories.has(part.category) && part.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
}

/** Fields to look at when a part is too large, the one to change first; none where no statement shapes it. */
export function leversOf(category: Category): readonly FieldPath[] {
  return LEVERS[category];
}

/** Parts that some statement shapes, heaviest first. */
export function shapeable(parts: readonly Part[]): Part[] {
  return parts.filter((part) => LEVERS[part.category].length > 0).sort((a, b) => b.bytes - a.bytes);
}
