import type { Category, Moment } from '../estimate';
import type { FieldPath } from '../run/fields';
import { formatBytes } from '../wording/figures';
import { CATEGORY_LABELS } from '../wording/labels';
import type { Analysis } from '../workspace/analysis';

const STATES: readonly Category[] = ['weights', 'master-weights', 'gradients', 'optimizer-states'];
const PER_TOKEN: readonly Category[] = ['activations', 'checkpoints', 'logits-and-loss'];
const ADAPTERS: readonly Category[] = ['adapters', 'gradients', 'optimizer-states'];
const GATHERED: readonly Category[] = ['gathered-parameters'];
const EVALUATED: readonly Category[] = ['activations', 'logits-and-loss'];
const COMMUNICATION: readonly Category[] = ['communication-buffers'];

/**
 * Parts of the peak that a field shapes directly. A field that is absent here has no part of its own: schedules,
 * LoRA's alpha, versions and the like.
 */
const EFFECTS: Partial<Record<FieldPath, readonly Category[]>> = {
  'model.id': [...STATES, 'activations'],
  'model.path': [...STATES, 'activations'],
  'model.config': [...STATES, 'activations'],
  'method.kind': ['weights', 'adapters', 'gradients', 'optimizer-states'],
  'method.objective': ['reference-model', ...PER_TOKEN],
  'method.referenceModel': ['reference-model'],
  'method.precomputedReference': ['reference-model'],
  'method.frozenModels': ['reference-model'],
  'method.frozenParameters': ['reference-model'],
  'method.frozenDtype': ['reference-model'],
  'method.frozenSharded': ['reference-model'],
  'method.valueModel': STATES,
  'method.trainable': ['gradients', 'optimizer-states'],
  'rollout.engine': ['reserved-for-others', 'activations'],
  'rollout.batch': ['activations'],
  'rollout.completion': ['logits-and-loss'],
  'rollout.sleep': ['reserved-for-others'],
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
  'precision.weights': ['weights', 'gradients'],
  'precision.compute': ['activations', 'autocast-cache', 'gathered-parameters'],
  'precision.scheme': ['weights', 'master-weights', 'gradients', 'autocast-cache'],
  'precision.gradientAccumulation': ['gradients'],
  'precision.reduce': COMMUNICATION,
  'precision.masterWeights': ['master-weights'],
  'precision.optimizerStates': ['optimizer-states'],
  'precision.fp8': ['activations'],
  'optimizer.name': ['optimizer-states', 'optimizer-transients'],
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
  'activations.offload': ['checkpoints'],
  'loss.implementation': ['logits-and-loss'],
  'kernels.liger': ['activations', 'logits-and-loss'],
  'kernels.compile': ['activations'],
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
  'zero.stage': STATES,
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

/** One line on what these fields cost on one GPU at the peak, or undefined where nothing can be said yet. */
export function memoryEffect(analysis: Analysis, fields: readonly FieldPath[]): string | undefined {
  const estimate = analysis.estimate;
  if (fields.length === 0 || fields.every((field) => INDIRECT.has(field))) {
    return undefined;
  }
  const atPeak = fields.filter((field) => {
    const moment = BESIDE_STEP[field.split('.')[0] ?? ''];
    return moment === undefined || estimate === undefined || estimate.peak.moment === moment;
  });
  const categories = new Set(atPeak.flatMap((field) => EFFECTS[field] ?? []));
  const capacity = fields.some((field) => CAPACITY.has(field));
  const host = fields.some((field) => ON_HOST.has(field));
  if (categories.size === 0 && !capacity && !host) {
    return 'no effect on the peak';
  }
  if (!estimate) {
    return undefined;
  }
  const phrases: string[] = [];
  const parts = estimate.parts
    .filter((part) => categories.has(part.category) && part.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .map((part) => `${CATEGORY_LABELS[part.category]} ${formatBytes(part.bytes)}`);
  if (parts.length > 0) {
    phrases.push(`${parts.join(', ')} of the ${formatBytes(estimate.peak.processBytes)} peak`);
  } else if (categories.size > 0) {
    const names = [...categories].map((category) => CATEGORY_LABELS[category]);
    phrases.push(`nothing at the peak (${names.join(', ')})`);
  }
  if (capacity) {
    phrases.push(`${formatBytes(estimate.capacityBytes)} usable per GPU`);
  }
  if (host && estimate.hostBytesPerNode > 0) {
    phrases.push(`${formatBytes(estimate.hostBytesPerNode)} of host memory per node`);
  }
  return phrases.length === 0 ? 'no effect on the peak' : phrases.join('; ');
}
