import type { Operation, Storage, Tape } from '../model/tape';
import type { TrainingRun } from '../run/fields';

/** The operator that made each storage. Views share the storage of what they are views of. */
export function makers(tape: Tape): Map<Storage, Operation> {
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
 * What has to be kept where elementwise results are computed again: instead of such a result, what it is computed from, back
 * to results of other operators. `stays` tells of results that are kept all the same.
 */
function sources(
  storage: Storage,
  made: ReadonlyMap<Storage, Operation>,
  stays: (storage: Storage, maker: Operation) => boolean,
  into: Set<Storage>,
): void {
  const maker = made.get(storage);
  if (!maker?.cheap || stays(storage, maker)) {
    into.add(storage);
    return;
  }
  for (const x of maker.inputs) if (x.storage.bytes > 0) sources(x.storage, made, stays, into);
}

/**
 * Storages that stay when every result of Grappler's list is computed again (`memory_optimizer.cc`).
 *
 * Whatever operator of `gradients/` reads such a result, it is given the new one, and that is what `Shape` operators are
 * given, too, though they read no numbers (`RecomputeSubgraph`). The batch is taken as not known before the run, so that
 * gradients ask for shapes; so what a result is computed from is kept even where nothing but its shape is asked for.
 */
export function withoutCheapResults(tape: Tape): Set<Storage> {
  const made = makers(tape);
  const kept = new Set<Storage>();
  const stays = (_: Storage, maker: Operation) => maker.cheap !== 'listed';
  for (const operation of tape.operations) {
    for (const storage of operation.saves) sources(storage, made, stays, kept);
    if (!operation.asksShapes) continue;
    for (const { storage } of operation.inputs) {
      if (made.get(storage)?.cheap === 'listed') sources(storage, made, stays, kept);
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
 * Whether forward and backward are compiled apart and what forward reads of a variable is copied. A reference variable is read
 * by an operator outside of what XLA compiles, which passes its memory on. The `ReadVariableOp` of a resource is compiled
 * with the product that is its first reader (`mark_for_compilation_pass.cc` contracts the edge to it; that to the one in
 * backward would close a cycle); what leaves a compiled piece is memory of its own, be it a parameter of that piece
 * (`copy_insertion.cc`, `ShouldCopyRootValue`). The head's backward follows its forward in one piece.
 */
export function copiesVariableReads(run: TrainingRun): boolean {
  return run['kernels.resourceVariables'] && run['kernels.xla'] && !compiledInOnePiece(run);
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
