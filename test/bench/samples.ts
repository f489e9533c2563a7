import { performance } from 'node:perf_hooks';

/** What a bench measured, by name; the script that runs it prints the table. */
export type Figures = Record<string, readonly number[]>;

export const PROJECT =
  'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';

/** A DeepSpeed config of 1,000 lines, long in a way that real ones are: a list of module names. */
export function longConfig(): string {
  const modules = Array.from({ length: 970 }, (_, i) => `        "model.layers.${i}.mlp.down_proj"`);
  return `{
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": 4,
  "bf16": { "enabled": true },
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": true,
    "contiguous_gradients": true,
    "reduce_bucket_size": 200000000,
    "stage3_prefetch_bucket_size": 50000000,
    "stage3_param_persistence_threshold": 100000
  },
  "optimizer": {
    "type": "AdamW",
    "params": { "lr": 1e-5, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1 }
  },
  "compression_training": {
    "sparse_pruning": {
      "modules": [
${modules.join(',\n')}
      ]
    }
  },
  "gradient_clipping": 1.0
}
`;
}

/** A recipe of 1,000 lines in YAML, long by a table of data sets. */
export function longRecipe(): string {
  const sets = Array.from({ length: 990 }, (_, i) => `  team/data-set-${i}: 0.${i}`);
  return `model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 1
gradient_accumulation_steps: 4
learning_rate: 1.0e-5
bf16: true
gradient_checkpointing: true
max_length: 2048
output_dir: out
dataset_mixer:
${sets.join('\n')}
`;
}

export async function timed(task: () => Promise<unknown> | unknown): Promise<number> {
  const start = performance.now();
  await task();
  return performance.now() - start;
}

export function report(figures: Figures): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
