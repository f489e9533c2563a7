import type { TrainingRun } from '../../run/fields';
import { say } from '../../wording/say';
import { combine, type Ledger } from '../ledger';
import { NONE, type Plan, type StagePlan } from '../sharding-scheme';
import type { TracedStage } from '../traced-run';
import { bytesPer, ownWeights } from '../weights';
import { bufferedLedger, gatheredLedger, gradedLedger } from './ledgers';
import { reductionOf, rootPlan, unitPlan } from './passages';
import { fsdpRequests } from './requests';
import type { FsdpSettings } from './settings';
import {
  type FsdpUnit,
  fsdpUnit,
  leftByReduction,
  NO_UNIT,
  shardOf,
  type Wrapped,
  wrappedUnits,
} from './units';

/** The stages in the order of forward with their units: stages outside any unit belong to the root. */
export function fsdpPlan(stages: readonly TracedStage[], run: TrainingRun, settings: FsdpSettings): Plan {
  const last = stages.at(-1);
  const wrapped = wrappedUnits(stages, run);
  const root = fsdpUnit(wrapped.root, run, settings);
  const outer = fsdpUnit(wrapped.outer, run, settings);
  const units = new Map(wrapped.units.map((part) => [part.stage, fsdpUnit([part], run, settings)]));
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
  const kept = keptReduction(hasRoot ? root : order[0] && units.get(order[0]), settings);
  const plans = new Map<TracedStage, StagePlan>();
  for (const stage of stages) {
    const unit = units.get(stage);
    const before = order.length > 0 ? neighbour(stage, -1) : NO_UNIT;
    const following = order.length > 0 ? neighbour(stage, 1) : NO_UNIT;
    const after = following === NO_UNIT ? kept : following;
    const beside = {
      after,
      root: wrapped.inner ? outer : hasRoot ? root : NO_UNIT,
      left: leftByReduction(run, settings, wrapped),
      isLayer: stage.stage.role === 'layer',
      leftGradients: leftGradients(stage, wrapped),
      isTail: stage === last && stage.stage.role !== 'layer',
      hasLoss: stage === last && stage.tape.headOperations !== undefined,
      calls: stage.tape.headCalls ?? 1,
    };
    const isEmbedding = stage === stages[0];
    const behindEmbedding = order[0] === stages[0] && before === units.get(stages[0] as TracedStage);
    const plan = unit
      ? leavingEmbedding(
          unitPlan(unit, { ...beside, before }, settings),
          isEmbedding || behindEmbedding
            ? unitPlan(
                isEmbedding ? { ...unit, whole: 0, cast: 0 } : unit,
                { ...beside, before: NO_UNIT },
                settings,
              )
            : undefined,
          settings,
        )
      : rootPlan(
          {
            before: wrapped.inner ? NO_UNIT : before,
            after,
            root,
            turns: stage === last,
            hasLoss: stage.tape.headOperations !== undefined,
          },
          settings,
        );
    const whole = stage === last && wrapped.inner ? behindInner(plan, root, settings) : plan;
    plans.set(stage, kept === NO_UNIT ? whole : beforeReduction(whole, kept, settings));
  }
  return {
    start: gatheredLedger(root.whole + outer.whole, say('weights outside the wrapped layers'), settings),
    backward: NONE,
    stages: plans,
    requests: fsdpRequests(stages, run, { root, outer, units, left: wrapped.left }, settings),
    end: hasRoot ? rootReductions(root, outer, settings) : [],
  };
}

/** The unit that is reduced last in a micro step, as far as the next micro step still holds what it reduced. */
const keptReduction = (last: FsdpUnit | undefined, { keepsLastReduction }: FsdpSettings): FsdpUnit =>
  keepsLastReduction && last ? { ...NO_UNIT, reduced: last.reduced } : NO_UNIT;

/** Forward of a stage while the input of a reduction is still held. */
function beforeReduction(plan: StagePlan, { reduced }: FsdpUnit, settings: FsdpSettings): StagePlan {
  const held = bufferedLedger(reduced, say('input of the reduce-scatter'), settings);
  return {
    ...plan,
    forward: (copy, copies) => {
      const { before, during, otherHalf, ...more } = plan.forward(copy, copies);
      return {
        ...more,
        before: combine(before, held),
        during: combine(during, held),
        ...(otherHalf && {
          otherHalf: { during: combine(otherHalf.during, held), enters: combine(otherHalf.enters, held) },
        }),
      };
    },
  };
}

/** The embedding, and what comes after it, where backward does not gather the embedding again. */
const leavingEmbedding = (
  plan: StagePlan,
  left: StagePlan | undefined,
  { leavesEmbedding }: FsdpSettings,
): StagePlan =>
  left && leavesEmbedding ? { ...plan, backward: left.backward, backwardChange: left.backwardChange } : plan;

/** Views of a root's flat weight are made before those of what it wraps, so autograd comes to them last. */
function rootReductions(root: FsdpUnit, outer: FsdpUnit, settings: FsdpSettings): Ledger[] {
  const words = say('weights outside the wrapped layers');
  const given = gatheredLedger(-root.whole, words, settings);
  const reduced = gradedLedger(shardOf(root, settings) - root.gradients);
  return [
    ...reductionOf(root, [given], settings),
    ...reductionOf(outer, [given, reduced, gatheredLedger(-outer.whole, words, settings)], settings, [
      given,
      reduced,
    ]),
  ];
}

/** Bytes of the gradients of what a layer with a unit leaves to the root; undefined where it leaves nothing. */
function leftGradients(stage: TracedStage, { left }: Wrapped): number | undefined {
  const weights = stage.stage.role === 'layer' ? ownWeights(stage).filter((weight) => left.has(weight)) : [];
  if (weights.length === 0) return undefined;
  return weights.reduce((sum, { localElements, dtype }) => sum + localElements * bytesPer(dtype), 0);
}

/**
 * A head that is a unit behind one that holds what the layers leave: that one is given back when its forward is over, and is there
 * again for backward, fetched ahead of it or not (`_runtime_utils.py`, `_post_forward`).
 */
function behindInner(plan: StagePlan, inner: FsdpUnit, settings: FsdpSettings): StagePlan {
  if (!settings.reshards) return plan;
  const words = say('weights outside the wrapped layers');
  const given = gatheredLedger(-inner.whole, words, settings);
  const whole = gatheredLedger(inner.whole, words, settings);
  const ahead = settings.prefetch === 'pre' ? whole : NONE;
  return {
    ...plan,
    forward: (copy, copies) => {
      const { before, during, after, otherHalf } = plan.forward(copy, copies);
      return {
        before: combine(before, given),
        during: combine(during, given),
        after: after.map((each) => combine(each, given)),
        ...(otherHalf && {
          otherHalf: { during: combine(otherHalf.during, given), enters: combine(otherHalf.enters, given) },
        }),
      };
    },
    backward: (copy, copies) => {
      const { before, during, after, otherHalf } = plan.backward(copy, copies);
      return {
        before: combine(before, ahead),
        during: combine(during, ahead),
        after: after.map((each) => combine(each, whole)),
        ...(otherHalf && { otherHalf }),
      };
    },
    forwardChange: combine(plan.forwardChange, given),
    backwardChange: combine(plan.backwardChange, whole),
  };
}
