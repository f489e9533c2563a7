import { say } from '../wording/say';
import type { Source } from './source';

const UNITS = ['bytes', 'parameters', 'FLOP', 'tokens', 'seconds', 'tokens/s', 'kWh', 'USD'] as const;
export type Unit = (typeof UNITS)[number];

/** A figure that can be opened: what it is, the formula with this run's numbers, its source, and what it is made of. */
export interface DetailNode {
  /** What finds it whatever language the name is in: its English name, or the category of a part. */
  readonly id?: string;
  readonly name: string;
  /** In `unit`; whole bytes, parameters and tokens. Bytes are per GPU, host memory per node; FLOPs and tokens are those of one step over all GPUs. */
  readonly value: number;
  readonly unit: Unit;
  /** Why it is there: `kept for backward of mlp.act_fn`. */
  readonly why?: string;
  readonly formula?: string;
  readonly source?: Source;
  /** One tensor, of which `count` are alive. A count is a fraction where part of a tensor is. */
  readonly tensor?: {
    readonly shape?: readonly number[];
    readonly dtype?: string;
    readonly bytesEach: number;
    readonly count: number;
  };
  /** Their values add up to this one's. */
  readonly children?: readonly DetailNode[];
}

/** A node whose value is not rounded yet. */
export type FigureDraft = Omit<DetailNode, 'children'> & { readonly children?: readonly FigureDraft[] };

/** The name of a figure in the language of the person, and the English one, by which it is found. */
export function named(text: string): Pick<DetailNode, 'id' | 'name'> {
  return { id: text, name: say(text) };
}

/** Sum of the values of drafts. */
export function sumOf(drafts: readonly FigureDraft[]): number {
  return drafts.reduce((sum, { value }) => sum + value, 0);
}

/**
 * Whole numbers that add up: the children of each node share its integer by largest remainder. What they miss by more
 * than rounding stays visible as a child of its own, `unexplained`.
 */
export function settleIntegers(draft: FigureDraft, value = Math.round(draft.value)): DetailNode {
  const { children, ...own } = draft;
  if (!children || children.length === 0) return { ...own, value };
  const missing = value - sumOf(children);
  const tolerance = children.length + 1 + Math.abs(value) * 1e-9;
  const all =
    Math.abs(missing) > tolerance
      ? [...children, { name: UNEXPLAINED, value: missing, unit: draft.unit }]
      : children;
  const floors = all.map((child) => Math.floor(child.value));
  let left = value - floors.reduce((sum, n) => sum + n, 0);
  const byRemainder = all
    .map((child, index) => ({ index, remainder: child.value - Math.floor(child.value) }))
    .sort((a, b) => b.remainder - a.remainder);
  for (let turn = 0; left !== 0 && turn < tolerance + all.length; turn++) {
    const step = Math.sign(left);
    const at = byRemainder[step > 0 ? turn % all.length : all.length - 1 - (turn % all.length)];
    if (at) floors[at.index] = (floors[at.index] ?? 0) + step;
    left -= step;
  }
  return {
    ...own,
    value,
    children: all
      .map((child, index) => settleIntegers(child, floors[index] ?? 0))
      .sort((a, b) => b.value - a.value),
  };
}

/** Name of what no formula stands behind. Tests hold that it never occurs. */
export const UNEXPLAINED = 'unexplained';
