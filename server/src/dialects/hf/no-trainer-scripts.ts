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
