import type { Accelerator } from '../hardware/accelerator';
import { cloudInstance } from '../hardware/catalog';
import type { TrainingRun } from '../run/fields';

/** Bytes per second in one direction. */
export interface Links {
  /** Between a GPU and the others of its node; undefined where it is not known. */
  readonly inside?: number;
  /** Between a node and the others, over all its adapters; undefined where nothing states that it is slower than inside. */
  readonly between?: number;
}

/** Links as rated, as they usually are in use, and at their slowest. */
interface LinkSpeeds {
  readonly rated: Links;
  readonly usual: Links;
  readonly slowest: Links;
}

/** Bytes per second in one direction of 16 lanes, by generation (8, 16, 32 GT/s of 128 in 130 bits; 64 GT/s in flits). */
const PCIE: Readonly<Record<number, number>> = { 3: 15.75e9, 4: 31.5e9, 5: 63e9, 6: 121e9 };

/** Between a GPU and its host. */
export function hostLink({ pcieGeneration }: Accelerator): number | undefined {
  return pcieGeneration === undefined ? undefined : PCIE[pcieGeneration];
}

/**
 * GeForce cards exchange through host memory, as their drivers allow no peer access over PCIe. The slowest published: two
 * RTX 3090 gather 7 billion 16-bit weights twice in 4.5 s beside computing (fsdp_qlora's table, LoRA, 512 tokens).
 */
const SLOWEST_GEFORCE_LINK = 3e9;

/**
 * Shares of the rated speed that collectives of NCCL reach: inside a node 78 to 82 % (235 of 300 GB/s on A100, 367 of 450
 * on H200, 741 of 900 on B200), between nodes 73 % (four nodes of eight B200). stas00/ml-engineering, `network/README.md`.
 * Reductions inside NVSwitch (`NVLS`, Hopper and later) are faster than that and are not counted.
 */
const INSIDE_SHARE = 0.8;
const BETWEEN_SHARE = 0.73;

const GBIT = 1e9 / 8;

/** Cards without NVLink between all: machines of EC2 with eight of them (`g5.48xlarge`, `g6.48xlarge`) have 100 Gbit/s. */
const OTHER_NETWORK = 100;

/** Adapters of a machine with such cards, Gbit/s. Infinity where NVLink goes beyond the node. */
function networkOf(run: TrainingRun, { networkGbits }: Accelerator): { usual: number; slowest: number } {
  const own = cloudInstance(run['hardware.instance'])?.networkGbits;
  if (own !== undefined) return { usual: own, slowest: own };
  if (!networkGbits) return { usual: OTHER_NETWORK, slowest: OTHER_NETWORK };
  return { usual: networkGbits.usual ?? Number.POSITIVE_INFINITY, slowest: networkGbits.slowest };
}

/** Speeds of the links of a run's GPUs. */
export function linkSpeeds(run: TrainingRun, accelerator: Accelerator): LinkSpeeds {
  const inside = accelerator.linkBytesPerSecond ?? hostLink(accelerator);
  const network = networkOf(run, accelerator);
  const nodes = run['hardware.nodes'] > 1;
  const between = (gigabits: number, share: number) => (nodes ? share * gigabits * GBIT : undefined);
  const share = (rate: number | undefined) => rate && INSIDE_SHARE * rate;
  return {
    rated: { inside, between: between(network.usual, 1) },
    usual: { inside: share(inside), between: between(network.usual, BETWEEN_SHARE) },
    slowest: {
      inside: inside && accelerator.peerAccess === false ? SLOWEST_GEFORCE_LINK : share(inside),
      between: between(network.slowest, BETWEEN_SHARE),
    },
  };
}
