import { readFileSync } from 'node:fs';

interface FamilyRun {
  /** Name of the dialect, or of the program that a script starts. */
  readonly family: string;
  readonly file: string;
  readonly text: string;
}

const fixture = (family: string, file: string): FamilyRun => ({
  family,
  file,
  text: readFileSync(`test/fixtures/configs/${file}`, 'utf8'),
});

const lines = (...all: readonly string[]) => `${all.join('\n')}\n`;

/** A small run of each family that is started by a config or by flags alone, without code of a person's own. */
export const FAMILY_RUNS: readonly FamilyRun[] = [
  fixture('nemo-automodel', 'automodel.yaml'),
  fixture('ludwig', 'ludwig-qlora.yaml'),
  fixture('megatron-bridge', 'megatron-bridge.yaml'),
  fixture('ms-swift', 'ms-swift.yaml'),
  fixture('nemo-rl', 'nemo-rl.yaml'),
  fixture('open-instruct', 'open-instruct.yaml'),
  fixture('trlx', 'trlx.yaml'),
  fixture('verl', 'verl.yaml'),
  fixture('xtuner', 'xtuner.py'),
  {
    family: 'axolotl',
    file: 'axolotl.yaml',
    text: lines(
      'base_model: meta-llama/Llama-3.1-8B',
      'datasets: [{ path: a, type: alpaca }]',
      'sequence_len: 2048',
      'micro_batch_size: 2',
      'gradient_accumulation_steps: 4',
    ),
  },
  {
    family: 'llama-factory',
    file: 'llama-factory.yaml',
    text: lines(
      'model_name_or_path: meta-llama/Llama-3.1-8B',
      'stage: sft',
      'do_train: true',
      'dataset: a',
      'template: llama3',
      'cutoff_len: 2048',
      'per_device_train_batch_size: 2',
      'bf16: true',
    ),
  },
  {
    family: 'llama-factory-v1',
    file: 'llama-factory-v1.yaml',
    text: lines(
      'model: meta-llama/Llama-3.1-8B',
      'model_class: llm',
      'train_dataset: a',
      'micro_batch_size: 1',
      'cutoff_len: 2048',
      'bf16: true',
      'dist_config: { name: fsdp2 }',
    ),
  },
  {
    family: 'torchtune',
    file: 'torchtune.yaml',
    text: lines(
      'model: { _component_: torchtune.models.llama3_1.llama3_1_8b }',
      'tokenizer: { _component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: 2048 }',
      'batch_size: 2',
      'optimizer: { _component_: torch.optim.AdamW }',
      'loss: { _component_: torchtune.modules.loss.LinearCrossEntropyLoss }',
      'dtype: bf16',
    ),
  },
  {
    family: 'torchtitan',
    file: 'torchtitan.toml',
    text: lines(
      '[model]',
      'name = "llama3"',
      'flavor = "8B"',
      '[training]',
      'local_batch_size = 1',
      'seq_len = 8192',
      'steps = 10',
      '[parallelism]',
      'data_parallel_shard_degree = -1',
    ),
  },
  {
    family: 'litgpt',
    file: 'litgpt.yaml',
    text: lines(
      'checkpoint_dir: checkpoints/meta-llama/Llama-3.1-8B',
      'precision: bf16-true',
      'devices: 1',
      'train:',
      '  micro_batch_size: 1',
      '  max_seq_length: 2048',
    ),
  },
  {
    family: 'nanotron',
    file: 'nanotron.yaml',
    text: lines(
      'parallelism: { dp: 2, pp: 1, tp: 4 }',
      'model:',
      '  dtype: bfloat16',
      '  model_config: { is_llama_config: true, hidden_size: 2048, intermediate_size: 8192, num_attention_heads: 16, num_key_value_heads: 16, num_hidden_layers: 16, vocab_size: 32000, max_position_embeddings: 2048 }',
      'tokens: { micro_batch_size: 2, sequence_length: 2048 }',
    ),
  },
  {
    family: 'gpt-neox',
    file: 'neox.yml',
    text: lines(
      'num_layers: 32',
      'hidden_size: 4096',
      'num_attention_heads: 32',
      'seq_length: 2048',
      'max_position_embeddings: 2048',
      'train_micro_batch_size_per_gpu: 4',
      'pipe_parallel_size: 1',
      'model_parallel_size: 2',
      'precision: bfloat16',
      'zero_optimization: { stage: 1 }',
    ),
  },
  {
    family: 'nemo',
    file: 'nemo.yaml',
    text: lines(
      'trainer: { devices: 8, num_nodes: 1, precision: bf16 }',
      'model:',
      '  micro_batch_size: 2',
      '  global_batch_size: 64',
      '  tensor_model_parallel_size: 1',
      '  pipeline_model_parallel_size: 1',
      '  encoder_seq_length: 4096',
      '  max_position_embeddings: 4096',
      '  num_layers: 32',
      '  hidden_size: 4096',
      '  ffn_hidden_size: 11008',
      '  num_attention_heads: 32',
      '  megatron_amp_O2: true',
      '  optim: { name: distributed_fused_adam }',
    ),
  },
  {
    family: 'olmo',
    file: 'olmo.yaml',
    text: `model: {d_model: 1024, n_heads: 16, n_layers: 8, max_sequence_length: 2048, init_device: meta}
save_folder: out
global_train_batch_size: 64
device_train_microbatch_size: 4
precision: amp_bf16
fsdp: {wrapping_strategy: by_block, precision: mixed}
`,
  },
  {
    family: 'llm-foundry',
    file: 'llm-foundry.yaml',
    text: lines(
      'max_seq_len: 2048',
      'model: { name: mpt_causal_lm, d_model: 2048, n_heads: 16, n_layers: 24, expansion_ratio: 4, max_seq_len: 2048, vocab_size: 50368 }',
      'tokenizer: { name: EleutherAI/gpt-neox-20b }',
      'optimizer: { name: decoupled_adamw, lr: 1.0e-4 }',
      'precision: amp_bf16',
      'global_train_batch_size: 64',
      'device_train_microbatch_size: 8',
      'fsdp_config: { sharding_strategy: FULL_SHARD, mixed_precision: PURE }',
    ),
  },
  {
    family: 'trl',
    file: 'sft.yaml',
    text: lines(
      'model_name_or_path: meta-llama/Llama-3.1-8B',
      'dataset_name: a',
      'max_length: 2048',
      'learning_rate: 1.0e-5',
      'per_device_train_batch_size: 2',
      'packing: true',
      'bf16: true',
    ),
  },
  {
    family: 'megatron',
    file: 'megatron.sh',
    text: 'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 4 --global-batch-size 128 --bf16 --vocab-size 50257 --tensor-model-parallel-size 2\n',
  },
  {
    family: 'openrlhf',
    file: 'openrlhf.sh',
    text: 'deepspeed --module openrlhf.cli.train_sft --pretrain meta-llama/Llama-3.1-8B --max_len 2048 --micro_train_batch_size 2 --train_batch_size 64 --zero_stage 2 --bf16\n',
  },
  {
    family: 'deepspeed-chat',
    file: 'deepspeed-chat.sh',
    text: 'deepspeed main.py --model_name_or_path facebook/opt-1.3b --per_device_train_batch_size 4 --max_seq_len 512 --zero_stage 2 --deepspeed --data_path a --lora_dim 0\n',
  },
  {
    family: 'known script',
    file: 'run-clm.sh',
    text: 'torchrun --nproc_per_node 8 run_clm.py --model_name_or_path facebook/opt-1.3b --dataset_name a --per_device_train_batch_size 4 --block_size 1024 --do_train --bf16\n',
  },
];
