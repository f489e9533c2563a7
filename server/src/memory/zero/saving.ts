import type { TrainingRun } from '../../run/fields';
import { DEEPSPEED, fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import { elementsWords } from '../formula-words';
import type { Saving } from '../sharding-scheme';
import { bytesPer, type WeightSums } from '../weights';

function wholeBytes(run: TrainingRun, sums: WeightSums): number {
  return (sums.trained + sums.frozen) * bytesPer(run['precision.compute']);
}

/** Every process clones its weights on the host (`accelerator.py`, `get_state_dict`, `clone_tensors_for_torch_save`). */
export function cloning(run: TrainingRun, sums: WeightSums): Saving {
  const processes = run['hardware.gpus'] / run['hardware.nodes'];
  return { host: [{ label: 'whole model to be saved', bytes: wholeBytes(run, sums) * processes }] };
}

/** Stage 3: one module at a time, moved to the host of rank 0 before the next (`_zero3_consolidated_16bit_state_dict`). */
export function consolidating(run: TrainingRun, sums: WeightSums): Saving {
  const width = bytesPer(run['precision.compute']);
  return {
    gathered:
      run['saving.weights'] === 'full'
        ? {
            bytes: sums.largest * width,
            label: say('a module is gathered for rank 0'),
            formula: elementsWords(sums.largest, width),
            source: fileIn(DEEPSPEED, 'deepspeed/runtime/engine.py'),
          }
        : undefined,
    host: [{ label: 'whole model to be saved', bytes: wholeBytes(run, sums) }],
  };
}
