import { type EstimateInput, estimate } from '../estimate';
import { rememberedOf } from '../memo/remembered';
import { elsewhereText, traceText } from '../memory/remembered-trace';
import type { Model } from '../model/model';
import type { Estimate } from '../results/estimate';

/**
 * Runs remembered of a model: a few open files with the states that typing and undoing move between, and the neighbours that
 * tables and searches ask for. Some hundred estimates of a few kilobytes each.
 */
const KEPT = 256;

type Estimating = (input: EstimateInput) => Estimate;

/**
 * Remembers the last estimates, so that edits which leave the run as it is (comments, other keys) cost none, nor do
 * alternatives that were tried for it before.
 */
export function remembering(compute: Estimating): Estimating {
  const kept = rememberedOf<Model, Estimate>(KEPT);
  return (input) => {
    // An accelerator may be assembled anew for each analysis; what an estimate reads of it is its name and memory.
    const { name, usableBytes } = input.accelerator;
    const key = `${name} ${usableBytes} ${traceText(input.run)} ${elsewhereText(input.run)}`;
    return kept.of(input.model, key, () => compute(input));
  };
}

/** `estimate`, remembered: by every analysis and all advice together. */
export const rememberedEstimate = remembering(estimate);
