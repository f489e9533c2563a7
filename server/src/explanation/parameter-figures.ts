import { SOURCES } from '../memory/sources';
import type { TracedStage } from '../memory/traced-run';
import { hasFrozenOriginal, ownWeights, timesTrained } from '../memory/weights';
import type { Stage } from '../model/model';
import type { Weight } from '../model/tape';
import { type DetailNode, type FigureDraft, named, settleIntegers, sumOf } from '../results/detail-node';
import type { TrainingRun } from '../run/fields';
import { formatCount } from '../wording/figures';
import { say } from '../wording/say';
import { short, timesWords } from './formula';
import { weightKind } from './weight-kind';

interface Held {
  readonly weight: Weight;
  readonly stage: Stage;
  copies: number;
}

/** Weights of the run, adapters and originals of what PEFT trains in full included; tied ones once. */
function heldWeights(stages: readonly TracedStage[], run: TrainingRun): Held[] {
  const held = new Map<Weight, Held>();
  for (const traced of stages) {
    const { stage } = traced;
    const copies = traced.copies * timesTrained(run);
    for (const weight of ownWeights(traced)) {
      const known = held.get(weight);
      if (known) known.copies += copies;
      else held.set(weight, { weight, stage, copies });
    }
  }
  return [...held.values()];
}

/** Frozen originals beside trained copies. */
function originals(held: readonly Held[]): Held[] {
  return held.flatMap((one) =>
    hasFrozenOriginal(one.weight)
      ? [{ ...one, weight: { ...one.weight, name: `${one.weight.name} (${say('frozen original')})` } }]
      : [],
  );
}

/** Weights by kind of module, each as often as it occurs. `share`: the part of a weight that counts. */
function byKind(name: string, held: readonly Held[], share: (weight: Weight) => number): DetailNode {
  const kinds = new Map<string, FigureDraft[]>();
  for (const { weight, stage, copies } of held) {
    const counted = share(weight);
    const kind = weightKind(weight, stage.role);
    const partly = counted === 1 ? '' : ` × ${say('{0} of the experts', short(counted))}`;
    const leaf: FigureDraft = {
      name: copies > 1 ? `${stage.name} ${weight.name}` : weight.name,
      value: weight.elements * copies * counted,
      unit: 'parameters',
      formula: `${weight.shape.join(' × ')}${timesWords(copies)}${partly}`,
      source: SOURCES.modules,
    };
    kinds.set(kind, [...(kinds.get(kind) ?? []), leaf]);
  }
  const children = [...kinds].map(([kind, leaves]): FigureDraft => {
    const value = sumOf(leaves);
    return {
      ...named(kind),
      value,
      unit: 'parameters',
      formula: leaves.length > 1 ? say('sum of {0} {0|weight|weights}', leaves.length) : leaves[0]?.formula,
      source: SOURCES.modules,
      children: leaves,
    };
  });
  const value = sumOf(children);
  const formula = children.map((kind) => `${kind.name} ${formatCount(kind.value)}`).join(' + ');
  return settleIntegers({
    ...named(name),
    value,
    unit: 'parameters',
    formula,
    source: SOURCES.modules,
    children,
  });
}

/** Parameters of the run, those that one token passes through, and those that it trains. Elements, whole model. */
export function parameterFigures(traced: readonly TracedStage[], run: TrainingRun): readonly DetailNode[] {
  const held = heldWeights(traced, run);
  const all = [...held, ...originals(held)];
  const total = byKind('parameters', all, () => 1);
  const active = byKind('active parameters', all, ({ activeShare }) => activeShare);
  const trained = byKind(
    'trained parameters',
    held.filter(({ weight }) => weight.trainable),
    () => 1,
  );
  return [total, ...(active.value === total.value ? [] : [active]), trained];
}
