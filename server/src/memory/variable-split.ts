import type { TrainingRun } from '../run/fields';
import type { SteppedTensor } from './optimizers';

/** Variables in the order in which the model makes them: the copies of a layer follow each other, layer by layer. */
function inOrder(tensors: readonly SteppedTensor[]): number[] {
  const elements: number[] = [];
  for (let from = 0; from < tensors.length; ) {
    const copies = tensors[from]?.copies ?? 1;
    let to = from + 1;
    while (copies > 1 && tensors[to]?.copies === copies) to++;
    for (let copy = 0; copy < copies; copy++) {
      for (const tensor of tensors.slice(from, to)) elements.push(tensor.elements);
    }
    from = to;
  }
  return elements;
}

/** As many variables for every group, one stretch each. */
function consecutive(variables: readonly number[], groups: number): number[] {
  const loads = new Array<number>(groups).fill(0);
  variables.forEach((elements, index) => {
    const group = Math.floor((index * groups) / variables.length);
    loads[group] = (loads[group] ?? 0) + elements;
  });
  return loads;
}

/** The largest variable first, each to the group that holds least (longest processing time first). */
function greedy(variables: readonly number[], groups: number): Float64Array {
  // A heap: no group holds less than the first.
  const loads = new Float64Array(groups);
  for (const elements of [...variables].sort((a, b) => b - a)) {
    const load = (loads[0] ?? 0) + elements;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const less = left + 1 < groups && (loads[left + 1] ?? 0) < (loads[left] ?? 0) ? left + 1 : left;
      if (less >= groups || (loads[less] ?? 0) >= load) break;
      loads[at] = loads[less] ?? 0;
      at = less;
    }
    loads[at] = load;
  }
  return loads;
}

/**
 * Elements of the GPU that owns most, where states are split by whole variables among `ranks` GPUs: a variable is never
 * cut, so the largest one is a floor, however many GPUs there are.
 */
export function largestShare(tensors: readonly SteppedTensor[], ranks: number, run: TrainingRun): number {
  const variables = inOrder(tensors);
  // More groups than variables leave groups empty.
  const groups = Math.max(1, Math.min(ranks, run['parallel.variableGroups'] ?? ranks, variables.length));
  const split = run['parallel.variableSplit'] === 'naive' ? consecutive : greedy;
  let most = 0;
  for (const load of split(variables, groups)) most = Math.max(most, load);
  return most;
}
