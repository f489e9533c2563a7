import { isRefused } from '../advice/moves';
import type { RunValues } from '../run/fields';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { assumptionsOf } from '../workspace/assumptions';
import { breakdownOf, openedOf } from './breakdown';
import { causingKeys } from './causing-keys';
import { knobsOf, valuesOf } from './knobs';
import type { Breakdown, Opened, Tried, Turned } from './protocol';
import { variantOf } from './variant';

/** A breakdown with what only an editor needs: where keys stand, and what can be tried. */
export function editorBreakdown(analysis: Analysis, version?: number): Breakdown {
  return {
    ...breakdownOf(analysis, version),
    keys: causingKeys(analysis),
    knobs: knobsOf(analysis),
  };
}

/** The run of a file with some knobs turned; null where there is no estimate to start from. */
export function tryKnobs(
  analysis: Analysis,
  turned: Turned,
  version?: number,
  fixed: RunValues = {},
): Tried | null {
  if (!analysis.estimate) return null;
  const values = { ...fixed, ...valuesOf(analysis, turned) };
  const variant = variantOf(analysis, values);
  if ('refused' in variant) return { version, turned, values, problem: variant.refused };
  if (refuses(variant.analysis) && !refuses(analysis)) {
    return { version, turned, values, problem: say('The framework refuses this combination.') };
  }
  // What was assumed before is what is assumed, and what hangs on it is not asked anew with every step of a slider.
  const breakdown = {
    ...breakdownOf(variant.analysis, version, []),
    assumptions: assumptionsOf(analysis),
  };
  return { version, turned, values, breakdown };
}

function refuses(analysis: Analysis): boolean {
  const { run } = analysis.resolved;
  return run !== undefined && isRefused(run, analysis);
}

/** The figures of a run with some knobs turned, opened; null where there is no estimate. */
export function openTried(
  analysis: Analysis,
  sample: number | undefined,
  version: number | undefined,
  turned: Turned,
  fixed: RunValues = {},
): Opened | null {
  const variant = variantOf(analysis, { ...fixed, ...valuesOf(analysis, turned) });
  return 'refused' in variant ? null : openedOf(variant.analysis, sample, version);
}
