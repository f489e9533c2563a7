import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import { DEEPSPEED, fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import { elementsWords } from '../formula-words';
import { combine, totalOf } from '../ledger';
import {
  type BeforeSteps,
  type Loading,
  type LoadingMoment,
  marked,
  shardGroupSize,
} from '../sharding-scheme';
import { bytesPer, type WeightSums } from '../weights';

/**
 * Stages 1 and 2 copy the trained weights into one flat buffer while the originals live: on the GPU since DeepSpeed
 * 0.18.7 where the buffer still fits, else on the host, in every process (`stage_1_and_2.py`, `flatten_on_accelerator`).
 */
export function flattening(run: TrainingRun, sums: WeightSums): Loading {
  const width = bytesPer(run['precision.compute']);
  const flat = sums.trained * width;
  const onGpu = behaviours(run).flattensOnGpu;
  return {
    moments: ({ constant, weights, available }) =>
      !onGpu || totalOf(constant) + totalOf(weights) + flat > available
        ? []
        : marked(
            say('weights are flattened'),
            combine(constant, weights),
            'weights',
            flat,
            {
              name: say('flat copy of the trained weights'),
              formula: elementsWords(sums.trained, width),
              source: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/stage_1_and_2.py'),
            },
            true,
          ),
    readsOnce: false,
    host: onGpu ? [] : [{ label: 'weights and their flat copy', bytes: 2 * flat }],
  };
}

/**
 * Weights never are whole at one place: `zero.Init`, or built on the meta device. Stage 3's integrations arrange that, but not for weights that
 * are quantized as they are loaded (transformers `modeling_utils.py`, `needs_zero3_init`), which the engine moves to every GPU.
 */
function loadsPartitioned(run: TrainingRun, sums: WeightSums): boolean {
  return sums.quantized === 0 && (run['loading.placement'] ?? 'partitioned') === 'partitioned';
}

/**
 * Stage 3. With `zero.Init` a module's weights are whole while they are made or filled (`partition_parameters.py`,
 * `GatheredParameters`), and only rank 0 reads them (transformers `modeling_utils.py`, `map_location`); without it the
 * engine moves the whole model to every GPU first (`engine.py`, `_configure_distributed_model`) and then partitions weight
 * by weight.
 */
export function partitioning(run: TrainingRun, sums: WeightSums): Loading {
  const partitioned = loadsPartitioned(run, sums);
  return {
    moments: (before) => (partitioned ? filled(run, sums, before) : split(run, sums, before)),
    readsOnce: partitioned,
    makesParts: partitioned,
    host: [],
  };
}

function filled(run: TrainingRun, sums: WeightSums, { constant, weights }: BeforeSteps): LoadingMoment[] {
  const width = bytesPer(run['precision.compute']);
  const label = say('weights are filled one module at a time');
  return marked(label, combine(constant, weights), 'gathered-parameters', sums.largest * width, {
    name: say('largest weight, whole'),
    formula: elementsWords(sums.largest, width),
    source: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/partition_parameters.py'),
  });
}

function split(run: TrainingRun, sums: WeightSums, { constant }: BeforeSteps): LoadingMoment[] {
  const width = bytesPer(run['precision.compute']);
  const whole = (sums.trained + sums.frozen) * width + sums.quantizedBytes;
  const bytes = whole + (sums.largest * width) / shardGroupSize(run);
  return marked(say('whole model on every GPU before it is partitioned'), constant, 'weights', bytes, {
    name: say('whole model before it is partitioned'),
    formula: elementsWords(sums.trained + sums.frozen, width),
    source: fileIn(DEEPSPEED, 'deepspeed/runtime/engine.py'),
  });
}
