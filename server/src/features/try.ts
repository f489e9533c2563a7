import type { Analysis } from '../workspace/analysis';
import { breakdownOf, openedOf } from '../workspace/breakdown';
import { variantOf } from '../workspace/variant';
import { causingKeys } from './causing-keys';
import { knobsOf, valuesOf } from './knobs';
import type { Breakdown, Opened, Tried, Turned } from './protocol';

/** A breakdown with what only an editor needs: where keys stand, and what can be tried. */
export function editorBreakdown(analysis: Analysis, version?: number): Breakdown {
  return {
    ...breakdownOf(analysis, version),
    keys: causingKeys(analysis),
    knobs: knobsOf(analysis),
    pipelineStages: analysis.resolved.values['parallel.pipeline'],
  };
}

/** The run of a file with some knobs turned; null where there is no estimate to start from. */
export function tryKnobs(analysis: Analysis, turned: Turned, version?: number): Tried | null {
  if (!analysis.estimate) return null;
  const values = valuesOf(analysis, turned);
  const variant = variantOf(analysis, values);
  if (!variant.analysis.estimate) {
    const { unknown } = variant.analysis.resolved;
    const reasons = variant.refused.length > 0 ? variant.refused : unknown.map(({ reason }) => reason);
    const problem = reasons.join(' ');
    return { version, turned, values, problem };
  }
  const base = breakdownOf(analysis);
  const breakdown = {
    ...breakdownOf(variant.analysis, version),
    pipelineStages: variant.analysis.resolved.values['parallel.pipeline'],
  };
  // What was assumed before is what is assumed; what is tried is told by itself.
  return { version, turned, values, breakdown: { ...breakdown, assumptions: base.assumptions } };
}

/** The figures of a run with some knobs turned, opened; null where there is no estimate. */
export function openTried(
  analysis: Analysis,
  sample: number | undefined,
  version: number | undefined,
  turned: Turned,
): Opened | null {
  return openedOf(variantOf(analysis, valuesOf(analysis, turned)).analysis, sample, version);
}
