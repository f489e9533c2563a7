import { readdirSync, readFileSync } from 'node:fs';
import { parseConfig } from '../../server/src/config/parse';
import { detectDialect } from '../../server/src/dialects/registry';

type Seed = readonly [family: string, file: string, text: string];

const WRITTEN: readonly Seed[] = [
  [
    'deepspeed',
    'ds.json',
    `{
  // a comment
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": true,
    "reduce_bucket_size": 5e8,
    "stage3_max_live_parameters": 1e9,
    "offload_optimizer": {"device": "cpu", "ratio": 0.5}
  },
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}},
  "gradient_clipping": "auto"
}
`,
  ],
  [
    'accelerate',
    'accelerate.yaml',
    `compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 2
num_processes: 16
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_reshard_after_forward: true
  fsdp_offload_params: false
  fsdp_activation_checkpointing: true
`,
  ],
  [
    'axolotl',
    'axolotl.yaml',
    `base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
sequence_len: 4096
sample_packing: true
adapter: qlora
load_in_4bit: true
lora_r: 16
lora_alpha: 32
lora_target_modules: ["q_proj", "v_proj"]
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: paged_adamw_8bit
bf16: auto
gradient_checkpointing: true
flash_attention: true
deepspeed: ds.json
`,
  ],
  [
    'llama-factory',
    'factory.yaml',
    `### model
model_name_or_path: Qwen/Qwen2.5-7B
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
dataset: identity
`,
  ],
  [
    'torchtune',
    'torchtune.yaml',
    `model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_attn_modules: ["q_proj", "v_proj"]
  lora_rank: 8
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: 2048
batch_size: 2
gradient_accumulation_steps: 8
dtype: bf16
enable_activation_checkpointing: True
optimizer:
  _component_: torch.optim.AdamW
  fused: True
`,
  ],
  [
    'torchtitan',
    'titan.toml',
    `[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 1
seq_len = 8192
steps = 1000

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2

[activation_checkpoint]
mode = "selective"
`,
  ],
  [
    'litgpt',
    'litgpt.yaml',
    `checkpoint_dir: checkpoints/meta-llama/Llama-3.1-8B
precision: bf16-true
devices: 4
num_nodes: 1
lora_r: 8
data:
  class_path: litgpt.data.Alpaca2k
train:
  global_batch_size: 16
  micro_batch_size: 1
  max_seq_length: 512
`,
  ],
  [
    'nanotron',
    'nanotron.yaml',
    `model:
  model_config:
    hidden_size: 2048
    num_attention_heads: 16
    num_hidden_layers: 24
    num_key_value_heads: 16
    intermediate_size: 8192
    vocab_size: 50272
  dtype: bfloat16
parallelism:
  dp: 2
  pp: 2
  tp: 2
tokens:
  micro_batch_size: 2
  sequence_length: 2048
  batch_accumulation_per_replica: 4
optimizer:
  zero_stage: 1
`,
  ],
  [
    'megatron',
    'megatron.yaml',
    `MODEL_ARGS:
  --num-layers: 24
  --hidden-size: 2048
  --num-attention-heads: 16
  --seq-length: 2048
  --max-position-embeddings: 2048
  --micro-batch-size: 2
  --global-batch-size: 64
  --tensor-model-parallel-size: 2
  --pipeline-model-parallel-size: 2
  --bf16: true
  --use-distributed-optimizer: true
`,
  ],
  [
    'gpt-neox',
    'neox.yml',
    `{
  "pipe_parallel_size": 1,
  "model_parallel_size": 2,
  "num_layers": 24,
  "hidden_size": 2048,
  "num_attention_heads": 16,
  "seq_length": 2048,
  "max_position_embeddings": 2048,
  "train_micro_batch_size_per_gpu": 4,
  "zero_optimization": {"stage": 1},
  "fp16": {"enabled": true}
}
`,
  ],
  [
    'nemo',
    'nemo.yaml',
    `trainer:
  devices: 8
  num_nodes: 1
  precision: bf16
exp_manager:
  name: gpt
model:
  micro_batch_size: 2
  global_batch_size: 64
  tensor_model_parallel_size: 2
  encoder_seq_length: 2048
  num_layers: 24
  hidden_size: 2048
  ffn_hidden_size: 8192
  num_attention_heads: 16
  megatron_amp_O2: true
`,
  ],
  [
    'llm-foundry',
    'foundry.yaml',
    `max_seq_len: 2048
model:
  name: mpt_causal_lm
  d_model: 2048
  n_heads: 16
  n_layers: 24
  max_seq_len: \${max_seq_len}
  vocab_size: 50368
global_train_batch_size: 64
device_train_microbatch_size: 4
precision: amp_bf16
fsdp_config:
  sharding_strategy: FULL_SHARD
train_loader:
  name: text
`,
  ],
  [
    'trl',
    'trl.yaml',
    `model_name_or_path: Qwen/Qwen2.5-0.5B
dataset_name: trl-lib/Capybara
learning_rate: 2.0e-5
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
max_length: 1024
packing: true
use_peft: true
lora_r: 32
`,
  ],
  [
    'launch-script',
    'train.sh',
    `#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
GPUS=8
ARGS="--bf16 True --gradient_checkpointing True"
torchrun --nproc_per_node $GPUS \\
  examples/scripts/sft.py \\
  --model_name_or_path "$ROOT/Qwen2.5-7B" \\
  --per_device_train_batch_size \${BATCH:-2} \\
  --max_length 2048 $ARGS
`,
  ],
  [
    'oomlint-run',
    'run.oomlint.yaml',
    `run:
  model: meta-llama/Llama-3.1-8B
  batch: { micro: 2, sequence: 4096 }
  hardware: { gpu: H100, gpus: 8 }
  parallel: { data: fsdp2 }
  lora: { rank: 16, targets: [q_proj, v_proj], targetPattern: ".*q_proj" }
`,
  ],
  [
    'in-house',
    'flags.flags',
    `l=48,h=3072
--bs 8            # per GPU
seq_len=512
--nodes=6
gac=16 fp16=true xla=true
--optimizer FusedLAMB
`,
  ],
];

const FIXTURES = 'test/fixtures/configs';

/** Fixtures of families that have no seed here, so that a new one is tried with its own. */
const found = readdirSync(FIXTURES).flatMap((file): Seed[] => {
  const text = readFileSync(`${FIXTURES}/${file}`, 'utf8');
  const family = detectDialect(parseConfig(`file:///${file}`, text))?.id;
  return family === undefined || WRITTEN.some(([known]) => known === family) ? [] : [[family, file, text]];
});

/** A small config of every family, by the name of its file: what the fuzzer starts from. */
export const SEEDS: readonly Seed[] = [...WRITTEN, ...found];
