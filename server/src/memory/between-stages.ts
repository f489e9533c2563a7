import { type AllocatorEvent, gradientOf } from './play';
import { returned } from './segment';
import type { TracedStage } from './traced-run';

/** What becomes of tensors that several stages read, in between the passes of one of them. */
export interface BetweenStages {
  /** When the stage's forward is over, all its copies included: what nobody keeps. */
  readonly afterForward: readonly AllocatorEvent[];
  /** Before its backward: gradients that those of all readers are added to. */
  readonly beforeBackward: readonly AllocatorEvent[];
  /** When its backward is over: what other readers kept as well. */
  readonly afterBackward: readonly AllocatorEvent[];
}

/** The same that the walk adds to its level (`TracedStage.drops`, `begins`, `releases`), as the allocator hears of it. */
export function betweenStages({ drops = [], begins = [], releases = [] }: TracedStage): BetweenStages {
  return {
    afterForward: returned(drops),
    beforeBackward: begins.map((x) => {
      const { bytes, quadratic } = gradientOf(x);
      return { bytes, power: quadratic ? 2 : 1 };
    }),
    afterBackward: returned(releases),
  };
}
