import type { Accelerator } from '../hardware/accelerator';
import { say } from '../wording/say';

/** Shares of the rated speed that training reaches: the fastest conceivable, the usual, and the slowest published. */
export interface AchievedShares {
  readonly likely: number;
  readonly slowest: number;
  /** Of fused attention alone, beside which the others are counted. */
  readonly attention: number;
  /** Where the shares come from, for people. */
  readonly source: string;
}

/**
 * Attention kernels at their best: 73 % of the rated speed with FlashAttention-2 on A100 (arXiv 2307.08691), 75 % with
 * FlashAttention-3 on H100 (arXiv 2407.08608).
 */
export const FASTEST_ATTENTION = 0.75;

/** FlashAttention-2 reaches 35 % on H100 (arXiv 2407.08608, abstract). */
const ATTENTION_ON_HOPPER = 0.35;
/** FlashAttention-3 is 1.5 to 2 times as fast there (the same). */
const FLASH3_GAIN = 1.5;
/** FlashAttention-2 reaches 50 to 73 % on A100 (arXiv 2307.08691, abstract): the middle. */
const ATTENTION_ON_AMPERE = 0.615;

/**
 * llm-foundry, scripts/train/benchmarking/README.md of April 2024: 0.1 to 70 billion parameters, 512 to 65,536 tokens,
 * FSDP on 8 to 512 GPUs.
 */
const published = (runs: number, card: string) =>
  say('{0} runs on {1} published with llm-foundry in 2024', runs, card);

type Measured = Omit<AchievedShares, 'attention'>;

/**
 * Shares of the roofline (see `rooflineSeconds`) in published training runs, median and least of each card. Derived by
 * `npm run accuracy -- --time`, which prints them.
 */
const AMPERE: Measured = {
  likely: 0.625,
  slowest: 0.49,
  get source() {
    return published(139, 'A100');
  },
};
const HOPPER: Measured = {
  likely: 0.535,
  slowest: 0.44,
  get source() {
    return published(70, 'H100');
  },
};
/** Where there is a least share but no middle: between it and the fastest products. */
const between = (slowest: number, fastest: number) => Math.sqrt(slowest * fastest);
const BLACKWELL: Measured = {
  likely: between(0.26, 0.776),
  slowest: 0.26,
  get source() {
    return say('runs of torchtitan on {0}, and what matrix products reach alone', 'B200');
  },
};
const CDNA: Measured = {
  likely: between(0.28, 0.6),
  slowest: 0.28,
  get source() {
    return say('runs of torchtitan on {0}, and what matrix products reach alone', 'MI300X');
  },
};
const VOLTA: Measured = {
  likely: between(0.25, 0.67),
  slowest: 0.25,
  get source() {
    return say('runs of BERT on V100 in the guide of transformers');
  },
};
const OTHERS: Measured = {
  likely: between(HOPPER.slowest, 1),
  slowest: HOPPER.slowest,
  get source() {
    return say('runs on other cards, as none are known on this one');
  },
};

function measuredOn({ architecture }: Accelerator): Measured {
  if (/^Hopper/.test(architecture)) return HOPPER;
  if (/^Blackwell/.test(architecture)) return BLACKWELL;
  if (/^CDNA/.test(architecture)) return CDNA;
  if (/^(Volta|Turing|Pascal)/.test(architecture)) return VOLTA;
  return OTHERS;
}

/**
 * TensorFlow with Horovod and kernels of its own: 19 runs of encoders with 0.4 to 5.75 billion parameters on A100. The
 * middle and the least of what they reach of the roofline, as the others are derived.
 */
const TENSORFLOW: Measured = {
  likely: 0.35,
  slowest: 0.21,
  get source() {
    return say('{0} runs of encoders in TensorFlow on {1}', 19, 'A100');
  },
};

/** Shares for a card and the attention kernel that the run asks for. `graph`: of a static graph of operators. */
export function achievedShares(accelerator: Accelerator, kernel: string, graph = false): AchievedShares {
  const { name, architecture } = accelerator;
  const onCard = name.startsWith('A100') ? AMPERE : measuredOn(accelerator);
  const measured = graph ? TENSORFLOW : onCard;
  const ampere = /^(Ampere|Ada)/.test(architecture);
  const gain = kernel === 'flash3' && /^Hopper/.test(architecture) ? FLASH3_GAIN : 1;
  return { ...measured, attention: ampere ? ATTENTION_ON_AMPERE : gain * ATTENTION_ON_HOPPER };
}

/** Matrix products at their fastest, FLOP per second; the rated speed where nobody measured them. */
export function fastestProducts(card: Accelerator, type: 'bf16' | 'fp8'): number | undefined {
  return card.fastestFlops?.[type] ?? card.denseFlops[type];
}
