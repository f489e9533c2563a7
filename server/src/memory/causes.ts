import type { Category, Estimate, Moment, Part } from '../estimate-types';
import type { FieldPath } from '../run/fields';

/** Which statements of a run shape which parts of its peak: hovers, inlay hints and the verdict all ask here. */

const STATES: readonly Category[] = ['weights', 'master-weights', 'gradients', 'optimizer-states'];
const PER_TOKEN: readonly Category[] = ['activations', 'checkpoints', 'logits-and-loss'];
const ADAPTERS: readonly Category[] = ['adapters', 'gradients', 'optimizer-states'];
const MODEL: readonly Category[] = [...STATES, 'quantized-weights', 'reference-model', ...PER_TOKEN];
const GATHERED: readonly Category[] = ['gathered-parameters'];
const EVALUATED: readonly Category[] = ['activations', 'logits-and-loss'];
const COMMUNICATION: readonly Category[] = ['communication-buffers'];

/**
 * Parts of the peak that a field shapes directly. A field that is absent here has no part of its own: schedules,
 * LoRA's alpha, versions and the like.
 */
const SHAPED: Partial<Record<FieldPath, readonly Category[]>> = {
  'model.id': MODEL,
  'model.path': MODEL,
  'model.config': MODEL,
  'model.tied': STATES,
  'method.kind': ['weights', 'adapters', 'gradients', 'optimizer-states'],
  'method.objective': ['reference-model', ...PER_TOKEN],
  'method.referenceModel': ['reference-model'],
  'method.precomputedReference': ['reference-model'],
  'method.frozenModels': ['reference-model'],
  'method.frozenParameters': ['reference-model'],
  'method.teacher': ['logits-and-loss', 'activations'],
  'method.frozenDtype': ['reference-model'],
  'method.frozenSharded': ['reference-model'],
  'method.valueModel': STATES,
  'method.valueTogether': ['activations', 'logits-and-loss'],
  'rollout.sequences': ['logits-and-loss'],
  'method.trainable': ['gradients', 'optimizer-states'],
  'rollout.engine': ['reserved-for-others', 'activations'],
  'rollout.batch': ['activations'],
  'rollout.completion': ['logits-and-loss'],
  'rollout.sleep': ['reserved-for-others'],
  'rollout.offload': STATES,
  'method.newLayers': ['weights', 'gradients', 'optimizer-states', ...PER_TOKEN],
  'method.spreadLayers': ['gradients', 'optimizer-states', 'activations'],
  'method.switchSteps': ['optimizer-states'],
  'method.trainableLayers': ['gradients', 'optimizer-states'],
  'lora.kind': [...ADAPTERS, 'activations'],
  'lora.rank': ADAPTERS,
  'lora.rankPattern': ADAPTERS,
  'lora.targetPattern': [...ADAPTERS, 'activations'],
  'lora.targetParameters': [...ADAPTERS, 'activations'],
  'lora.exclude': [...ADAPTERS, 'activations'],
  'lora.layers': [...ADAPTERS, 'activations'],
  'lora.bias': ['gradients', 'optimizer-states'],
  'lora.ownBias': ADAPTERS,
  'lora.blockSize': ADAPTERS,
  'lora.virtualTokens': [...ADAPTERS, 'activations'],
  'lora.vectors': ADAPTERS,
  'lora.vectorLength': [...ADAPTERS, 'activations'],
  'lora.encoderSize': ADAPTERS,
  'lora.tokens': ADAPTERS,
  'lora.dropout': ['activations'],
  'lora.targets': [...ADAPTERS, 'activations'],
  'lora.modulesToSave': ADAPTERS,
  'lora.dtype': ADAPTERS,
  'lora.dora': ['adapters', 'activations'],
  'quantization.kind': ['quantized-weights', 'weights'],
  'quantization.double': ['quantized-weights'],
  'quantization.bits': ['quantized-weights'],
  'quantization.groupSize': ['quantized-weights'],
  'quantization.experts': ['quantized-weights', 'weights'],
  'quantization.storage': ['quantized-weights'],
  'quantization.prepared': ['weights'],
  'quantization.recast': ['weights', 'activations'],
  'precision.weights': ['weights', 'gradients', 'master-weights'],
  'precision.compute': ['activations', 'autocast-cache', 'gathered-parameters'],
  'precision.scheme': ['weights', 'master-weights', 'gradients', 'autocast-cache'],
  'precision.gradientAccumulation': ['gradients'],
  'precision.reduce': COMMUNICATION,
  'precision.masterWeights': ['master-weights'],
  'precision.optimizerStates': ['optimizer-states'],
  'precision.fp8': ['activations'],
  'optimizer.name': ['optimizer-states', 'optimizer-transients', 'master-weights'],
  'optimizer.implementation': ['optimizer-transients'],
  'optimizer.inBackward': ['gradients'],
  'optimizer.rank': ['optimizer-states', 'optimizer-transients'],
  'optimizer.targets': ['optimizer-states', 'optimizer-transients'],
  'optimizer.extraStates': ['optimizer-states'],
  'optimizer.compensation': ['optimizer-states'],
  'optimizer.blockSize': ['optimizer-states'],
  'optimizer.wideEmbeddings': ['optimizer-states'],
  'batch.micro': PER_TOKEN,
  'batch.accumulation': ['gradients'],
  'batch.sequence': PER_TOKEN,
  'batch.targetSequence': PER_TOKEN,
  'batch.images': PER_TOKEN,
  'batch.packed': ['activations'],
  'attention.implementation': ['activations', 'workspaces'],
  'attention.mask': ['activations'],
  'activations.checkpointing': ['activations', 'checkpoints'],
  'activations.checkpointEvery': ['activations', 'checkpoints'],
  'activations.reentrant': ['activations', 'checkpoints'],
  'activations.layers': ['activations', 'checkpoints'],
  'activations.modules': ['activations', 'checkpoints'],
  'activations.distributed': ['checkpoints'],
  'activations.offload': ['checkpoints', 'activations'],
  'activations.offloadOverlap': ['activations'],
  'loss.implementation': ['logits-and-loss'],
  'loss.divergence': ['logits-and-loss'],
  'kernels.liger': ['activations', 'logits-and-loss'],
  'kernels.compile': ['activations'],
  'kernels.lora': ['activations'],
  'parallel.data': [...STATES, ...GATHERED, ...COMMUNICATION],
  'parallel.replicate': STATES,
  'parallel.tensor': [...STATES, 'activations', 'logits-and-loss'],
  'parallel.sequence': ['activations'],
  'parallel.pipeline': [...STATES, 'activations'],
  'parallel.pipelineSchedule': ['activations'],
  'parallel.virtualStages': ['activations'],
  'parallel.stageLayers': [...STATES, 'activations'],
  'parallel.firstStageLayers': [...STATES, 'activations'],
  'parallel.lastStageLayers': [...STATES, 'activations'],
  'parallel.embeddingLayers': [...STATES, 'activations'],
  'parallel.headLayers': [...STATES, 'activations'],
  'parallel.vocabularyMultiple': [...STATES, 'logits-and-loss'],
  'parallel.contextMethod': ['activations'],
  'parallel.expertTensor': [...STATES, 'activations'],
  'parallel.capacityFactor': ['activations'],
  'parallel.context': PER_TOKEN,
  'parallel.ulysses': PER_TOKEN,
  'parallel.expert': STATES,
  'parallel.distributedOptimizer': ['master-weights', 'optimizer-states'],
  'zero.stage': [...STATES, ...GATHERED, ...COMMUNICATION],
  'zero.reduceBucket': COMMUNICATION,
  'zero.allgatherBucket': COMMUNICATION,
  'zero.overlapCommunication': COMMUNICATION,
  'zero.contiguousGradients': COMMUNICATION,
  'zero.prefetchBucket': GATHERED,
  'zero.persistenceThreshold': GATHERED,
  'zero.maxLiveParameters': GATHERED,
  'zero.maxReuseDistance': GATHERED,
  'zero.subGroup': ['optimizer-transients'],
  'zero.hpzPartition': ['weights'],
  'zero.micsShard': STATES,
  'fsdp.strategy': [...STATES, ...GATHERED],
  'fsdp.wrap': GATHERED,
  'fsdp.minParameters': GATHERED,
  'fsdp.backwardPrefetch': GATHERED,
  'fsdp.forwardPrefetch': GATHERED,
  'fsdp.useOriginalParameters': GATHERED,
  'fsdp.checkpoints': ['checkpoints', 'activations'],
  'fsdp.syncEachBatch': ['gradients'],
  'ddp.gradientAsBucketView': COMMUNICATION,
  'ddp.bucketCap': COMMUNICATION,
  'offload.optimizer': ['master-weights', 'optimizer-states'],
  'offload.optimizerRatio': ['master-weights', 'optimizer-states'],
  'offload.parameters': ['weights', 'gathered-parameters'],
  'loading.placement': ['weights', ...GATHERED],
  'evaluation.enabled': EVALUATED,
  'evaluation.batch': EVALUATED,
  'evaluation.sequence': EVALUATED,
  'evaluation.predictions': ['logits-and-loss'],
  'evaluation.accumulation': ['logits-and-loss'],
  'evaluation.samples': ['logits-and-loss'],
  'evaluation.concatenates': ['logits-and-loss'],
  'evaluation.generatedTokens': EVALUATED,
  'evaluation.beams': EVALUATED,
  'saving.weights': GATHERED,
  'saving.hostOffload': GATHERED,
  'hardware.gpus': STATES,
  'hardware.reservedFraction': ['reserved-for-others'],
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

/** Fields that matter only through others: nothing can be said about them alone. */
const INDIRECT: ReadonlySet<FieldPath> = new Set<FieldPath>(['batch.global', 'hardware.nodes', 'framework']);

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
  'communication-buffers': [
    'zero.reduceBucket',
    'zero.allgatherBucket',
    'zero.overlapCommunication',
    'ddp.bucketCap',
    'zero.stage',
  ],
  'autocast-cache': ['precision.scheme', 'precision.compute'],
  workspaces: ['attention.implementation'],
  'reserved-for-others': ['hardware.reservedFraction'],
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
