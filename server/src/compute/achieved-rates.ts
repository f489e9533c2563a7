import published from '../../data/achieved-rates.json';
import type { Accelerator } from '../hardware/accelerator';
import { say } from '../wording/say';

/** Shares of the rated speed that training reaches: the fastest conceivable, the usual, and the slowest published. */
interface AchievedShares {
  readonly likely: number;
  readonly slowest: number;
  /** Of fused attention alone, beside which the others are counted. */
  readonly attention: number;
  /** Where the shares come from, for people. */
  readonly source: string;
}

/** A row of `data/achieved-rates.json`: what published runs on some cards reach of the roofline (see `rooflineSeconds`). */
interface Measured {
  /** Beginnings of names of cards, and of architectures. */
  readonly cards?: readonly string[];
  readonly architectures?: readonly string[];
  readonly likely?: number;
  readonly slowest: number;
  /** What matrix products alone reach. */
  readonly fastest?: number;
  readonly runs?: number;
  readonly card?: string;
  readonly published: string;
}

const MEASURED: readonly Measured[] = published.measured;
const OTHERS: Measured = published.others;
const GRAPH: Measured = published.graph;

/** Attention kernels at their best. */
export const FASTEST_ATTENTION = published.attention.fastest;

const begins = (text: string, beginnings: readonly string[] = []) =>
  beginnings.some((beginning) => text.startsWith(beginning));

function measuredOn({ name, architecture }: Accelerator): Measured {
  return MEASURED.find((row) => begins(name, row.cards) || begins(architecture, row.architectures)) ?? OTHERS;
}

/** Where there is a least share but no middle: between it and the fastest products. */
function likelyOf({ likely, slowest, fastest = 1 }: Measured): number {
  return likely ?? Math.sqrt(slowest * fastest);
}

/** Where the shares come from, for people. */
function sourceOf({ published: by, runs = 0, card = '' }: Measured): string {
  const words = Object.hasOwn(PUBLISHED_BY, by) ? PUBLISHED_BY[by as keyof typeof PUBLISHED_BY] : undefined;
  return words?.(runs, card) ?? say('runs on other cards, as none are known on this one');
}

/** Words for whoever published runs, by the name that the data has. */
const PUBLISHED_BY = {
  'llm-foundry': (runs: number, card: string) =>
    say('{0} runs on {1} published with llm-foundry in 2024', runs, card),
  torchtitan: (_runs: number, card: string) =>
    say('runs of torchtitan on {0}, and what matrix products reach alone', card),
  transformers: () => say('runs of BERT on V100 in the guide of transformers'),
  tensorflow: (runs: number, card: string) => say('{0} runs of encoders in TensorFlow on {1}', runs, card),
} as const;

/** Shares for a card and the attention kernel that the run asks for. `graph`: of a static graph of operators. */
export function achievedShares(accelerator: Accelerator, kernel: string, graph = false): AchievedShares {
  const { architecture } = accelerator;
  const measured = graph ? GRAPH : measuredOn(accelerator);
  const { flash3Gain, likely, others } = published.attention;
  const fused = likely.find(({ architectures }) => begins(architecture, architectures)) ?? others;
  const gain = kernel === 'flash3' && architecture.startsWith('Hopper') ? flash3Gain : 1;
  return {
    likely: likelyOf(measured),
    slowest: measured.slowest,
    source: sourceOf(measured),
    attention: gain * fused.share,
  };
}

/** Matrix products at their fastest, FLOP per second; the rated speed where nobody measured them. */
export function fastestProducts(card: Accelerator, type: 'bf16' | 'fp8'): number | undefined {
  return card.fastestFlops?.[type] ?? card.denseFlops[type];
}
