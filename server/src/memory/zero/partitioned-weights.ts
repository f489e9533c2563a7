import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import { say } from '../../wording/say';
import { elementsWords } from '../formula-words';
import { combine, emptyLedger, isJournaled, type LabelWords, type Ledger, post, totalOf } from '../ledger';
import { rounded } from '../play';
import {
  frozenShardsOf,
  ledger,
  NONE,
  type Passage,
  type Plan,
  referenceBytes,
  type Sharding,
  type StagePlan,
  shardGroupSize,
  shardsOf,
} from '../sharding-scheme';
import { SOURCES } from '../sources';
import type { TracedStage } from '../traced-run';
import { bytesPer, type WeightSums } from '../weights';
import { fillings, joinedOnce, waitingBytes } from './buckets';
import { engineWidth, hostStates, offloadedShare, postStepped, sentCast, sentWidth } from './engine-states';
import { partitioning } from './loading';
import { splitCodes } from './packed-weights';
import { gathersOf, type Span } from './parameter-coordinator';
import { consolidating } from './saving';
import { zeroWords } from './words';

/** ZeRO stage 3 (`runtime/zero/stage3.py`): weights, gradients, masters and states are partitioned. */
export function partitionedWeights(run: TrainingRun, sums: WeightSums): Sharding {
  const { trained } = sums;
  const width = engineWidth(run);
  const shards = shardsOf(run, sums);
  const partition = trained / shards;
  const perNode = run['hardware.gpus'] / run['hardware.nodes'];
  const persistent = sums.persistentTrained + sums.persistentFrozen;
  const codes = splitCodes(run, sums);
  const atRest = ledger(['quantized-weights', sums.quantizedBytes - codes]);
  post(atRest, 'reference-model', referenceBytes(run, sums, shards));
  const split = width * (partition + sums.frozen / frozenShardsOf(run, sums));
  const host: { label: string; bytes: number }[] = [];
  const onGpu = run['offload.parameters'] === 'none';
  post(atRest, 'weights', width * persistent + (onGpu ? split : 0));
  if (onGpu) post(atRest, 'quantized-weights', codes / shardGroupSize(run));
  if (run['offload.parameters'] === 'cpu')
    host.push({ label: 'weights', bytes: (split + codes / shardGroupSize(run)) * perNode });
  post(atRest, 'weights', sums.frozen * secondaryBytes(run));
  postStepped(atRest, run, sums, partition);
  host.push(...hostStates(run, sums, partition));
  if (run['offload.parameters'] === 'nvme') {
    const buffers = run['offload.parameterBuffers'] * run['offload.parameterBufferSize'];
    const kept = Math.min((trained + sums.frozen) / shards, run['offload.parametersInHost']);
    host.push(
      { label: 'NVMe buffers of weights', bytes: buffers * width * perNode },
      { label: 'weights', bytes: kept * width * perNode },
    );
  }
  const filled = bucketWidth(run);
  post(atRest, 'communication-buffers', run['zero.reduceBucket'] * filled, {
    name: say('reduction bucket'),
    formula: elementsWords(run['zero.reduceBucket'], filled),
    source: SOURCES.zero3,
  });
  const gradientBytes = bytesPer(run['precision.gradientAccumulation'] ?? run['precision.compute']);
  if (run['offload.optimizer'] === 'none') post(atRest, 'gradients', partition * gradientBytes);
  const group = Math.min(run['zero.subGroup'], partition) * (1 - offloadedShare(run));
  const duringStep = ledger(['optimizer-transients', group * (width + castWidth(run))]);
  const sharing = shardGroupSize(run);
  return {
    splits: { weights: sharing, gradients: sharing, states: sharing },
    explains: zeroWords(run),
    atRest,
    throughout: NONE,
    gradientsBefore: NONE,
    gradientsAtStep: ledger(['weights', trained * secondaryBytes(run)]),
    duringStep,
    gradients: 'pass',
    plan: (stages) => planOf(stages, run, sums, duringStep),
    host,
    pinned: pinnedBuffers(run, partition),
    statesFirst: true,
    loading: partitioning(run, sums),
    saving: consolidating(run, sums),
  };
}

/** Bytes per element of a sub-group's gradients in the masters' type, where that is another (`_prepare_fp32_grad_for_sub_group`). */
function castWidth(run: TrainingRun): number {
  const master = bytesPer(run['precision.masterWeights']);
  return master === engineWidth(run) ? 0 : master;
}

/**
 * Bytes per element of hpZ's second copy, shared by a few GPUs. That of a trained weight is made when the weight is first
 * let go of and dropped by the step (`partition_parameters.py`, `_partition_param_sec`; `stage3.py`, `step`).
 */
function secondaryBytes(run: TrainingRun): number {
  const partition = run['zero.hpzPartition'];
  return partition > 1 ? engineWidth(run) / partition : 0;
}

/** What nobody reads, where no journal is kept. */
const UNLABELLED: LabelWords = { name: '', formula: '' };

function gatheredWords(run: TrainingRun): LabelWords {
  if (!isJournaled()) return UNLABELLED;
  return {
    name: say('weights gathered for modules that run, that come next and that come again'),
    formula: say(
      'at least one weight fetched ahead by every module, up to {0} elements at a time and {1} in all; kept where used again within {2} elements',
      run['zero.prefetchBucket'],
      run['zero.maxLiveParameters'],
      run['zero.maxReuseDistance'],
    ),
    source: SOURCES.zeroParameters,
  };
}

/** What so many gathered elements take, where so many had been let go of. */
type There = (elements: number, released: number) => Ledger;

function gatheredLedger(run: TrainingRun, sums: WeightSums): There {
  const width = engineWidth(run);
  const words = gatheredWords(run);
  // Second copies of trained weights are made when these are first let go of.
  const trainedShare = sums.trained / Math.max(1, sums.trained + sums.frozen);
  return (elements, released) => {
    if (elements === 0 && released === 0) return NONE;
    const sum = emptyLedger();
    post(sum, 'gathered-parameters', elements * width, words);
    const secondary = secondaryBytes(run);
    if (secondary > 0) post(sum, 'weights', Math.min(sums.trained, released * trainedShare) * secondary);
    return sum;
  };
}

/** The loss is taken when the head has let go of its weight. */
function forwardPassage({ most, arriving, before, after }: Span, layer: boolean, there: There): Passage {
  return {
    before: there(layer ? arriving : Math.max(most, arriving), before.released),
    during: there(layer ? most : after.whole, before.released),
    after: [],
  };
}

/**
 * The loss's gradient comes before the head gathers its weight. Of a layer that is run again, what arrives for backward comes when it has
 * been. `beside`: the gradient that waits while it runs backward.
 */
function backwardPassage(span: Span, layer: boolean, beside: Ledger, there: There): Passage {
  const { again, before } = span;
  const at = (elements: number) => there(elements, before.released);
  const during = combine(at(layer ? span.most : before.whole), beside);
  if (again.most === 0) return { before: at(span.arriving), during, after: [] };
  const otherHalf = { during: at(again.most), enters: at(span.arriving) };
  return { before: at(again.arriving), during, otherHalf, after: [] };
}

/** A span of nothing. */
const EMPTY = { whole: 0, released: 0 };
const NOTHING = { most: 0, arriving: 0 };
const IDLE: Span = { before: EMPTY, ...NOTHING, again: NOTHING, after: EMPTY };

/**
 * What is gathered and buffered when. Gradients are copied into the bucket one by one, and joined once more to be scattered
 * (`reduce_scatter_coalesced`); one that is larger than the bucket waits, whole, for the next one.
 */
function planOf(
  stages: readonly TracedStage[],
  run: TrainingRun,
  sums: WeightSums,
  duringStep: Ledger,
): Plan {
  const width = engineWidth(run);
  const shards = shardsOf(run, sums);
  const bucket = Math.min(run['zero.reduceBucket'], sums.trained);
  const alone = shardGroupSize(run) === 1 && run['offload.parameters'] === 'none';
  const gathers = alone ? undefined : gathersOf(stages, run);
  const there = gatheredLedger(run, sums);
  const sent = sentBy(run, shards);
  const content = joinedOnce(bucket, sent.joined, SOURCES.zero3);
  let before = 0;
  let left = NONE;
  const plans = new Map<TracedStage, StagePlan>();
  const waiting = (elements: number) => waitingBytes(elements, width, SOURCES.zero3);
  for (const [traced, { own, pending, beside, began, sends, copyAt }] of fillings(stages, run, waiting)) {
    const layer = traced.stage.role === 'layer';
    const [waited, waits] = [before, own.oversized];
    before = waits;
    const forwards = gathers?.forward.get(traced) ?? [];
    const backwards = gathers?.backward.get(traced) ?? [];
    // What is there before the last module, which takes tokens and so has no gradient to hand on that would end it.
    const { before: last = EMPTY } = backwards.at(-1) ?? {};
    left = there(last.whole, last.released);
    const forward = (copy: number) => forwardPassage(forwards[copy] ?? IDLE, layer, there);
    const backward = (copy: number): Passage => {
      const span = backwards[copy] ?? IDLE;
      const passage = backwardPassage(span, layer, began(copy) ? beside : NONE, there);
      if (own.elements === 0) return passage;
      const most = there(span.most, span.before.released);
      const end = there(span.after.whole, span.after.released);
      const after = [combine(most, pending, layer ? NONE : resultOf(traced))];
      if (sends(copy)) {
        // One that no bucket takes is sent by itself, in the type of the reduction.
        const alone = sent.cast * Math.max(copy === 0 ? waited : 0, waits);
        const single = joinedOnce(alone, 1, SOURCES.zero3);
        const most = totalOf(single) > totalOf(content) ? single : content;
        if (totalOf(most) > 0) after.push(combine(end, pending, most));
        after.push(combine(end, pending));
      }
      return { ...passage, after };
    };
    const fullest = backwards.reduce(
      (best, { most }, copy) => (most > (backwards[best]?.most ?? 0) ? copy : best),
      0,
    );
    plans.set(traced, {
      forward,
      backward,
      forwardChange: NONE,
      backwardChange: NONE,
      watch: [copyAt(run['zero.reduceBucket']), fullest].filter((copy) => copy > 0 && copy < traced.copies),
    });
  }
  // A bucket that never filled is sent when backward is over.
  const late = sums.trained <= run['zero.reduceBucket'] && sent.joined > 0;
  const step = totalOf(duringStep);
  const cast = castWidth(run);
  const flat = (step * width) / (width + cast);
  return {
    start: NONE,
    backward: NONE,
    stages: plans,
    end: late
      ? [combine(left, joinedOnce(sums.trained, sent.joined, SOURCES.zero3))]
      : [combine(left, waiting(before), joinedOnce(before * sent.cast, 1, SOURCES.zero3))],
    requests: {
      gathered: (gathers?.most ?? 0) * width,
      buffers: [Math.max(bucket * Math.max(width, sent.joined), offloadedCopies(run, sums, shards))],
      // The flattened gradients of a sub-group, then their fp32 copy (`_prepare_fp32_grad_for_sub_group`).
      step: cast > 0 ? [flat, step - flat] : [step],
    },
  };
}

/** Bytes per element of the bucket. */
function bucketWidth(run: TrainingRun): number {
  return behaviours(run).fillsBucketsAsSent ? sentWidth(run) : engineWidth(run);
}

/**
 * Bytes per element of what is sent beside the bucket: gradients that are not there in the type of the reduction are cast one by one, and stay
 * while they are joined, where ranks get parts of them. This rank's parts are cast back before either goes.
 */
function sentBy(run: TrainingRun, shards: number): { readonly cast: number; readonly joined: number } {
  const cast = sentCast(run);
  const all = behaviours(run).fillsBucketsAsSent ? 0 : cast;
  const back = cast > 0 ? engineWidth(run) / shards : 0;
  return { cast: cast > 0 ? cast + back : 0, joined: all + back + (shards > 1 ? sentWidth(run) : 0) };
}

/**
 * Of a gradient whose optimizer is offloaded this rank's part goes to the host and is brought back, and is cast to fp32 for the norm and the step
 * (`stage3.py`, `partition_grads`). On the stream of the reduction, which keeps its blocks. Bytes of the largest.
 */
function offloadedCopies(run: TrainingRun, sums: WeightSums, shards: number): number {
  if (run['offload.optimizer'] === 'none') return 0;
  return Math.ceil(sums.largest / shards) * (engineWidth(run) + 4);
}

/** Result of a stage's last product, whose gradient is there while its weight is gathered for it. */
function resultOf({ tape }: TracedStage): Ledger {
  const product = tape.operations.findLast((operation) => operation.weights.length > 0);
  const bytes = product?.outputs.reduce((sum, x) => sum + rounded(x.storage.bytes), 0) ?? 0;
  return ledger(['logits-and-loss', bytes]);
}

/** Page-locked buffers of a process: the flat gradient, and fp32 gradients by sub-group (the last one may be smaller). */
function pinnedBuffers(run: TrainingRun, partition: number): Sharding['pinned'] {
  if (run['offload.optimizer'] !== 'cpu') return [];
  const width = engineWidth(run);
  const group = Math.min(run['zero.subGroup'], partition);
  const whole = group > 0 ? Math.floor(partition / group) : 0;
  const offloaded = offloadedShare(run);
  const buffers: [number, number][] = [
    [partition * width, 1],
    [group * 4, whole * offloaded],
    [(partition - whole * group) * 4, offloaded],
  ];
  if (run['offload.parameters'] === 'cpu') buffers.push([partition * width, 1]);
  return buffers;
}
