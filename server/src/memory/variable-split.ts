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
function greedy(variables: readonly number[], groups: number): number[] {
  const loads = new Array<number>(groups).fill(0);
  for (const elements of [...variables].sort((a, b) => b - a)) {
    let least = 0;
    for (let group = 1; group < groups; group++) {
      if ((loads[group] ?? 0) < (loads[least] ?? 0)) least = group;
    }
    loads[least] = (loads[least] ?? 0) + elements;
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
  return Math.max(0, ...split(variables, groups));
}
