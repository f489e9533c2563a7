import { SOURCES } from '../memory/sources';
import type { TracedStage } from '../memory/traced-run';
import type { Flow, Stage } from '../model/model';
import type { Weight } from '../model/tape';
import { ONE_TOKEN } from '../model/trace-settings';
import { Tracer } from '../model/tracer';
import { type DetailNode, type FigureDraft, named, settleIntegers, sumOf } from '../results/detail-node';
import { formatCount } from '../wording/figures';
import { say } from '../wording/say';
import { short, timesWords } from './formula';
import { weightKind } from './weight-kind';

interface Held {
  readonly weight: Weight;
  readonly stage: Stage;
  copies: number;
}

/** Weights of the published model, tied ones once. The same trace that counts its parameters. */
function publishedWeights(stages: readonly Stage[]): Held[] {
  const flow: Flow = new Map();
  const seen = new Map<Stage['trace'], Held[]>();
  for (const stage of stages) {
    const known = seen.get(stage.trace);
    if (known) {
      for (const held of known) held.copies += stage.count;
      continue;
    }
    const tracer = new Tracer(ONE_TOKEN);
    stage.trace(tracer, flow);
    const own = tracer.finish().weights.filter((weight) => weight.tiedTo === undefined);
    seen.set(
      stage.trace,
      own.map((weight) => ({ weight, stage, copies: stage.count })),
    );
  }
  return [...seen.values()].flat();
}

/** Weights that the run trains, adapters included. */
function trainedWeights(stages: readonly TracedStage[]): Held[] {
  const held = new Map<Weight, Held>();
  for (const { tape, stage, copies } of stages) {
    for (const weight of tape.weights) {
      if (weight.tiedTo !== undefined || !weight.trainable) continue;
      const known = held.get(weight);
      if (known) known.copies += copies;
      else held.set(weight, { weight, stage, copies });
    }
  }
  return [...held.values()];
}

/** Weights by kind of module, each as often as it occurs. `share`: the part of a weight that counts. */
function byKind(name: string, held: readonly Held[], share: (weight: Weight) => number): DetailNode {
  const kinds = new Map<string, FigureDraft[]>();
  for (const { weight, stage, copies } of held) {
    const counted = share(weight);
    const kind = weightKind(weight, stage.role);
    const partly = counted === 1 ? '' : ` x ${say('{0} of the experts', short(counted))}`;
    const leaf: FigureDraft = {
      name: copies > 1 ? `${stage.name} ${weight.name}` : weight.name,
      value: weight.elements * copies * counted,
      unit: 'parameters',
      formula: `${weight.shape.join(' x ')}${timesWords(copies)}${partly}`,
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

/** Parameters of the model, those that one token passes through, and those that the run trains. Elements, whole model. */
export function parameterFigures(
  stages: readonly Stage[],
  traced: readonly TracedStage[],
): readonly DetailNode[] {
  const published = publishedWeights(stages);
  const total = byKind('parameters', published, () => 1);
  const active = byKind('active parameters', published, ({ activeShare }) => activeShare);
  const trained = byKind('trained parameters', trainedWeights(traced), () => 1);
  return [total, ...(active.value === total.value ? [] : [active]), trained];
}
