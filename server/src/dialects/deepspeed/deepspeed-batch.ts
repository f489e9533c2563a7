import { nodeAt } from '../../config/lookup';
import type { ConfigNode } from '../../config/node';
import { integerOf, isAuto } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { Section } from '../section';
import { type BatchSizes, completeBatch } from './batch-triangle';

const BATCH_KEYS = [
  'train_batch_size',
  'train_micro_batch_size_per_gpu',
  'gradient_accumulation_steps',
] as const;

/** Batch sizes of the file; values left to the caller are undefined. */
export function batchSizesOf(root: ConfigNode | null): BatchSizes {
  const size = (key: string) => integerOf(nodeAt(root, [key]));
  return { global: size(BATCH_KEYS[0]), micro: size(BATCH_KEYS[1]), accumulation: size(BATCH_KEYS[2]) };
}

/** GPUs that share the batch: all, divided by those that work on one sample together. */
export function dataParallelOf(root: ConfigNode | null, known: ReadContext['known']): number | undefined {
  const gpus = known['hardware.gpus'];
  if (typeof gpus !== 'number' || gpus < 1) return undefined;
  const together = togetherOf(root, known);
  return gpus % together === 0 ? gpus / together : undefined;
}

function togetherOf(root: ConfigNode | null, known: ReadContext['known']): number {
  const size = (path: string, field: FieldPath) => {
    const value = integerOf(nodeAt(root, path)) ?? known[field];
    return typeof value === 'number' && value >= 1 ? value : 1;
  };
  return (
    size('sequence_parallel_size', 'parallel.ulysses') *
    size('tensor_parallel.autotp_size', 'parallel.tensor') *
    // Stages of a pipeline are set in code, never here.
    size('', 'parallel.pipeline')
  );
}

/** States the batch sizes, derives the missing ones, and infers the GPU count where all three are stated. */
export function readBatch(section: Section, context: ReadContext, draft: Draft): void {
  const root = section.root ?? null;
  const sizes = batchSizesOf(root);
  section.take(...BATCH_KEYS);
  // What the caller fills in decides the rest: nothing can be derived before.
  if (BATCH_KEYS.some((key) => isAuto(nodeAt(root, [key])))) return;
  const whole = completeBatch(sizes, dataParallelOf(root, context.known));
  if (whole.contradiction) return;
  const because = say('derived by DeepSpeed from the other batch sizes');
  if (sizes.global === undefined && whole.global !== undefined)
    draft.infer('batch.global', whole.global, because);
  if (sizes.micro === undefined && whole.micro !== undefined)
    draft.infer('batch.micro', whole.micro, because);
  if (sizes.accumulation === undefined && whole.accumulation !== undefined) {
    draft.infer('batch.accumulation', whole.accumulation, because);
  }
  const stated = sizes.global !== undefined && sizes.micro !== undefined && sizes.accumulation !== undefined;
  if (stated && whole.dataParallel !== undefined) {
    const gpus = whole.dataParallel * togetherOf(root, context.known);
    const note = say(
      'train_batch_size ÷ (micro batch × accumulation): the only number of GPUs that DeepSpeed accepts',
    );
    draft.infer('hardware.gpus', gpus, note, section.find(BATCH_KEYS[0])?.node, BATCH_KEYS[0]);
  }
}
