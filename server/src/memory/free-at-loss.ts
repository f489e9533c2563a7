import { mostInOneChunk } from '../model/layers/sized-chunks';
import type { Model } from '../model/model';
import type { TrainingRun } from '../run/fields';
import { bytesOf } from './ledger';
import type { Point } from './step';
import { rowsPerSample } from './traced-run';

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

/**
 * The run over the longest samples whose loss is computed in one chunk, where those of the run's length are cut into four or more: it may
 * take more than theirs. Undefined where there is none such, or where all rows are as long as they may be.
 */
export function inOneChunk(
  run: TrainingRun,
  model: Model,
  free: number | undefined,
): TrainingRun | undefined {
  if (free === undefined) return undefined;
  if ((run['batch.packed'] && !run['batch.paddingFree']) || run['batch.padded']) return undefined;
  const tokens = mostInOneChunk(run['loss.implementation'], model.vocabulary, model.hiddenSize, free);
  const rows = run['batch.micro'] * rowsPerSample(run);
  const length = tokens === undefined ? 0 : Math.floor(tokens / rows);
  return length > 0 && length < run['batch.sequence'] ? { ...run, 'batch.sequence': length } : undefined;
}
