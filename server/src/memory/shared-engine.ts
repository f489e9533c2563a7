import type { Model } from '../model/model';
import type { TrainingRun } from '../run/fields';
import { fileIn, UNSLOTH_ZOO } from '../sources/repositories';
import { say } from '../wording/say';
import { bytesOf, emptyLedger, type Ledger, post } from './ledger';
import type { WeightSums } from './weights';

const GIB = 2 ** 30;
const SOURCE = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/vllm_utils.py');

/** Whether an engine of this process generates with the weights that are trained. */
export function sharesWeights(run: TrainingRun): boolean {
  return run['rollout.engine'] === 'vllm-colocate' && run['rollout.sharesWeights'];
}

/** Graphs that vLLM captures, and bytes of each per layer and element of the hidden state (`approximate_vllm_memory_usage`). */
const GRAPHS = { count: 172, bytes: 4, least: 0.15 * GIB, most: GIB };

/** vLLM logs of them: "CUDA graphs can take additional 1~3 GiB memory per GPU" (`worker/model_runner.py` of 0.6.4). */
export const MOST_OF_GRAPHS = 3 * GIB;

/** Bytes of the captured CUDA graphs, which come on top of the share of vLLM: as Unsloth estimates them. */
export function graphBytes({ hiddenSize, layers }: Pick<Model, 'hiddenSize' | 'layers'>): number {
  const each = hiddenSize * layers * GRAPHS.bytes;
  return Math.min(GRAPHS.most, Math.max(GRAPHS.least, GRAPHS.count * each));
}

/**
 * Bytes of vLLM's share beside the weights: it fills what it may have with keys and values once it is started. The share is one of what
 * was free then (`get_mem_info`), so of what the GPU offers to the allocator. `available`: bytes of that; `atRest`: what training holds.
 */
export function keyValueShare(run: TrainingRun, available: number, atRest: Ledger): number {
  const weights = bytesOf(atRest, 'weights') + bytesOf(atRest, 'quantized-weights');
  return Math.max(0, run['hardware.reservedFraction'] * available - weights);
}

/**
 * What an engine that shares the weights holds while the model trains, bytes of a GPU: its graphs; its keys and values, or, where it
 * sleeps, the adapters' 16-bit copy in its buffers, which it loads with the weights and keeps (`MemAllocator.sleep`).
 */
export function sharedEngine(
  run: TrainingRun,
  model: Pick<Model, 'hiddenSize' | 'layers'>,
  sums: Pick<WeightSums, 'adapters'>,
  available: number,
  atRest: Ledger,
): Ledger {
  const ledger = emptyLedger();
  if (!sharesWeights(run)) return ledger;
  post(ledger, 'reserved-for-others', graphBytes(model), {
    name: say("vLLM's CUDA graphs"),
    formula: say('172 graphs × hidden size × layers × 4 B, at least 0.15 and at most 1 GiB'),
    source: SOURCE,
  });
  if (run['rollout.sleep'])
    post(ledger, 'reserved-for-others', 2 * sums.adapters, {
      name: say("adapters in vLLM's buffers"),
      formula: say('elements of the adapters × 2 B'),
      source: SOURCE,
    });
  else
    post(ledger, 'reserved-for-others', keyValueShare(run, available, atRest), {
      name: say("vLLM's keys and values"),
      formula: say(
        '{0} % of what is free before vLLM starts, less the weights',
        Math.round(run['hardware.reservedFraction'] * 100),
      ),
      source: SOURCE,
    });
  return ledger;
}
