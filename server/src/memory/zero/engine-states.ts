import type { TrainingRun } from '../../run/fields';
import { type Ledger, post } from '../ledger';
import { stateBytes } from '../optimizers';
import { ledger, postStates, referenceBytes } from '../sharding-scheme';
import { allStepped, bytesPer, type WeightSums } from '../weights';

/** Bytes per element of the engine's weights. */
export function engineWidth(run: TrainingRun): number {
  return bytesPer(run['precision.compute']);
}

/**
 * Bytes per element of gradients while they are reduced. Where DeepSpeed knows that ranks share samples its own type counts, fp32 unless
 * `seq_parallel_communication_data_type` states another (`engine.py`), and stages 1 and 2 take fp32 whatever it states (`allreduce_bucket`).
 */
export function sentWidth(run: TrainingRun): number {
  const shared = run['parallel.ulysses'] > 1 ? run['zero.sequenceReduce'] : 'none';
  if (shared === 'none') return bytesPer(run['precision.reduce'] ?? run['precision.compute']);
  return bytesPer(run['zero.stage'] % 3 === 0 ? shared : 'fp32');
}

/** Bytes per element of a copy in the type of the reduction, where that is another (`stage_1_and_2.py`, `allreduce_bucket`; `stage3.py`, `__avg_scatter_grads`). */
export function sentCast(run: TrainingRun): number {
  const sent = sentWidth(run);
  return sent === engineWidth(run) ? 0 : sent;
}

/** Bytes per element that the optimizer steps: fp32 masters, which 32-bit weights need from stage 1 on alone. */
export function stepWidth(run: TrainingRun): number {
  return hasMasters(run) ? bytesPer(run['precision.masterWeights']) : engineWidth(run);
}

function hasMasters(run: TrainingRun): boolean {
  return engineWidth(run) < 4 || run['zero.stage'] > 0;
}

/** Share of the masters and states that lies elsewhere; stage 3 alone may split them (`offload_optimizer.ratio`). */
export function offloadedShare(run: TrainingRun): number {
  if (run['offload.optimizer'] === 'none') return 0;
  return run['zero.stage'] === 3 ? run['offload.optimizerRatio'] : 1;
}

/** Whole weights on every GPU, as stages 0 to 2 hold them. Bytes per GPU. */
export function wholeWeights(run: TrainingRun, sums: WeightSums): Ledger {
  return ledger(
    ['quantized-weights', sums.quantizedBytes],
    ['weights', engineWidth(run) * (sums.trained + sums.frozen)],
    ['reference-model', referenceBytes(run, sums, 1)],
  );
}

/** Posts masters and states of the elements that this GPU steps, as far as they lie on it. */
export function postStepped(atRest: Ledger, run: TrainingRun, sums: WeightSums, elements: number): void {
  const onGpu = elements * (1 - offloadedShare(run));
  if (hasMasters(run)) post(atRest, 'master-weights', onGpu * bytesPer(run['precision.masterWeights']));
  postStates(atRest, run, onGpu, stepWidth(run), allStepped(sums));
}

/**
 * What the host keeps of the elements that each of a node's GPUs steps, with the elements of gradients that pass through a
 * buffer there. Bytes per node.
 */
export function hostStates(
  run: TrainingRun,
  sums: WeightSums,
  elements: number,
  staged = 0,
): { label: string; bytes: number }[] {
  const perNode = run['hardware.gpus'] / run['hardware.nodes'];
  const width = engineWidth(run);
  const master = bytesPer(run['precision.masterWeights']);
  switch (run['offload.optimizer']) {
    case 'none':
      return [];
    case 'cpu': {
      const away = elements * offloadedShare(run) * perNode;
      return [
        { label: 'master weights', bytes: away * master },
        { label: 'optimizer states', bytes: away * stateBytes(run, stepWidth(run), allStepped(sums)) },
        { label: 'gradients', bytes: away * 4 + staged * width * perNode },
        { label: 'staging of updated weights', bytes: away * width },
      ];
    }
    default: {
      const buffer = Math.min(elements, run['zero.subGroup']) * master;
      return [
        { label: 'NVMe buffers of the optimizer', bytes: run['offload.optimizerBuffers'] * buffer * perNode },
        // `stage3.py`, `grad_partitions_flat_buffer`, lies where the optimizer does.
        { label: 'gradients', bytes: elements * width * perNode },
      ];
    }
  }
}
