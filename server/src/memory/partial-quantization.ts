import type { TrainingRun } from '../run/fields';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import { storedBytes } from './quantization';
import { isOfValueModel, type TracedStage } from './traced-run';
import { ownWeights } from './weights';

/** Bytes of an element of a checkpoint that is not quantized. */
const PLAIN = 2;

/**
 * The run with the share of its quantized weights that the checkpoint keeps in 16 bits: what the files hold beyond quantized layers, of
 * what they would hold beyond them without any. `stages`: all of the model.
 */
export function withPlainShare(run: TrainingRun, stages: () => readonly TracedStage[]): TrainingRun {
  const bytes = run['quantization.checkpointBytes'];
  if (bytes === undefined || run['quantization.plainShare'] !== undefined) return run;
  if (run['quantization.kind'] === 'none') return run;
  let quantized = 0;
  let saved = 0;
  for (const traced of stages()) {
    if (isOfValueModel(traced)) continue;
    for (const weight of ownWeights(traced)) {
      if (weight.role === 'adapter') continue;
      const plain = traced.copies * weight.elements * PLAIN;
      const ranks = weight.elements / weight.localElements;
      const stored =
        weight.quantization === 'none' ? plain : traced.copies * ranks * storedBytes(weight, run);
      quantized += stored;
      saved += plain - stored;
    }
  }
  const share = saved > 0 ? (bytes - quantized) / saved : 0;
  return { ...run, 'quantization.plainShare': Math.min(1, Math.max(0, share)) };
}

/**
 * The largest share of its quantized weights that a checkpoint of this kind keeps in 16 bits, of those whose sizes are listed: 0.304, of
 * DeepSeek-R1-Distill-Qwen-7B-unsloth-bnb-4bit (`server/data/quantized-checkpoints.json`). Which layers stay so, its makers choose for each
 * model by what quantizing them does to its answers (https://unsloth.ai/blog/dynamic-4bit).
 */
export const MOST_PLAIN = 0.31;

/** The same run with as many layers in 16 bits as any known checkpoint has; undefined where it is known which ones are. */
export function withMostPlain(run: TrainingRun): TrainingRun | undefined {
  const isOpen =
    run['quantization.partial'] &&
    run['quantization.kind'] !== 'none' &&
    run['quantization.checkpointBytes'] === undefined &&
    run['quantization.plainShare'] === undefined;
  return isOpen ? { ...run, 'quantization.plainShare': MOST_PLAIN } : undefined;
}

/** What a run may take of whose checkpoint it is not known which layers are in 16 bits, for people. `most`: bytes with the most of them. */
export function partialNotes(most: number): string[] {
  if (most === 0) return [];
  return [
    say(
      'Which layers of this checkpoint stay in 16 bits is not known: none are counted, and with {0} % of them, the largest share of any whose size is listed, up to {1} is needed.',
      100 * MOST_PLAIN,
      formatBytes(most),
    ),
  ];
}
