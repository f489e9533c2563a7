import type { TrainingRun } from '../run/fields';
import { compiledInOnePiece } from './cheap';
import { emptyLedger, post } from './ledger';
import { stateBytes } from './optimizers';
import { dataParallelSize, ledger, NONE, type Sharding } from './sharding-scheme';
import { largestShare } from './variable-split';
import { bytesPer, type WeightSums } from './weights';

/**
 * Replicas under Horovod in TensorFlow. Variables are fp32 on every GPU. ZeRO stages split by whole variables: 1 the
 * optimizer's, 2 the accumulated gradients too.
 *
 * - Mixed precision multiplies casts of the variables, which the tape holds; a cast has no input but the variable.
 * - So have `beta_1 * m`, `beta_2 * v` and `weight_decay_rate * param` of an optimizer that is written in operators
 *   (google-research/bert, `optimization.py`): the executor runs an operator as soon as its inputs are there, so they lie
 *   beside the activations until the gradients come. A fused optimizer has none of them.
 * - Horovod gathers gradients in a fusion buffer and gives back new tensors (`horovod/tensorflow/mpi_ops.cc`,
 *   `allocate_output`); compressed ones are cast before and after (`compression.py`).
 * - XLA allocates all results of a compiled piece when it starts (`gpu_executable.cc`, `GenerateBufferAllocations`).
 */
export function horovod(run: TrainingRun, sums: WeightSums): Sharding {
  const ranks = dataParallelSize(run);
  const stage = run['zero.stage'];
  const { trained } = sums;
  const variableBytes = bytesPer(run['precision.weights']);
  const share = stage > 0 && ranks > 1 ? largestShare(sums.stepped, ranks, run) : trained;
  const owned = Math.min(trained, share);
  const atRest = ledger(
    ['weights', (trained + sums.frozen) * variableBytes],
    ['optimizer-states', owned * stateBytes(run, variableBytes, sums.stepped)],
  );
  if (ranks > 1) post(atRest, 'communication-buffers', run['parallel.fusionBuffer']);
  const accumulating = run['batch.accumulation'] > 1;
  const accumulator =
    (stage >= 2 ? owned : trained) *
    bytesPer(run['precision.gradientAccumulation'] ?? run['precision.weights']);
  if (accumulating) post(atRest, 'gradients', accumulator);
  const fused = run['optimizer.implementation'] === 'fused';
  const early = fused ? 0 : owned * (stateBytes(run, variableBytes, sums.stepped) + variableBytes);
  const gradient = trained * variableBytes;
  const whole = compiledInOnePiece(run);
  const atStep = emptyLedger();
  // Accumulated or sent on at once, a gradient does not wait for the others.
  if (!accumulating && stage < 2) post(atStep, 'gradients', gradient);
  if (ranks > 1 && !accumulating && stage < 2) {
    const reduced = run['precision.reduce'];
    const compressed = reduced !== undefined && reduced !== run['precision.weights'];
    const sent = !compressed ? 0 : 2 * trained * bytesPer(reduced);
    post(atStep, 'communication-buffers', sent + gradient);
  }
  const passes = accumulating || stage >= 2;
  return {
    atRest,
    throughout: ledger(['optimizer-transients', early]),
    duringBackward: NONE,
    gradientsBefore: whole && !passes ? ledger(['gradients', gradient]) : NONE,
    gradientsAtStep: atStep,
    duringStep: ledger(['optimizer-transients', early]),
    gradients: passes || whole ? 'pass' : 'keep',
    shardAfterStage: false,
    gradientShardBytes: 0,
    stageForward: () => NONE,
    stageBackward: () => NONE,
    host: [],
  };
}
