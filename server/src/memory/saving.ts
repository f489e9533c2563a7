import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { DEEPSPEED, fileIn, PYTORCH } from '../sources/repositories';
import { say } from '../wording/say';
import { bytesWords, elementsWords } from './formula-words';
import { largestUnit } from './initialization';
import { combine, type Ledger, post, totalOf } from './ledger';
import { shardGroupSize } from './sharding';
import type { Sharding } from './sharding-scheme';
import type { Point } from './step';
import type { TracedStage } from './traced-run';
import { bytesPer, type WeightSums } from './weights';

const FSDP = fileIn(PYTORCH, 'torch/distributed/fsdp/_state_dict_utils.py');
const STATE_DICT = fileIn(PYTORCH, 'torch/distributed/_state_dict_utils.py');
const ENGINE = fileIn(DEEPSPEED, 'deepspeed/runtime/engine.py');

export interface Saved {
  readonly run: TrainingRun;
  readonly sums: WeightSums;
  readonly stages: readonly TracedStage[];
  readonly sharding: Sharding;
  readonly constant: Ledger;
}

/** Bytes per element of FSDP's shards, which is what its state dicts are made of (`_unshard_fsdp_state_params`). */
export function shardWidth(run: TrainingRun): number {
  return bytesPer(
    behaviours(run).castsWhenGathered ? run['precision.masterWeights'] : run['precision.weights'],
  );
}

/**
 * What a GPU holds at most while a checkpoint is saved between two steps, where the run states how it saves. Replicas and
 * ZeRO 1 and 2 copy from where the weights lie; nothing is made on the GPU.
 */
export function savingPoints(saved: Saved): Point[] {
  const { run, sharding, constant } = saved;
  if (run['saving.weights'] === 'none') return [];
  const ledger = combine(sharding.atRest, constant);
  const { bytes, label, formula, source } = gathered(saved);
  if (bytes > 0) post(ledger, 'gathered-parameters', bytes, { name: label, formula, source });
  return [{ moment: 'saving', label, ledger, bytes: totalOf(ledger) }];
}

interface Gathered {
  readonly bytes: number;
  readonly label: string;
  readonly formula: string;
  readonly source?: string;
}

/** Nothing is made on the GPU. */
const inPlace = (): Gathered => ({
  bytes: 0,
  label: say('weights are copied from where they lie'),
  formula: bytesWords(0),
});

function gathered(saved: Saved): Gathered {
  const { run, sums, sharding } = saved;
  switch (sharding.saving) {
    case 'by-module': {
      if (run['saving.weights'] !== 'full') return inPlace();
      // `_zero3_consolidated_16bit_state_dict`: one module at a time, moved to the host before the next.
      const width = bytesPer(run['precision.compute']);
      return {
        bytes: sums.largest * width,
        label: say('a module is gathered for rank 0'),
        formula: elementsWords(sums.largest, width),
        source: ENGINE,
      };
    }
    case 'by-unit':
    case 'by-weight':
      return fsdp(saved);
    case 'cloned':
    case undefined:
      return inPlace();
  }
}

/**
 * A full state dict without `offload_to_cpu` is the whole model on every GPU. With it, FSDP1 gathers a unit at a time
 * (`_common_unshard_pre_state_dict_hook`), FSDP2 a weight at a time (`_gather_state_dict`). FSDP1 gathers its units for
 * sharded state dicts too, and keeps new shards of all of them (`_sharded_pre_state_dict_hook`); FSDP2 hands its own out.
 */
function fsdp({ run, sums, stages, sharding }: Saved): Gathered {
  const first = sharding.saving === 'by-unit';
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
  if (first) {
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
  if (!full) return inPlace();
  return {
    bytes: sums.largest * width,
    label: say('a weight is gathered for rank 0'),
    formula: elementsWords(sums.largest, width),
    source: STATE_DICT,
  };
}
