import type { Accelerator } from '../hardware/accelerator';
import { stateBytes } from '../memory/optimizers';
import { shardGroupSize } from '../memory/sharding';
import type { TracedStage } from '../memory/traced-run';
import { bytesPer, type WeightSums } from '../memory/weights';
import type { RatedSeconds, Spread } from '../results/estimate';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import { achievedShares, FASTEST_ATTENTION } from './achieved-rates';
import { waiting } from './exchange';
import { hostOptimizerSeconds } from './host-optimizer';
import { launchSeconds } from './launches';
import { leftOut } from './left-out';
import { inTf32, matrixRates, multipliedIn } from './matrix-rates';
import { microBatchWork, rooflineSeconds, runsExperts } from './roofline';
import { transferSeconds } from './transfers';

/**
 * Tensor parallelism over four GPUs of a node costs 35 % of the throughput of FSDP over the same
 * (KempnerForge, benchmarks/mfu_scaling: 53.8 against 34.7 % MFU).
 */
const SLOWEST_TENSOR_PARALLEL = 0.65;

/** What a step takes, and on what that rests. */
interface StepTime {
  /** Seconds per optimizer step. */
  readonly seconds: Spread;
  readonly rated: RatedSeconds;
  /** Share of the tokens of a full batch that the low and the likely time compute: shorter samples are padded less. */
  readonly computed: number;
  readonly source: string;
  /** For people: what is not in it. */
  readonly leftOut: readonly string[];
}

/**
 * Time of one optimizer step as a range. Low: every operator at the fastest that the card was seen to do, and
 * communication wholly hidden. Likely and high: the roofline over the shares of it that published runs reach, the
 * pipeline's bubble, and communication beside computing where the framework runs it there (likely) or after it (high).
 *
 * @param forwardShare Share of the step's FLOPs that run forward.
 */
export function stepTime(
  stages: readonly TracedStage[],
  sums: WeightSums,
  run: TrainingRun,
  accelerator: Accelerator,
  forwardShare: number,
): StepTime | string {
  const does = behaviours(run);
  const type = multipliedIn(run, accelerator);
  const rates = matrixRates(accelerator, type, inTf32(run));
  if (!rates)
    return say(
      'The FLOP rate of {0} in {1} is not known, so no time is given.',
      accelerator.name,
      String(type),
    );
  const memory = accelerator.bandwidthBytesPerSecond ?? Number.POSITIVE_INFINITY;
  const work = microBatchWork(stages, run);
  const best = rooflineSeconds(work, { flops: rates.best, bytes: memory });
  const rated = rooflineSeconds(work, { flops: rates.rated, bytes: memory });
  const shares = achievedShares(accelerator, run['attention.implementation'], does.buildsGraph);
  const compiled = run['kernels.compile'] || run['kernels.xla'];
  // Fused with its neighbours elementwise work is free at best; else its operands may be in the cache still, and results
  // are written. At worst all of it passes through memory.
  const fused = compiled || does.fusesElementwise;
  const unfused: Spread = fused ? { low: 0, likely: 0.5, high: 1 } : { low: 0.5, likely: 1, high: 1 };
  const optimizer = optimizerSeconds(sums, run, memory);
  const micro = run['batch.accumulation'];
  const pipe = pipelineFactor(run);
  const lengths = lengthShare(run);
  const transfers = transferSeconds(stages, sums, run, accelerator);
  const fastest =
    best.products +
    (best.attention * rates.best) / (rates.rated * FASTEST_ATTENTION) +
    unfused.low * best.elementwise;
  const usual = (share: number, gain: number) =>
    rated.products / gain + rated.attention / shares.attention + share * rated.elementwise;
  const tensor = run['parallel.tensor'] > 1 ? SLOWEST_TENSOR_PARALLEL : 1;
  const launched = launchSeconds(work, run, accelerator);

  const low = Math.max(lengths * micro * fastest * pipe + optimizer, transfers.host);
  const computing = (lengths * micro * usual(unfused.likely, rates.gain) * pipe) / shares.likely;
  const passes = { forward: forwardShare * computing, backward: (1 - forwardShare) * computing };
  const waits = waiting(transfers.exchanged, passes, micro);
  const stepped = hostOptimizerSeconds(sums, run);
  const likely =
    Math.max(
      low,
      Math.max(computing, launched.likely) + optimizer / shares.likely + waits + transfers.tensor,
      transfers.host,
    ) + stepped.likely;
  const slow = (micro * usual(unfused.high, 1) * pipe + optimizer) / (shares.slowest * tensor);
  const high = Math.max(
    likely,
    Math.max(slow, launched.high) +
      transfers.slowestData +
      transfers.tensor +
      transfers.host +
      transfers.paged +
      stepped.high,
  );
  return {
    seconds: { low, likely, high },
    rated: {
      computing: micro * (rated.products + rated.attention + unfused.likely * rated.elementwise) * pipe,
      optimizer,
      dataParallel: transfers.data,
      tensorParallel: transfers.tensor,
      offload: transfers.host,
    },
    computed: lengths,
    source: shares.source,
    leftOut: leftOut(run, accelerator, runsExperts(work)),
  };
}

/**
 * Stages work on their share of the layers and wait while the pipeline fills and drains: `(m + (p - 1) / v) / m`
 * (arXiv 2104.04473, section 2.2).
 */
export function pipelineFactor(run: TrainingRun): number {
  // One stage works at a time.
  if (run['parallel.pipelineSchedule'] === 'sequential') return 1;
  const stages = run['parallel.pipeline'];
  const chunks = run['parallel.pipelineSchedule'] === 'interleaved' ? run['parallel.virtualStages'] : 1;
  return (1 + (stages - 1) / (chunks * run['batch.accumulation'])) / stages;
}

/** Padded batches are as long as their longest sample: on average this share of the maximum, lengths being even. */
function lengthShare(run: TrainingRun): number {
  if (!run['batch.varied'] || run['batch.packed']) return 1;
  const mean = run['batch.meanSequence'];
  if (mean !== undefined) return Math.min(1, mean / run['batch.sequence']);
  return run['batch.micro'] / (run['batch.micro'] + 1);
}

/** The optimizer reads weights, gradients and states and writes weights and states, on the GPUs that hold them. */
function optimizerSeconds(sums: WeightSums, run: TrainingRun, memory: number): number {
  if (run['offload.optimizer'] !== 'none') return 0;
  const sharded =
    run['parallel.data'] !== 'none' &&
    (run['parallel.data'] !== 'ddp' || run['parallel.distributedOptimizer']);
  const elements = sums.trained / (run['parallel.pipeline'] * (sharded ? shardGroupSize(run) : 1));
  const stepped = behaviours(run).computesInStoredType
    ? bytesPer(run['precision.weights'])
    : bytesPer('fp32');
  return (elements * (3 * stepped + 2 * stateBytes(run, stepped))) / memory;
}
