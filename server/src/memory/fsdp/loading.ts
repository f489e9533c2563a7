import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import { ACCELERATE, fileIn, PYTORCH } from '../../sources/repositories';
import { QUANTIZED_WHILE_LOADED } from '../../terms/quantizations';
import { say } from '../../wording/say';
import { elementsWords } from '../formula-words';
import { bytesOf, combine, totalOf } from '../ledger';
import { type BeforeSteps, type Loading, type LoadingMoment, marked } from '../sharding-scheme';
import type { TracedStage } from '../traced-run';
import { bytesPer, type WeightSums } from '../weights';
import { largestUnit } from './units';

/** FSDP's loading: the first process of a node reads for all (`cpu_ram_efficient_loading`, on by default in Accelerate). */
export function fsdpLoading(run: TrainingRun, sums: WeightSums, stages: readonly TracedStage[]): Loading {
  const second = run['parallel.data'] === 'fsdp2';
  return {
    moments: (before) => sharding(run, sums, stages, before),
    readsOnce: true,
    host: second ? [{ label: 'trained weights cast to fp32', bytes: upcastBytes(run, sums) }] : [],
    wrapsUnits: !second,
  };
}

/**
 * FSDP moves and shards one unit after the other, layers before the root. FSDP1 concatenates the unit's weights, which are
 * on the GPU by then, into a flat one (`_flat_param.py`, `flatten_tensors_into_flat_param`): the unit is there twice.
 * FSDP2 shards weight by weight (`_fsdp_param.py`, `_init_sharded_param`): once. With the whole model on the GPU already,
 * the first unit's copies come on top of it; where its state dictionary is named all the while, at last all shards do.
 */
function sharding(
  run: TrainingRun,
  sums: WeightSums,
  stages: readonly TracedStage[],
  { constant, weights }: BeforeSteps,
): LoadingMoment[] {
  const copies = run['parallel.data'] === 'fsdp2' ? 1 : 2;
  const width = bytesPer(run['precision.weights']);
  const whole = (sums.trained + sums.frozen) * width;
  const unit = largestUnit(run, stages, width);
  const source = fileIn(PYTORCH, 'torch/distributed/fsdp');
  const resting = combine(constant, weights);
  if (liesOnGpu(run)) {
    // What is sharded gives its whole weights back, so the first unit is the worst: no shard is there yet.
    const stays = run['parallel.data'] === 'fsdp2' && behaviours(run).namesWholeWhileSharding;
    const shards = stays ? 0 : totalOf(weights) - bytesOf(weights, 'reference-model');
    const bytes = whole + sums.quantizedBytes + (copies - 1) * unit - shards;
    return marked(say('whole model before it is sharded'), resting, 'weights', bytes, {
      name: stays
        ? say('whole model, named until it is sharded')
        : say('whole model before it is sharded, less its shards'),
      formula: elementsWords(sums.trained + sums.frozen, width),
      source: stays ? fileIn(ACCELERATE, 'src/accelerate/utils/fsdp_utils.py') : source,
    });
  }
  return marked(say('a unit is sharded'), resting, 'gathered-parameters', copies * unit, {
    name: copies > 1 ? say('a unit and its flat copy') : say('a unit, whole'),
    formula: `${copies > 1 ? '2 x ' : ''}${elementsWords(unit / width, width)}`,
    source,
  });
}

/**
 * Whether each GPU has the whole model before FSDP shards it. bitsandbytes quantizes on the GPU, where weights stay unless only one
 * process reads for all: then they go back to the host (`modeling_utils.py` of transformers 4.57,
 * `_load_state_dict_into_meta_model`, `is_fsdp_enabled`).
 */
export function liesOnGpu(run: TrainingRun): boolean {
  if (run['loading.placement'] !== undefined) return run['loading.placement'] === 'gpu';
  const everyProcess = run['loading.hostCopies'] === 'every-process';
  return (
    everyProcess && QUANTIZED_WHILE_LOADED.has(run['quantization.kind']) && behaviours(run).fillsWeightsOnHost
  );
}

/**
 * Accelerate casts trained weights to fp32 before FSDP2 shards them, on the host and in every process, those that hold none
 * of the checkpoint too (`fsdp_utils.py`, `fsdp2_prepare_model`). Bytes of one process.
 */
function upcastBytes(run: TrainingRun, sums: WeightSums): number {
  const { castsWhenGathered, upcastsBeforeSharding } = behaviours(run);
  const casts = run['precision.weights'] !== 'fp32' && run['precision.masterWeights'] === 'fp32';
  const onHost = (run['loading.placement'] ?? 'host') === 'host' && run['loading.hostCopies'] !== 'none';
  if (!castsWhenGathered || !casts || !onHost || !upcastsBeforeSharding) return 0;
  return run['quantization.kind'] === 'none' ? 4 * sums.trained : 0;
}
