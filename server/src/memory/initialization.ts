import { isQuantizedBefore } from '../model/quantized-checkpoints';
import type { Weight } from '../model/tape';
import { CATEGORIES } from '../results/estimate';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { fileIn, PEFT, TRANSFORMERS, UNSLOTH } from '../sources/repositories';
import { QUANTIZED_BEFORE_LOADED, QUANTIZED_WHILE_LOADED } from '../terms/quantizations';
import { say } from '../wording/say';
import { elementsWords } from './formula-words';
import { liesOnGpu } from './fsdp/loading';
import { bytesOf, combine, copyOf, type Ledger, post, retell, totalOf } from './ledger';
import { beforeLaterModels } from './other-models';
import { type LoadingMoment, marked, residentBytes, type Sharding } from './sharding-scheme';
import type { Point } from './step';
import type { TracedStage } from './traced-run';
import { bytesPer, ownWeights, type WeightSums } from './weights';

/** What of a resting GPU is there before the first step: all that holds weights, nothing of the optimizer. */
const WEIGHTS = ['weights', 'quantized-weights', 'adapters', 'reference-model'] as const;

export interface Loaded {
  readonly run: TrainingRun;
  readonly sums: WeightSums;
  readonly stages: readonly TracedStage[];
  readonly sharding: Sharding;
  /** What lasts the whole run whatever the scheme. */
  readonly constant: Ledger;
  /** Bytes that the GPU offers to the allocator. */
  readonly available: number;
}

/**
 * What a GPU holds at most while weights are loaded, moved and sharded, before the first step: the events of the scheme
 * (`Sharding.loading`) and of quantization. Optimizer states come with the first step, which steady state covers. The last
 * point is the loaded model at rest.
 */
export function initializationPoints(loaded: Loaded): Point[] {
  const { run, sharding, available } = loaded;
  const constant = beforeLaterModels(loaded.constant, run);
  const weights = weightsOf(sharding);
  const resting = combine(constant, weights);
  const events: readonly LoadingMoment[] = [
    ...(sharding.loading?.moments({ constant, weights, available }) ?? []),
    ...quantizing(loaded, resting),
    ...beforeHalving(loaded, resting),
    ...beforeHosting(loaded, resting),
    { label: say('weights in place'), ledger: resting },
  ];
  return events.map(({ label, ledger, yields }) => ({
    moment: 'initialization',
    label,
    ledger,
    bytes: totalOf(ledger),
    yields,
  }));
}

/** The part of a resting GPU that holds weights. */
function weightsOf(sharding: Sharding): Ledger {
  const weights = copyOf(sharding.atRest);
  for (const category of CATEGORIES) {
    if (WEIGHTS.some((weight) => weight === category)) continue;
    post(weights, category, -bytesOf(weights, category));
    retell(weights, category, []);
  }
  return weights;
}

/** Whether the checkpoint holds quantized weights, which are loaded as they lie (`Bnb4bitDeserialize`). */
function isLoadedQuantized(run: TrainingRun): boolean {
  return (
    QUANTIZED_BEFORE_LOADED.has(run['quantization.kind']) ||
    run['quantization.partial'] ||
    run['quantization.checkpointBytes'] !== undefined ||
    isQuantizedBefore(run['model.id'] ?? '')
  );
}

/** Elements of a weight that are quantized at once: of experts one, where each has layers of its own. */
function quantizedAtOnce(run: TrainingRun, { localElements, expert, elements, shape }: Weight): number {
  const stacked = behaviours(run).stacksExperts && run['model.linearExperts'] !== true;
  const experts = expert && !stacked ? ((shape[0] ?? 1) * localElements) / elements : 1;
  return localElements / Math.max(1, Math.round(experts));
}

/**
 * bitsandbytes quantizes a weight on the GPU while its 16-bit original lives there, a layer at a time; PEFT then casts what stays
 * unquantized to fp32 one weight at a time (`peft/utils/other.py`, `prepare_model_for_kbit_training`), old and new side by
 * side, and adds adapters last.
 */
function quantizing({ run, sums, stages, sharding }: Loaded, resting: Ledger): LoadingMoment[] {
  if (run['quantization.kind'] === 'none') return [];
  const published = Math.min(2, bytesPer(run['precision.weights']));
  const prepared = run['quantization.prepared'];
  let packed = 0;
  let plain = 0;
  for (const traced of stages) {
    for (const weight of ownWeights(traced)) {
      if (weight.quantization !== 'none') packed = Math.max(packed, quantizedAtOnce(run, weight));
      else if (weight.role !== 'adapter') plain = Math.max(plain, weight.localElements);
    }
  }
  const adapters = bytesOf(sharding.atRest, 'adapters');
  const unquantized = sums.trained - sums.adapters + sums.frozen;
  const before = combine(resting);
  post(before, 'adapters', -adapters);
  const cast = prepared
    ? marked(say('a weight is cast to fp32'), before, 'weights', plain * published, {
        name: say('a weight in its published type'),
        formula: elementsWords(plain, published),
        source: fileIn(PEFT, 'src/peft/utils/other.py'),
      })
    : [];
  if (prepared) post(before, 'weights', -Math.min(bytesOf(before, 'weights'), unquantized * (4 - published)));
  if (isLoadedQuantized(run)) return cast;
  return [
    ...cast,
    ...marked(say('a weight is quantized'), before, 'weights', packed * published, {
      name: say('a weight in its published type'),
      formula: elementsWords(packed, published),
      source: fileIn(TRANSFORMERS, 'src/transformers/integrations/bitsandbytes.py'),
    }),
  ];
}

/**
 * The most that a GPU holds where threads read weights ahead of being quantized: all of them as they are published, and none
 * quantized yet (`core_model_loading.py`, `spawn_materialize`). How far the threads come, the disk decides.
 */
export function readAheadBytes({
  run,
  stages,
  sharding,
}: Pick<Loaded, 'run' | 'stages' | 'sharding'>): number {
  const ahead = run['loading.readsAhead'] ?? behaviours(run).readsAheadOfQuantizing;
  if (!ahead || !QUANTIZED_WHILE_LOADED.has(run['quantization.kind']) || isLoadedQuantized(run)) return 0;
  if (sharding.splits.weights > 1 && !liesOnGpu(run)) return 0;
  const published = Math.min(2, bytesPer(run['precision.weights']));
  let elements = 0;
  for (const traced of stages) {
    for (const weight of ownWeights(traced))
      if (weight.role !== 'adapter') elements += traced.copies * weight.localElements;
  }
  return elements * published;
}

/** Modules that become fp16 were loaded in fp32, before there were adapters (`vision.py`, `custom_datatype`). */
function beforeHalving({ run, sums, sharding }: Loaded, resting: Ledger): LoadingMoment[] {
  if (run['precision.halfModules'].length === 0) return [];
  const before = beforeAdapters(sharding, resting);
  return marked(say('all weights are in fp32'), before, 'weights', 2 * sums.lowered, {
    name: say('weights that become fp16'),
    formula: elementsWords(sums.lowered, 2),
    source: fileIn(UNSLOTH, 'unsloth/models/vision.py'),
  });
}

/** What rests on a GPU, while there are no adapters yet. */
function beforeAdapters(sharding: Sharding, resting: Ledger): Ledger {
  const before = combine(resting);
  post(before, 'adapters', -bytesOf(sharding.atRest, 'adapters'));
  retell(before, 'adapters', []);
  return before;
}

/**
 * An embedding that stays in host memory comes there from the GPU, once the model is loaded and before it has adapters
 * (`vision.py`, `offload_input_embedding`).
 */
function beforeHosting({ run, sums, sharding }: Loaded, resting: Ledger): LoadingMoment[] {
  const width = residentBytes(run);
  const before = beforeAdapters(sharding, resting);
  return marked(say('the embedding goes to the host'), before, 'weights', sums.hosted * width, {
    name: say('the embedding, before it goes to the host'),
    formula: elementsWords(sums.hosted, width),
    source: fileIn(UNSLOTH, 'unsloth/models/vision.py'),
  });
}
