import type { Estimate, EstimateInput } from '../estimate';

/** Runs remembered: a few open files, each with the states that typing and undoing move between. */
const KEPT = 32;

type Reckon = (input: EstimateInput) => Estimate;

/** Remembers the last estimates, so that edits which leave the run as it is (comments, other keys) cost none. */
export function remembering(estimate: Reckon): Reckon {
  const kept = new Map<string, { readonly input: EstimateInput; readonly estimate: Estimate }>();
  return (input) => {
    const key = JSON.stringify(input.run);
    const known = kept.get(key);
    if (known?.input.model === input.model && sameCard(known.input, input)) return known.estimate;
    const fresh = estimate(input);
    const [oldest] = kept.keys();
    if (kept.size >= KEPT && oldest !== undefined) kept.delete(oldest);
    kept.delete(key);
    kept.set(key, { input, estimate: fresh });
    return fresh;
  };
}

/** An accelerator may be assembled anew for each analysis; what an estimate reads of it is its name and memory. */
function sameCard(a: EstimateInput, b: EstimateInput): boolean {
  return a.accelerator.name === b.accelerator.name && a.accelerator.usableBytes === b.accelerator.usableBytes;
}
