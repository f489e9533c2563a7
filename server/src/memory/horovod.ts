import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import { compiledInOnePiece } from './cheap';
import { emptyLedger, post } from './ledger';
import { stateBytes } from './optimizers';
import {
  dataParallelSize,
  ledger,
  NONE,
  REPLICAS,
  residentBytes,
  type Sharding,
  UNSPLIT,
  unplanned,
} from './sharding-scheme';
import { SOURCES } from './sources';
import { largestShare } from './variable-split';
import { bytesPer, type WeightSums } from './weights';

/**
 * Replicas under Horovod in TensorFlow. ZeRO stages split by whole variables: 1 the optimizer's, 2 the accumulated
 * gradients too.
 *
 * - Mixed precision (`autocast`) multiplies casts of fp32 variables, which the tape holds; a cast has no input but the
 *   variable. Where variables are fp16 themselves (`apex-o2`), the optimizer steps an fp32 shadow of each
 *   (`optimization.py` of NVIDIA's BERT, `has_shadow`), which belongs to its states and is split with them.
 * - So have `beta_1 * m`, `beta_2 * v` and `weight_decay_rate * param` of an optimizer that is written in operators
 *   (google-research/bert, `optimization.py`): the executor runs an operator as soon as its inputs are there, so they lie
 *   beside the activations until the gradients come. A fused optimizer has none of them.
 * - Who steps a variable sends it to the others by a broadcast. On those its input is the variable, there from the
 *   beginning, and its output is allocated at once (`HorovodBroadcastOp::ComputeAsync` in `horovod/tensorflow/mpi_ops.cc`):
 *   a second copy of every variable that another GPU steps.
 * - Accumulators are reset by `assign(zeros_like(accumulator))` (OpenNMT-tf, `optimizers/utils.py`, and most code of its
 *   kind): the zeros, too, are there from the beginning of the step, as large as what they reset.
 * - Horovod gathers gradients in a fusion buffer and gives back new tensors (`horovod/tensorflow/mpi_ops.cc`,
 *   `allocate_output`); compressed ones are cast before and after (`compression.py`).
 * - XLA allocates all results of a compiled piece when it starts (`gpu_executable.cc`, `GenerateBufferAllocations`).
 */
export function horovod(run: TrainingRun, sums: WeightSums): Sharding {
  const ranks = dataParallelSize(run);
  const stage = run['zero.stage'];
  const { trained } = sums;
  const shadows = behaviours(run).copiesLoweredWeights;
  const variableBytes = residentBytes(run);
  const stepBytes = shadows ? bytesPer('fp32') : variableBytes;
  const states = stateBytes(run, stepBytes, sums.stepped);
  const share = stage > 0 && ranks > 1 ? largestShare(sums.stepped, ranks, run) : trained;
  const owned = Math.min(trained, share);
  const atRest = ledger(
    ['weights', (trained + sums.frozen) * variableBytes],
    ['master-weights', shadows ? owned * stepBytes : 0],
    ['optimizer-states', owned * states],
  );
  if (ranks > 1) post(atRest, 'communication-buffers', run['parallel.fusionBuffer']);
  const accumulating = run['batch.accumulation'] > 1;
  const summed = stage >= 2 ? owned : trained;
  const accumulator = summed * accumulatorBytes(run, variableBytes);
  if (accumulating) {
    post(atRest, 'gradients', accumulator, {
      name: say('accumulated gradients'),
      formula: `${accumulatorBytes(run, variableBytes)} B × ${formatInteger(Math.round(summed))}`,
      source: SOURCES.accumulatorReset,
    });
  }
  const fused = run['optimizer.implementation'] === 'fused';
  const early = ledger(['optimizer-transients', fused ? 0 : owned * (states + stepBytes)]);
  post(early, 'communication-buffers', (trained - owned) * variableBytes, {
    name: say('variables that other GPUs step'),
    formula: say(
      "{0} B × {1} {1|parameter|parameters}: the broadcast's outputs are allocated when the step begins",
      variableBytes,
      Math.round(trained - owned),
    ),
    source: SOURCES.horovod,
  });
  if (accumulating) {
    post(early, 'gradients', accumulator, {
      name: say('zeros that accumulators are reset to'),
      formula: say('as large as the accumulators: they are made when the step begins'),
      source: SOURCES.accumulatorReset,
    });
  }
  const gradient = trained * variableBytes;
  const whole = compiledInOnePiece(run);
  const atStep = emptyLedger();
  // Accumulated or sent on at once, a gradient does not wait for the others.
  if (!accumulating && stage < 2) post(atStep, 'gradients', gradient);
  if (ranks > 1 && !accumulating && stage < 2) {
    const reduced = run['precision.reduce'];
    const compressed = reduced !== undefined && bytesPer(reduced) < variableBytes;
    const sent = compressed ? 2 * trained * bytesPer(reduced) : 0;
    post(atStep, 'communication-buffers', sent + gradient);
  }
  const passes = accumulating || stage >= 2;
  return {
    // Whole variables are dealt out, which are no equal parts.
    splits: UNSPLIT,
    explains: REPLICAS,
    atRest,
    throughout: early,
    gradientsBefore: whole && !passes ? ledger(['gradients', gradient]) : NONE,
    gradientsAtStep: atStep,
    duringStep: early,
    gradients: passes || whole ? 'pass' : 'keep',
    plan: unplanned,
    host: [],
  };
}

function accumulatorBytes(run: TrainingRun, variableBytes: number): number {
  const type = run['precision.gradientAccumulation'];
  return type === undefined ? variableBytes : bytesPer(type);
}
