import { entryOf } from '../../config/lookup';
import type { KeySpec } from '../dialect';
import type { Launch } from '../launch/launch';

/**
 * Flags of the examples of transformers around a loop of their own, of those that cost memory. Others argparse refuses
 * (https://github.com/huggingface/transformers/blob/v4.57.1/examples/pytorch/language-modeling/run_clm_no_trainer.py, `parse_args`).
 */
const TAKEN = new Set(
  'model_name_or_path per_device_train_batch_size per_device_eval_batch_size gradient_accumulation_steps block_size max_seq_length max_length max_source_length max_target_length line_by_line learning_rate weight_decay num_train_epochs max_train_steps lr_scheduler_type num_warmup_steps output_dir seed dataset_name dataset_config_name trust_remote_code low_cpu_mem_usage'.split(
    ' ',
  ),
);

/** Whether a script is one around a loop of its own, by its name. */
export const hasNoTrainer = (script: string | undefined): boolean =>
  /_no_trainer(?:\.py)?$/.test(script ?? '');

/** The rows that a launch may be written with: fewer where its script has no Trainer. */
export function rowsOfScripts(rows: readonly KeySpec[]): (launch: Launch) => readonly KeySpec[] {
  const few = rows.filter(({ path }) => TAKEN.has(path));
  return ({ script }) => (hasNoTrainer(script) ? few : rows);
}

/**
 * Arguments of Lightning's Trainer that transformers' has not (https://github.com/Lightning-AI/pytorch-lightning/blob/1.9.5/src/pytorch_lightning/trainer/trainer.py,
 * `Trainer.__init__`, of which `add_argparse_args` made flags).
 */
const OF_LIGHTNING =
  'val_check_interval check_val_every_n_epoch accumulate_grad_batches max_epochs min_epochs gradient_clip_val gradient_clip_algorithm num_sanity_val_steps limit_train_batches limit_val_batches fast_dev_run overfit_batches track_grad_norm auto_lr_find auto_scale_batch_size replace_sampler_ddp'.split(
    ' ',
  );
/** Samples of a step, as scripts with an optimizer of their own call them. */
const OWN_BATCH = ['train_batch_size', 'batch_size', 'micro_batch_size', 'mini_batch_size', 'train_bs', 'bs'];

/** Whether a script is given what transformers' Trainer does not take: Lightning's arguments, or a batch by a flag of its own alone. */
export function isOfAnotherTrainer({ arguments: flags }: Launch): boolean {
  const has = (key: string) => entryOf(flags, key) !== undefined;
  if (OF_LIGHTNING.some(has)) return true;
  const theirs = ['per_device_train_batch_size', 'per_gpu_train_batch_size', 'auto_find_batch_size'];
  return OWN_BATCH.some(has) && !theirs.some(has);
}
