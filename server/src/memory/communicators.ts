import { type Accelerator, isModelled } from '../hardware/accelerator';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import type { Band } from './band';
import { expertCopies } from './megatron';
import { dataParallelSize } from './sharding-scheme';

const MIB = 2 ** 20;

/**
 * Buffers of a connection between two GPUs on one channel. The receiver has one for each protocol, 512 KiB + 4.7 MiB + 4 MiB
 * in blocks of 2 MiB, the sender a block (NCCL `init.cc`, `DEFAULT_BUFFSIZE` and its like; `transport/p2p.cc`, `recvSize`; seen as
 * 10,485,760 and 2,097,152 bytes in nccl#1685).
 */
const CONNECTION = 12 * MIB;

/** Channels of rings and trees, twice those that the search finds (`graph/connect.cc`, "duplicate the channels"). */
function channelsOf({ linkBytesPerSecond, computeCapability = '' }: Accelerator): number {
  // Without NVLink a ring or two; NVSwitch: one for each link of V100 and A100, 8 and 16 since (logs in nccl#1189, #1357).
  if (linkBytesPerSecond === undefined) return 4;
  if (computeCapability === '7.0') return 12;
  return computeCapability === '8.0' ? 24 : 16;
}

/** Channels to each peer in sends and receives: two for each NVLink, up to 32; else two (`graph/paths.cc`, `ncclTopoGetNchannels`). */
function channelsToPeer({ linkBytesPerSecond, computeCapability = '' }: Accelerator): number {
  if (linkBytesPerSecond === undefined) return 2;
  return computeCapability === '7.0' ? 4 : 32;
}

/**
 * Buffers for reductions in NVSwitch, which Hopper and its successors use instead of trees: two of 1 MiB for each channel and
 * GPU of the node (`transport/nvls.cc`, `nvlsTotalSize`).
 */
function switchBuffers({ linkBytesPerSecond, computeCapability = '' }: Accelerator, local: number): number {
  if (linkBytesPerSecond === undefined || !/^(9|1\d)\./.test(computeCapability)) return 0;
  const channels = computeCapability.startsWith('9.') ? 16 : 24;
  return channels * 2 * MIB * Math.min(8, local);
}

/**
 * RCCL on MI250X: 1 GiB with the first communicator, 0.65 with each other (Lumi-supercomputer/LUMI-AI-Guide#111).
 */
const RCCL = { first: 1024 * MIB, other: 666 * MIB } as const;

/** A group of GPUs with a communicator of its own. */
interface Group {
  readonly gpus: number;
  /**
   * Sums and gathers go round rings and trees, single numbers round one of them (what is connected when it is first used,
   * NCCL 2.22); rings of keys and pipelines use two neighbours; all-to-all every peer.
   */
  readonly pattern: 'collective' | 'numbers' | 'neighbours' | 'all-to-all';
}

/**
 * Groups that a run opens: data, tensor, pipeline, context and expert groups each have their own. Megatron's are objects of
 * their own even where they have the same members: beside these one of all GPUs, which the norm of the gradients is summed
 * over, one of a whole model, which agrees on the step, and one of an expert's copies (`optimizer/clip_grads.py`;
 * `training/utils.py`, `logical_and_across_model_parallel_group`; `parallel_state.py`).
 */
function groupsOf(run: TrainingRun): Group[] {
  if (run['hardware.gpus'] <= 1) return [];
  const groups: Group[] = [];
  const add = (gpus: number, pattern: Group['pattern']) => {
    if (gpus > 1) groups.push({ gpus, pattern });
  };
  add(dataParallelSize(run) * run['parallel.context'] * run['parallel.ulysses'], 'collective');
  add(run['parallel.tensor'], 'collective');
  add(run['parallel.pipeline'], 'neighbours');
  add(run['parallel.context'], 'neighbours');
  add(run['parallel.ulysses'], 'all-to-all');
  add(run['parallel.expert'], 'all-to-all');
  if (behaviours(run).opensExtraGroups) {
    add(run['hardware.gpus'], 'numbers');
    add(run['parallel.tensor'] * run['parallel.pipeline'], 'numbers');
    if (run['parallel.expert'] > 1) add(expertCopies(run), 'collective');
  }
  return groups;
}

/** Communicators of a process. */
export function communicators(run: TrainingRun): number {
  return groupsOf(run).length;
}

/** Buffers of one communicator at its usual number of channels. */
function bufferBytes({ gpus, pattern }: Group, run: TrainingRun, accelerator: Accelerator): number {
  const node = run['hardware.gpus'] / run['hardware.nodes'];
  const local = Math.min(gpus, node);
  if (pattern === 'collective' || pattern === 'numbers') {
    const ring = channelsOf(accelerator) * CONNECTION;
    return pattern === 'numbers' ? ring : ring + (switchBuffers(accelerator, local) || ring);
  }
  // Neighbours of a pipeline over nodes are reached over the network, with few channels.
  const near = pattern === 'all-to-all' || run['hardware.nodes'] === 1;
  const peers = pattern === 'all-to-all' ? Math.max(1, local - 1) : Math.min(2, gpus - 1);
  return peers * (near ? channelsToPeer(accelerator) : 2) * CONNECTION;
}

/**
 * NCCL's buffers, outside the allocator, one band per communicator: half the channels and no trees at the lower end, twice
 * the usual at the upper. Published: 688 MB on four A100, 544 on two (nccl#964; ours 604), 1.06 GB with the context on eight
 * H100 before an all-to-all and 4.34 after it (nccl#1685; ours 1.06 and 3.88), 1.6 GB with the context after a first sum (nccl#864).
 */
export function communicatorBands(run: TrainingRun, accelerator: Accelerator): Band[] {
  if (!isModelled(accelerator)) return [];
  return groupsOf(run).map((group, index) => {
    const amd = accelerator.vendor === 'AMD';
    const rccl = index === 0 ? RCCL.first : RCCL.other;
    const likely = amd ? rccl : bufferBytes(group, run, accelerator);
    return { lower: likely / 4, likely, upper: 2 * likely };
  });
}
