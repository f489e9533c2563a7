import { frozenForwards, trainedModels } from '../compute/flops';
import { asCheckpointed, recomputed } from '../compute/recomputation';
import { autogradRule, SOURCES } from '../memory/sources';
import { rowsPerSample, type TracedStage } from '../memory/traced-run';
import type { Operation } from '../model/tape';
import { type DetailNode, type FigureDraft, named, sumOf } from '../results/detail-node';
import type { ComputeEstimate } from '../results/estimate';
import type { TrainingRun } from '../run/fields';
import { formatFlops } from '../wording/figures';
import { say } from '../wording/say';
import { type SampleSizes, shapeWords, short, timesWords } from './formula';
import { indexTapes } from './tape-index';

/** Work of one operator: FLOPs of one pass on one GPU, and how often a micro batch makes it there. */
interface Work {
  readonly operation: Operation;
  readonly place: string;
  readonly flops: number;
  times: number;
}

function group(
  name: string,
  formula: string,
  work: readonly Work[],
  factor: number,
  sizes: SampleSizes,
  backward: boolean,
): FigureDraft {
  const places = new Map<string, FigureDraft[]>();
  for (const { operation, place, flops, times: often } of work) {
    if (flops <= 0) continue;
    const leaf: FigureDraft = {
      name: operation.name,
      value: flops * often * factor,
      unit: 'FLOP',
      formula: `${oneFormula(operation, flops, sizes, backward)}${timesWords(often)} × ${short(factor)}`,
      source: backward ? autogradRule(operation.name, operation.weights) : SOURCES.flopCounter,
    };
    places.set(place, [...(places.get(place) ?? []), leaf]);
  }
  const children = [...places].map(
    ([place, leaves]): FigureDraft => ({
      name: place,
      value: sumOf(leaves),
      unit: 'FLOP',
      formula: say('sum over {0} {0|operator|operators}', leaves.length),
      source: SOURCES.flopCounter,
      children: leaves,
    }),
  );
  return {
    ...named(name),
    value: sumOf(children),
    unit: 'FLOP',
    formula,
    source: SOURCES.flopCounter,
    children,
  };
}

/** `2 x (1 sample x 4096 tokens x 14336) x 4096` for a product; what else the operator computes, as a number. */
function oneFormula(operation: Operation, flops: number, sizes: SampleSizes, backward: boolean): string {
  const [x] = operation.inputs;
  const [out] = operation.outputs;
  const inner = x?.shape.at(-1);
  if (out && inner !== undefined) {
    const forward = 2 * out.elements * inner;
    const words = `2 × (${shapeWords(out.shape, sizes)}) × ${inner}`;
    if (!backward && flops === forward) return words;
    if (backward && flops === forward) return say("{0} for one factor's gradient", words);
    if (backward && flops === 2 * forward) return say("2 × {0} for both factors' gradients", words);
  }
  return formatFlops(flops);
}

/** Operators, and how often a micro batch makes them. */
type Passes = readonly (readonly [readonly Operation[], number])[];

/** The work of passes, each operator once. */
type Collect = (passes: Passes, back?: boolean) => Work[];

function collecting(stages: readonly TracedStage[]): Collect {
  const index = indexTapes(stages);
  return (passes, back = false) => {
    const work = new Map<Operation, Work>();
    for (const [operations, copies] of passes) {
      for (const operation of operations) {
        const known = work.get(operation);
        const flops = back ? operation.backwardFlops : operation.flops;
        const place = index.operations.get(operation)?.place.name ?? '';
        if (known) known.times += copies;
        else work.set(operation, { operation, place, flops, times: copies });
      }
    }
    return [...work.values()].filter((one) => one.times > 0);
  };
}

/** What a step computes: forward, backward, recomputation, and the forward of frozen models. */
function passFigures(
  stages: readonly TracedStage[],
  run: TrainingRun,
  compute: ComputeEstimate,
  sizes: SampleSizes,
): FigureDraft[] {
  const collect = collecting(stages);
  const all = stages.map(({ tape, copies }) => [tape.operations, copies] as const);
  const forward = collect(all);
  const oneGpu = forward.reduce((sum, one) => sum + one.flops * one.times, 0);
  // Micro batches times the GPUs that compute apart.
  const factor = oneGpu > 0 ? compute.forwardFlopsPerStep / oneGpu : 0;
  const figures = [
    group('forward', say('one pass over the model'), forward, factor, sizes, false),
    group(
      'backward',
      say('a gradient for each factor of a product that needs one'),
      collect(all, true),
      factor,
      sizes,
      true,
    ),
  ];
  if (compute.recomputedFlopsPerStep > 0) {
    const again = collect(asCheckpointed(stages, run).flatMap((traced) => recomputed(traced, run)));
    const formula = say('forward of checkpointed layers, once more before their backward');
    figures.push(group('recomputation', formula, again, factor, sizes, false));
  }
  const frozen = frozenForwards(run) / trainedModels(run);
  if (frozen > 0) {
    const reference =
      run['method.kind'] === 'lora'
        ? forward.filter(({ operation }) => !operation.weights.some(({ role }) => role === 'adapter'))
        : forward;
    const formula = say('forward of the reference and reward models, and of what scores before an update');
    figures.push(group('frozen models', formula, reference, factor * frozen, sizes, false));
  }
  const counted = sumOf(figures);
  // Frozen models of other sizes are known by their parameters alone.
  if (compute.flopsPerStep - counted > 1e-9 * counted) {
    figures.push({
      ...named('frozen models of other sizes'),
      value: compute.flopsPerStep - counted,
      unit: 'FLOP',
      formula: say('2 FLOP per parameter and token'),
      source: SOURCES.flopCounter,
    });
  }
  return figures;
}

/**
 * FLOPs of a step over all GPUs: forward, backward, what checkpointing computes again, and the forward of a reference
 * model, each by part of the model and by operator. A multiply-add is two.
 */
export function flopFigures(
  stages: readonly TracedStage[],
  run: TrainingRun,
  compute: ComputeEstimate,
  sizes: SampleSizes,
): readonly DetailNode[] {
  const passes = passFigures(stages, run, compute, sizes);
  return [
    byValue({
      ...named('FLOPs per step'),
      value: compute.flopsPerStep,
      unit: 'FLOP',
      formula: passes.map(({ name, value }) => `${name} ${formatFlops(value)}`).join(' + '),
      source: SOURCES.flopCounter,
      children: passes,
    }),
    {
      ...named('model FLOPs per step'),
      value: compute.modelFlopsPerStep,
      unit: 'FLOP',
      formula: say('forward and backward without recomputation, attention over all pairs of tokens'),
      source: SOURCES.palm,
    },
    {
      ...named('tokens per step'),
      value: compute.tokensPerStep,
      unit: 'tokens',
      formula: tokensFormula(run, compute.tokensPerStep),
      source: SOURCES.batchSize,
    },
  ];
}

/** Tokens of all rows that run through the model: each answer of a question is one, and so are both completions of a pair. */
function tokensFormula(run: TrainingRun, tokens: number): string {
  const [micro, accumulation, sequence] = [
    run['batch.micro'],
    run['batch.accumulation'],
    run['batch.sequence'],
  ];
  const rows = rowsPerSample(run);
  const copies = short(tokens / (micro * rows * accumulation * sequence));
  return rows === 1
    ? say(
        'micro batch {0} × accumulation {1} × {2} data-parallel {2|GPU|GPUs} × {3} {3|token|tokens}',
        micro,
        accumulation,
        copies,
        sequence,
      )
    : say(
        'micro batch {0} × {4} {4|row|rows} of a sample × accumulation {1} × {2} data-parallel {2|GPU|GPUs} × {3} {3|token|tokens}',
        micro,
        accumulation,
        copies,
        sequence,
        rows,
      );
}

function byValue({ children, ...own }: FigureDraft): DetailNode {
  return children ? { ...own, children: [...children].sort((a, b) => b.value - a.value).map(byValue) } : own;
}
