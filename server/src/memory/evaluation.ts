import type { Model } from '../model/model';
import { ELEMENT_BYTES, type Tensor } from '../model/tape';
import { keepsTextSetting } from '../model/text-cache-setting';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { fileIn, TRANSFORMERS } from '../sources/repositories';
import { say } from '../wording/say';
import { bytesWords, tokensWords } from './formula-words';
import { forwardWithoutGraph } from './forward-without-graph';
import { keyValueCacheBytes, layerCacheBytes } from './key-value-cache';
import { layerPlaces } from './layer-places';
import { combine, emptyLedger, type Ledger, post, totalOf } from './ledger';
import { dataParallelSize, type Sharding } from './sharding-scheme';
import type { Point } from './step';
import { type TracedStage, traceRun } from './traced-run';
import { bytesPer } from './weights';

/** The run with the batches of its evaluation. */
function evaluated(run: TrainingRun): TrainingRun {
  return {
    ...run,
    'batch.micro': run['evaluation.batch'] ?? run['batch.micro'],
    'batch.sequence': run['evaluation.sequence'] ?? run['batch.sequence'],
    'batch.targetSequence': run['evaluation.sequence'] ?? run['batch.targetSequence'],
    'loss.keptLogits': 'none',
  };
}

/** Losses that are fused with the head, beside Liger's. */
const WITHOUT_LOGITS: ReadonlySet<TrainingRun['loss.implementation']> = new Set([
  'cut',
  'budgeted-chunks',
  'free-chunks',
  'half-free-chunks',
  'fused-chunks',
  'linear-chunked',
  'log-probabilities-chunked',
  'checkpointed-chunks',
  'checkpointed-chunks-fp32',
]);

/**
 * Losses that are fused with the head never make logits; where predictions are wanted there are some. Liger's own forward
 * makes them whenever it does not train, unless it is set to skip them (`transformers/model/llama.py`, `skip_logits`),
 * which the Trainer does since transformers 5.15 for the loss alone (`trainer.py`, `prediction_step`).
 */
function makesLogits(run: TrainingRun): boolean {
  const loss = run['loss.implementation'];
  const liger = loss === 'liger' || (run['kernels.liger'] && loss === 'full');
  if (!liger && !WITHOUT_LOGITS.has(loss)) return false;
  if (run['evaluation.predictions'] !== 'none') return true;
  return liger && behaviours(run).evaluatesWithLogits;
}

/**
 * The stages of the model as evaluation runs them, without dropout; undefined where the run does not evaluate. `free`: bytes that the
 * first loss of the training finds free, by which later ones are sized too.
 */
export function evaluationStages(model: Model, run: TrainingRun, free?: number): TracedStage[] | undefined {
  if (!run['evaluation.enabled']) return undefined;
  const logits = makesLogits(run) ? { loss: 'full' as const } : {};
  const sizes = free === undefined ? {} : { freeBytes: free };
  return traceRun(model, evaluated(run), { evaluating: true, ...sizes, ...logits });
}

interface Evaluation {
  readonly model: Model;
  readonly run: TrainingRun;
  /** `evaluationStages`, of one pipeline stage. */
  readonly stages: readonly TracedStage[];
  readonly sharding: Sharding;
  /** What lasts the whole run whatever the scheme. */
  readonly constant: Ledger;
}

/**
 * What a GPU holds while the run evaluates between two steps: everything at rest (no gradients), a forward pass without
 * a graph, and predictions until they are moved to the host. As `Trainer.evaluation_loop` of transformers does it; each
 * distinct tape is played once.
 */
export function evaluationPoints({ model, run, stages, sharding, constant }: Evaluation): Point[] {
  const points: Point[] = [];
  const mark = (label: string, ledger: Ledger) =>
    points.push({ moment: 'evaluation', label, ledger, bytes: totalOf(ledger) });
  // ZeRO-3 follows the trace of the training step, whose forward is the same, so it keeps as much whole.
  const resting = combine(sharding.atRest, constant, sharding.throughout);
  const predictions = predictionsOf(model, run, stages);
  const before = withPredictions(resting, predictions.beforeLast);
  const kept = keepsCache(model, run) ? (traced: TracedStage) => cacheOf(model, run, traced) : undefined;
  forwardWithoutGraph(
    stages,
    before,
    sharding,
    (label, ledger) => mark(say('evaluation, {0}', label), ledger),
    kept,
  );
  if (predictions.whileGathered > 0)
    mark(say('predictions are gathered'), withPredictions(resting, predictions.whileGathered));
  if (predictions.whileJoined > 0)
    mark(say('predictions are concatenated'), withPredictions(resting, predictions.whileJoined));
  if (run['parallel.pipeline'] === 1) generation(model, run, resting, sharding, mark);
  return points;
}

/**
 * Language models of transformers return their cache unless set not to (`config.use_cache`, on by default); the Trainer
 * tells them so since 5.0 (`trainer.py`, `self.model.config.use_cache = self.args.use_cache`), which some that also see do not read.
 */
function keepsCache({ config }: Model, run: TrainingRun): boolean {
  const stated = run['evaluation.keepsCache'];
  if (stated !== undefined) return stated;
  if (run['method.objective'] !== 'lm') return false;
  const { evaluatesWithCache, evaluatesWithTextCache } = behaviours(run);
  return evaluatesWithCache || (evaluatesWithTextCache && keepsTextSetting(config.model_type, true));
}

/**
 * Keys and values that one copy of a stage leaves in the cache: of causal attention, in the type that the rotation gives
 * them (`DynamicLayer.update` makes both of the keys' type), and beside them those of the source in a decoder with an
 * encoder.
 */
function cacheOf(model: Model, run: TrainingRun, { stage, tape }: TracedStage): Ledger {
  const ledger = emptyLedger();
  const causal = tape.operations.some((x) => (x.unmaskedFlops ?? x.flops) > x.flops);
  if (stage.role !== 'layer' || !causal) return ledger;
  const rotated = tape.operations.find(({ name }) => /rotary|rope/.test(name))?.outputs[0];
  const width = rotated ? ELEMENT_BYTES[rotated.dtype] : bytesPer(run['precision.compute']);
  const settings = evaluated(run);
  const { 'batch.sequence': sequence, 'batch.targetSequence': target = sequence } = settings;
  const ranks = run['parallel.context'] * run['parallel.ulysses'] * run['parallel.tensor'];
  const tokens = (model.decoder ? (model.decoder.encoded ?? sequence) + target : sequence) / ranks;
  post(ledger, 'activations', layerCacheBytes(model, settings['batch.micro'], tokens, width), {
    name: say('keys and values that the model returns'),
    formula: tokensWords(settings['batch.micro'], tokens, width),
    source: fileIn(TRANSFORMERS, 'src/transformers/cache_utils.py'),
  });
  return ledger;
}

/** Bytes of predictions on one GPU at the moments of the last batch whose predictions stay there. */
interface Predictions {
  /** While the model runs. */
  readonly beforeLast: number;
  /** Beside those of this GPU, those of all. */
  readonly whileGathered: number;
  /** The old and the new concatenation, and what is added. 0 where nothing is concatenated. */
  readonly whileJoined: number;
}

const TRAINER = fileIn(TRANSFORMERS, 'src/transformers/trainer.py');

/**
 * `evaluation_loop` gathers each batch's predictions from all GPUs to every GPU and concatenates them there
 * (`EvalLoopContainer.add`, `trainer_pt_utils.py`) until `eval_accumulation_steps` batches, or all where it is unset, go
 * to the host. From the third batch on the loop's own variable still holds the batch before while the model runs.
 */
function predictionsOf(model: Model, run: TrainingRun, stages: readonly TracedStage[]): Predictions {
  const own = predictionBytes(model, run, stages);
  const ranks = dataParallelSize(run);
  const all = own * ranks;
  const count = batchesOnGpu(run);
  const joins = run['evaluation.concatenates'] && count > 1;
  return {
    beforeLast: (count - 1) * all + (joins && count > 2 ? all : 0),
    whileGathered: (count - 1) * all + own + (ranks > 1 ? all : 0),
    whileJoined: joins && own > 0 ? 2 * count * all : 0,
  };
}

/** Batches of the whole evaluation; undefined where nobody states how many samples there are. */
export function evaluationBatches(run: TrainingRun): number | undefined {
  const samples = run['evaluation.samples'];
  const batch = (run['evaluation.batch'] ?? run['batch.micro']) * dataParallelSize(run);
  return samples === undefined ? undefined : Math.max(1, Math.ceil(samples / batch));
}

function batchesOnGpu(run: TrainingRun): number {
  const all = evaluationBatches(run);
  const kept = run['evaluation.accumulation'];
  return Math.min(kept ?? all ?? 1, all ?? kept ?? 1);
}

/** What an estimate of the evaluation cannot know, for people. */
export function evaluationNotes(run: TrainingRun): string[] {
  if (!run['evaluation.enabled'] || run['evaluation.predictions'] === 'none') return [];
  if (run['evaluation.accumulation'] !== undefined || run['evaluation.samples'] !== undefined) return [];
  return [
    say(
      'The evaluation keeps the predictions of all its batches on the GPU; how many there are is not known, so one batch is counted.',
    ),
  ];
}

/**
 * Bytes of one batch's predictions of one GPU: an int64 token id per position, or all that the model returns and its config does not leave out
 * (`prediction_step`; `keys_to_ignore_at_inference` names the cache alone). That is its logits, and behind an encoder the last hidden
 * states of that, [samples, source tokens, hidden size].
 */
export function predictionBytes(model: Model, run: TrainingRun, stages: readonly TracedStage[]): number {
  const kind = run['evaluation.predictions'];
  const logits = kind === 'none' ? undefined : logitsOf(stages);
  if (kind === 'tokens')
    return logits ? (logits.elements / (logits.shape.at(-1) ?? 1)) * ELEMENT_BYTES.int64 : 0;
  if (kind === 'none' || !stages.some(({ stage }) => stage.role === 'head')) return 0;
  // Accelerate gives the model's results back in fp32 wherever it wraps autocast around it, FSDP included
  // (`accelerator.py`, `convert_outputs_to_fp32`).
  const { 'precision.compute': compute } = run;
  const wide = compute !== 'fp32' && behaviours(run).returnsFp32 ? ELEMENT_BYTES.fp32 : undefined;
  const scores = logits ? logits.elements * (wide ?? ELEMENT_BYTES[logits.dtype]) : 0;
  if (!model.decoder) return scores;
  const { 'batch.micro': samples, 'batch.sequence': sequence } = evaluated(run);
  const states = samples * (model.decoder.encoded ?? sequence) * model.hiddenSize;
  return scores + states * (wide ?? bytesPer(compute));
}

/** The result of the head. */
function logitsOf(stages: readonly TracedStage[]): Tensor | undefined {
  for (const { stage, tape } of stages) {
    if (stage.role !== 'head') continue;
    for (const { outputs } of tape.operations) {
      for (const x of outputs) if (x.storage.kind === 'logits' && x.shape.length > 1) return x;
    }
  }
  return undefined;
}

/** Where the stages of a decoder behind an encoder start: at the last table of tokens, or what stands for it. */
function decoderStarts(stages: Model['stages']): number {
  return stages.findLastIndex(({ role }) => role === 'embedding');
}

function withPredictions(ledger: Ledger, bytes: number): Ledger {
  const sum = combine(ledger);
  post(sum, 'logits-and-loss', bytes, {
    name: say('predictions kept on the GPU'),
    formula: bytesWords(bytes),
    source: TRAINER,
  });
  return sum;
}

/**
 * Generation in evaluation: the prompts' forward pass without the head beside their keys and values, then the last token,
 * when the cache is longest: one layer's keys are concatenated anew beside the old ones (`cache_utils.py`), and the logits
 * of one position are taken in fp32 (`generation/utils.py`); beams score a copy of them. An encoder reads each sample once,
 * before beams are made of it, and its decoder then starts from one token.
 */
function generation(
  model: Model,
  run: TrainingRun,
  resting: Ledger,
  sharding: Sharding,
  mark: (label: string, ledger: Ledger) => void,
): void {
  const fresh = run['evaluation.generatedTokens'];
  if (fresh === 0) return;
  const beams = run['evaluation.beams'];
  const settings = evaluated(run);
  const samples = settings['batch.micro'] * beams;
  const width = bytesPer(run['precision.compute']);
  const prompt = settings['batch.sequence'];
  const traced = (values: Partial<TrainingRun>) =>
    traceRun(model, { ...settings, ...values }, { evaluating: true }).filter(
      ({ stage }) => stage.role !== 'head',
    );
  const cached = (generated: number): Ledger => {
    const ledger = combine(resting);
    post(ledger, 'activations', keyValueCacheBytes(model, samples, { prompt, fresh: generated }, width), {
      name: say('keys and values of generation'),
      formula: tokensWords(samples, prompt + generated, width),
      source: fileIn(TRANSFORMERS, 'src/transformers/cache_utils.py'),
    });
    return ledger;
  };
  const markPrompt = (label: string, ledger: Ledger) => mark(say('generation, prompt, {0}', label), ledger);
  const last = cached(fresh);
  if (model.decoder) {
    const start = decoderStarts(model.stages);
    const starting = traced({ 'batch.micro': samples, 'batch.targetSequence': 1 });
    const whole = traced({});
    const places = layerPlaces(whole);
    forwardWithoutGraph(
      whole.slice(0, start),
      resting,
      sharding,
      markPrompt,
      undefined,
      places.slice(0, start),
    );
    const encoded = samples * (model.decoder.encoded ?? prompt) * model.hiddenSize * width;
    const first = cached(0);
    for (const ledger of [first, last])
      post(ledger, 'activations', encoded, {
        name: say('what the encoder hands over, of every beam'),
        formula: bytesWords(encoded),
      });
    forwardWithoutGraph(starting.slice(start), first, sharding, markPrompt, undefined, places.slice(start));
  } else forwardWithoutGraph(traced({ 'batch.micro': samples }), cached(0), sharding, markPrompt);
  const layer = layerCacheBytes(model, samples, prompt + fresh, width) / 2;
  post(last, 'activations', layer, {
    name: say('keys of one layer, concatenated anew'),
    formula: tokensWords(samples, prompt + fresh, width),
  });
  const scores = width + (beams > 1 ? 3 : 1) * ELEMENT_BYTES.fp32;
  post(last, 'logits-and-loss', samples * model.vocabulary * scores, {
    name: say('logits of the last token'),
    formula: say(
      '{0} {0|sample|samples} × {1} × {2} B',
      String(samples),
      String(model.vocabulary),
      String(scores),
    ),
  });
  mark(say('generation, last token'), last);
}
