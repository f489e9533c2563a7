import { CATEGORIES } from '../../estimate-types';
import type { Weight } from '../../model/tape';
import { bytesOf, type Ledger, retell } from '../ledger';
import { shardingOf } from '../sharding';
import type { Sharding, ShardingOf } from '../sharding-scheme';
import type { TracedStage } from '../traced-run';
import { sumWeights } from '../weights';

/** The stage as if it had this weight alone. */
function withOnly(traced: TracedStage, weight: Weight): TracedStage {
  return { ...traced, tape: { ...traced.tape, weights: [weight] } };
}

/** Each weight of the stages, tied ones once, with the stages that hold it. */
export function weightsOf(stages: readonly TracedStage[]): Map<Weight, TracedStage[]> {
  const holders = new Map<Weight, TracedStage[]>();
  for (const traced of stages) {
    for (const weight of traced.tape.weights) {
      if (weight.tiedTo === undefined) holders.set(weight, [...(holders.get(weight) ?? []), traced]);
    }
  }
  return holders;
}

/**
 * Says which weights the bytes of a ledger belong to, by asking what the same scheme would hold of each weight alone.
 * Where those add up (whatever is proportional to the weights), they are the answer; where they do not (a bucket of fixed
 * size), the posts keep the label that they have.
 */
function tell(whole: Ledger, alone: readonly (readonly [Weight, Ledger])[]): void {
  for (const category of CATEGORIES) {
    const bytes = bytesOf(whole, category);
    if (bytes <= 0) continue;
    const items = alone
      .map(([weight, ledger]) => [weight, bytesOf(ledger, category)] as const)
      .filter(([, share]) => share !== 0);
    const sum = items.reduce((total, [, share]) => total + share, 0);
    if (Math.abs(sum - bytes) <= 1e-6 * bytes) retell(whole, category, items);
  }
}

/** `shardingOf` whose ledgers tell which weights their bytes belong to. For use inside `journaled`. */
export const toldShardingOf: ShardingOf = (run, sums, stages) => {
  const whole = shardingOf(run, sums);
  const alone = [...weightsOf(stages)].map(([weight, holders]) => {
    const own = holders.map((traced) => withOnly(traced, weight));
    return [weight, shardingOf(run, sumWeights(own, run))] as const;
  });
  const ledgers = [
    'atRest',
    'throughout',
    'duringBackward',
    'gradientsBefore',
    'gradientsAtStep',
    'duringStep',
  ] as const satisfies readonly (keyof Sharding)[];
  for (const name of ledgers)
    tell(
      whole[name],
      alone.map(([weight, sharding]) => [weight, sharding[name]]),
    );
  const toldOf = (ask: (stage: TracedStage) => Ledger) => (traced: TracedStage) => {
    const ledger = ask(traced);
    const own = [...weightsOf([traced]).keys()];
    tell(
      ledger,
      own.map((weight) => [weight, ask(withOnly(traced, weight))]),
    );
    return ledger;
  };
  return {
    ...whole,
    stageForward: toldOf(whole.stageForward),
    stageBackward: toldOf(whole.stageBackward),
  };
};
