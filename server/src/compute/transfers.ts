import type { Accelerator } from '../hardware/accelerator';
import { OPTIMIZER_COSTS } from '../memory/optimizers';
import { shardGroupSize } from '../memory/sharding';
import type { TracedStage } from '../memory/traced-run';
import { bytesPer, type WeightSums } from '../memory/weights';
import type { TrainingRun } from '../run/fields';
import { type Beside, exchangeSeconds, exchangesOf } from './exchange';
import { hostLink, type Links, linkSpeeds } from './links';

/** Seconds that one GPU's links are busy in one optimizer step. */
interface TransferSeconds {
  /** Weights gathered and gradients reduced over data-parallel ranks, at the rated speed of the links. */
  readonly data: number;
  /** The same at the speed that collectives usually reach, by what the GPU computes meanwhile. */
  readonly exchanged: Readonly<Record<Beside, number>>;
  /** The same where links are as slow as they were seen. */
  readonly slowestData: number;
  /** Sums over tensor-parallel ranks, which the next operator waits for. */
  readonly tensor: number;
  /** Between GPU and host: offloaded states, weights and checkpoints. */
  readonly host: number;
  /** States of a paged optimizer, where the GPU has no room for them: to it and back. */
  readonly paged: number;
}

/** What is exchanged between GPUs and with the host. Links whose speed is unknown take no time. */
export function transferSeconds(
  stages: readonly TracedStage[],
  sums: WeightSums,
  run: TrainingRun,
  accelerator: Accelerator,
): TransferSeconds {
  const host = hostLink(accelerator);
  const speeds = linkSpeeds(run, accelerator);
  const exchanges = exchangesOf(sums, run);
  const all = (links: Links) =>
    Object.values(exchangeSeconds(exchanges, run, links)).reduce((seconds, part) => seconds + part, 0);
  const link = speeds.rated.inside;
  return {
    data: all(speeds.rated),
    exchanged: exchangeSeconds(exchanges, run, speeds.usual),
    slowestData: all(speeds.slowest),
    tensor: link === undefined ? 0 : tensorBytes(stages, run) / link,
    host: host === undefined ? 0 : hostBytes(stages, sums, run) / host,
    paged: host === undefined ? 0 : pagedBytes(sums, run) / host,
  };
}

function onStage(elements: number, run: TrainingRun): number {
  return elements / run['parallel.pipeline'];
}

/** Two sums per layer forward and two backward (arXiv 1909.08053, section 3), forward again where it is computed again. */
function tensorBytes(stages: readonly TracedStage[], run: TrainingRun): number {
  const size = run['parallel.tensor'];
  if (size <= 1) return 0;
  const passes = run['activations.checkpointing'] === 'full' ? 3 : 2;
  let bytes = 0;
  for (const traced of stages) {
    if (traced.stage.role === 'layer') bytes += traced.copies * passes * 2 * boundaryBytes(traced);
  }
  return (run['batch.accumulation'] * onStage(bytes, run) * 2 * (size - 1)) / size;
}

/** What a layer hands on. */
function boundaryBytes({ tape }: TracedStage): number {
  return tape.exit.reduce((bytes, x) => bytes + x.storage.bytes, 0);
}

/** Managed memory moves to where it is used (bitsandbytes, `get_paged`), both ways one after the other. */
function pagedBytes(sums: WeightSums, run: TrainingRun): number {
  const cost = OPTIMIZER_COSTS[run['optimizer.name']];
  return cost.paged ? 2 * onStage(sums.trained, run) * cost.fixedBytes : 0;
}

function hostBytes(stages: readonly TracedStage[], sums: WeightSums, run: TrainingRun): number {
  const width = bytesPer(run['precision.compute']);
  const group = run['parallel.data'] === 'none' || run['parallel.data'] === 'ddp' ? 1 : shardGroupSize(run);
  const trained = onStage(sums.trained, run) / group;
  let bytes = 0;
  // Down go gradients, up come weights; PCIe does both at once, so the longer way counts. DeepSpeed sums the gradients of
  // micro batches in host memory (`stage_1_and_2.py`, `async_accumulate_grad_in_cpu_via_gpu`).
  if (run['offload.optimizer'] !== 'none') {
    const times = run['parallel.data'] === 'zero' ? run['batch.accumulation'] : 1;
    bytes += times * trained * width * run['offload.optimizerRatio'];
  }
  if (run['offload.parameters'] !== 'none') {
    const all = onStage(sums.trained + sums.frozen, run) / group;
    bytes += 2 * run['batch.accumulation'] * all * width;
  }
  if (run['activations.offload']) {
    let checkpoints = 0;
    for (const traced of stages) {
      if (run['activations.checkpointing'] === 'none')
        checkpoints += traced.copies * (traced.tape.awayBytes ?? 0);
      else if (traced.stage.role === 'layer') checkpoints += traced.copies * boundaryBytes(traced);
    }
    bytes += 2 * run['batch.accumulation'] * onStage(checkpoints, run);
  }
  return bytes;
}
