import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import { say } from '../../wording/say';
import { elementsWords } from '../formula-words';
import { combine, emptyLedger, type LabelWords, type Ledger, post, totalOf } from '../ledger';
import { type SteppedTensor, stepTransient } from '../optimizers';
import {
  dataParallelSize,
  ledger,
  NONE,
  type Passage,
  type Plan,
  type Sharding,
  type StagePlan,
  shardGroupSize,
  shardsOf,
} from '../sharding-scheme';
import { SOURCES } from '../sources';
import type { TracedStage } from '../traced-run';
import { allStepped, bytesPer, type WeightSums } from '../weights';
import { fillings, joinedOnce, scratch, trainedOf, waitingBytes, wholeGradients } from './buckets';
import { engineWidth, hostStates, postStepped, sentCast, stepWidth, wholeWeights } from './engine-states';
import { flattening } from './loading';
import { cloning } from './saving';
import { zeroWords } from './words';

/**
 * ZeRO stages 1 and 2 (`runtime/zero/stage_1_and_2.py`): flat weights, fp32 masters and states per partition, reduction
 * buckets of full size in elements of the model's type. Of the ranks, the last one is described: its gradients come first,
 * so it holds them longest.
 */
export function partitionedStates(run: TrainingRun, sums: WeightSums): Sharding {
  const { trained } = sums;
  const width = engineWidth(run);
  const partition = trained / shardsOf(run, sums);
  const offloaded = run['offload.optimizer'] !== 'none';
  const accumulates = run['batch.accumulation'] > 1;
  const first = run['zero.stage'] === 1;
  const atRest = wholeWeights(run, sums);
  postStepped(atRest, run, sums, partition);
  if (offloaded) {
    post(atRest, 'communication-buffers', sums.largest * width, {
      name: say('largest gradient, on its way to the host'),
      formula: elementsWords(sums.largest, width),
      source: SOURCES.zero12,
    });
  }
  const held = heldGradients(run, sums);
  const kept = offloaded ? NONE : held.kept;
  let gradientsBefore = NONE;
  if (accumulates) {
    // Stage 1 makes its buckets in the first micro step and lets go of them when it reduces, in the last.
    gradientsBefore = first
      ? combine(ledger(['gradients', trained * width]), contiguous(run) ? buckets(run) : NONE)
      : kept;
  }
  const duringStep = offloaded ? NONE : ledger(['optimizer-transients', stepBytes(run, sums, held)]);
  const sharing = shardGroupSize(run);
  return {
    splits: { weights: 1, gradients: first ? 1 : sharing, states: sharing },
    explains: zeroWords(run),
    gathersStepped: dataParallelSize(run) > 1,
    atRest,
    throughout: NONE,
    gradientsBefore,
    gradientsAtStep: kept,
    duringStep,
    gradients: accumulates || reducesAlong(run) ? 'pass' : 'keep',
    plan: (stages) => planOf(stages, run, sums, duringStep),
    host: hostStates(run, sums, partition, sums.largest),
    pinned: pinnedBuffers(run, partition, sums.largest),
    statesFirst: true,
    loading: flattening(run, sums),
    saving: cloning(run, sums),
  };
}

/** Gradients are copied into buckets. Offload asks for it. */
function contiguous(run: TrainingRun): boolean {
  return run['zero.contiguousGradients'] || run['offload.optimizer'] !== 'none';
}

/** Gradients are reduced while backward runs; else stage 1 does so when it is over. */
function reducesAlong(run: TrainingRun): boolean {
  return run['zero.stage'] === 2 || run['zero.overlapCommunication'] === true;
}

/** The reduction buffers, one or two of them. */
function buckets(run: TrainingRun): Ledger {
  const width = engineWidth(run);
  const overlap = run['zero.overlapCommunication'] === true;
  const count = overlap ? 2 : 1;
  const sum = emptyLedger();
  post(sum, 'communication-buffers', run['zero.reduceBucket'] * width * count, {
    name: overlap
      ? say('two reduction buckets, one filled while the other is sent')
      : say('reduction bucket'),
    formula: `${overlap ? '2 x ' : ''}${elementsWords(run['zero.reduceBucket'], width)}`,
    source: SOURCES.zero12,
  });
  return sum;
}

/** Gradients of the last rank's partition. */
interface Held {
  readonly kept: Ledger;
  readonly elements: number;
  /** Bytes per element. */
  readonly width: number;
  /** The largest piece of one weight's gradient, elements. */
  readonly largest: number;
  /** Accumulated in a flat fp32 buffer of just the partition (`_build_compact_grad_partition_buffer`, from 0.19 on). */
  readonly compact: boolean;
}

function heldGradients(run: TrainingRun, sums: WeightSums): Held {
  const partition = sums.trained / shardsOf(run, sums);
  const { elements: touched, largest } = heldByLast(allStepped(sums), partition);
  const compact = run['precision.gradientAccumulation'] === 'fp32' && engineWidth(run) < 4;
  const elements = compact ? partition : touched;
  const width = compact ? 4 : engineWidth(run);
  const kept = emptyLedger();
  const words: LabelWords = {
    name: say('gradients of the weights that the partition touches'),
    formula: elementsWords(elements, width),
    source: SOURCES.zero12,
  };
  post(kept, 'gradients', elements * width, words);
  return { kept, elements, width, largest, compact };
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

/** What the step takes: first the norm, of one gradient at a time in fp64; then the gradients are flattened, and cast to fp32. */
function stepBytes(run: TrainingRun, sums: WeightSums, held: Held): number {
  const width = engineWidth(run);
  const shards = shardsOf(run, sums);
  const partition = sums.trained / shards;
  const norm = held.largest * 8;
  const flat = held.compact ? 0 : partition * width + (width < 4 ? partition * 4 : 0);
  const stepped = held.compact ? 0 : (width < 4 ? 4 : width) * partition - held.elements * width;
  const step = stepTransient(run, allStepped(sums), stepWidth(run), shards);
  return Math.max(norm, flat, stepped + step);
}

/** Nothing is buffered in it. */
const IDLE: Passage = { before: NONE, during: NONE, after: [] };

/**
 * What is buffered when. The buckets are made with the first gradient of a backward pass (`setup_buckets`); gradients are
 * copied there one by one, and joined once more where parts of them go to several ranks. One that is larger than the bucket
 * waits, whole, for the next one.
 */
function planOf(
  stages: readonly TracedStage[],
  run: TrainingRun,
  sums: WeightSums,
  duringStep: Ledger,
): Plan {
  const [first, width] = [run['zero.stage'] === 1, engineWidth(run)];
  const [shards, bucket] = [shardsOf(run, sums), run['zero.reduceBucket']];
  const partition = sums.trained / shards;
  const accumulates = run['batch.accumulation'] > 1;
  const offloaded = run['offload.optimizer'] !== 'none';
  const along = reducesAlong(run);
  const gradients = heldGradients(run, sums);
  // With accumulation stage 1 has its buckets from the first micro step on.
  const buffers = contiguous(run) && !(first && accumulates) ? buckets(run) : NONE;
  // A compact buffer of earlier micro steps is added to.
  const held = along && !offloaded && !(gradients.compact && accumulates) ? gradients.kept : NONE;
  const compact = gradients.compact && !offloaded;
  /**
   * With a compact buffer, gradients of weights that the partition touches are not let go of before backward is over
   * (`copy_grads_in_partition` returns before `clear_grad_attribute`). Those in a bucket are views of it; larger ones stay whole.
   */
  let stayedBefore = 0;
  const plans = new Map<TracedStage, StagePlan>();
  const waiting = (elements: number) => (along ? waitingBytes(elements, width, SOURCES.zero12) : NONE);
  for (const [traced, filling] of fillings(stages, run, waiting)) {
    const { own, pending, beside, began, passed, sends, sent, copyAt } = filling;
    // Parts of what is joined belong to several ranks once the last rank's partition is passed.
    const split = (copy: number) => shards > 1 && passed(copy + 1) > partition;
    const joined = Math.max(joinedParts(run, sums, own.oversized), Math.min(bucket, sums.trained));
    const [content, cast] = [joinedOnce(joined, width, SOURCES.zero12), castOf(run, sums, own.oversized)];
    const touched = compact && along ? Math.min(traced.copies, Math.max(0, copyAt(partition) + 1)) : 0;
    const earlier = stayedBefore;
    stayedBefore += touched * own.oversizedSum;
    const backward = (copy: number): Passage => {
      const stayed = wholeGradients(
        earlier + Math.min(copy, touched) * own.oversizedSum,
        width,
        say('gradients larger than the bucket that the partition touches'),
        SOURCES.zero12,
      );
      const there = sent(copy) ? combine(buffers, held, stayed) : combine(buffers, stayed);
      const during = began(copy) ? combine(there, beside) : NONE;
      if (own.elements === 0) return { before: NONE, during, after: [] };
      const after = [combine(there, pending)];
      if (along && sends(copy)) {
        // The compact buffer is there before its parts are reduced, and adds fp32 casts of them.
        const casts = passed(copy) - bucket < partition;
        const early = compact ? combine(held, casts ? scratch(gradients.largest * 4) : NONE) : NONE;
        const base = compact ? combine(buffers, stayed) : there;
        if (split(copy) || compact || cast !== NONE)
          after.push(combine(base, early, pending, split(copy) ? content : NONE, cast));
        // Offloaded gradients are measured on the GPU first, in fp64.
        const norm = offloaded ? scratch(gradients.largest * 8) : NONE;
        after.push(combine(buffers, held, stayed, pending, norm));
      }
      return { before: NONE, during, after };
    };
    plans.set(traced, {
      forward: () => IDLE,
      backward,
      forwardChange: NONE,
      // Accumulated gradients of stage 1 move into the buckets as backward reaches them.
      backwardChange: first && along && accumulates ? ledger(['gradients', -own.elements * width]) : NONE,
      watch: [copyAt(partition), copyAt(bucket)].filter((copy) => copy > 0 && copy < traced.copies),
    });
  }
  return {
    start: NONE,
    backward: NONE,
    stages: plans,
    end: endOf(stages, run, sums, buffers, held),
    requests: {
      buffers: piecesOf(buffers, held, run),
      beforeLoss: first || behaviours(run).makesBucketsBeforeLoss,
      keptAlong: !first,
      step: stepRequests(run, gradients, totalOf(duringStep)),
    },
  };
}

/** What the step asks the allocator for: the flattened gradients, then their fp32 copy (`step`), or one piece. */
function stepRequests(run: TrainingRun, gradients: Held, bytes: number): number[] {
  const width = engineWidth(run);
  if (width >= 4 || gradients.compact) return [bytes];
  const flat = (bytes * width) / (width + 4);
  return [flat, bytes - flat];
}

/**
 * Elements that are joined of a weight larger than the bucket: parts by rank, until they exceed a bucket (`allreduce_and_scatter`).
 * One part alone is not copied; nor is the weight without buckets.
 */
function joinedParts(run: TrainingRun, sums: WeightSums, oversized: number): number {
  const bucket = run['zero.reduceBucket'];
  const partition = sums.trained / shardsOf(run, sums);
  if (oversized <= partition || partition > bucket || !contiguous(run)) return 0;
  return Math.min(oversized, (Math.floor(bucket / partition) + 1) * partition);
}

/** What is sent at a time, once more in the type of the reduction: a full bucket, or what is sent of a weight that no bucket takes. */
function castOf(run: TrainingRun, sums: WeightSums, oversized: number): Ledger {
  const alone = Math.min(oversized, sums.trained / shardsOf(run, sums));
  const parts = oversized > 0 ? joinedParts(run, sums, oversized) || alone : 0;
  const full = Math.min(run['zero.reduceBucket'], sums.trained);
  return joinedOnce(Math.max(full, parts) * sentCast(run), 1, SOURCES.zero12);
}

/** What there is when backward is over, one moment after the other. */
function endOf(
  stages: readonly TracedStage[],
  run: TrainingRun,
  sums: WeightSums,
  buffers: Ledger,
  held: Ledger,
): Ledger[] {
  const bucket = run['zero.reduceBucket'];
  if (reducesAlong(run)) {
    // A bucket that never filled is sent when backward is over.
    if (sums.trained > bucket) return [];
    if (shardsOf(run, sums) === 1) return [combine(buffers, castOf(run, sums, 0))];
    return [
      combine(buffers, joinedOnce(sums.trained, engineWidth(run), SOURCES.zero12), castOf(run, sums, 0)),
      combine(buffers, held),
    ];
  }
  // Stage 1 begins with the first weights, when all gradients are there.
  const opening = stages.map((traced) => trainedOf(traced, bucket)).find(({ elements }) => elements > 0);
  const oversized = opening && opening.first > bucket ? joinedParts(run, sums, opening.first) : 0;
  const loose = contiguous(run) ? 0 : Math.min(bucket, sums.trained);
  const cast = castOf(run, sums, opening && opening.first > bucket ? opening.first : 0);
  return [combine(buffers, joinedOnce(Math.max(oversized, loose), engineWidth(run), SOURCES.zero12), cast)];
}

/** Buffers as they are asked for: each bucket in one piece. What is held comes weight by weight in stage 2. */
function piecesOf(buffers: Ledger, held: Ledger, run: TrainingRun): readonly number[] {
  const bytes = totalOf(buffers);
  if (run['zero.stage'] === 1) return bytes + totalOf(held) > 0 ? [bytes + totalOf(held)] : [];
  const single = run['zero.reduceBucket'] * engineWidth(run);
  return new Array<number>(single > 0 ? Math.round(bytes / single) : 0).fill(single);
}

/**
 * Page-locked buffers of a process: master and gradient, the low-precision twin, and one weight's gradient
 * (`temp_grad_buffer_for_cpu_offload`).
 */
function pinnedBuffers(run: TrainingRun, partition: number, largest: number): Sharding['pinned'] {
  if (run['offload.optimizer'] !== 'cpu') return [];
  return [
    [partition * bytesPer(run['precision.masterWeights']), 2],
    [partition * engineWidth(run), 1],
    [largest * engineWidth(run), 1],
  ];
}
