import type { TrainingRun } from '../run/fields';
import { bytesOf } from './ledger';
import type { Point } from './step';

/** Losses whose chunks are sized by what the GPU has free when the first of them is computed. */
const SIZED: ReadonlySet<TrainingRun['loss.implementation']> = new Set([
  'budgeted-chunks',
  'free-chunks',
  'half-free-chunks',
  'fused-chunks',
]);

/** Less than this is no room to size anything by: such a run does not fit. Bytes. */
const LEAST = 2 ** 20;

/** Whether the loss takes chunks as large as the memory that is free when it is first taken. */
export function isSizedByWhatIsFree(run: TrainingRun): boolean {
  return SIZED.has(run['loss.implementation']);
}

/**
 * What `torch.cuda.mem_get_info` calls free at the first loss, bytes: the count of chunks is cached from then on
 * (`unsloth_zoo/fused_losses/cross_entropy_loss.py`, `_get_chunk_multiplier`). The first forward pass has no optimizer states and no
 * gradients of micro steps before it; what it has freed is still in the allocator's cache. `available`: what the GPU offers to the
 * allocator; `points`: of a later step.
 */
export function freeAtFirstLoss(points: readonly Point[], available: number): number {
  let highest = 0;
  for (const { moment, bytes, ledger } of points) {
    if (moment !== 'forward') continue;
    highest = Math.max(highest, bytes - bytesOf(ledger, 'optimizer-states') - bytesOf(ledger, 'gradients'));
  }
  return Math.max(LEAST, available - highest);
}
