import type { Accelerator } from '../hardware/accelerator';
import { OPTIMIZER_COSTS } from '../memory/optimizers';
import { shardGroupSize } from '../memory/sharding';
import { dataParallelSize } from '../memory/sharding-scheme';
import type { TracedStage } from '../memory/traced-run';
import { bytesPer, type WeightSums } from '../memory/weights';
import type { TrainingRun } from '../run/fields';

/** Bytes per second in one direction of 16 lanes, by generation (8, 16, 32 GT/s of 128 in 130 bits; 64 GT/s in flits). */
const PCIE: Readonly<Record<number, number>> = { 3: 15.75e9, 4: 31.5e9, 5: 63e9, 6: 121e9 };

/**
 * GeForce cards exchange through host memory, as their drivers allow no peer access over PCIe. The slowest published: two
 * RTX 3090 gather 7 billion 16-bit weights twice in 4.5 s beside computing (fsdp_qlora's table, LoRA, 512 tokens).
 */
const SLOWEST_GEFORCE_LINK = 3e9;
const GEFORCE = /^RTX \d{4}/;

/** Seconds that one GPU's links are busy in one optimizer step, at their rated speed. */
export interface TransferSeconds {
  /** Weights gathered and gradients reduced over data-parallel ranks: frameworks hide them behind computing. */
  readonly data: number;
  /** The same where links are as slow as they were seen. */
  readonly slowestData: number;
  /** Sums over tensor-parallel ranks, which the next operator waits for. */
  readonly tensor: number;
  /** Between GPU and host: offloaded states, weights and checkpoints. */
  readonly host: number;
  /** States of a paged optimizer, where the GPU has no room for them: to it and back. */
  readonly paged: number;
}

function hostRate({ pcieGeneration }: Accelerator): number | undefined {
  return pcieGeneration === undefined ? undefined : PCIE[pcieGeneration];
}

/**
 * Ring collectives: an all-gather or reduce-scatter of `bytes` moves `(n - 1) / n` of them over each GPU's link, an
 * all-reduce twice that (Rajbhandari et al., arXiv 1910.02054, section 7). Links between nodes are taken to be as
 * fast as those inside, so these are lower bounds; links whose speed is unknown take no time.
 */
export function transferSeconds(
  stages: readonly TracedStage[],
  sums: WeightSums,
  run: TrainingRun,
  accelerator: Accelerator,
): TransferSeconds {
  const host = hostRate(accelerator);
  const link = accelerator.linkBytesPerSecond ?? host;
  const moved = dataBytes(sums, run);
  const slowest = GEFORCE.test(accelerator.name) ? SLOWEST_GEFORCE_LINK : link;
  return {
    data: link === undefined ? 0 : moved / link,
    slowestData: slowest === undefined ? 0 : moved / slowest,
    tensor: link === undefined ? 0 : tensorBytes(stages, run) / link,
    host: host === undefined ? 0 : hostBytes(stages, sums, run) / host,
    paged: host === undefined ? 0 : pagedBytes(sums, run) / host,
  };
}

function onStage(elements: number, run: TrainingRun): number {
  return elements / run['parallel.pipeline'];
}

function dataBytes(sums: WeightSums, run: TrainingRun): number {
  const ranks = dataParallelSize(run) * run['parallel.context'] * run['parallel.ulysses'];
  const scheme = run['parallel.data'];
  if (ranks <= 1 || scheme === 'none') return 0;
  const width = bytesPer(run['precision.compute']);
  const weights = onStage(sums.trained + sums.frozen, run) * width + onStage(sums.quantizedBytes, run);
  const gradients =
    onStage(sums.trained, run) * bytesPer(run['precision.reduce'] ?? run['precision.compute']);
  const micro = run['batch.accumulation'];
  const group = shardGroupSize(run);
  const share = (size: number) => (size - 1) / size;
  if (shardsWeights(run)) {
    const replicas = ranks / group > 1 ? 2 * share(ranks / group) * (gradients / group) : 0;
    return micro * share(group) * (2 * weights + gradients) + replicas;
  }
  const perStep = scheme === 'zero' && run['zero.stage'] === 2 ? micro : 1;
  return perStep * 2 * share(ranks) * gradients;
}

function shardsWeights(run: TrainingRun): boolean {
  if (run['parallel.data'] === 'zero') return run['zero.stage'] === 3;
  const fsdp = run['parallel.data'] === 'fsdp1' || run['parallel.data'] === 'fsdp2';
  return fsdp && (run['fsdp.strategy'] === 'full' || run['fsdp.strategy'] === 'hybrid');
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
  // Down go gradients, up come weights; PCIe does both at once, so the longer way counts.
  if (run['offload.optimizer'] !== 'none') {
    bytes += trained * width * run['offload.optimizerRatio'];
  }
  if (run['offload.parameters'] !== 'none') {
    const all = onStage(sums.trained + sums.frozen, run) / group;
    bytes += 2 * run['batch.accumulation'] * all * width;
  }
  if (run['activations.offload']) {
    let checkpoints = 0;
    for (const traced of stages) {
      if (traced.stage.role === 'layer') checkpoints += traced.copies * boundaryBytes(traced);
    }
    bytes += 2 * run['batch.accumulation'] * onStage(checkpoints, run);
  }
  return bytes;
}
