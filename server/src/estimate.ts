import { tokensPerParameter } from './compute/compute-optimal';
import { computeEstimate } from './compute/flops';
import { timeEstimate } from './compute/time-estimate';
import type { Accelerator } from './hardware/accelerator';
import { isModelled } from './hardware/accelerator';
import { onDemand } from './memo/on-demand';
import { absentPackages } from './memory/absent-packages';
import { meterBands, SURE } from './memory/bands';
import { type CrowdedText, crowdedNote, crowdedText } from './memory/crowded-text';
import { besideAllocator, constants } from './memory/device';
import { dormantStates } from './memory/dormant-states';
import { evaluationNotes, evaluationStages } from './memory/evaluation';
import { explained } from './memory/explain';
import { freeAtFirstLoss, inOneChunk, isSizedByWhatIsFree } from './memory/free-at-loss';
import { hostMemory } from './memory/host-memory';
import { readAheadBytes } from './memory/initialization';
import { combine, type Ledger, partsOf, post, totalOf } from './memory/ledger';
import { partialNotes, withMostPlain, withPlainShare } from './memory/partial-quantization';
import { pipelined, pipelineMemory, pipelineStages } from './memory/pipeline';
import { rememberedTrace } from './memory/remembered-trace';
import { reservedSlack } from './memory/reserved';
import { shardingOf } from './memory/sharding';
import type { Sharding, ShardingOf } from './memory/sharding-scheme';
import { graphBytes, MOST_OF_GRAPHS, sharedEngine, sharesWeights } from './memory/shared-engine';
import { kernelNotes, unplayedPackages, withoutKernels } from './memory/state-kernels';
import { walkStep } from './memory/step';
import { hasTeacher } from './memory/teacher';
import { balancesExperts, type TracedStage } from './memory/traced-run';
import { type Turn, turnsOf, waitingBeside } from './memory/turns';
import { buffersBeside, sumWeights, type WeightSums } from './memory/weights';
import { type RunWalk, walkRun } from './memory/whole-run';
import { grownModel } from './model/grown-model';
import { type Model, notesOf } from './model/model';
import type { ComputeEstimate, Estimate, Part, Sample, Verdict } from './results/estimate';
import type { RunValues, TrainingRun } from './run/fields';
import { runsOldSdpa } from './run/old-sdpa';
import type { StatePackage } from './terms/state-packages';
import { effectOf } from './terms/unmodelled-features';
import { formatBytes } from './wording/figures';
import { say } from './wording/say';

/** All that an estimate needs, nothing else. */
export interface EstimateInput {
  readonly run: TrainingRun;
  readonly model: Model;
  readonly accelerator: Accelerator;
  /** Which of two models that are trained in turns is looked at; unset: the one that needs more. */
  readonly turn?: Turn;
}

/**
 * Peak memory of one GPU over a run, its parts and its moment, host memory per node, and the FLOPs of a step.
 *
 * Of the steps one in steady state is walked (after the first, when optimizer states exist); loading comes before it,
 * evaluation and saving after it where the run states them. Throws nothing for any complete run.
 */
export function estimate(input: EstimateInput): Estimate {
  return tracedEstimate(input).estimate;
}

/** An estimate and what it was read off. */
interface TracedEstimate extends Walked {
  readonly estimate: Estimate;
  /** Stages of the whole model, of which `stages` are those of the fullest pipeline stage. */
  readonly model: readonly TracedStage[];
  /** Bytes of the process at the peak, those outside the allocator included. */
  readonly atPeak: Ledger;
}

/** `estimate` with what stands behind it, for explanations. `shard` is the scheme; explanations put a telling one there. */
export function tracedEstimate(given: EstimateInput, shard: ShardingOf = shardingOf): TracedEstimate {
  const asked = ofLargerBatches(ofLargerTurn(given));
  const input = settled(asked);
  const { run, accelerator, model } = input;
  const capacityBytes = run['hardware.gpuMemory'] ?? accelerator.usableBytes;
  const constant = constants(run, accelerator, capacityBytes);
  const outside = besideAllocator(run, accelerator, model.hiddenSize);
  const available = capacityBytes - outside.likely;
  const { stages, worst, longestBytes } = worstLength(input, constant, available, shard);
  const { walk, sums, pipelineIndex } = worst;

  const allocated = Math.round(walk.peak.bytes);
  const bands = meterBands(run, hasExperts(sums));
  const slack = reservedSlack(worst, run, available, bands.allocated);
  const reserved = Math.round(allocated + slack.likely);
  const ledger = combine(walk.peak.ledger);
  post(ledger, 'allocator-overhead', reserved - allocated);
  post(ledger, 'cuda-context', outside.likely - run['hardware.otherProcesses']);
  if (run['hardware.otherProcesses'] > 0) post(ledger, 'reserved-for-others', run['hardware.otherProcesses']);
  const processBytes = Math.round(totalOf(ledger));
  // Only the data tells whether samples are of the one length that takes more than the longest.
  const least = Math.round(Math.min(allocated, longestBytes) + slack.lower + outside.lower);
  const lowerBytes = Math.min(least, leastBytes(asked, least > capacityBytes));
  // Blocks that the allocator keeps of batches of other lengths are not needed: it returns them before it fails.
  // Nor is what a moment takes only where there is room for it.
  const share = walk.neededPeak.bytes / walk.peak.bytes;
  const graphs = sharesWeights(run) ? MOST_OF_GRAPHS - graphBytes(model) : 0;
  const readAhead = readAheadBytes({ run, stages: worst.held, sharding: worst.sharding });
  const stepping = share * (allocated + slack.upper) + graphs;
  const open = openEnds(asked, Math.round(Math.max(stepping, readAhead) + outside.upper));
  const needed = open.mostBytes;
  const upperBytes = Math.max(needed, processBytes);
  const parts = explained(exactly(partsOf(ledger), processBytes), {
    run,
    sums,
    accelerator,
    hiddenSize: model.hiddenSize,
    sharding: worst.sharding,
  });
  const crowded = crowdedText(stages, run, model);
  const features = unmodelled(run, model, stages, crowded !== undefined);
  const verdict = verdictOf(lowerBytes, needed, capacityBytes, features);
  const whole = run['parallel.pipeline'] > 1 ? sumWeights(stages, run) : sums;
  const { compute, counted } = ofPolicy(input, whole);
  const result: Estimate = {
    verdict,
    peak: {
      allocatedBytes: allocated,
      reservedBytes: reserved,
      processBytes,
      lowerBytes,
      upperBytes,
      moment: walk.peak.moment,
      label: walk.peak.label,
      rank: pipelineIndex * Math.floor(run['hardware.gpus'] / run['parallel.pipeline']),
    },
    parts,
    timeline: samplesOf(walk),
    capacityBytes,
    host: hostMemory({ ...worst, model, run, stages: worst.held, published: model.publishedDtype }),
    model: {
      totalParameters: Math.round(counted.total),
      trainableParameters: Math.round(counted.totalTrained),
      activeParameters: Math.round(counted.active),
    },
    get compute() {
      return compute();
    },
    bands,
    ...leftOut(features, crowded),
    notes: [
      ...notesOn(model, run),
      ...loadingNotes(readAhead, stepping),
      ...open.notes,
      ...limits(input, whole, crowded),
    ],
  };
  return { ...worst, estimate: result, model: stages, atPeak: ledger };
}

/** What the figures leave out, and that no sample is as short as this one. */
const leftOut = (
  features: readonly string[],
  crowded: CrowdedText | undefined,
): Pick<Estimate, 'unmodelled' | 'crowdsText'> => ({
  ...(features.length > 0 ? { unmodelled: features } : {}),
  ...(crowded ? { crowdsText: crowded.wanted } : {}),
});

/** FLOPs are those of a whole step, of both models that take turns, and parameters the policy's, whichever needs more memory. */
function ofPolicy(input: EstimateInput, whole: WeightSums) {
  const { model, run, turn } = input;
  if (!turn || !run['method.valueTurn']) return { compute: lateCompute(input, whole), counted: whole };
  const policy = turn.waiting;
  const counted = sumWeights(rememberedTrace(model, policy), policy);
  return { compute: lateCompute({ ...input, run: policy }, counted), counted };
}

/** Notes on a model, and whose step it is where two models take turns. */
function notesOn(model: Model, run: TrainingRun): string[] {
  const turn = run['method.valueTurn']
    ? [say('The step of the value model needs the most: the figures of memory are of it.')]
    : [];
  return [...notesOf(model, run), ...turn];
}

/**
 * A run that has batches with a mask and without one, by those that need more: SDPA has no fused kernel for grouped heads in fp32, or on a
 * card before Ampere, where there is no mask, and keeps all scores. All other kernels keep more with a mask.
 */
function ofLargerBatches(asked: EstimateInput): EstimateInput {
  const { run, ...rest } = asked;
  const decides =
    run['attention.unmaskedBatches'] &&
    run['attention.mask'] &&
    run['attention.implementation'] === 'sdpa' &&
    (run['precision.compute'] === 'fp32' || runsOldSdpa(run)) &&
    rest.model.keyValueHeads < rest.model.attentionHeads;
  if (!decides) return asked;
  const masked: TrainingRun = { ...run, 'attention.unmaskedBatches': false };
  const plain: TrainingRun = { ...run, 'attention.mask': false };
  const bytes = (of: TrainingRun) => tracedEstimate({ ...rest, run: of }).estimate.peak.processBytes;
  return { ...rest, run: bytes(plain) > bytes(masked) ? plain : masked };
}

/** A run whose policy and value model are trained in turns, by the turn that needs more. */
function ofLargerTurn(asked: EstimateInput): EstimateInput {
  const turns = asked.turn ? undefined : turnsOf(asked.run);
  if (!turns) return asked;
  const [policy, value] = turns.map((turn) => ({ ...asked, run: turn.run, turn }));
  if (!policy || !value) return asked;
  const bytes = (of: EstimateInput) => tracedEstimate(of).estimate.peak.processBytes;
  return bytes(value) > bytes(policy) ? value : policy;
}

/** The run is estimated by its batches without a mask, though it has others. */
const isOfUnmasked = (run: TrainingRun) => run['attention.unmaskedBatches'] && !run['attention.mask'];

/** Objectives whose heads encoders alone have here. */
const OF_ENCODERS: ReadonlySet<TrainingRun['method.objective']> = new Set([
  'token-classification',
  'question-answering',
  'multiple-choice',
]);

/** The moments of a run, for people. */
function samplesOf({ points }: RunWalk): Sample[] {
  return points.map((point) => ({
    moment: point.moment,
    label: point.label,
    ...(point.skipped !== undefined && { skipped: point.skipped }),
    bytes: Math.round(point.bytes),
    parts: exactly(partsOf(point.ledger), Math.round(point.bytes)),
  }));
}

/** What an estimate goes by: the model with the layers that the run adds, and how much of it the checkpoint has quantized. */
function settled({ run, ...rest }: EstimateInput): EstimateInput {
  const model = grownModel(rest.model, run['method.newLayers']);
  return { ...rest, model, run: withPlainShare(run, () => rememberedTrace(model, run)) };
}

/** How many times what is likely the other end is before it is worth a line: a hundredth is well within the band. */
const WORTH_TELLING = 1.01;

/** The most that is needed, bytes, of what is likely (`needed` at most) and what is not known of a run, and what that is, for people. */
function openEnds(asked: EstimateInput, needed: number) {
  const wanted = asked.model.statePackages ?? [];
  const plain = mostPlainBytes(asked);
  const bare = bareBytes(asked, wanted);
  // A convolution alone keeps a few positions more: nothing to tell.
  const ofKernels = bare > WORTH_TELLING * needed ? kernelNotes(asked.run, wanted, bare) : [];
  const notes = [...partialNotes(plain), ...ofKernels];
  return { mostBytes: Math.max(needed, plain, bare), notes };
}

/** The most that is needed where it is not known which layers the checkpoint keeps in 16 bits: as many as any known one. Bytes; 0 where it is known. */
function mostPlainBytes({ run, ...rest }: EstimateInput): number {
  const plain = withMostPlain(run);
  return plain ? tracedEstimate({ ...rest, run: plain }).estimate.peak.upperBytes : 0;
}

/** The most that is needed where it is not known whether the packages of kernels are installed: without. Bytes; 0 where it is known. */
function bareBytes({ run, ...rest }: EstimateInput, wanted: readonly StatePackage[]): number {
  const bare = withoutKernels(run, wanted);
  return bare ? tracedEstimate({ ...rest, run: bare }).estimate.peak.upperBytes : 0;
}

/**
 * What of a run is not in its estimate: as its files say, a teacher that nothing is known of, and encoders that are trained
 * on what is not played, or hear what is not played, heads that the model's family does not have, checkpoints of layers that its class refuses,
 * and images whose tokens do not go into the text. One that is frozen keeps nothing, and is done before the model begins.
 * BOFT's rotations are those of peft since 0.20: older ones rotate weights, not inputs (`boft/layer.py`, `Linear.forward`), and
 * ms-swift states a third of what its permutations alone take (`examples/train/tuners/boft`).
 */
function unmodelled(
  run: TrainingRun,
  model: Model,
  stages: readonly TracedStage[],
  isCrowded: boolean,
): readonly string[] {
  const alone = run['method.objective'] === 'distillation' && !hasTeacher(run);
  const unheard = run['batch.sound'] && model.playsSound === false;
  const rotates = run['method.kind'] === 'lora' && run['lora.kind'] === 'boft';
  const objective = run['method.objective'];
  const unheaded =
    (OF_ENCODERS.has(objective) && !model.scoresTokens) || model.countedHeads?.includes(objective) === true;
  const stops = model.recomputes === false && run['activations.checkpointing'] !== 'none';
  const trained = stages.flatMap(({ stage, tape }) =>
    stage.unplayed !== undefined && tape.weights.some(({ trainable }) => trainable) ? [stage.unplayed] : [],
  );
  return [
    ...new Set([
      ...run['features.unmodelled'],
      ...(model.unplayed ?? []),
      ...(alone ? ['distillation-teacher'] : []),
      ...(unheard ? ['sound-tower'] : []),
      ...(unheaded ? ['task-head'] : []),
      ...(stops ? ['class-checkpointing'] : []),
      ...(adaptsHearing(run, stages) ? ['adapted-sound-tower'] : []),
      ...(isCrowded && crowdsAtLeast(run, model) ? ['cut-image-tokens'] : []),
      ...(rotates ? ['boft-rotation'] : []),
      ...(unplayedPackages(run, stages).length > 0 ? ['states-without-kernels'] : []),
      ...trained,
    ]),
  ];
}

/**
 * `exceeds` only where even the lower bound does not fit, `fits` only where even the upper one does. What a feature that is not
 * modelled may add leaves no run that is sure to fit, what it may save none that is sure not to.
 */
function verdictOf(lower: number, upper: number, capacity: number, features: readonly string[]): Verdict {
  const effect = effectOf(features);
  const exceeds = lower > capacity || !Number.isFinite(upper);
  if (exceeds) return effect === undefined || effect === 'adds' ? 'exceeds' : 'unknown';
  // Beside what is not counted a run is no more tight than it fits.
  if (upper > capacity) return effect === undefined ? 'tight' : 'unknown';
  return effect === undefined || effect === 'saves' ? 'fits' : 'unknown';
}

/**
 * Whether Unsloth trains adapters of a tower for sound. By its class such a tower keeps all that its layers make, and two notebooks that
 * train Gemma 4 so saved peaks of less than that (`test/accuracy`, `unsloth-gemma4-e2b-audio`): what saves it is not known.
 */
const adaptsHearing = (run: TrainingRun, stages: readonly TracedStage[]): boolean =>
  run['kernels.unsloth'] &&
  run['batch.sound'] &&
  stages.some(
    ({ stage, tape }) =>
      stage.name.startsWith('audio_tower') && tape.weights.some(({ trainable }) => trainable),
  );

/** Whether no image of the run goes into the text: where its size or its tiles are not stated, not even the smallest. */
function crowdsAtLeast(run: TrainingRun, model: Model): boolean {
  const smallest = {
    ...run,
    'batch.imagePixels': run['batch.imagePixels'] ?? 1,
    'batch.imageTiles': run['batch.imageTiles'] ?? 1,
  };
  return crowdedText(rememberedTrace(model, smallest), run, model) !== undefined;
}

/**
 * The least that a run takes of which something is only known between two ends, bytes; infinity where all is known.
 * - Micro batches as long as their samples happen to be, or computed in parts: one sample may be of the full length.
 * - One that is lowered where the GPU has too little room (`tight`): to one sample.
 * - Batches without a mask: all have one.
 * - Layers compiled in parts: whole ones keep least.
 * - An embedding that goes to the host where it has little: it did.
 * - Images that the processor cuts into tiles: none of them is.
 * - Activations of which some are widened to fp32: none of them.
 * - A vLLM that shares the weights: what its own profile leaves free of its share, training takes, and how much that is only vLLM
 *   measures; it makes as many keys and values as there is room for.
 */
function leastBytes({ run, ...rest }: EstimateInput, tight: boolean): number {
  const least: RunValues = {
    ...(run['batch.paddingFree'] || run['batch.inParts'] || (tight && run['batch.adaptive'])
      ? { 'batch.micro': 1 }
      : {}),
    ...(isOfUnmasked(run) ? { 'attention.mask': true, 'attention.unmaskedBatches': false } : {}),
    ...(run['kernels.compileParts'] ? { 'kernels.compileParts': false, 'kernels.compile': true } : {}),
    ...(tight && run['loading.embedding'] === 'spare-to-host-if-tight'
      ? { 'loading.embedding': 'spare-to-host' }
      : {}),
    ...(rest.model.seesTiles && run['batch.images'] > 0 && run['batch.imageTiles'] === undefined
      ? { 'batch.imageTiles': 1 }
      : {}),
    ...(run['precision.wideActivations'] ? { 'precision.wideActivations': false } : {}),
    ...(sharesWeights(run) ? { 'hardware.reservedFraction': 0 } : {}),
  };
  const changed = (Object.keys(least) as (keyof TrainingRun)[]).some((field) => run[field] !== least[field]);
  if (!changed) return Number.POSITIVE_INFINITY;
  return tracedEstimate({ ...rest, run: { ...run, ...least } }).estimate.peak.lowerBytes;
}

interface Walked {
  readonly walk: RunWalk;
  readonly stages: readonly TracedStage[];
  /** All that the GPU holds, of which `stages` are what a micro batch is walked through. */
  readonly held: readonly TracedStage[];
  /** The same as evaluation runs it; undefined where the run does not evaluate. */
  readonly evaluated?: readonly TracedStage[];
  readonly constant: Ledger;
  readonly sharding: Sharding;
  readonly sums: WeightSums;
  readonly pipelineIndex: number;
}

/** With what the GPU has left for a loss that is sized by it, bytes. */
interface SizedInput extends EstimateInput {
  readonly free?: number;
}

/** What is free at the first loss is read off the walk of a run that has enough. */
function sized(input: EstimateInput, constant: Ledger, available: number): SizedInput {
  const { model, run } = input;
  if (!isSizedByWhatIsFree(run)) return input;
  const { walk } = worstStage(rememberedTrace(model, run), input, constant, available, shardingOf);
  return { ...input, free: freeAtFirstLoss(walk.points, available) };
}

/**
 * The length of samples that takes most: the longest, or the longest whose loss is computed in one chunk. How many logits one chunk may have is
 * settled by the first batch: one that is no longer than these leaves more than the longest would.
 */
function worstLength(input: EstimateInput, constant: Ledger, available: number, shard: ShardingOf) {
  const { model, run } = input;
  const of = (at: TrainingRun, fitted: SizedInput) => {
    const stages = rememberedTrace(model, at, fitted.free);
    return { stages, worst: worstStage(stages, { ...fitted, run: at }, constant, available, shard) };
  };
  const fitted = sized(input, constant, available);
  const longest = of(run, fitted);
  const longestBytes = longest.worst.walk.peak.bytes;
  const first = inOneChunk(run, model, fitted.free);
  if (!first) return { ...longest, longestBytes };
  const refitted = sized({ ...input, run: first }, constant, available);
  const other = of(inOneChunk(run, model, refitted.free) ?? run, refitted);
  return { ...(other.worst.walk.peak.bytes > longestBytes ? other : longest), longestBytes };
}

/** Walks the pipeline stages that can be the worst and returns the one with the highest peak. */
function worstStage(...walking: Parameters<typeof walkedStages>): Walked {
  let worst: Walked | undefined;
  for (const walked of walkedStages(...walking)) {
    if (!worst || walked.walk.peak.bytes > worst.walk.peak.bytes) worst = walked;
  }
  if (!worst) throw new Error('a run has at least one pipeline stage');
  return worst;
}

/** Every pipeline stage, walked through a run. */
function* walkedStages(
  stages: readonly TracedStage[],
  { model, run, free, turn }: SizedInput,
  constant: Ledger,
  available: number,
  shard: ShardingOf,
  every = false,
): Generator<Walked> {
  const evaluating = evaluationStages(model, run, free);
  const evaluationOf = new Map<number, readonly TracedStage[]>();
  for (const { index, stages: held } of evaluating ? pipelineStages(evaluating, run, every) : [])
    evaluationOf.set(index, held);
  for (const stage of pipelineStages(stages, run, every)) {
    const sums = sumWeights(stage.stages, run);
    const pipeline = pipelineMemory(stage, run);
    const plain = shard(run, sums, stage.stages);
    const sharding = pipelined(plain, pipeline);
    const engine = sharedEngine(run, model, sums, available, plain.atRest);
    const waiting = turn ? [waitingBeside(model, turn, stage.index, shardingOf)] : [];
    const own = [buffersBeside(sums), dormantStates(run, sums, plain.splits), engine];
    const beside = combine(constant, ...own, ...waiting);
    const always = combine(beside, pipeline.always);
    const walked = stage.walked.stages;
    const held = stage.stages;
    const evaluated = evaluationOf.get(stage.index);
    const rest = { ...sharding, throughout: plain.throughout };
    const walk = walkRun(
      { model, run, sums, stages: held, sharding: rest, constant: beside, available, evaluated },
      walkStep(walked, run, sharding, always),
    );
    yield {
      walk,
      stages: walked,
      held,
      evaluated,
      constant: always,
      sharding,
      sums,
      pipelineIndex: stage.index,
    };
  }
}

/** What the GPUs of one pipeline stage need, bytes per GPU. */
interface RankFigure {
  /** Global ranks, both included. */
  readonly first: number;
  readonly last: number;
  /** What `torch.cuda.max_memory_allocated` would say there. */
  readonly allocatedBytes: number;
  readonly processBytes: number;
  readonly label: string;
  readonly parts: readonly Part[];
}

/**
 * Peak memory of the GPUs of each pipeline stage, in the order of the stages: global ranks from `first` to `last`, bytes of
 * the process per GPU and its parts. One entry where the run has no pipeline. As dear as `estimate`; for those who ask.
 */
export function rankFigures(asked: EstimateInput): readonly RankFigure[] {
  const whole = settled(ofLargerTurn(asked));
  const { run, accelerator, model } = whole;
  const capacityBytes = run['hardware.gpuMemory'] ?? accelerator.usableBytes;
  const outside = besideAllocator(run, accelerator, model.hiddenSize);
  const available = capacityBytes - outside.likely;
  const constant = constants(run, accelerator, capacityBytes);
  const perStage = Math.max(1, Math.floor(run['hardware.gpus'] / run['parallel.pipeline']));
  const fullest = new Map<number, Walked>();
  const input = sized(whole, constant, available);
  const stages = rememberedTrace(model, run, input.free);
  for (const walked of walkedStages(stages, input, constant, available, shardingOf, true)) {
    const known = fullest.get(walked.pipelineIndex);
    if (!known || walked.walk.peak.bytes > known.walk.peak.bytes) fullest.set(walked.pipelineIndex, walked);
  }
  const figures = [...fullest.values()].map((stage) => {
    const ledger = combine(stage.walk.peak.ledger);
    post(ledger, 'allocator-overhead', reservedSlack(stage, run, available, SURE).likely);
    post(ledger, 'cuda-context', outside.likely - run['hardware.otherProcesses']);
    if (run['hardware.otherProcesses'] > 0)
      post(ledger, 'reserved-for-others', run['hardware.otherProcesses']);
    const processBytes = Math.round(totalOf(ledger));
    return {
      first: stage.pipelineIndex * perStage,
      last: (stage.pipelineIndex + 1) * perStage - 1,
      allocatedBytes: Math.round(stage.walk.peak.bytes),
      processBytes,
      label: stage.walk.peak.label,
      parts: exactly(partsOf(ledger), processBytes),
    };
  });
  return figures.sort((a, b) => a.first - b.first);
}

/** Rounding each part may miss the rounded total by a few bytes: the largest part takes them. */
function exactly(parts: readonly Part[], total: number): Part[] {
  let left = total;
  let largest: Part | undefined;
  for (const part of parts) {
    left -= part.bytes;
    if (part.bytes > (largest?.bytes ?? 0)) largest = part;
  }
  largest ??= parts[0];
  return parts.map((part) => (part === largest ? { ...part, bytes: part.bytes + left } : part));
}

/** `computed` when it is asked for: searches try hundreds of runs of which they ask the verdict alone. Holds no trace until then. */
const lateCompute = (input: EstimateInput, sums: WeightSums) =>
  onDemand(() => computed(input, rememberedTrace(input.model, input.run), sums));

/** FLOPs of the step, and the time that they take where the card's rates are known. */
function computed(
  { run, model, accelerator }: EstimateInput,
  stages: readonly TracedStage[],
  sums: WeightSums,
): ComputeEstimate {
  const compute = computeEstimate(stages, run);
  const time = timeEstimate(stages, sums, run, accelerator, compute);
  return {
    ...compute,
    ...(typeof time === 'string' ? { timeUnknown: time } : { time }),
    tokensPerParameter: tokensPerParameter(run, model, compute.tokensPerStep),
  };
}

/** What loading may take beyond the steps, for people. Bytes. */
function loadingNotes(readAhead: number, stepping: number): string[] {
  if (readAhead <= stepping) return [];
  return [
    say(
      'This release of transformers reads weights onto the GPU ahead of quantizing them: while the model is loaded up to {0} of it lie there in 16 bits, as far as the disk is fast enough. HF_DEACTIVATE_ASYNC_LOAD=1 or transformers 5.4 ends that.',
      formatBytes(readAhead),
    ),
  ];
}

const hasExperts = ({ expertTrained, expertFrozen }: WeightSums) => expertTrained + expertFrozen > 0;

/** What this estimate leaves out, for people. */
function limits(
  { run, accelerator, model }: EstimateInput,
  sums: WeightSums,
  crowded: CrowdedText | undefined,
): string[] {
  const notes = crowded ? [crowdedNote(crowded, run, model)] : [];
  if (run['quantization.kind'] !== 'none' && sums.expertFrozen > 0) {
    notes.push(
      say(
        'Experts are stacked parameters, which {0} does not quantize: they stay in {1}.',
        run['quantization.kind'],
        run['precision.weights'],
      ),
    );
  }
  if (!isModelled(accelerator)) {
    notes.push(
      say(
        'No measured run holds this estimate on {0} of {1}: it counts the tensors that PyTorch would allocate on a CUDA card. What the runtime and compiler there take, fuse or keep is not modelled.',
        accelerator.name,
        accelerator.vendor,
      ),
    );
  }
  notes.push(...evaluationNotes(run));
  if (run['parallel.expert'] > 1 && run['parallel.capacityFactor'] === undefined) {
    notes.push(
      say(
        'Routing is taken as balanced: a GPU whose experts get more tokens than their share needs more for their activations in proportion, and without a capacity factor nothing bounds that.',
      ),
    );
  }
  if (balancesExperts(model, run) && run['activations.checkpointing'] !== 'none' && hasExperts(sums)) {
    notes.push(
      say(
        'The balancing loss is taken to leave nothing behind: a layer that keeps its own as an attribute keeps all that recomputation made of it too, until the next forward.',
      ),
    );
  }
  if (run['method.objective'] === 'distillation' && !hasTeacher(run))
    notes.push(say("The teacher's logits and how the model's are compared with them are not counted."));
  if (sharesWeights(run))
    notes.push(
      say(
        "vLLM's share is taken whole: the least is what the run needs without keys and values, of which vLLM makes as many as there is room for; its CUDA graphs are as Unsloth estimates them, at most 3 GiB.",
      ),
    );
  if (run['kernels.compileParts'])
    notes.push(
      say(
        'Parts of the layers are compiled by themselves: the figure is that of operators one by one, the least that of layers compiled whole.',
      ),
    );
  if (model.statePackages?.some((name) => absentPackages(run).has(name)))
    notes.push(
      say(
        'Layers that keep a state run many small operators one after the other without their kernels: steps take longer than shown.',
      ),
    );
  if (isOfUnmasked(run))
    notes.push(
      run['precision.compute'] === 'fp32'
        ? say(
            'Batches without padding need most: SDPA has no fused kernel for grouped heads in fp32 without a mask, and keeps all scores.',
          )
        : say(
            'Batches without padding need most: SDPA has no fused kernel for grouped heads without a mask on this card, and keeps all scores.',
          ),
    );
  if (run['precision.wideActivations'])
    notes.push(
      say('Some of the activations are in fp32: the figure is that of all of them, the least that of none.'),
    );
  if (run['kernels.compile'])
    notes.push(say('torch.compile fuses operators and usually needs less than shown.'));
  return notes;
}
