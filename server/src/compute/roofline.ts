import { oncePer } from '../memo/remembered';
import type { TracedStage } from '../memory/traced-run';
import { quantizedBytes } from '../memory/weights';
import { ELEMENT_BYTES, type Operation, type Weight } from '../model/tape';
import type { TrainingRun } from '../run/fields';
import { frozenForwards, otherFrozen, trainedModels } from './flops';
import { asCheckpointed, recomputed } from './recomputation';

/** What one GPU can do at most. */
interface Rates {
  /** Matrix products, FLOP per second. */
  readonly flops: number;
  /** Its memory, bytes per second. */
  readonly bytes: number;
}

/** Seconds that a GPU at given rates needs for one micro batch of all layers. */
interface RooflineSeconds {
  /** Matrix products: the longer of computing and moving their operands. */
  readonly products: number;
  /** Fused attention, likewise. */
  readonly attention: number;
  /** All other operators: moving their operands. */
  readonly elementwise: number;
}

/** FLOPs and bytes of one pass of an operator. */
interface Work {
  readonly kind: 'products' | 'attention' | 'elementwise';
  readonly flops: number;
  readonly bytes: number;
  /** Experts that it computes, 1 where it is of none: so often it is launched inside a loop over them. */
  readonly experts: number;
}

/** What a loop over experts repeats: all of an expert, where each is a module, or the products alone of experts that are stacked. */
export type ExpertLoop = 'none' | 'products' | 'modules';

interface Passes {
  readonly forward: readonly Work[];
  readonly both: readonly Work[];
}

/** Works of distinct operators with the number of copies of them, for one micro batch. */
export type MicroBatchWork = readonly (readonly [works: readonly Work[], copies: number])[];

/** Collects what each operator computes and moves; distinct tapes are read once. */
export function microBatchWork(stages: readonly TracedStage[], run: TrainingRun): MicroBatchWork {
  const all: (readonly [readonly Work[], number])[] = [];
  const frozen = frozenForwards(run);
  const trained = trainedModels(run);
  for (const traced of asCheckpointed(stages, run)) {
    const { operations } = traced.tape;
    const passes = passesOf(operations);
    all.push([passes.both, trained * traced.copies]);
    if (frozen > 0) all.push([passes.forward, frozen * traced.copies]);
    for (const [list, copies] of recomputed(traced, run)) {
      all.push([passesOf(list).forward, trained * copies]);
    }
  }
  // Of frozen models of other sizes only the parameters are known: what their products compute, not what they move.
  const other = otherFrozen(run);
  if (other > 0) all.push([[{ kind: 'products', flops: other, bytes: 0, experts: 1 }], 1]);
  return all;
}

/**
 * Every operator at the given rates (the roofline model, doi 10.1145/1498765.1498785): operands are read and results
 * written once. Backward reads the results' gradients and what was kept, and writes the gradients of inputs and weights.
 */
export function rooflineSeconds(work: MicroBatchWork, rates: Rates): RooflineSeconds {
  const total = { products: 0, attention: 0, elementwise: 0 };
  for (const [works, copies] of work) {
    for (const { kind, flops, bytes } of works) {
      total[kind] += copies * Math.max(flops / rates.flops, bytes / rates.bytes);
    }
  }
  return total;
}

/**
 * Operators of one micro batch that the host launches, views left out: what a loop over experts repeats once for each of them, and all
 * others unless they are compiled.
 */
export function launchedOperators(work: MicroBatchWork, loop: ExpertLoop, compiled = false): number {
  let count = 0;
  for (const [works, copies] of work) {
    for (const { kind, experts } of works) {
      const repeated =
        experts > 1 && (kind === 'products' ? loop !== 'none' : loop === 'modules' && !compiled);
      if (repeated || !compiled) count += copies * (repeated ? experts : 1);
    }
  }
  return count;
}

/** Whether a layer has experts. */
export function runsExperts(work: MicroBatchWork): boolean {
  return work.some(([works]) => works.some(({ experts }) => experts > 1));
}

const passesOf = oncePer((operations: readonly Operation[]): Passes => {
  const forward: Work[] = [];
  const backward: Work[] = [];
  const experts = expertsIn(operations);
  for (const operation of operations) {
    const { expensive, unmaskedFlops, flops, backwardFlops } = operation;
    const kind = unmaskedFlops !== undefined ? 'attention' : expensive ? 'products' : 'elementwise';
    const each = OF_EXPERTS.test(operation.name) ? experts : 1;
    const bytes = forwardBytes(operation);
    if (bytes > 0) forward.push({ kind, flops, bytes, experts: each });
    const back = backwardBytes(operation);
    if (back > 0) backward.push({ kind, flops: backwardFlops, bytes: back, experts: each });
  }
  return { forward, both: [...forward, ...backward] };
});

/** What runs inside the loop over experts: their products, and the choice of their tokens and its way back. */
const OF_EXPERTS = /(?:^|\.)experts\./;

/** Experts of a layer: more than a GPU has where they are split over several. */
function expertsIn(operations: readonly Operation[]): number {
  let most = 1;
  for (const { weights } of operations)
    for (const { expert, shape } of weights) if (expert) most = Math.max(most, shape[0] ?? 1);
  return most;
}

function weightBytes(weights: readonly Weight[]): number {
  let bytes = 0;
  for (const weight of weights) {
    // A lookup reads the rows that it returns, not the table.
    if (weight.role === 'embedding') continue;
    const width =
      weight.quantization === 'none' ? ELEMENT_BYTES[weight.dtype] : quantizedBytes(weight, false);
    bytes += weight.localElements * width;
  }
  return bytes;
}

/** 4-bit weights are unpacked, which writes and reads them. */
function unpacks(weights: readonly Weight[]): boolean {
  for (const weight of weights) if (weight.quantization !== 'none') return true;
  return false;
}

function forwardBytes({ inputs, outputs, weights, weightCopies, forwardScratch }: Operation): number {
  let bytes = 0;
  for (const y of outputs) {
    for (const x of inputs) if (x.storage === y.storage) return 0;
    bytes += y.elements * ELEMENT_BYTES[y.dtype];
  }
  if (bytes === 0) return 0;
  for (const x of inputs) bytes += x.elements * ELEMENT_BYTES[x.dtype];
  bytes += weightBytes(weights);
  for (const copy of weightCopies) bytes += 2 * copy.bytes;
  if (unpacks(weights)) bytes += 2 * forwardScratch;
  return bytes;
}

function backwardBytes(operation: Operation): number {
  const { outputs, saves, inputs, gradRules, weightGrads, weights, backwardScratch } = operation;
  let bytes = 0;
  let passesOn = false;
  for (let i = 0; i < inputs.length; i++) {
    const x = inputs[i];
    if (!x || (gradRules[i] !== 'new' && gradRules[i] !== 'reuse')) continue;
    bytes += x.elements * ELEMENT_BYTES[x.dtype];
    passesOn = true;
  }
  for (const { bytes: written } of weightGrads) bytes += written;
  if (bytes === 0) return 0;
  for (const y of outputs) bytes += y.elements * ELEMENT_BYTES[y.dtype];
  for (const storage of saves) bytes += storage.bytes;
  if (passesOn) {
    bytes += weightBytes(weights);
    if (unpacks(weights)) bytes += 2 * backwardScratch;
  }
  return bytes;
}
