import type { Shares } from '../results/estimate';
import type { TrainingRun } from '../run/fields';
import type { Band } from './band';
import { batchLengths } from './batch-lengths';
import type { Ledger } from './ledger';
import type { Sharding } from './sharding-scheme';
import { simulateSteps } from './simulate';
import type { StepWalk } from './step';
import type { TracedStage } from './traced-run';

/** What the walk was made of, for playing it on the allocator. */
interface Played {
  readonly walk: StepWalk;
  readonly stages: readonly TracedStage[];
  readonly sharding: Sharding;
  readonly constant: Ledger;
}

/**
 * Reserved minus allocated, bytes per GPU: what PyTorch's caching allocator holds beyond what is handed out, as found
 * by playing steps on it. `capacity` is what it may reserve. The ends are of what the run needs, `shares` around what is
 * allocated: blocks of other lengths are given back before a run fails; other cache counts, and is as uncertain as what it lies on.
 */
export function reservedSlack(played: Played, run: TrainingRun, capacity: number, shares: Shares): Band {
  const allocated = played.walk.peak.bytes;
  // A run that does not fit is played as if the card were larger.
  const limit = allocated < capacity ? capacity : Number.POSITIVE_INFINITY;
  const { reserved } = simulateSteps(
    played.stages,
    played.walk,
    run,
    played.sharding,
    played.constant,
    limit,
    batchLengths(run),
  );
  const likely = Math.min(Math.max(0, reserved - allocated), limit - allocated);
  const above = shares.above * allocated;
  const varied = run['batch.varied'] && !run['batch.packed'];
  return { lower: -shares.below * allocated, likely, upper: varied ? above : likely + above };
}
