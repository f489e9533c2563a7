import type { Model } from '../model/model';
import { evaluationPoints } from './evaluation';
import { initializationPoints, type Loaded } from './initialization';
import { rolloutPoints } from './rollout';
import { savingPoints } from './saving';
import type { Point, StepWalk } from './step';
import type { TracedStage } from './traced-run';

/** The walk of a run: its loading, one optimizer step in steady state, its evaluation and its saving. */
export interface RunWalk extends StepWalk {
  /** Highest point of those that a smaller GPU would need too. */
  readonly neededPeak: Point;
}

interface WholeRun extends Loaded {
  readonly model: Model;
  /** The same GPU's stages as evaluation runs them; undefined where the run does not evaluate. */
  readonly evaluated?: readonly TracedStage[];
}

/** All moments of a run in order, around its walked step; the peak is the highest of all. */
export function walkRun(whole: WholeRun, step: StepWalk): RunWalk {
  const { evaluated } = whole;
  const before = initializationPoints(whole);
  const after = [
    ...rolloutPoints(whole),
    ...(evaluated ? evaluationPoints({ ...whole, stages: evaluated }) : []),
    ...savingPoints(whole),
  ];
  let { peak } = step;
  let neededPeak = peak;
  for (const point of [...before, ...after]) {
    if (point.bytes > peak.bytes) peak = point;
    if (point.bytes > neededPeak.bytes && !point.yields) neededPeak = point;
  }
  return { ...step, points: [...before, ...step.points, ...after], peak, neededPeak };
}
