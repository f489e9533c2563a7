import type { TrainingRun } from '../run/fields';
import { isAtLeast } from '../run/version';
import { say } from '../wording/say';
import { elementsWords } from './formula-words';
import { combine, emptyLedger, isJournaled, type Ledger, post, totalOf, type Words } from './ledger';
import { type SteppedTensor, stateBytes, stepTransient } from './optimizers';
import { rounded } from './play';
import {
  frozenShardsOf,
  ledger,
  NONE,
  type Passage,
  type Plan,
  postStates,
  referenceBytes,
  type Sharding,
  type StagePlan,
  type StepRequests,
  shardGroupSize,
  shardsOf,
} from './sharding-scheme';
import { SOURCES, type Source } from './sources';
import type { TracedStage } from './traced-run';
import { allStepped, bytesPer, ownWeights, type WeightSums } from './weights';

/**
 * DeepSpeed ZeRO, stages 0 to 3, with offload. Sources: `runtime/zero/stage_1_and_2.py` and `stage3.py`: flat buffers,
 * fp32 masters per partition, reduction buckets allocated at full size in elements of the model's type.
 */
export function zero(run: TrainingRun, sums: WeightSums): Sharding {
  const stage = run['zero.stage'];
  const shards = shardsOf(run, sums);
  const width = bytesPer(run['precision.compute']);
  const { trained } = sums;
  const partition = trained / shards;
  const offloaded = run['offload.optimizer'] !== 'none';
  const offloadShare = offloaded ? (stage === 3 ? run['offload.optimizerRatio'] : 1) : 0;
  const parametersOffloaded = stage === 3 && run['offload.parameters'] !== 'none';
  const lowPrecision = width < 4;
  const host: { label: string; bytes: number }[] = [];
  const accumulating = run['batch.accumulation'] > 1;
  const perNode = run['hardware.gpus'] / run['hardware.nodes'];

  const weightsWhole = trained + sums.frozen;
  const atRest = ledger(['quantized-weights', sums.quantizedBytes]);
  const persistent = sums.persistentTrained + sums.persistentFrozen;
  if (stage === 3) {
    const reference = referenceBytes(run, sums, shards);
    post(atRest, 'reference-model', reference);
    const split = width * (trained / shards + sums.frozen / frozenShardsOf(run, sums));
    if (parametersOffloaded) {
      host.push({ label: 'weights', bytes: split * perNode });
      post(atRest, 'weights', width * persistent);
    } else post(atRest, 'weights', split + width * persistent);
    post(atRest, 'weights', sums.frozen * secondaryBytes(run));
  } else {
    post(atRest, 'weights', width * weightsWhole);
    post(atRest, 'reference-model', referenceBytes(run, sums, 1));
  }

  // Stage 0 with fp16 or bf16 is FP16_Optimizer: the whole fp32 master and states on every GPU.
  const stepped = stage === 0 ? trained : partition;
  const onGpu = stepped * (1 - offloadShare);
  const masterBytes = bytesPer(run['precision.masterWeights']);
  const hasMasters = lowPrecision || stage > 0;
  const stepBytes = hasMasters ? masterBytes : width;
  if (hasMasters) post(atRest, 'master-weights', onGpu * masterBytes);
  postStates(atRest, run, onGpu, stepBytes, allStepped(sums));
  if (offloaded && run['offload.optimizer'] === 'cpu') {
    const perGpu = stepped * offloadShare;
    host.push(
      { label: 'master weights', bytes: perGpu * masterBytes * perNode },
      { label: 'optimizer states', bytes: perGpu * stateBytes(run, stepBytes, allStepped(sums)) * perNode },
      { label: 'gradients', bytes: perGpu * 4 * perNode },
      { label: 'staging of updated weights', bytes: perGpu * width * perNode },
    );
  } else if (offloaded) {
    host.push({
      label: 'staging buffers for NVMe',
      bytes: 4 * Math.min(partition, run['zero.subGroup']) * 4 * perNode,
    });
  }

  const overlap = run['zero.overlapCommunication'] ?? stage === 3;
  const bucket = run['zero.reduceBucket'] * width;
  const duringBackward = emptyLedger();
  const inBackward = emptyLedger();
  const gradientsBefore = emptyLedger();
  const gradientsAtStep = emptyLedger();
  const duringStep = emptyLedger();
  const throughout = emptyLedger();
  // Stage 1 with bf16 and fp32 accumulation is BF16_Optimizer.
  const whole = wholeGradients(run);
  if (stage === 0) {
    const gradient = trained * width;
    post(gradientsAtStep, 'gradients', gradient);
    if (accumulating) post(gradientsBefore, 'gradients', gradient);
    if (lowPrecision) post(duringStep, 'optimizer-transients', trained * 4);
    else post(duringStep, 'optimizer-transients', stepTransient(run, allStepped(sums), width));
  } else if (stage < 3) {
    if (whole) {
      // BF16_Optimizer keeps a full fp32 gradient buffer on every GPU (`bf16_optimizer.py`). Those of the weights are added
      // to it when backward is over, zeroed but not freed, and dropped by the step.
      post(atRest, 'gradients', trained * 4);
      post(gradientsAtStep, 'gradients', trained * width);
      if (accumulating) post(gradientsBefore, 'gradients', trained * width);
      post(duringStep, 'optimizer-transients', stepTransient(run, allStepped(sums), stepBytes, shards));
    } else {
      if (offloaded)
        post(atRest, 'communication-buffers', sums.largest * width, leaving(sums, width, SOURCES.zero12));
      post(inBackward, 'communication-buffers', bucket * (overlap ? 2 : 1), bucketWords(run, width, overlap));
      const held = offloaded ? NO_GRADIENTS : heldGradients(run, sums);
      const heldWords = partitionWords(held.elements, held.width);
      post(inBackward, 'gradients', held.elements * held.width, heldWords);
      if (accumulating) {
        if (stage === 1) post(gradientsBefore, 'gradients', trained * width);
        else post(gradientsBefore, 'gradients', held.elements * held.width, heldWords);
        // Stage 1 makes its buckets in the first micro step and lets go of them when it reduces, in the last.
        if (stage === 1 && contiguousGradients(run))
          post(
            gradientsBefore,
            'communication-buffers',
            bucket * (overlap ? 2 : 1),
            bucketWords(run, width, overlap),
          );
      }
      if (!offloaded) {
        post(gradientsAtStep, 'gradients', held.elements * held.width, heldWords);
        // First the norm, of one gradient at a time in fp64. Then the gradients are flattened, and cast to fp32.
        const norm = held.largest * 8;
        const flat = held.compact ? 0 : partition * width + (lowPrecision ? partition * 4 : 0);
        const stepped = held.compact ? 0 : (lowPrecision ? 4 : width) * partition - held.elements * width;
        const step = stepTransient(run, allStepped(sums), stepBytes, shards);
        post(duringStep, 'optimizer-transients', Math.max(norm, flat, stepped + step));
      }
    }
  } else {
    post(atRest, 'communication-buffers', bucket, {
      name: say('reduction bucket'),
      formula: elementsWords(run['zero.reduceBucket'], width),
      source: SOURCES.zero3,
    });
    // The coalesced reduce-scatter concatenates up to a bucket again while it sends.
    post(inBackward, 'communication-buffers', Math.min(bucket, trained * width), {
      name: say('what a reduce-scatter sends, joined once more'),
      formula: elementsWords(Math.min(run['zero.reduceBucket'], trained), width),
      source: SOURCES.zero3,
    });
    const gradientBytes = bytesPer(run['precision.gradientAccumulation'] ?? run['precision.compute']);
    if (!offloaded) post(atRest, 'gradients', partition * gradientBytes);
    const group = Math.min(run['zero.subGroup'], partition) * (1 - offloadShare);
    post(duringStep, 'optimizer-transients', group * (width + (lowPrecision ? 4 : 0)));
    // Released weights come back within the reuse distance, so half of it is whole around the turn from forward to
    // backward, and the prefetch bucket on top (`partitioned_param_coordinator.py`).
    post(throughout, 'gathered-parameters', liveElements(run, sums) * width, liveWords(run, sums));
    // What is used first is let go of before it can be fetched ahead for backward.
    const gone = Math.max(
      weightsWhole - persistent - liveElements(run, sums),
      sums.stepped[0]?.elements ?? 0,
    );
    post(throughout, 'weights', Math.min(trained, gone) * secondaryBytes(run));
    post(gradientsAtStep, 'weights', trained * secondaryBytes(run));
  }
  const keep = !accumulating && !reducesAlong(run);
  return {
    atRest,
    throughout,
    duringBackward,
    inBackward,
    gradientsBefore,
    gradientsAtStep,
    duringStep,
    plan: (stages) => planOf(stages, run, sums),
    gradients: keep ? 'keep' : 'pass',
    shardAfterStage: false,
    gradientShardBytes: 0,
    stageForward: () => NONE,
    stageBackward: () => NONE,
    host,
    requests: requestsOf(run, sums, duringStep, bucket * (overlap ? 2 : 1)),
  };
}

/**
 * How stages 1 to 3 ask for what they make: each bucket in one piece; at the step the flattened gradients, then their fp32
 * copy (`stage_1_and_2.py`, `step`; `stage3.py`, `_prepare_fp32_grad_for_sub_group`).
 */
function requestsOf(run: TrainingRun, sums: WeightSums, duringStep: Ledger, buckets: number): StepRequests {
  const stage = run['zero.stage'];
  const total = totalOf(duringStep);
  const width = bytesPer(run['precision.compute']);
  const compact = stage > 0 && stage < 3 && heldGradients(run, sums).compact;
  const cast = width < 4 && stage > 0 && !compact && !wholeGradients(run);
  const flat = (total * width) / (width + 4);
  const single = run['zero.reduceBucket'] * width;
  const count = single > 0 ? Math.round(buckets / single) : 0;
  return {
    buffers: stage === 2 ? new Array<number>(count).fill(single) : [],
    beforeLoss: stage !== 2 || isAtLeast(run['version.deepspeed'], '0.17.2') === false,
    step: cast ? [flat, total - flat] : [total],
  };
}

/** Label of the gradients of all weights that a rank's partition touches. */
function partitionWords(elements: number, width: number): Words {
  return {
    name: say('gradients of the weights that the partition touches'),
    formula: elementsWords(elements, width),
    source: SOURCES.zero12,
  };
}

/** Label of the largest gradient, whole while it is copied to the host. */
function leaving(sums: WeightSums, width: number, source: Source): Words {
  return {
    name: say('largest gradient, on its way to the host'),
    formula: elementsWords(sums.largest, width),
    source,
  };
}

/** Elements that the last rank's partition touches, whole weights, and the largest piece of one that lies in it. */
function heldByLast(
  tensors: readonly SteppedTensor[],
  partition: number,
): { elements: number; largest: number } {
  let left = partition;
  let elements = 0;
  let largest = 0;
  const take = (size: number) => {
    elements += size;
    largest = Math.max(largest, Math.min(size, left));
    left -= size;
  };
  // Weights of equal layers follow each other: whole layers at once, then one weight by one.
  for (let end = tensors.length; end > 0 && left > 0; ) {
    let start = end - 1;
    const copies = tensors[start]?.copies ?? 1;
    while (start > 0 && tensors[start - 1]?.copies === copies && copies > 1) start--;
    const group = tensors.slice(start, end);
    const size = group.reduce((sum, tensor) => sum + tensor.elements, 0);
    const layers = Math.min(copies, Math.floor(left / size));
    elements += layers * size;
    left -= layers * size;
    if (layers > 0) for (const tensor of group) largest = Math.max(largest, tensor.elements);
    if (layers < copies) for (const tensor of [...group].reverse()) if (left > 0) take(tensor.elements);
    end = start;
  }
  return { elements, largest };
}

/** Gradients of the last rank's partition in stages 1 and 2. */
interface Held {
  readonly elements: number;
  /** Bytes per element. */
  readonly width: number;
  /** The largest piece of one weight's gradient, elements. */
  readonly largest: number;
  /** Accumulated in a flat fp32 buffer of just the partition (`_build_compact_grad_partition_buffer`, from 0.19 on). */
  readonly compact: boolean;
}

const NO_GRADIENTS: Held = { elements: 0, width: 0, largest: 0, compact: false };

function heldGradients(run: TrainingRun, sums: WeightSums): Held {
  const width = bytesPer(run['precision.compute']);
  const partition = sums.trained / shardsOf(run, sums);
  const { elements, largest } = heldByLast(allStepped(sums), partition);
  const compact = run['precision.gradientAccumulation'] === 'fp32' && width < 4;
  return compact
    ? { elements: partition, width: 4, largest, compact }
    : { elements, width, largest, compact };
}

/** Stage 1 with bf16 weights and fp32 accumulation goes to another optimizer (`engine.py`, `_do_optimizer_sanity_check`). */
function wholeGradients(run: TrainingRun): boolean {
  return (
    run['zero.stage'] === 1 &&
    run['precision.compute'] === 'bf16' &&
    run['precision.gradientAccumulation'] === 'fp32' &&
    run['offload.optimizer'] === 'none'
  );
}

/**
 * Bytes per element of hpZ's second copy, shared by a few GPUs. That of a trained weight is made when the weight is first
 * let go of and dropped by the step (`partition_parameters.py`, `_partition_param_sec`; `stage3.py`, `step`).
 */
function secondaryBytes(run: TrainingRun): number {
  const partition = run['zero.hpzPartition'];
  return run['zero.stage'] === 3 && partition > 1 ? bytesPer(run['precision.compute']) / partition : 0;
}

/** Modules of a layer without weights of their own that fetch ahead all the same: the layer, its two halves, an activation. */
const CONTAINERS = 4;

/**
 * Elements of stage 3 that are gathered around the turn from forward to backward (`partitioned_param_coordinator.py`).
 *
 * - Released weights come back within the reuse distance, which counts forward and backward, so half of it stays whole; so
 *   does the last weight, whose use is the next.
 * - Every module fetches a prefetch bucket ahead of it while fewer than `max_live_parameters` are whole. Where that is
 *   more than the modules use up, what is ahead grows layer by layer.
 */
function liveElements(run: TrainingRun, sums: WeightSums): number {
  if (shardGroupSize(run) === 1 && run['offload.parameters'] === 'none') return 0;
  const partitioned = sums.trained + sums.frozen - sums.persistentTrained - sums.persistentFrozen;
  const reuse = run['zero.maxReuseDistance'];
  const ahead = run['zero.prefetchBucket'];
  const kept = reuse > 0 ? Math.max(reuse / 2, sums.largest) : 0;
  const { count, elements, modules } = sums.layers;
  const grows = Math.max(0, ahead * (modules + CONTAINERS * count) - elements);
  const fetched = Math.min(run['zero.maxLiveParameters'], kept + ahead + grows);
  // Without either, a weight is there while its module runs; those beside the layers are no more when the loss is taken.
  if (reuse === 0 && ahead === 0) return Math.min(partitioned, sums.layers.largest);
  return Math.min(partitioned, Math.max(kept, fetched, sums.largest));
}

const LIVE = new WeakMap<WeightSums, Words>();

/** What nobody reads, where no journal is kept. */
const UNTOLD: Words = { name: '', formula: '' };

function liveWords(run: TrainingRun, sums: WeightSums): Words {
  if (!isJournaled()) return UNTOLD;
  const known = LIVE.get(sums);
  if (known) return known;
  const width = bytesPer(run['precision.compute']);
  const words = {
    name: say('weights gathered around the turn from forward to backward'),
    formula: say(
      '{0}: used again within {1}, {2} fetched ahead by every module, at most {3}',
      elementsWords(liveElements(run, sums), width),
      run['zero.maxReuseDistance'],
      run['zero.prefetchBucket'],
      run['zero.maxLiveParameters'],
    ),
    source: SOURCES.zeroParameters,
  };
  LIVE.set(sums, words);
  return words;
}

/** Elements of one copy of a stage that stage 3 does not keep whole. */
function partitionedOf(stage: TracedStage, run: TrainingRun): number {
  let elements = 0;
  for (const { localElements, quantization } of ownWeights(stage))
    if (quantization === 'none' && localElements > run['zero.persistenceThreshold'])
      elements += localElements;
  return elements;
}

/** Gradients are copied into buckets. Offload asks for it below stage 3. */
function contiguousGradients(run: TrainingRun): boolean {
  return run['zero.contiguousGradients'] || run['offload.optimizer'] !== 'none';
}

/** Gradients are reduced while backward runs; else stage 1 does so when it is over, as does stage 0. */
function reducesAlong(run: TrainingRun): boolean {
  const stage = run['zero.stage'];
  return stage > 1 || (stage === 1 && run['zero.overlapCommunication'] === true && !wholeGradients(run));
}

/** The reduction buffers of stages 1 and 2, one or two of them. */
function bucketWords(run: TrainingRun, width: number, overlap: boolean): Words {
  return {
    name: overlap
      ? say('two reduction buckets, one filled while the other is sent')
      : say('reduction bucket'),
    formula: `${overlap ? '2 x ' : ''}${elementsWords(run['zero.reduceBucket'], width)}`,
    source: SOURCES.zero12,
  };
}

/** Gradients that stage 0 reduces at a time (`engine.py`, `MEMORY_OPT_ALLREDUCE_SIZE`), elements. */
const ALLREDUCE_SIZE = 500_000_000;

/** Trained weights of one copy of a stage. */
interface Trained {
  readonly elements: number;
  /** The largest one that no bucket takes: it waits whole for the next weight's gradient. */
  readonly oversized: number;
  readonly first: number;
}

function trainedOf(stage: TracedStage, bucket: number): Trained {
  let elements = 0;
  let oversized = 0;
  let first = 0;
  for (const weight of ownWeights(stage)) {
    if (!weight.trainable) continue;
    if (elements === 0) first = weight.localElements;
    elements += weight.localElements;
    if (weight.localElements > bucket) oversized = Math.max(oversized, weight.localElements);
  }
  return { elements, oversized, first };
}

/**
 * What is buffered when. The buckets are made with the first gradient of a backward pass (`setup_buckets`); gradients are
 * copied there one by one, and joined once more where parts of them go to several ranks (`allreduce_bucket`, `flatten`;
 * `reduce_scatter_coalesced`). One that is larger than the bucket waits, whole, for the next one. Of the ranks, the last
 * one is described: its gradients come first, so it holds them longest.
 */
function planOf(stages: readonly TracedStage[], run: TrainingRun, sums: WeightSums): Plan {
  const stage = run['zero.stage'];
  const width = bytesPer(run['precision.compute']);
  const shards = shardsOf(run, sums);
  const bucket = run['zero.reduceBucket'];
  const overlap = run['zero.overlapCommunication'] ?? stage === 3;
  const offloaded = run['offload.optimizer'] !== 'none';
  // Until 0.17.1 `backward` made the buckets before it took the loss's gradient.
  const eager = isAtLeast(run['version.deepspeed'], '0.17.2') === false;
  // Stage 1 has them from the first micro step on.
  const early = stage === 1 && run['batch.accumulation'] > 1;
  const along = reducesAlong(run);
  const partition = sums.trained / shards;
  const buffers = emptyLedger();
  if (stage < 3 && stage > 0 && contiguousGradients(run) && !early)
    post(
      buffers,
      'communication-buffers',
      bucket * width * (overlap ? 2 : 1),
      bucketWords(run, width, overlap),
    );
  const gradients = stage > 0 && stage < 3 ? heldGradients(run, sums) : NO_GRADIENTS;
  const held = emptyLedger();
  // A compact buffer of earlier micro steps is added to.
  if (along && !offloaded && !(gradients.compact && run['batch.accumulation'] > 1)) {
    const { elements, width: bytes } = gradients;
    post(held, 'gradients', elements * bytes, partitionWords(elements, bytes));
  }
  const waiting = (elements: number): Ledger => {
    if (elements === 0) return NONE;
    const sum = emptyLedger();
    post(sum, 'gradients', rounded(elements * width), {
      name: say('gradient larger than the bucket, waiting for the next one'),
      formula: elementsWords(elements, width),
      source: stage === 3 ? SOURCES.zero3 : SOURCES.zero12,
    });
    return sum;
  };
  const joined = (elements: number): Ledger => {
    if (elements === 0) return NONE;
    const sum = emptyLedger();
    post(sum, 'communication-buffers', elements * width, {
      name: say('what is reduced, joined once more'),
      formula: elementsWords(elements, width),
      source: stage === 3 ? SOURCES.zero3 : SOURCES.zero12,
    });
    return sum;
  };
  /**
   * What is joined of a weight larger than the bucket in stages 1 and 2: parts by rank, until they exceed a bucket
   * (`allreduce_and_scatter`). One part alone is not copied; nor is the weight without buckets.
   */
  const joinedOf = (oversized: number): number => {
    if (oversized <= partition || partition > bucket || !contiguousGradients(run)) return 0;
    return Math.min(oversized, (Math.floor(bucket / partition) + 1) * partition);
  };
  // Stage 3: weights that are gathered stay until backward has passed them, as far as they may live.
  const gatheredWords = liveWords(run, sums);
  const live = stage === 3 ? liveElements(run, sums) : 0;
  const partitioned = sums.trained + sums.frozen - sums.persistentTrained - sums.persistentFrozen;
  let behind = 0;
  const gatheredAlone = (elements: number): Ledger => {
    const sum = emptyLedger();
    post(sum, 'gathered-parameters', elements * width, gatheredWords);
    return sum;
  };
  const secondary = secondaryBytes(run);
  const released = (elements: number): Ledger => {
    const gone = live - Math.max(0, Math.min(live, partitioned - elements));
    if (gone <= 0) return NONE;
    const sum = emptyLedger();
    post(sum, 'gathered-parameters', -gone * width, gatheredWords);
    if (secondary > 0) post(sum, 'weights', (gone * secondary * sums.trained) / (sums.trained + sums.frozen));
    return sum;
  };
  const scratch = (bytes: number): Ledger => (bytes > 0 ? ledger(['communication-buffers', bytes]) : NONE);
  // Accumulated gradients of stage 1 move into the buckets as backward reaches them.
  const moves = stage === 1 && along && run['batch.accumulation'] > 1;
  // What no gradient flows to is let go of in forward.
  const idle = stages
    .filter(({ tape }) => !tape.exit.some((x) => x.requiresGrad))
    .reduce((sum, traced) => sum + traced.copies * partitionedOf(traced, run), 0);
  const plans = new Map<TracedStage, StagePlan>();
  const none: Passage = { before: NONE, during: NONE, after: [] };
  let passed = 0;
  let oversizedBefore = false;
  for (const traced of [...stages].reverse()) {
    const own = trainedOf(traced, bucket);
    const before = passed;
    const began = eager || before > 0 || (own.elements > 0 && traced.stage.role === 'layer');
    const total = (copy: number) => before + copy * own.elements;
    // A bucket is sent once it is full; an oversized gradient at the next one.
    const sends = (copy: number) => own.elements > 0 && (total(copy + 1) > bucket || own.oversized > 0);
    const oversizedEarlier = oversizedBefore;
    const sent = (copy: number) =>
      total(copy) > bucket || oversizedEarlier || (copy > 0 && own.oversized > 0);
    // Parts of what is joined belong to several ranks once the last rank's partition is passed.
    const split = (copy: number) => shards > 1 && (stage === 3 || total(copy + 1) > partition);
    const from = (elements: number) =>
      own.elements > 0 ? Math.ceil((elements - before) / own.elements) - 1 : 0;
    const crossings = [from(partition), from(bucket)].filter((copy) => copy > 0 && copy < traced.copies);
    const pending = along ? waiting(own.oversized) : NONE;
    const most = Math.min(bucket, sums.trained);
    // One weight alone is not joined, unless it is split among ranks in parts of their own (stages 1 and 2).
    const content = joined(stage === 3 ? most : Math.max(joinedOf(own.oversized), most));
    const weights = partitionedOf(traced, run);
    const passedBefore = behind + idle;
    const alone =
      stage === 3 && live < weights && traced.stage.role !== 'layer' ? gatheredAlone(weights - live) : NONE;
    const product = traced.tape.operations.findLast((operation) => operation.weights.length > 0);
    const result = product?.outputs.reduce((sum, x) => sum + rounded(x.storage.bytes), 0) ?? 0;
    const incoming = ledger(['logits-and-loss', result]);
    const withoutIdle = traced === stages[0] || idle === 0 ? NONE : released(idle);
    const forward: Passage = { before: combine(withoutIdle, alone), during: withoutIdle, after: [] };
    const backward = (copy: number): Passage => {
      if (stage === 0) return none;
      const before = copy === 0 ? alone : NONE;
      const gone = released(passedBefore + copy * weights);
      const then = released(passedBefore + (copy + 1) * weights);
      const there = sent(copy) ? combine(buffers, held) : buffers;
      const during =
        began || copy > 0 ? combine(gone, there, traced.stage.role === 'layer' ? pending : NONE) : gone;
      if (own.elements === 0) return { before, during, after: [] };
      // Where the weight is gathered for its module alone, that is while the gradient of its result is there too.
      const after = [combine(gone, there, pending, before, before === NONE ? NONE : incoming)];
      if (along && sends(copy)) {
        // The compact buffer is there before its parts are reduced, and adds fp32 casts of them.
        const early = gradients.compact ? combine(held, scratch(gradients.largest * 4)) : NONE;
        const base = gradients.compact ? buffers : there;
        if (split(copy) || gradients.compact)
          after.push(combine(then, base, early, pending, split(copy) ? content : NONE));
        // Offloaded gradients are measured on the GPU first, in fp64.
        const norm = offloaded && stage < 3 ? scratch(gradients.largest * 8) : NONE;
        after.push(combine(then, buffers, held, pending, norm));
      }
      return { before, during, after };
    };
    if (traced.tape.exit.some((x) => x.requiresGrad)) behind += traced.copies * weights;
    oversizedBefore ||= own.oversized > 0;
    passed += traced.copies * own.elements;
    plans.set(traced, {
      forward: () => forward,
      backward,
      forwardChange: NONE,
      backwardChange: moves ? ledger(['gradients', -own.elements * width]) : NONE,
      reduces: false,
      watch: crossings,
    });
  }
  const first = stages.map((traced) => trainedOf(traced, bucket)).find(({ elements }) => elements > 0);
  const end: Ledger[] = [];
  if (stage === 0) end.push(joined(Math.min(ALLREDUCE_SIZE, sums.trained)));
  // Each is added to its fp32 one by a cast, then all are cast to be reduced.
  else if (wholeGradients(run)) end.push(scratch(Math.max(sums.largest * 4, sums.trained * width)));
  // A bucket that never filled is sent when backward is over.
  else if (along && sums.trained <= bucket && shards > 1) {
    const over = released(partitioned);
    end.push(combine(over, buffers, joined(sums.trained)), combine(over, buffers, held));
  }
  // Stage 1 begins with the first weights, when all gradients are there.
  else if (!along) {
    const oversized = first && first.first > bucket ? joinedOf(first.first) : 0;
    const loose = contiguousGradients(run) ? 0 : Math.min(bucket, sums.trained);
    end.push(combine(buffers, joined(Math.max(oversized, loose))));
  }
  return { start: NONE, stages: plans, end };
}
