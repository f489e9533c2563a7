import type { Band } from './device';
import type { StepWalk } from './step';

/**
 * What the caching allocator holds beyond what is handed out, as a share of the allocated peak. Fixed shapes leave 2 to
 * 5 % in published runs; segments of changing sizes leave more, and near the card's limit cached blocks are returned
 * before an allocation fails, so the lower bound is nothing.
 */
const SLACK = { lower: 0, likely: 0.03, upper: 0.08 } as const;

/** Reserved minus allocated, bytes per GPU. */
export function reservedSlack(walk: StepWalk): Band {
  const allocated = walk.peak.bytes;
  return {
    lower: SLACK.lower * allocated,
    likely: SLACK.likely * allocated,
    upper: SLACK.upper * allocated,
  };
}
