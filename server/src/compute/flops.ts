import { oncePer } from '../memo/remembered';
import { dataParallelSize } from '../memory/sharding-scheme';
import { hasTeacher } from '../memory/teacher';
import { rowsPerSample, type TracedStage } from '../memory/traced-run';
import type { Operation } from '../model/tape';
import type { ComputeEstimate } from '../results/estimate';
import type { TrainingRun } from '../run/fields';
import { asCheckpointed, recomputed } from './recomputation';

/** FLOP of one PFLOP-day: 1e15 per second for a day. */
const PFLOP_DAY = 1e15 * 86_400;

/** FLOPs under the conventions of docs/compute.md. */
interface Counted {
  /** What kernels compute: masked blocks skipped, scores made again in the backward of fused attention. */
  hardware: number;
  /** What PyTorch's `FlopCounterMode` counts: as `hardware`, without skipping. */
  profiled: number;
  /** What MFU counts (PaLM, arXiv 2204.02311, appendix B): all pairs of tokens, and nothing computed twice. */
  model: number;
}

/**
 * Fused attention runs two products forward and five backward, of which one makes the scores again
 * (arXiv 2205.14135, algorithm 4); a model needs four.
 */
const NEEDED_OF_FUSED_BACKWARD = 4 / 5;

const zero = (): Counted => ({ hardware: 0, profiled: 0, model: 0 });

function add(to: Counted, from: Readonly<Counted>, times: number): void {
  to.hardware += times * from.hardware;
  to.profiled += times * from.profiled;
  to.model += times * from.model;
}

/** Of the operators of a tape, summed once. */
const forwardOf = oncePer((operations: readonly Operation[]): Readonly<Counted> => {
  const sum = zero();
  for (const { flops, unmaskedFlops = flops } of operations) {
    sum.hardware += flops;
    sum.profiled += unmaskedFlops;
    sum.model += unmaskedFlops;
  }
  return sum;
});

const backwardOf = oncePer((operations: readonly Operation[]): Readonly<Counted> => {
  const sum = zero();
  for (const { flops, unmaskedFlops, backwardFlops } of operations) {
    sum.hardware += backwardFlops;
    const fused = unmaskedFlops !== undefined;
    const unmasked = fused && flops > 0 ? (backwardFlops * unmaskedFlops) / flops : backwardFlops;
    sum.profiled += unmasked;
    sum.model += fused ? NEEDED_OF_FUSED_BACKWARD * unmasked : unmasked;
  }
  return sum;
});

/** Of a tape without its adapters. */
const baseForwardOf = oncePer((operations: readonly Operation[]) =>
  forwardOf(operations.filter((operation) => !isAdapter(operation))),
);

/** FLOPs of one micro batch on one GPU that holds all layers. */
interface MicroBatchFlops {
  readonly forward: Counted;
  readonly backward: Counted;
  readonly recomputed: Counted;
  /** Forward of frozen models: the reference that the objective compares with, reward models, a teacher. */
  readonly reference: Counted;
}

function microBatchFlops(stages: readonly TracedStage[], run: TrainingRun): MicroBatchFlops {
  const forward = zero();
  const backward = zero();
  const again = zero();
  const reference = zero();
  const frozen = frozenForwards(run);
  const trained = trainedModels(run);
  const adapted = run['method.kind'] === 'lora';
  for (const traced of asCheckpointed(stages, run)) {
    const { operations } = traced.tape;
    add(forward, forwardOf(operations), trained * traced.copies);
    add(backward, backwardOf(operations), trained * traced.copies);
    if (frozen > 0) add(reference, (adapted ? baseForwardOf : forwardOf)(operations), frozen * traced.copies);
    for (const [list, copies] of recomputed(traced, run)) add(again, forwardOf(list), trained * copies);
  }
  const other = otherFrozen(run);
  add(reference, { hardware: other, profiled: other, model: other }, 1);
  return { forward, backward, recomputed: again, reference };
}

function isAdapter({ weights }: Operation): boolean {
  return weights.some((weight) => weight.role === 'adapter');
}

/** Objectives that compare with the base under its adapters (TRL, `null_ref_context`) where the run states nothing of it. */
const COMPARES_WITH_BASE: ReadonlySet<TrainingRun['method.objective']> = new Set([
  'dpo',
  'ipo',
  'kto',
  'bco',
  'online-dpo',
  'rloo',
  'ppo',
]);

/**
 * Frozen models of the size of the trained one that each batch runs through: the reference that the run keeps, or under
 * LoRA the base without its adapters, reward models, and the trained model itself where it scores before an update.
 */
export function frozenForwards(run: TrainingRun): number {
  const scoring = run['method.scoringForwards'];
  const adapted =
    scoring === undefined && run['method.kind'] === 'lora' && COMPARES_WITH_BASE.has(run['method.objective']);
  const compares = !run['method.precomputedReference'] && (run['method.referenceModel'] || adapted);
  // Who has no teacher of its own runs once more to teach itself.
  const itself = hasTeacher(run) && run['method.frozenModels'] + run['method.frozenParameters'] === 0;
  return run['method.frozenModels'] + (compares || itself ? 1 : 0) + (scoring ?? 0);
}

/** Models of one size that are trained together: the policy, and with PPO the value model. */
export function trainedModels(run: TrainingRun): number {
  return run['method.valueModel'] && !run['method.valueTogether'] ? 2 : 1;
}

/** Forward FLOPs of frozen models of other sizes, two per parameter and token of the micro batch. */
export function otherFrozen(run: TrainingRun): number {
  const parameters = run['method.frozenParameters'];
  const ranks = run['parallel.tensor'] * run['parallel.context'] * run['parallel.ulysses'];
  return (2 * parameters * run['batch.micro'] * rowsPerSample(run) * run['batch.sequence']) / ranks;
}

/**
 * FLOPs of one optimizer step over all GPUs, read off the operators; a multiply-add is two. Backward computes a
 * gradient for each factor that needs one, so frozen weights cost half, and checkpointed layers run forward again
 * (which MFU does not count).
 */
export function computeEstimate(stages: readonly TracedStage[], run: TrainingRun): ComputeEstimate {
  const { forward, backward, recomputed: again, reference } = microBatchFlops(stages, run);
  // Traced FLOPs are those of one GPU: model-parallel ranks do their own share of the same samples.
  const ranks =
    dataParallelSize(run) * run['parallel.tensor'] * run['parallel.context'] * run['parallel.ulysses'];
  const factor = ranks * run['batch.accumulation'];
  const rows = run['batch.micro'] * rowsPerSample(run) * run['batch.accumulation'] * dataParallelSize(run);
  const sum = (of: keyof Counted, ...counted: Counted[]) =>
    factor * counted.reduce((flops, part) => flops + part[of], 0);
  const flopsPerStep = sum('hardware', forward, backward, again, reference);
  const tokensPerStep = rows * run['batch.sequence'];
  const steps = stepsOf(run, tokensPerStep);
  return {
    flopsPerStep,
    modelFlopsPerStep: sum('model', forward, backward, reference),
    hfuFlopsPerStep: sum('model', forward, backward, again, reference),
    profiledFlopsPerStep: sum('profiled', forward, backward, again, reference),
    forwardFlopsPerStep: sum('hardware', forward),
    recomputedFlopsPerStep: sum('hardware', again),
    referenceFlopsPerStep: sum('hardware', reference),
    tokensPerStep,
    pflopDaysPerStep: flopsPerStep / PFLOP_DAY,
    pflopDaysTotal: steps === undefined ? undefined : (steps * flopsPerStep) / PFLOP_DAY,
  };
}

/** Optimizer steps of the whole run, where its length is known. */
export function stepsOf(run: TrainingRun, tokensPerStep: number): number | undefined {
  const tokens = run['schedule.tokens'];
  return run['schedule.steps'] ?? (tokens === undefined ? undefined : tokens / tokensPerStep);
}
