import { bytesOf, emptyLedger, type Ledger, retell } from '../memory/ledger';
import { shardingOf } from '../memory/sharding';
import type { Passage, Plan, Sharding, ShardingOf, StagePlan } from '../memory/sharding-scheme';
import type { TracedStage } from '../memory/traced-run';
import { sumWeights } from '../memory/weights';
import type { Weight } from '../model/tape';
import { CATEGORIES } from '../results/estimate';

/**
 * The stage as if it had this weight alone, or none. `beside`: with trained ones of no elements. Where frozen weights lie in one flat weight
 * with trained ones they have gradients, which they would not have alone (FSDP 1, `_flat_param.py`).
 */
function withOnly(traced: TracedStage, weight: Weight, beside: boolean): TracedStage {
  const weights = traced.tape.weights.flatMap((other): Weight[] => {
    if (other === weight) return [other];
    return beside && other.trainable ? [{ ...other, elements: 0, localElements: 0 }] : [];
  });
  return { ...traced, tape: { ...traced.tape, weights } };
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
 * Labels the weights that the bytes of a ledger belong to, by asking what the same scheme would hold of each weight alone.
 * Where those add up (whatever is proportional to the weights), they are the answer; where they do not (a bucket of fixed
 * size), the posts keep the label that they have.
 */
function tell(whole: Ledger, alone: readonly (readonly [Weight, Ledger])[]): void {
  for (const category of CATEGORIES) {
    const bytes = bytesOf(whole, category);
    if (bytes === 0) continue;
    const items = alone
      .map(([weight, ledger]) => [weight, bytesOf(ledger, category)] as const)
      .filter(([, share]) => share !== 0);
    const sum = items.reduce((total, [, share]) => total + share, 0);
    if (Math.abs(sum - bytes) <= 1e-6 * Math.abs(bytes)) retell(whole, category, items);
  }
}

/** `shardingOf` whose ledgers tell which weights their bytes belong to. For use inside `journaled`. */
export const labelledShardingOf: ShardingOf = (run, sums, stages) => {
  const whole = shardingOf(run, sums, stages);
  const alone = [...weightsOf(stages)].map(([weight, holders]) => {
    const beside = whole.explains.flat !== undefined && !weight.trainable;
    const bare = (walked: readonly TracedStage[]) => walked.map((traced) => withOnly(traced, weight, beside));
    const own = bare(beside ? stages : holders);
    return [weight, { sharding: shardingOf(run, sumWeights(own, run), own), bare }] as const;
  });
  const ledgers = [
    'atRest',
    'throughout',
    'gradientsBefore',
    'gradientsAtStep',
    'duringStep',
  ] as const satisfies readonly (keyof Sharding)[];
  for (const name of ledgers) {
    const ledger = whole[name];
    tell(
      ledger,
      alone.map(([weight, { sharding }]) => [weight, sharding[name]]),
    );
  }
  return { ...whole, plan: (walked) => labelledPlan(whole.plan, alone, walked) };
};

type PlanOf = Sharding['plan'];
/** What the scheme would hold of each weight alone, and the stages as they are with it alone: the same in the same order. */
type Alone = readonly (readonly [
  Weight,
  {
    readonly sharding: Sharding;
    readonly bare: (stages: readonly TracedStage[]) => readonly TracedStage[];
  },
])[];

/** The plan of a scheme for the stages, whose ledgers tell the same. */
function labelledPlan(planOf: PlanOf, alone: Alone, stages: readonly TracedStage[]): Plan {
  const plan = planOf(stages);
  const own = alone.map(([weight, { sharding, bare }]) => {
    const walked = bare(stages);
    return { weight, plan: sharding.plan(walked), bare: walked };
  });
  const labelled = (ledger: Ledger, of: (one: (typeof own)[number]) => Ledger | undefined): Ledger => {
    tell(
      ledger,
      own.flatMap((one) => {
        const share = of(one);
        return share ? [[one.weight, share] as const] : [];
      }),
    );
    return ledger;
  };
  const labelledPassage = (
    passage: Passage,
    of: (one: (typeof own)[number]) => Passage | undefined,
  ): Passage => {
    const shares = own.flatMap((one) => {
      const share = of(one);
      return share ? [{ weight: one.weight, share }] : [];
    });
    tell(
      passage.before,
      shares.map(({ weight, share }) => [weight, share.before]),
    );
    tell(
      passage.during,
      shares.map(({ weight, share }) => [weight, share.during]),
    );
    passage.after.forEach((ledger, moment) => {
      tell(
        ledger,
        shares.map(({ weight, share }) => [weight, share.after[moment] ?? emptyLedger()]),
      );
    });
    return passage;
  };
  const labelledStages = stages.flatMap((traced, index): [TracedStage, StagePlan][] => {
    const stage = plan.stages.get(traced);
    if (!stage) return [];
    const of = ({ plan: single, bare }: (typeof own)[number]) => {
      const same = bare[index];
      return same && single.stages.get(same);
    };
    return [
      [
        traced,
        {
          ...stage,
          forward: (copy, copies) =>
            labelledPassage(stage.forward(copy, copies), (one) => of(one)?.forward(copy, copies)),
          backward: (copy, copies) =>
            labelledPassage(stage.backward(copy, copies), (one) => of(one)?.backward(copy, copies)),
          forwardChange: labelled(stage.forwardChange, (one) => of(one)?.forwardChange),
          backwardChange: labelled(stage.backwardChange, (one) => of(one)?.backwardChange),
        },
      ],
    ];
  });
  return {
    ...plan,
    start: labelled(plan.start, (one) => one.plan.start),
    stages: new Map(labelledStages),
    end: plan.end.map((ledger, moment) => labelled(ledger, (one) => one.plan.end[moment])),
  };
}
