import type { Weight } from '../../model/tape';
import { say } from '../../wording/say';
import { combine, type Ledger } from '../ledger';
import { NONE, type Passage, type StagePlan } from '../sharding-scheme';
import { bufferedLedger, gatheredLedger, gradedLedger } from './ledgers';
import { addsInPlace, type FsdpSettings, gathersWeights } from './settings';
import { type FsdpUnit, NO_UNIT, shardOf } from './units';

interface Neighbours {
  /** The units before and after in forward. */
  readonly before: FsdpUnit;
  readonly after: FsdpUnit;
  readonly root: FsdpUnit;
}

interface Own {
  readonly isLayer: boolean;
  /**
   * Gradients of what the layer leaves to the root, where a part of it alone is a unit: they are made after that part, its last in
   * forward, is reduced, while activations of the rest are still there. Bytes.
   */
  readonly leftGradients?: number;
  readonly isTail: boolean;
  /** The stage takes a loss of what its head makes (`Tape.headOperations`). */
  readonly hasLoss: boolean;
  /** `Tape.headCalls`: a unit is gathered for each, and given back after it where its ends are. */
  readonly calls: number;
  /** `leftByReduction`. */
  readonly left: (weight: Weight) => number;
}

/**
 * What there is when a unit's gradients are reduced, on top of `there`; the whole gradients are in the level. FSDP2
 * copies them into the input of the reduce-scatter, then lets them go (`foreach_reduce`). FSDP1 joins them to a flat one
 * while the unit is still whole (the backward of `split`), casts that where the types differ, and lets go of the single
 * ones.
 */
export function reductionOf(
  unit: FsdpUnit,
  there: readonly Ledger[],
  settings: FsdpSettings,
  joining: readonly Ledger[] = [],
): Ledger[] {
  const { second, unsynced, reduce, compute } = settings;
  if (unit.reduced === 0) return [];
  const outputs = unit.output + unit.shard;
  if (second) {
    // Earlier micro steps left what is reduced in the type of the reduction; gradients of this one are added to it.
    const held = unsynced && reduce !== compute ? unit.gradients : 0;
    const left = unsynced ? unit.accumulated : unit.gradients;
    const input = bufferedLedger(unit.reduced, say('input of the reduce-scatter'), settings);
    return [
      combine(...there, input, gradedLedger(-held)),
      combine(
        ...there,
        input,
        gradedLedger(Math.min(unit.lastGradient, left) - held - left),
        bufferedLedger(unit.output, say('output of the reduce-scatter'), settings),
        gradedLedger(unit.shard),
      ),
    ];
  }
  const flat = unit.gradients + unit.frozenGraded * compute;
  const joined = unsynced ? 0 : flat;
  const cast = reduce === compute ? 0 : unit.reduced;
  const inputs = bufferedLedger(joined + cast, say('flat gradient'), settings);
  return [
    combine(...joining, bufferedLedger(flat, say('flat gradient'), settings)),
    combine(...there, inputs, gradedLedger(outputs - unit.gradients)),
  ];
}

/** What backward of a unit leaves, `released` of its weights: reduced gradients in the place of whole ones. */
function changeOf(unit: FsdpUnit, released: Ledger, settings: FsdpSettings): Ledger {
  const { second, offloaded } = settings;
  return combine(
    released,
    // What earlier micro steps left whole goes with the reduction.
    settings.unsynced
      ? gradedLedger(-unit.accumulated * (second ? 1 : settings.compute / settings.reduce))
      : NONE,
    settings.unsynced && !offloaded ? gradedLedger(shardOf(unit, settings)) : NONE,
    // Of a unit's own gradients the walk knows; of the zeros beside them it does not.
    settings.accumulates || offloaded
      ? NONE
      : gradedLedger((unit.frozenGraded * settings.trained) / settings.shards),
    settings.replicates && unit.shard > 0
      ? bufferedLedger(unit.output, say('reduced gradients until backward is over'), settings)
      : NONE,
  );
}

/** A unit's passage of forward: gathered, and kept where it `keeps`. */
function forwardOf(
  unit: FsdpUnit,
  {
    before,
    after,
    root,
    isTail,
    hasLoss,
    calls,
    keeps,
  }: Neighbours & Pick<Own, 'isTail' | 'hasLoss' | 'calls'> & { readonly keeps: boolean },
  settings: FsdpSettings,
): StagePlan['forward'] {
  const { second, shards } = settings;
  const buffer = (whole: number) => (second && shards > 1 ? whole : 0);
  const weights = gatheredLedger(unit.whole, say('weights of a layer'), settings);
  const gathered = (bytes: number) => gatheredLedger(bytes, say('all-gather'), settings);
  const ahead = settings.forwardPrefetch && !second;
  const outside = second && isTail && settings.lossOutside;
  return (copy, copies) => {
    const follows = copy > 0 || (calls > 1 && !keeps);
    const previous = follows ? unit : before === NO_UNIT ? root : before;
    const next = copy < copies - 1 ? unit : after;
    // FSDP2 still names the buffer before while it copies out of its own (`wait_for_unshard`).
    const held =
      buffer(previous.whole) +
      (second ? buffer(unit.whole) + Math.max(unit.cast, unit.whole) : unit.whole + unit.cast);
    const copied = outside && !hasLoss ? 0 : buffer(unit.whole);
    return {
      before: gathered(held),
      during: combine(weights, gathered(copied + (ahead ? next.whole : 0))),
      after: [],
      // The root lets go of the last all-gather when its forward ends (`_fsdp_state.py`, `_post_forward`).
      // FSDP1 gives a head that is a unit back before the loss, which the root takes.
      ...(hasLoss &&
        !settings.lossInHead && {
          otherHalf: {
            during: combine(keeps ? weights : NONE, gathered(outside ? 0 : buffer(unit.whole))),
            enters: NONE,
          },
        }),
    };
  };
}

/** A unit's passages: gathered for its forward and its backward, reduced after it. */
export function unitPlan(
  unit: FsdpUnit,
  { before, after, root, isLayer, leftGradients, isTail, hasLoss, calls, left }: Neighbours & Own,
  settings: FsdpSettings,
): StagePlan {
  const { second, shards } = settings;
  const keeps = !settings.reshards || (second && isTail && !settings.reshardsEnds);
  // FSDP2 copies out of the buffer of the all-gather and keeps that until the next one is copied out.
  const buffer = second && shards > 1 ? unit.whole : 0;
  const name = say('weights of a layer');
  const weights = gatheredLedger(unit.whole, name, settings);
  const staying = keeps ? 0 : settings.staying * unit.whole;
  const forward = forwardOf(unit, { before, after, root, isTail, hasLoss, calls, keeps }, settings);
  const backward = (copy: number, copies: number): Passage => {
    const previous = copy > 0 ? unit : after;
    const next = copy < copies - 1 ? unit : before;
    const prefetched = settings.reshards && settings.prefetch === 'pre' ? next.whole : 0;
    // What stayed since forward goes when the whole is there.
    const own = keeps ? NONE : gatheredLedger(unit.whole - staying, name, settings);
    const pending = second
      ? bufferedLedger(previous.reduced, say('input of the reduce-scatter'), settings)
      : NONE;
    const fetch = keeps ? 0 : second ? buffer : unit.cast;
    const ahead = gatheredLedger(prefetched, say('next layer, gathered ahead'), settings);
    // The root fetches ahead of the loss's backward; a tail of its own when the gradient of its result is there.
    const early = !isTail && !settings.adaptersApart;
    const peakOfGather = early ? Math.max(fetch, prefetched + (prefetched > 0 ? next.cast : 0)) : 0;
    const released = gatheredLedger(keeps ? -unit.whole : -staying, name, settings);
    const amid = Math.max(0, leftGradients === undefined ? 0 : unit.reduced - leftGradients);
    if (hasLoss && isTail) {
      // The tail is gathered, and the layer before it fetched, when the gradient of its result is there.
      // What is called more than once is itself the one before it in the order of forward.
      const fetched = calls > 1 ? NONE : ahead;
      const first = second ? Math.max(unit.cast, unit.whole) : unit.whole;
      const gather = gatheredLedger(keeps ? 0 : fetch + first, name, settings);
      // A root of FSDP1 with weights of its own fetches the head when the gradient of its result is there.
      const fetchesHead = !second && root.whole > 0 && settings.prefetch === 'pre' && settings.reshards;
      const enters = combine(pending, gather);
      const during = combine(own, pending, fetched);
      const after = reductionOf(unit, [released, ahead], settings, [own, ahead]);
      if (settings.lossInHead) return { before: enters, during, after };
      const otherHalf = { during: combine(pending, fetchesHead ? own : NONE), enters };
      return { before: NONE, during, after, otherHalf };
    }
    const behind =
      settings.prefetch === 'post' && settings.reshards
        ? gatheredLedger(next.whole, say('next layer, gathered ahead'), settings)
        : ahead;
    return {
      before: combine(
        keeps ? NONE : weights,
        pending,
        gatheredLedger(peakOfGather, say('all-gather'), settings),
      ),
      during: combine(
        own,
        pending,
        early ? ahead : NONE,
        bufferedLedger(amid, say('flat gradient'), settings),
      ),
      after: [
        ...(early ? [] : [combine(own, ahead)]),
        ...reductionOf(unit, [released, behind], settings, [own, ahead]),
      ],
    };
  };
  return {
    forward,
    backward,
    forwardChange: gatheredLedger(keeps ? unit.whole : staying, name, settings),
    backwardChange: changeOf(unit, gatheredLedger(keeps ? -unit.whole : -staying, name, settings), settings),
    reducesTo: addsInPlace(settings) ? undefined : left,
    unsharded: second && settings.reshards && isLayer ? unit.whole : 0,
    reduced: second && isLayer && gathersWeights(settings) ? unit.reduced : 0,
  };
}

/** A stage of the root: gathered from the beginning on; its gradients are reduced when backward is over. */
export function rootPlan(
  { before, after, root, turns, hasLoss }: Neighbours & { turns: boolean; hasLoss: boolean },
  settings: FsdpSettings,
): StagePlan {
  const { second, shards } = settings;
  // The root lets go of the last all-gather when its forward ends (`_fsdp_state.py`, `_post_forward`), before a loss outside
  // of it; and it fetches ahead when the gradient of its result is there, where it has weights of its own.
  const outside = turns && settings.lossOutside;
  const gives = turns && settings.reshardsEnds && (hasLoss || !outside);
  const words = say('weights outside the wrapped layers');
  const whole = gatheredLedger(gives ? root.whole : 0, words, settings);
  const given = gatheredLedger(gives ? -root.whole : 0, words, settings);
  const buffer = second && shards > 1 ? (before === NO_UNIT ? root.whole : before.whole) : 0;
  const gathered = gatheredLedger(buffer, say('all-gather'), settings);
  const forward: Passage = {
    before: NONE,
    during: gathered,
    after: [],
    ...(outside && hasLoss && { otherHalf: { during: given, enters: NONE } }),
  };
  const fetches = settings.reshards && settings.prefetch === 'pre' && !settings.emptyRoot;
  const pending = second ? bufferedLedger(after.reduced, say('input of the reduce-scatter'), settings) : NONE;
  const ahead = gatheredLedger(fetches ? before.whole : 0, say('next layer, gathered ahead'), settings);
  const gather = gives
    ? gatheredLedger(root.whole + Math.max(root.cast, root.whole), say('all-gather'), settings)
    : NONE;
  const backward: Passage = {
    before: outside ? NONE : combine(pending, gather),
    during: combine(whole, ahead, pending),
    after: [],
    ...(outside && hasLoss && { otherHalf: { during: pending, enters: combine(pending, gather) } }),
  };
  return {
    forward: () => forward,
    backward: () => backward,
    forwardChange: given,
    backwardChange: whole,
  };
}
