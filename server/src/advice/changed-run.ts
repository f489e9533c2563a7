import type { EstimateInput } from '../estimate';
import type { Accelerator } from '../hardware/accelerator';
import { rememberedOf } from '../memo/remembered';
import type { Model } from '../model/model';
import type { Estimate } from '../results/estimate';
import type { RunValues, TrainingRun } from '../run/fields';
import type { Analysis } from '../workspace/analysis';
import { rememberedEstimate } from '../workspace/estimate-cache';
import { besideOwnCode } from '../workspace/open-ways';

/** A run with some fields changed, and what it needs. */
export interface Trial {
  readonly changes: RunValues;
  readonly run: TrainingRun;
  readonly accelerator: Accelerator;
  readonly estimate: Estimate;
}

/** Whether a trial shortens samples below what their images take: none is like that. */
export const cutsImages = ({ changes, estimate }: Trial): boolean =>
  estimate.crowdsText !== undefined && changes['batch.sequence'] !== undefined;

/** An analysis that can be estimated. */
export interface Estimated extends Analysis {
  readonly model: Model;
  readonly accelerator: Accelerator;
  readonly estimate: Estimate;
  readonly alternative: (changes: RunValues) => EstimateInput | undefined;
}

export function isEstimated(analysis: Analysis): analysis is Estimated {
  const { model, accelerator, estimate, alternative, resolved } = analysis;
  return (
    model !== undefined &&
    accelerator !== undefined &&
    estimate !== undefined &&
    alternative !== undefined &&
    resolved.run !== undefined
  );
}

/** A search for what fits tries some hundred combinations. */
const KEPT = 4096;

/** Trials of an analysis, by what they change. Analyses are immutable, so nothing grows old. */
const trials = rememberedOf<Analysis, Trial | undefined>(KEPT);

/**
 * The run with other values, joined and derived as files would be, and its estimate by the same engine. Undefined where
 * the values do not make a run: GPUs that do not divide, a GPU that is not known. Some milliseconds where the trace changes,
 * well below one where only sharding, optimizer or hardware do; remembered per analysis.
 */
export function tryChanges(analysis: Estimated, changes: RunValues): Trial | undefined {
  const key = JSON.stringify(changes, Object.keys(changes).sort());
  return trials.of(analysis, key, () => {
    const input = analysis.alternative(changes);
    return (
      input && {
        changes,
        run: input.run,
        accelerator: input.accelerator,
        estimate: besideOwnCode(rememberedEstimate(input), analysis.unread),
      }
    );
  });
}
