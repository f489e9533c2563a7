import type { Operation, Storage, Tape } from '../model/tape';
import type { TrainingRun } from '../run/fields';

/** The operator that made each storage. Views share the storage of what they are views of. */
function makers(tape: Tape): Map<Storage, Operation> {
  const made = new Map<Storage, Operation>();
  for (const operation of tape.operations) {
    for (const x of operation.outputs) {
      const view = operation.inputs.some((input) => input.storage === x.storage);
      if (!view && !made.has(x.storage)) made.set(x.storage, operation);
    }
  }
  return made;
}

/**
 * What has to be kept where cheap elementwise results are computed again: instead of such a result, what it is computed
 * from, back to results of other operators. `stays` tells of results that are kept all the same.
 */
function sources(
  storage: Storage,
  made: ReadonlyMap<Storage, Operation>,
  stays: (storage: Storage) => boolean,
  into: Set<Storage>,
): void {
  const maker = made.get(storage);
  if (!maker?.cheap || stays(storage)) {
    into.add(storage);
    return;
  }
  for (const x of maker.inputs) if (x.storage.bytes > 0) sources(x.storage, made, stays, into);
}

/** Whether a storage is computed from what enters the stage by cheap operators alone. */
function reachesEntry(
  storage: Storage,
  made: ReadonlyMap<Storage, Operation>,
  entry: ReadonlySet<Storage>,
): boolean {
  if (entry.has(storage)) return true;
  const maker = made.get(storage);
  return maker?.cheap === true && maker.inputs.some((x) => reachesEntry(x.storage, made, entry));
}

/**
 * Storages that stay when every cheap result is computed again (TensorFlow's Grappler, `memory_optimizer.cc`).
 *
 * Cheap operators that are connected are computed again together, from their first one on (`connected_subgraph`). Where
 * they run through the whole layer, as the residual stream does past a layer norm that is written in operators, that is the
 * first layer's: by the time the last layer's backward has what it needs, all of the stream is there again. Then nothing on
 * it is saved, and what it is computed from is kept beside it.
 */
export function withoutCheapResults(tape: Tape): Set<Storage> {
  const made = makers(tape);
  const entry = new Set(tape.entry.filter((x) => x.requiresGrad).map((x) => x.storage));
  const through = tape.exit.some((x) => reachesEntry(x.storage, made, entry));
  const kept = new Set<Storage>();
  for (const operation of tape.operations) {
    for (const storage of operation.saves) {
      if (through && reachesEntry(storage, made, entry)) kept.add(storage);
      sources(storage, made, () => false, kept);
    }
  }
  return kept;
}

/** Whether XLA compiles forward and backward in one piece: an operator that it does not know cuts every layer in two. */
export function compiledInOnePiece(run: TrainingRun): boolean {
  const own = run['kernels.fusedLayerNorm'] || run['kernels.fusedSoftmax'] || run['kernels.fusedGelu'];
  return run['kernels.xla'] && !own;
}

/**
 * The tape as XLA runs it where forward and backward are compiled together: a fusion computes again whatever elementwise
 * results it reads (`instruction_fusion.cc` duplicates cheap producers into their consumers), so that they are never
 * written; operands of matrix products have to be, and are kept.
 */
export function fusedElementwise(tape: Tape): Tape {
  const made = makers(tape);
  const operands = new Set<Storage>();
  for (const operation of tape.operations) {
    if (operation.expensive) for (const x of operation.inputs) operands.add(x.storage);
  }
  return {
    ...tape,
    operations: tape.operations.map((operation) => {
      if (operation.saves.length === 0) return operation;
      const kept = new Set<Storage>();
      for (const storage of operation.saves) sources(storage, made, (s) => operands.has(s), kept);
      return { ...operation, saves: [...kept] };
    }),
  };
}
