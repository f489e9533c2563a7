import type { TrainingRun } from '../run/fields';
import type { Band } from './band';
import { batchLengths } from './batch-lengths';
import type { Ledger } from './ledger';
import type { Sharding } from './sharding-scheme';
import { simulateSteps } from './simulate';
import type { StepWalk } from './step';
import type { TracedStage } from './traced-run';

/**
 * How far the allocated peak of a real run may lie from ours, as shares of it. Of the published runs that state every
 * setting, 90 % lie within 3.3 % and the farthest at 7.4 % (docs/accuracy.md): a run `exceeds` only beyond the first, and
 * `fits` only beyond the second.
 */
export const BAND = { lower: 0.033, upper: 0.08 } as const;

/** What the walk was made of, for playing it on the allocator. */
export interface Played {
  readonly walk: StepWalk;
  readonly stages: readonly TracedStage[];
  readonly sharding: Sharding;
  readonly constant: Ledger;
}

/**
 * Reserved minus allocated, bytes per GPU: what PyTorch's caching allocator holds beyond what is handed out, as found
 * by playing steps on it. `capacity` is what it may reserve.
 */
export function reservedSlack(played: Played, run: TrainingRun, capacity: number): Band {
  const allocated = played.walk.peak.bytes;
  // A run that does not fit is played as if the card were larger.
  const limit = allocated < capacity ? capacity : Number.POSITIVE_INFINITY;
  const { reserved } = simulateSteps(
    played.stages,
    played.walk.stretches,
    run,
    played.sharding,
    played.constant,
    limit,
    batchLengths(run),
  );
  const likely = Math.min(Math.max(0, reserved - allocated), limit - allocated);
  return {
    lower: -BAND.lower * allocated,
    likely,
    // Blocks of other lengths are given back before a run fails; other cache is as uncertain as what it lies on.
    upper: run['batch.varied']
      ? BAND.upper * allocated
      : Math.max(BAND.upper * allocated, likely + BAND.lower * allocated),
  };
}
