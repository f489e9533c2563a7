import type { RunValues } from '../../server/src/run/fields';
import { lower, type MeasuredRow, NotExpressed } from './row';
import { before, dateOf, transformersVersion } from './versions';

/** The objective and how its loss is computed. */
export function loss(row: MeasuredRow): RunValues {
  const text = lower(row.loss_impl);
  if (/classification|\(\d+ (classes|labels)\)|\d+ classes/.test(text))
    return { 'method.objective': 'classification' };
  const task = `${lower(row.method)} ${text}`;
  if (/\b(grpo|ppo|kto|orpo|reward|rlhf|distill)/.test(task))
    throw new NotExpressed(`the objective of "${row.method}" is not expressed`);
  const implementation = implementationOf(text, row);
  if (/\bdpo\b/.test(task)) {
    // With adapters the base model itself is the reference (TRL, `DPOTrainer`).
    return {
      'method.objective': 'dpo',
      'method.referenceModel': !/lora/.test(task),
      'loss.implementation': implementation,
    };
  }
  return { 'method.objective': 'lm', 'loss.implementation': implementation, ...logits(row, implementation) };
}

type Implementation = NonNullable<RunValues['loss.implementation']>;

function implementationOf(text: string, row: MeasuredRow): Implementation {
  if (/\?|unknown/.test(text)) throw new NotExpressed('the loss is not known');
  if (text === '') return frameworksOwn(row);
  if (/chunk 128/.test(text)) return /lm_head output chunks/.test(text) ? 'head-chunks' : 'row-chunks';
  if (/liger/.test(text)) return 'liger';
  if (/\bcut\b|\bcce\b/.test(text)) return 'cut';
  // Unsloth's kernel turns the logits into their gradient (`kernels/cross_entropy_loss.py`).
  if (/unsloth/.test(text)) return 'in-place';
  if (/linear.*(ce|cross)/.test(text)) return 'linear-chunked';
  if (/chunked/.test(text)) return 'chunked';
  if (/(vocab|loss)[- _]?parallel/.test(text)) return 'vocab-parallel';
  if (/compiled/.test(text)) return lossCompiles(row) ? 'compiled' : 'full';
  if (/^hf/.test(text) && !/kept/.test(text)) return huggingFace(text, row);
  // Behind a Trainer the model takes the loss, whatever the row calls it.
  if (TRAINERS.test(lower(row.framework)) && !/kept/.test(text)) return huggingFace(text, row);
  // A training loop of its own: fp32 logits made of all of them at once.
  return 'full';
}

/** Frameworks behind which transformers' models run. */
const TRAINERS = /\bhf\b|trainer|\btrl\b|axolotl|llama-?factory|swift|\bpeft\b|transformers/;

/** Frameworks whose loss nobody chooses: Megatron splits it over ranks, transformers' models bring their own. */
function frameworksOwn(row: MeasuredRow): Implementation {
  const framework = lower(row.framework);
  if (/megatron|nemo/.test(framework)) return 'vocab-parallel';
  if (TRAINERS.test(framework)) return huggingFace('', row);
  throw new NotExpressed('the row does not say how the loss is computed');
}

/**
 * torchtitan left its loss uncompiled, whatever its `compile` was, from 18 December 2024 (its #755, for CUDA errors) to
 * 2 April 2025 (its #1033).
 */
function lossCompiles(row: MeasuredRow): boolean {
  const date = dateOf(row) ?? '';
  return !/torchtitan/.test(lower(row.framework)) || date < '2024-12' || date >= '2025-04';
}

/**
 * What transformers did at the row's time: `logits.float()` in the model before 4.46, shifted copies to 4.49, padded
 * labels since (`loss/loss_utils.py`). Model code that leaves the upcast to autocast holds no copy beside it.
 */
function huggingFace(text: string, row: MeasuredRow): Implementation {
  const version = transformersVersion(row);
  if (!version) throw new NotExpressed('the version of transformers is not known');
  if (before(version, '4.46')) return /autocast/.test(text) ? 'full-autocast' : 'full-upcast';
  return before(version, '4.50') ? 'full-shifted' : 'full';
}

/** Loops that keep the model's output in a variable keep its logits through backward. */
function logits(row: MeasuredRow, implementation: Implementation): RunValues {
  // litgpt's `logits = model(...)` lives until the next batch's are there (`finetune/lora.py`, `fit`). Over a run some
  // pair of long batches follow each other; where the longest batch is the first there are none before it.
  if (implementation === 'head-chunks' || implementation === 'row-chunks') {
    const first = /first batch/.test(lower(String(row.effective_max_tokens_per_sample)));
    return { 'loss.keptLogits': first ? 'backward' : 'next-step' };
  }
  // fsdp_qlora sets `output = None` after backward (`train.py`).
  const loop = `${lower(row.framework)} ${lower(row.loss_impl)}`;
  if (/fsdp_qlora|logits kept/.test(loop)) return { 'loss.keptLogits': 'backward' };
  return {};
}
