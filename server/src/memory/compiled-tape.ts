import type { Operation, Storage, Tape } from '../model/tape';
import { makers } from './cheap';

/**
 * A layer as `torch.compile` runs it (`functorch/partitioners.py`, `min_cut_rematerialization_partition`): elementwise operators join
 * their neighbours in one kernel, so backward computes them again from what is kept all the same. Kept stay operands of matrix
 * products, attention and other kernels of their own, which lie in memory anyway, their results where an elementwise operator needs
 * them, sums over rows, and dropout's masks. Of the rest the smaller side of the cut is kept: a result, or what it is made of.
 *
 * `whole`: the graph is the whole model's. The sums of the residual are read far apart in it, and stay (`ban_if_used_far_apart`).
 */
export function compiledTape(tape: Tape, whole: boolean): Tape {
  const made = makers(tape);
  const one = sameCasts(tape);
  const operands = new Set<Storage>();
  for (const { fusible, inputs, outputs } of tape.operations) {
    const view = outputs.every(({ storage }) => inputs.some((x) => x.storage === storage));
    if (fusible === undefined && !view) for (const { storage } of inputs) operands.add(one(storage));
  }
  const stays = whole ? residualOf(tape) : new Set<Storage>();
  const again = (storage: Storage) =>
    made.get(storage)?.fusible === 'pointwise' && !operands.has(storage) && !stays.has(storage);
  const kept = new Set<Storage>();
  for (const { saves } of tape.operations)
    for (const storage of saves.map(one)) if (!again(storage)) kept.add(storage);
  const cuts = new Map<Storage, readonly Storage[]>();
  const cutOf = (storage: Storage): readonly Storage[] => {
    const known = cuts.get(storage);
    if (known) return known;
    const sources = new Set<Storage>();
    addSources(storage, made, (source) => kept.has(source) || !again(source), one, sources);
    let bytes = 0;
    for (const source of sources) if (!kept.has(source)) bytes += source.bytes;
    const cut = bytes <= storage.bytes ? [...sources] : [storage];
    for (const source of cut) kept.add(source);
    cuts.set(storage, cut);
    return cut;
  };
  return {
    ...tape,
    operations: tape.operations.map((operation): Operation => {
      const saves = new Set<Storage>();
      for (const storage of operation.saves.map(one))
        for (const source of again(storage) ? cutOf(storage) : [storage]) saves.add(source);
      const backwardScratch = operation.fusible === 'pointwise' ? 0 : operation.backwardScratch;
      return { ...operation, saves: [...saves], backwardScratch };
    }),
  };
}

/** What a storage is computed from elementwise, back to storages that end the search. */
function addSources(
  storage: Storage,
  made: ReadonlyMap<Storage, Operation>,
  ends: (storage: Storage) => boolean,
  one: (storage: Storage) => Storage,
  into: Set<Storage>,
): void {
  for (const source of made.get(storage)?.inputs.map((x) => one(x.storage)) ?? []) {
    if (source.bytes === 0 || into.has(source)) continue;
    if (ends(source)) into.add(source);
    else addSources(source, made, ends, one, into);
  }
}

/** What a layer enters and the sums that it makes of that by adding to it. */
function residualOf(tape: Tape): Set<Storage> {
  const residual = new Set<Storage>();
  for (const x of tape.entry) if (x.requiresGrad) residual.add(x.storage);
  for (const { gradRules, inputs, outputs, saves, fusible } of tape.operations) {
    const adds = inputs.length === 2 && saves.length === 0 && gradRules.every((rule) => rule !== 'none');
    if (fusible !== 'pointwise' || !adds || !inputs.some((x) => residual.has(x.storage))) continue;
    for (const x of outputs) residual.add(x.storage);
  }
  return residual;
}

/** The compiler makes a cast once that autocast made anew for each reader (`fx_graph_cse`). Gives the first of equal ones. */
function sameCasts(tape: Tape): (storage: Storage) => Storage {
  const first = new Map<Storage, Map<string, Storage>>();
  const same = new Map<Storage, Storage>();
  for (const { fusible, inputs, outputs, weights, saves } of tape.operations) {
    const [x, ...others] = inputs;
    const [out] = outputs;
    if (fusible !== 'pointwise' || !x || !out || others.length > 0) continue;
    if (x.dtype === out.dtype || out.dtype === 'bool' || weights.length > 0 || saves.length > 0) continue;
    const made = first.get(x.storage) ?? new Map<string, Storage>();
    first.set(x.storage, made);
    const key = `${out.dtype} ${out.shape}`;
    const known = made.get(key);
    if (known) same.set(out.storage, known);
    else made.set(key, out.storage);
  }
  return (storage) => same.get(storage) ?? storage;
}
