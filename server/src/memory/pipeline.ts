import { PREDICTION_STAGES } from '../model/families/multi-token-prediction';
import type { Tape, Tensor } from '../model/tape';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { fileIn, MEGATRON } from '../sources/repositories';
import { say } from '../wording/say';
import { byCheckpointPeriod } from './checkpoint-period';
import { bytesWords } from './formula-words';
import { gatheredThroughout } from './fsdp/fsdp';
import { combine, emptyLedger, type LabelWords, type Ledger, post } from './ledger';
import { chunksPerStage, layersPerChunk } from './pipeline-split';
import { rounded, savedStorages } from './play';
import { rememberedSegment } from './remembered-segment';
import type { Sharding } from './sharding-scheme';
import { SOURCES } from './sources';
import type { TracedStage } from './traced-run';

const BATCH = fileIn(MEGATRON, 'pretrain_gpt.py');

/** Layers that lie together on a pipeline stage, and how many micro batches' activations of them are alive. */
interface PipelineChunk {
  readonly stages: readonly TracedStage[];
  /** Micro batches whose activations are alive at the fullest moment, that of the walk included. */
  readonly inFlight: number;
  /** Its input comes from another stage. */
  readonly receives: boolean;
  /** Its result goes to another stage. */
  readonly sends: boolean;
}

/** One pipeline stage: the part of the model that its GPUs hold, and the chunk that a micro batch is walked through. */
export interface PipelineStage {
  readonly index: number;
  readonly stages: readonly TracedStage[];
  readonly chunks: readonly PipelineChunk[];
  /** Chunk that runs at the fullest moment. */
  readonly walked: PipelineChunk;
}

/** Which chunk of the model (in its order) is the `chunk`-th on stage `index`: stage by stage, or as a V. */
function placed(run: TrainingRun, index: number, chunk: number): number {
  const p = run['parallel.pipeline'];
  const schedule = run['parallel.pipelineSchedule'];
  if ((schedule === 'zbv' || schedule === 'dualpipev') && chunk === 1) return 2 * p - 1 - index;
  return chunk * p + index;
}

/** The first `count` forward passes of an interleaved schedule, by chunk: rounds of `group` micro batches per chunk. */
function byChunk(count: number, chunks: number, group: number): number[] {
  const rounds = Math.floor(count / (group * chunks));
  const rest = count - rounds * group * chunks;
  return Array.from(
    { length: chunks },
    (_, k) => rounds * group + Math.min(group, Math.max(0, rest - k * group)),
  );
}

/**
 * Micro batches in flight on a stage when it holds the most, per chunk.
 *
 * - 1F1B: `min(m, p - i)` (Megatron `schedules.py`, `forward_backward_pipelining_without_interleaving`); GPipe and breadth
 *   first: all.
 * - interleaved: `2 (p - i - 1) + (v - 1) g + 1` passes over chunks in groups of `g` micro batches (Megatron
 *   `get_pp_rank_microbatches`; PyTorch `_get_warmup_ops`).
 * - zero bubble: every stage holds `min(m, p)` per chunk, on later stages in part waiting for their weight gradients
 *   (arXiv 2401.10241, ZB-H1; PyTorch `ScheduleInterleavedZeroBubble`).
 * - sequential: one, which passes all stages there and back before the next begins (Accelerate `dispatch_model`).
 * - V-shaped: `2 p - 1 - i` of the first and `i + 1` of the second chunk, with DualPipeV one more of the first on the last
 *   stage (PyTorch `ScheduleZBVZeroBubble`, `ScheduleDualPipeV`).
 */
export function microBatchesInFlight(run: TrainingRun, index: number): readonly number[] {
  const p = run['parallel.pipeline'];
  const m = run['batch.accumulation'];
  const v = chunksPerStage(run);
  const all = Array.from({ length: v }, () => m);
  // Groups of micro batches that pass a chunk together, as even as `m` allows.
  const group = Math.floor(m / Math.max(1, Math.floor(m / p)));
  switch (run['parallel.pipelineSchedule']) {
    case 'gpipe':
    case 'looped-bfs':
      return all;
    case 'sequential':
      return [1];
    case 'zero-bubble':
      return all.map(() => Math.min(m, p));
    case 'zbv':
    case 'dualpipev': {
      const extra = run['parallel.pipelineSchedule'] === 'dualpipev' && index === p - 1 ? 1 : 0;
      return [Math.min(m, 2 * p - 1 - index + extra), Math.min(m, index + 1)];
    }
    default:
      if (v === 1) return [Math.min(m, p - index)];
      return byChunk(Math.min(m * v, 2 * (p - index - 1) + (v - 1) * group + 1), v, group);
  }
}

/** An encoder of images or sound, which a language model takes the result of. */
const TOWER = /^(vision|visual|audio|embed_vision)/;

/** Layers that predict further tokens lie on the last stage, beside those that it has of the decoder (`mtp_on_this_rank`). */
const predicts = ({ stage }: TracedStage): boolean =>
  stage.role === 'layer' && stage.name.startsWith(PREDICTION_STAGES);

/**
 * Layers that are shared out over the stages: of a model with an encoder of images those of the language model alone, since
 * the first stage holds the encoder whole (Megatron-LM, `examples/multimodal/model.py`, `add_encoder`; ms-swift, `mcore_bridge`).
 */
function sharedOut(traced: readonly TracedStage[]): (t: TracedStage) => boolean {
  const language = traced.some(({ stage }) => stage.role === 'layer' && !TOWER.test(stage.name));
  return (t) => t.stage.role === 'layer' && !predicts(t) && !(language && TOWER.test(t.stage.name));
}

/**
 * Layers of each GPU where `accelerate` fills one after the other up to an even share of the weights (`utils/modeling.py`,
 * `get_balanced_memory`, `infer_auto_device_map`): a layer lies where its middle does.
 */
function layersByWeight(
  traced: readonly TracedStage[],
  isLayer: (t: TracedStage) => boolean,
  parts: number,
): number[] {
  const elements = ({ tape }: TracedStage) => tape.weights.reduce((sum, weight) => sum + weight.elements, 0);
  const share = traced.reduce((sum, t) => sum + t.copies * elements(t), 0) / parts;
  const counts = Array.from({ length: parts }, () => 0);
  let before = 0;
  for (const t of traced) {
    const own = elements(t);
    for (let copy = 0; copy < t.copies; copy++) {
      const part = Math.min(parts - 1, Math.floor((before + own / 2) / share));
      if (isLayer(t)) counts[part] = (counts[part] ?? 0) + 1;
      before += own;
    }
  }
  return counts;
}

/** The model cut into chunks, in its order: what stands before the first layer with it, what follows a layer with the next. */
function cut(
  traced: readonly TracedStage[],
  counts: readonly number[],
  isLayer: (t: TracedStage) => boolean,
): TracedStage[][] {
  const chunks: TracedStage[][] = counts.map(() => []);
  let chunk = 0;
  let room = counts[0] ?? 0;
  let layersLeft = counts.reduce((sum, count) => sum + count, 0);
  const forward = () => {
    while (room === 0 && chunk < counts.length - 1) {
      chunk += 1;
      room = counts[chunk] ?? 0;
    }
  };
  let begun = false;
  for (const t of traced) {
    if (!isLayer(t)) {
      if (layersLeft === 0) chunk = counts.length - 1;
      else if (begun) forward();
      chunks[chunk]?.push(t);
      continue;
    }
    let copies = t.copies;
    begun = true;
    while (copies > 0) {
      forward();
      const here = Math.min(copies, room);
      if (here === 0) break;
      chunks[chunk]?.push(here === t.copies ? t : { ...t, copies: here });
      copies -= here;
      room -= here;
      layersLeft -= here;
    }
  }
  return chunks;
}

/** The first `activations.layers` layers of a chunk are checkpointed, the others keep all (Megatron `block`). */
function withWholeLayers(stages: readonly TracedStage[], run: TrainingRun): readonly TracedStage[] {
  let left = run['activations.layers'];
  if (left === undefined || run['activations.checkpointing'] !== 'full') return stages;
  const cut: TracedStage[] = [];
  for (const traced of stages) {
    const { copies } = traced;
    // "recompute_method == 'block' is not supported for MTP yet" (`multi_token_prediction.py`, `_checkpointed_forward`).
    if (predicts(traced)) {
      cut.push({ ...traced, whole: true });
      continue;
    }
    const wrapped = traced.stage.role === 'layer' ? Math.min(left, copies) : copies;
    if (traced.stage.role === 'layer') left -= wrapped;
    if (wrapped > 0) cut.push(wrapped === copies ? traced : { ...traced, copies: wrapped });
    if (wrapped < copies) cut.push({ ...traced, copies: copies - wrapped, whole: true });
  }
  return cut;
}

/**
 * Weights that are tied to ones of another pipeline stage are a copy of their own there, one for each module: Megatron's last stage has an
 * embedding for the tokens further on beside its output layer (`gpt_model.py`, `skip_weight_param_allocation`).
 */
function withOwnCopies(stages: readonly TracedStage[]): TracedStage[] {
  const owned = new Set(
    stages.flatMap(({ tape }) => tape.weights.flatMap(({ name, tiedTo }) => (tiedTo ? [] : name))),
  );
  const made = new Set<string>();
  return stages.map((traced) => {
    const { tape } = traced;
    const lost = tape.weights.filter(
      ({ name, tiedTo }) => tiedTo !== undefined && !owned.has(tiedTo) && !made.has(name),
    );
    if (lost.length === 0) return traced;
    for (const { name } of lost) made.add(name);
    const copies = new Map(lost.map((weight) => [weight, { ...weight, tiedTo: undefined }]));
    const operations = tape.operations.map((operation) => ({
      ...operation,
      weights: operation.weights.map((weight) => copies.get(weight) ?? weight),
      weightGrads: operation.weightGrads.map((grad) => ({
        ...grad,
        weight: copies.get(grad.weight) ?? grad.weight,
      })),
    }));
    const weights = tape.weights.map((weight) => copies.get(weight) ?? weight);
    return { ...traced, tape: { ...tape, operations, weights } };
  });
}

/**
 * Of every kind of layer on a stage: how many there are, lie in the chunk that is walked, and wait in flight, and how many of
 * those keep all their activations.
 */
function weigh(chunks: readonly PipelineChunk[]): Map<Tape, readonly number[]> {
  const counts = new Map<Tape, [number, number, number, number]>();
  chunks.forEach(({ stages, inFlight }, k) => {
    for (const { tape, copies, whole } of stages) {
      const count = counts.get(tape) ?? [0, 0, 0, 0];
      count[0] += copies;
      if (k === chunks.length - 1) count[1] += copies;
      count[2] += inFlight * copies;
      if (whole) count[3] += inFlight * copies;
      counts.set(tape, count);
    }
  });
  return counts;
}

type Weighed = ReturnType<typeof weigh>;

/** Whether a stage holds as many layers of every kind and as many of them in flight as another, or more. */
function covers(one: Weighed, other: Weighed): boolean {
  return [...other].every(([tape, counts]) => {
    const mine = one.get(tape);
    return mine !== undefined && counts.every((count, i) => (mine[i] ?? 0) >= count);
  });
}

/**
 * The pipeline stages that can be the worst: the first (most micro batches in flight, and the embedding), of those between
 * the ends all that no other covers, and the last (head and loss). A stage of several chunks stands there once for its
 * last chunk, whose backward comes first, and the first one again for the chunk with the embedding. Without pipeline
 * parallelism: the whole model. `every`: all stages, whatever covers them.
 */
export function pipelineStages(
  given: readonly TracedStage[],
  run: TrainingRun,
  every = false,
): PipelineStage[] {
  const p = run['parallel.pipeline'];
  const traced = byCheckpointPeriod(given, run);
  if (p <= 1) {
    const stages = withWholeLayers(traced, run);
    const walked = { stages, inFlight: 1, receives: false, sends: false };
    return [{ index: 0, stages, chunks: [walked], walked }];
  }
  const isLayer = sharedOut(traced);
  const layers = traced.reduce((sum, t) => sum + (isLayer(t) ? t.copies : 0), 0);
  const counts =
    run['parallel.pipelineSchedule'] === 'sequential'
      ? layersByWeight(traced, isLayer, p)
      : layersPerChunk(run, layers);
  const chunks = cut(traced, counts, isLayer).map((chunk) => withWholeLayers(chunk, run));
  const last = chunks.length - 1;
  const chunksOf = (index: number): PipelineChunk[] =>
    microBatchesInFlight(run, index).map((inFlight, k) => {
      const place = placed(run, index, k);
      return { stages: chunks[place] ?? [], inFlight, receives: place > 0, sends: place < last };
    });
  const candidates = new Map([[0, chunksOf(0)]]);
  let between: { readonly index: number; readonly held: PipelineChunk[]; readonly weight: Weighed }[] = [];
  for (let index = 1; index < p - 1; index++) {
    const held = chunksOf(index);
    const weight = weigh(held);
    if (!every && between.some((other) => covers(other.weight, weight))) continue;
    between = [...between.filter((other) => every || !covers(weight, other.weight)), { index, held, weight }];
  }
  for (const { index, held } of between) candidates.set(index, held);
  candidates.set(p - 1, chunksOf(p - 1));
  const stages: PipelineStage[] = [];
  for (const [index, parts] of candidates) {
    const held = withOwnCopies(parts.flatMap((chunk) => chunk.stages));
    let at = 0;
    const own = parts.map((chunk) => {
      const from = at;
      at += chunk.stages.length;
      return { ...chunk, stages: held.slice(from, at) };
    });
    const ends = index === 0 ? [own.at(-1), own[0]] : [own.at(-1)];
    for (const walked of new Set(ends)) if (walked) stages.push({ index, stages: held, chunks: own, walked });
  }
  return stages;
}

/** Tensors that pass between pipeline stages at the beginning of a chunk. */
function received({ stages: [first] }: PipelineChunk): readonly Tensor[] {
  return first?.tape.entry.filter((_, i) => first.tape.origins[i] !== undefined) ?? [];
}

function bytesOf(tensors: readonly Tensor[]): number {
  return tensors.reduce((sum, x) => sum + rounded(x.storage.bytes), 0);
}

/**
 * What `others` micro batches leave in a chunk between their forward and their backward. What they share lies there once, and
 * not at all where the walk holds it already.
 */
function keptByChunk(chunk: PipelineChunk, others: number, walked: boolean, run: TrainingRun): Ledger {
  let kept = emptyLedger();
  for (const traced of chunk.stages) {
    const segment = rememberedSegment(traced, run, 'pass');
    const segments = Math.ceil(traced.copies / segment.layers);
    const counted = walked ? others : others - 1;
    kept = combine(
      kept,
      [segment.forward.exit, segments * others],
      [segment.sharedByMicroBatches, -segments * counted],
    );
  }
  return kept;
}

/** What the walk of a chunk gives back of its input, and whoever received it still names. */
function releasedInput(chunk: PipelineChunk, run: TrainingRun): readonly Tensor[] {
  const [first] = chunk.stages;
  if (!first || run['activations.checkpointing'] !== 'none') return [];
  const saved = savedStorages(first.tape);
  const free = (x: Tensor) => first.consumed.has(x.storage) && !saved.has(x.storage);
  return received(chunk).filter(free);
}

/** Label of what stages hand to each other. */
function passedWords(name: string, count: number, size: number): LabelWords {
  const formula = say('{0} {0|micro batch|micro batches} × {1} B', count, Math.round(size));
  return { name, formula, source: SOURCES.pipelining };
}

/**
 * Tensors of a passed size that stay of the micro batch before, once one has been trained: its input and the gradient of that, named by
 * the graph of its result (`schedules.py`, `backward_step`, `retain_grad`). Interleaved schedules
 * have received the next input as well (`fwd_recv_buffer`).
 */
const leftBefore = (run: TrainingRun): number => (chunksPerStage(run) > 1 ? 3 : 2);

/** The mask of a micro batch, a byte for every pair of positions (`pretrain_gpt.py`, `get_batch`): on the stages that have tokens or labels. */
function pairMask({ chunks }: PipelineStage, run: TrainingRun): number {
  const isEnd = chunks.some(({ receives, sends }) => !receives || !sends);
  const length = run['batch.sequence'];
  return run['batch.pairMask'] && isEnd
    ? (run['batch.micro'] * length ** 2) / (run['parallel.context'] * run['parallel.ulysses'])
    : 0;
}

/** What pipelining adds to the walk of one micro batch through one chunk. Bytes per GPU. */
interface PipelineMemory {
  /** Buffers for the whole run. */
  readonly always: Ledger;
  /** From the first forward to the end of backward. */
  readonly throughout: Ledger;
  readonly duringBackward: Ledger;
}

/**
 * Activations of the micro batches in flight beside the one that is walked, what is received, and the results that wait.
 *
 * Megatron frees a result once it is sent (`deallocate_output_tensor`); PyTorch keeps it until its backward (`stage.py`,
 * `fwd_cache`) and has one receive buffer per micro batch for activations and for gradients (`_setup_forward_recv_info`).
 */
export function pipelineMemory(stage: PipelineStage, run: TrainingRun): PipelineMemory {
  const always = emptyLedger();
  let throughout = emptyLedger();
  const duringBackward = emptyLedger();
  const mask = pairMask(stage, run);
  const words = { name: say('mask of all pairs of positions'), formula: bytesWords(mask), source: BATCH };
  post(throughout, 'activations', mask, words);
  // Checkpoints keep what their layers were given.
  if (run['activations.checkpointing'] !== 'full') post(duringBackward, 'activations', -mask, words);
  if (run['parallel.pipeline'] <= 1) return { always, throughout, duringBackward };
  const m = run['batch.accumulation'];
  const { freesSentResults, receivesIntoBuffers } = behaviours(run);
  for (const chunk of stage.chunks) {
    // Every chunk passes on a tensor as large as it was given; the first one's size is that of the next.
    const passed = bytesOf(received(chunk.receives ? chunk : (stage.chunks[1] ?? chunk)));
    const size = passed || bytesOf(chunk.stages.find((t) => t.stage.role === 'layer')?.tape.exit ?? []);
    const others = chunk.inFlight - (chunk === stage.walked ? 1 : 0);
    if (chunk !== stage.walked) {
      const whole = gatheredThroughout(chunk.stages, run);
      post(throughout, 'gathered-parameters', whole, {
        name: say(
          'weights of the other layers of the stage, gathered from the first micro batch to the last',
        ),
        formula: bytesWords(whole),
        source: SOURCES.pipelining,
      });
    }
    if (others > 0) {
      throughout = combine(throughout, keptByChunk(chunk, others, chunk === stage.walked, run));
      const sent = chunk.stages.at(-1)?.tape.exit[0]?.storage;
      if (freesSentResults && chunk.sends) post(throughout, 'activations', -size * others, sent);
    }
    if (freesSentResults && chunk === stage.walked && chunk.receives && chunk.inFlight < m) {
      const count = leftBefore(run);
      post(
        throughout,
        'communication-buffers',
        count * size,
        passedWords(say('input of the micro batch before, and its gradient'), count, size),
      );
    }
    if (chunk.receives) {
      for (const { storage } of releasedInput(chunk, run))
        post(throughout, 'activations', chunk.inFlight * rounded(storage.bytes), storage);
      if (receivesIntoBuffers)
        post(
          always,
          'communication-buffers',
          m * size,
          passedWords(say('activations received from the stage before'), m, size),
        );
      else
        post(
          throughout,
          'communication-buffers',
          chunk.inFlight * size,
          passedWords(say('activations received from the stage before'), chunk.inFlight, size),
        );
    }
    if (chunk.sends) {
      if (receivesIntoBuffers)
        post(
          always,
          'communication-buffers',
          m * size,
          passedWords(say('gradients received from the stage behind'), m, size),
        );
      else if (chunk === stage.walked && !freesSentResults)
        post(
          duringBackward,
          'communication-buffers',
          size,
          passedWords(say('gradients received from the stage behind'), 1, size),
        );
    }
  }
  return { always, throughout, duringBackward };
}

/** A scheme with what pipelining adds to it. */
export function pipelined(sharding: Sharding, memory: PipelineMemory): Sharding {
  return {
    ...sharding,
    throughout: combine(sharding.throughout, memory.throughout),
    plan: (stages) => {
      const plan = sharding.plan(stages);
      return { ...plan, backward: combine(plan.backward, memory.duringBackward) };
    },
  };
}
