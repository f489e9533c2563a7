import type { TrainingRun } from '../../run/fields';
import { say } from '../../wording/say';
import { NONE, type Plan, type StagePlan } from '../sharding-scheme';
import type { TracedStage } from '../traced-run';
import { gatheredLedger } from './ledgers';
import { reductionOf, rootPlan, unitPlan } from './passages';
import { fsdpRequests } from './requests';
import type { FsdpSettings } from './settings';
import { type FsdpUnit, fsdpUnit, leftByReduction, NO_UNIT, wrappedUnits } from './units';

/** The stages in the order of forward with their units: stages outside any unit belong to the root. */
export function fsdpPlan(stages: readonly TracedStage[], run: TrainingRun, settings: FsdpSettings): Plan {
  const last = stages.at(-1);
  const wrapped = wrappedUnits(stages, run);
  const root = fsdpUnit(wrapped.root, run, settings);
  const units = new Map(wrapped.units.map((stage) => [stage, fsdpUnit([[stage, 1]], run, settings)]));
  const order = stages.filter((stage) => units.has(stage));
  const neighbour = (stage: TracedStage, step: 1 | -1): FsdpUnit => {
    let index = stages.indexOf(stage) + step;
    for (; index >= 0 && index < stages.length; index += step) {
      const found = stages[index];
      const unit = found && units.get(found);
      if (unit) return unit;
    }
    return NO_UNIT;
  };
  const hasRoot = root.whole > 0 || root.gradients > 0;
  const plans = new Map<TracedStage, StagePlan>();
  for (const stage of stages) {
    const unit = units.get(stage);
    const before = order.length > 0 ? neighbour(stage, -1) : NO_UNIT;
    const after = order.length > 0 ? neighbour(stage, 1) : NO_UNIT;
    plans.set(
      stage,
      unit
        ? unitPlan(
            unit,
            {
              before,
              after,
              root: hasRoot ? root : NO_UNIT,
              left: leftByReduction(run, settings),
              isLayer: stage.stage.role === 'layer',
              isTail: stage === last && stage.stage.role !== 'layer',
              hasLoss: stage === last && stage.tape.headOperations !== undefined,
              calls: stage.tape.headCalls ?? 1,
            },
            settings,
          )
        : rootPlan(
            { before, after, root, turns: stage === last, hasLoss: stage.tape.headOperations !== undefined },
            settings,
          ),
    );
  }
  return {
    start: gatheredLedger(root.whole, say('weights outside the wrapped layers'), settings),
    backward: NONE,
    stages: plans,
    requests: fsdpRequests(stages, run, root, units, settings),
    end: hasRoot
      ? reductionOf(
          root,
          [gatheredLedger(-root.whole, say('weights outside the wrapped layers'), settings)],
          settings,
        )
      : [],
  };
}
