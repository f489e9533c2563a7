import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import { fileIn, PYTORCH } from '../../sources/repositories';
import { say } from '../../wording/say';
import { elementsWords } from '../formula-words';
import { stateBytes } from '../optimizers';
import { type Saving, shardGroupSize } from '../sharding-scheme';
import type { TracedStage } from '../traced-run';
import { allStepped, bytesPer, type WeightSums } from '../weights';
import { largestUnit } from './units';

const FSDP = fileIn(PYTORCH, 'torch/distributed/fsdp/_state_dict_utils.py');
const STATE_DICT = fileIn(PYTORCH, 'torch/distributed/_state_dict_utils.py');

/** Bytes per element of FSDP's shards, which is what its state dicts are made of (`_unshard_fsdp_state_params`). */
function shardWidth(run: TrainingRun): number {
  return bytesPer(
    behaviours(run).castsWhenGathered ? run['precision.masterWeights'] : run['precision.weights'],
  );
}

/** FSDP's saving: on the host, all of it on rank 0 where it is offloaded. */
export function fsdpSaving(run: TrainingRun, sums: WeightSums, stages: readonly TracedStage[]): Saving {
  const width = shardWidth(run);
  const states = run['saving.optimizer'] ? sums.trained * stateBytes(run, width, allStepped(sums)) : 0;
  return {
    gathered: gathered(run, sums, stages),
    host: run['saving.hostOffload']
      ? [
          { label: 'whole model to be saved', bytes: (sums.trained + sums.frozen) * width },
          { label: 'all optimizer states to be saved', bytes: states },
        ]
      : [],
  };
}

/**
 * A full state dict without `offload_to_cpu` is the whole model on every GPU. With it, FSDP1 gathers a unit at a time
 * (`_common_unshard_pre_state_dict_hook`), FSDP2 a weight at a time (`_gather_state_dict`). FSDP1 gathers its units for
 * sharded state dicts too, and keeps new shards of all of them (`_sharded_pre_state_dict_hook`); FSDP2 hands its own out.
 */
function gathered(run: TrainingRun, sums: WeightSums, stages: readonly TracedStage[]): Saving['gathered'] {
  const width = shardWidth(run);
  const elements = sums.trained + sums.frozen;
  const full = run['saving.weights'] === 'full';
  if (full && !run['saving.hostOffload'])
    return {
      bytes: elements * width + sums.quantizedBytes,
      label: say('the whole model is gathered on every GPU'),
      formula: elementsWords(elements, width),
      source: FSDP,
    };
  const unit = largestUnit(run, stages, width);
  if (run['parallel.data'] === 'fsdp1') {
    const shards = full ? 0 : (elements * width) / shardGroupSize(run);
    return {
      bytes: unit + shards,
      label: say('a unit is gathered'),
      formula: full
        ? elementsWords(unit / width, width)
        : say('{0} and shards of all', elementsWords(unit / width, width)),
      source: FSDP,
    };
  }
  if (!full) return undefined;
  return {
    bytes: sums.largest * width,
    label: say('a weight is gathered for rank 0'),
    formula: elementsWords(sums.largest, width),
    source: STATE_DICT,
  };
}
