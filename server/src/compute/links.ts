import type { Accelerator } from '../hardware/accelerator';
import type { TrainingRun } from '../run/fields';

/** Bytes per second in one direction. */
export interface Links {
  /** Between a GPU and the others of its node; undefined where it is not known. */
  readonly inside?: number;
  /** Between a node and the others, over all its adapters; undefined where nothing says that it is slower than inside. */
  readonly between?: number;
}

/** Links as rated, as they usually are in use, and at their slowest. */
export interface LinkSpeeds {
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
const GEFORCE = /^RTX [2-5]0\d\d/;

/**
 * Shares of the rated speed that collectives of NCCL reach: inside a node 78 to 82 % (235 of 300 GB/s on A100, 367 of 450
 * on H200, 741 of 900 on B200), between nodes 73 % (four nodes of eight B200). stas00/ml-engineering, `network/README.md`.
 * Reductions inside NVSwitch (`NVLS`, Hopper and later) are faster than that and are not counted.
 */
const INSIDE_SHARE = 0.8;
const BETWEEN_SHARE = 0.73;

const GBIT = 1e9 / 8;

/**
 * Adapters of a machine, Gbit/s: EC2's from `instance-types.md` of aws/karpenter-provider-aws
 * (`instance-network-bandwidth`), Google's from the table of stas00/ml-engineering, `network/README.md`.
 */
const INSTANCES: Readonly<Record<string, number>> = {
  'g4dn.metal': 100,
  'g5.48xlarge': 100,
  'g6.48xlarge': 100,
  'g6e.48xlarge': 400,
  'g7e.48xlarge': 1600,
  'p3dn.24xlarge': 100,
  'p4d.24xlarge': 400,
  'p4de.24xlarge': 400,
  'p5.48xlarge': 3200,
  'p5e.48xlarge': 3200,
  'p5en.48xlarge': 3200,
  'p6-b200.48xlarge': 3200,
  'p6-b300.48xlarge': 6400,
  'a3-highgpu-8g': 800,
  'a3-megagpu-8g': 1600,
};

/** Adapters of machines with a card, Gbit/s. */
interface Network {
  readonly card: RegExp;
  /** Of NVIDIA's own machine: one adapter per GPU (DGX-1 has four for eight). */
  readonly usual: number;
  /** The slowest machine with it above. */
  readonly slowest: number;
}

const NETWORKS: readonly Network[] = [
  // DGX-1: four of EDR; DGX A100: eight of HDR; DGX H100, H200 and B200: eight of NDR; DGX B300: eight of XDR.
  { card: /^V100-SXM/, usual: 400, slowest: 100 },
  { card: /^A100-SXM/, usual: 1600, slowest: 400 },
  { card: /^H[12]00-SXM/, usual: 3200, slowest: 800 },
  { card: /^B200-SXM/, usual: 3200, slowest: 3200 },
  { card: /^B300-SXM/, usual: 6400, slowest: 6400 },
  // NVLink goes beyond the node.
  { card: /^G[BH]\d00/, usual: Number.POSITIVE_INFINITY, slowest: 1600 },
  // AMD's reference machines have an adapter of 400 Gbit/s per GPU.
  { card: /^MI3/, usual: 3200, slowest: 800 },
];

/** Cards without NVLink between all: machines of EC2 with eight of them have 100 Gbit/s. */
const OTHER: Network = { card: /./, usual: 100, slowest: 100 };

function networkOf(run: TrainingRun, { name }: Accelerator): { usual: number; slowest: number } {
  const own = INSTANCES[run['hardware.instance'] ?? ''];
  if (own !== undefined) return { usual: own, slowest: own };
  return NETWORKS.find(({ card }) => card.test(name)) ?? OTHER;
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
      inside: inside && GEFORCE.test(accelerator.name) ? SLOWEST_GEFORCE_LINK : share(inside),
      between: between(network.slowest, BETWEEN_SHARE),
    },
  };
}
