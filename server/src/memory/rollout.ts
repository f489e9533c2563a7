import type { Model } from '../model/model';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import { forwardWithoutGraph } from './forward-without-graph';
import { keyValueCacheBytes, layerCacheBytes } from './key-value-cache';
import { combine, empty, type Ledger, post, totalOf } from './ledger';
import { type Sharding, shardGroupSize, unplanned } from './sharding-scheme';
import { keyValueShare } from './shared-engine';
import type { Point } from './step';
import { rowsPerSample, traceRun } from './traced-run';
import { bytesPer, type WeightSums } from './weights';

interface Rollout {
  readonly model: Model;
  readonly run: TrainingRun;
  readonly sharding: Sharding;
  readonly sums: WeightSums;
  /** What lasts the whole run whatever the scheme. */
  readonly constant: Ledger;
  /** Bytes that the GPU offers to the allocator. */
  readonly available: number;
}

/**
 * What a GPU holds while the model itself generates completions between two steps (TRL, `generate` of transformers):
 * everything at rest, weights gathered whole where they are sharded (`unwrap_model_for_generation`), keys and values of the
 * whole sequences, and the logits of one position. vLLM on the same GPU takes its share of it, all the time (`device.ts`)
 * or, where it sleeps in between, while it generates.
 */
export function rolloutPoints(rollout: Rollout): Point[] {
  return [...generated(rollout), ...comparedWithLogits(rollout)];
}

function generated(rollout: Rollout): Point[] {
  const { run, sharding, constant, available } = rollout;
  const engine = run['rollout.engine'];
  if (engine === 'transformers') return [...prompts(rollout), byTheModel(rollout), ...scored(rollout)];
  if (engine !== 'vllm-colocate' || !run['rollout.sleep']) return [];
  const resting = combine(sharding.atRest);
  takeAway(resting, run['rollout.offload']);
  const ledger = combine(resting, constant);
  const share = run['rollout.sharesWeights']
    ? keyValueShare(run, available, sharding.atRest)
    : run['hardware.reservedFraction'] * available;
  post(ledger, 'reserved-for-others', share);
  return [point(say('vLLM generates completions'), ledger)];
}

/** What waits in host memory while vLLM, or another model, has the GPU (verl, `workers/engine/base.py`, `BaseEngineCtx`). */
export function takeAway(ledger: Ledger, what: TrainingRun['rollout.offload']): void {
  const weights = what === 'weights' || what === 'all';
  const states = what === 'states' || what === 'all';
  for (const category of [
    ...(weights ? (['weights', 'adapters', 'gradients'] as const) : []),
    ...(states ? (['optimizer-states'] as const) : []),
  ])
    empty(ledger, category);
}

function point(label: string, ledger: Ledger): Point {
  return { moment: 'generation', label, ledger, bytes: totalOf(ledger) };
}

/** Sequences that one call generates: of a pair both. */
function sequencesAtOnce(run: TrainingRun): number {
  const steps = run['rollout.steps'] || run['batch.accumulation'];
  return run['rollout.batch'] ?? run['batch.micro'] * steps * rowsPerSample(run);
}

function elementBytes(run: TrainingRun): number {
  return bytesPer(behaviours(run).computesInStoredType ? run['precision.weights'] : run['precision.compute']);
}

/**
 * The prompts of all sequences go through the model in one pass, which keeps no graph and takes the logits of the last position alone
 * (`generation/utils.py`, `_prefill`). Undefined length of completions: the sequence is taken for the prompt.
 */
function prompts({ model, run, sharding, sums, constant }: Rollout): Point[] {
  if (run['parallel.pipeline'] > 1) return [];
  const completion = run['rollout.completion'] ?? 0;
  const prompt = Math.max(1, run['batch.sequence'] - completion);
  const samples = sequencesAtOnce(run);
  const width = elementBytes(run);
  const settings: TrainingRun = {
    ...run,
    'method.objective': 'lm',
    'method.valueTurn': false,
    'method.valueTogether': false,
    'batch.micro': samples,
    'batch.sequence': prompt,
    'batch.targetSequence': 1,
    'batch.packed': false,
    'loss.keptLogits': 'none',
  };
  const body = traceRun(model, settings, { evaluating: true }).filter(({ stage }) => stage.role !== 'head');
  const before = combine(sharding.atRest, constant);
  post(before, 'gathered-parameters', gathered({ run, sums, sharding }, width));
  const cache = keyValueCacheBytes(model, samples, { prompt, fresh: 0 }, width);
  post(before, 'activations', cache / (run['parallel.tensor'] * run['rollout.tensor']));
  const points: Point[] = [];
  forwardWithoutGraph(body, before, wholeWeights(sharding), (label, ledger) =>
    points.push(point(say('generation, prompt, {0}', label), ledger)),
  );
  return points;
}

/** The scheme where all weights have been gathered before. */
function wholeWeights(sharding: Sharding): Sharding {
  return sharding.splits.weights === 1 ? sharding : { ...sharding, plan: unplanned };
}

function byTheModel({ model, run, sharding, sums, constant }: Rollout): Point {
  const samples = sequencesAtOnce(run);
  const width = elementBytes(run);
  const ledger = combine(sharding.atRest, constant);
  post(ledger, 'gathered-parameters', gathered({ run, sums, sharding }, width));
  const tokens = run['batch.sequence'];
  const cache = keyValueCacheBytes(model, samples, { prompt: tokens, fresh: 0 }, width);
  // A layer's cache grows into a new tensor.
  post(
    ledger,
    'activations',
    (cache + layerCacheBytes(model, samples, tokens, width)) /
      (run['parallel.tensor'] * run['rollout.tensor']),
  );
  // Logits of the last position, their fp32 copy, and what sampling makes of it.
  post(ledger, 'logits-and-loss', samples * model.vocabulary * (width + 3 * 4));
  return point(say('completions are generated'), ledger);
}

/**
 * PPO in TRL (0.24, `trainer/utils.py`, `batch_generation`, `generate`): the scores of every generated token are kept in
 * fp32, stacked per part while they still lie apart, and joined to a second copy for all sequences of an update. The reference's
 * logits of a part come beside them.
 */
function scored({ model, run, sharding, sums, constant }: Rollout): Point[] {
  const sequences = run['rollout.sequences'];
  if (sequences === undefined) return [];
  const tokens = run['batch.sequence'];
  const completion = Math.min(tokens, run['rollout.completion'] ?? tokens);
  const part = Math.min(sequences, run['rollout.batch'] ?? run['batch.micro']);
  const width = elementBytes(run);
  const scoresOf = (samples: number) => samples * completion * model.vocabulary * 4;
  const resting = () => combine(sharding.atRest, constant);
  const stacked = resting();
  post(stacked, 'gathered-parameters', gathered({ run, sums, sharding }, width));
  post(
    stacked,
    'activations',
    keyValueCacheBytes(model, part, { prompt: tokens, fresh: 0 }, width) / run['parallel.tensor'],
  );
  post(stacked, 'logits-and-loss', scoresOf(sequences - part) + 2 * scoresOf(part));
  const joined = resting();
  post(joined, 'gathered-parameters', gathered({ run, sums, sharding }, width));
  post(joined, 'logits-and-loss', 2 * scoresOf(sequences));
  const compared = resting();
  post(compared, 'logits-and-loss', scoresOf(sequences) + part * tokens * model.vocabulary * width);
  return [
    point(say('scores of generated tokens are stacked'), stacked),
    point(say('scores of generated tokens are joined'), joined),
    point(say('the reference scores completions'), compared),
  ];
}

/**
 * GRPO's Liger loss never makes logits, but the passes that score what was generated do, for a micro batch at a time: those of a completion,
 * and beside them what they are divided by the temperature to (TRL, `grpo_trainer.py`, `_get_per_token_logps`).
 */
function comparedWithLogits({ model, run, sharding, constant }: Rollout): Point[] {
  const forwards = run['method.scoringForwards'];
  const scores = forwards !== undefined && (forwards > 0 || run['method.referenceModel']);
  const loss = run['loss.implementation'];
  const fused = loss === 'liger' || (loss === 'full' && run['kernels.liger']);
  if (run['method.objective'] !== 'grpo' || !scores || !fused) return [];
  const tokens = run['batch.sequence'];
  const completion = Math.min(tokens, (run['rollout.completion'] ?? tokens) + 1);
  // Accelerate gives results back in fp32 wherever it wraps autocast around the model.
  const width = bytesPer(behaviours(run).returnsFp32 ? 'fp32' : run['precision.compute']);
  const ledger = combine(sharding.atRest, constant);
  post(ledger, 'logits-and-loss', 2 * run['batch.micro'] * completion * model.vocabulary * width);
  return [point(say('completions are scored'), ledger)];
}

/** The shares of the weights that lie on other GPUs. */
function gathered(
  { run, sums, sharding }: Pick<Rollout, 'run' | 'sums' | 'sharding'>,
  width: number,
): number {
  if (sharding.splits.weights === 1) return 0;
  // A rank gathers its part of every layer (DeepSpeed `hybrid_engine.py`, `generate`, `inference_tp_size` above 1).
  const held = Math.max(0, 1 / run['rollout.tensor'] - 1 / shardGroupSize(run));
  return (sums.loaded + sums.adapters) * width * held;
}
