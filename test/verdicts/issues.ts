import type { DocumentedRun } from './documented';

/*
 * Runs that people reported in issues with their settings: most ran out of memory. Written in the settings that memory depends on,
 * in files as they had them, versions where the report or its day decides; names of data, paths and learning rates are left out.
 * Reports whose settings are cut off, or that found another cause, are not among them; docs/verdicts.md names four that are read wrongly.
 */

interface Report {
  /** `owner/repository#number`. */
  readonly issue: string;
  readonly gpu: string;
  readonly gpus: number;
  readonly file: string;
  readonly text: string;
  /** Files that `text` names. */
  readonly beside?: Readonly<Record<string, string>>;
  readonly ran?: true;
}

/** OpenRLHF's PPO as its example script starts it. */
const trainPpo = (
  microTrain: number,
  train: number,
  microRollout: number,
  rollout: number,
  epochs: number,
) => `set -x

read -r -d '' training_commands <<EOF
openrlhf.cli.train_ppo \\
   --pretrain OpenRLHF/Llama-3-8b-sft-mixture \\
   --reward_pretrain OpenRLHF/Llama-3-8b-rm-mixture \\
   --micro_train_batch_size ${microTrain} \\
   --train_batch_size ${train} \\
   --micro_rollout_batch_size ${microRollout} \\
   --rollout_batch_size ${rollout} \\
   --max_epochs ${epochs} \\
   --prompt_max_len 1024 \\
   --generate_max_len 1024 \\
   --zero_stage 2 \\
   --bf16 \\
   --apply_chat_template \\
   --max_samples 100000 \\
   --normalize_reward \\
   --adam_offload \\
   --flash_attn \\
   --load_checkpoint \\
   --gradient_checkpointing
EOF

if [[ $1 != "slurm" ]]; then
    deepspeed --module $training_commands
fi
`;

const AUTO = '"auto"';

/** As LLaMA-Factory and LLaVA ship them: sizes and precision from the trainer. */
const deepspeed = (zero: Readonly<Record<string, number | string | boolean>>) =>
  `{
  "train_micro_batch_size_per_gpu": ${AUTO}, "train_batch_size": ${AUTO}, "gradient_accumulation_steps": ${AUTO},
  "fp16": { "enabled": ${AUTO} }, "bf16": { "enabled": ${AUTO} },
  "zero_optimization": ${JSON.stringify(zero)}
}`;
const ZERO_2 = deepspeed({
  stage: 2,
  overlap_comm: true,
  contiguous_gradients: true,
  sub_group_size: 1e9,
  reduce_bucket_size: 'auto',
});
/** Stage 2 as LLaMA-Factory shipped it in June 2024. */
const BUCKETS_2 = deepspeed({
  stage: 2,
  allgather_partitions: true,
  allgather_bucket_size: 5e8,
  overlap_comm: true,
  reduce_scatter: true,
  reduce_bucket_size: 5e8,
  contiguous_gradients: true,
  round_robin_gradients: true,
});
const ZERO_3 = deepspeed({
  stage: 3,
  overlap_comm: true,
  contiguous_gradients: true,
  sub_group_size: 1e9,
  reduce_bucket_size: 'auto',
  stage3_prefetch_bucket_size: 'auto',
  stage3_param_persistence_threshold: 'auto',
  stage3_max_live_parameters: 1e9,
  stage3_max_reuse_distance: 1e9,
  stage3_gather_16bit_weights_on_model_save: true,
});
const ZERO_3_OFFLOAD = ZERO_3.replace(
  '"stage":3',
  '"stage":3,"offload_optimizer":{"device":"cpu"},"offload_param":{"device":"cpu"}',
);
const ACCELERATE_ZERO_3 = `deepspeed_config:
  deepspeed_multinode_launcher: standard
  offload_optimizer_device: none
  offload_param_device: none
  zero3_init_flag: true
  zero3_save_16bit_model: true
  zero_stage: 3
distributed_type: DEEPSPEED
mixed_precision: bf16
num_machines: 1
`;

/** torchtune's recipe of April 2024 for LoRA on one GPU, with a longest sample. */
const tuneLora = (length: number) => `model:
  _component_: torchtune.models.llama3.lora_llama3_8b
  lora_attn_modules: [q_proj, v_proj]
  apply_lora_to_mlp: false
  apply_lora_to_output: false
  lora_rank: 8
  lora_alpha: 16
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: ${length}
dataset:
  _component_: torchtune.datasets.slimorca_dataset
batch_size: 2
gradient_accumulation_steps: 64
optimizer:
  _component_: torch.optim.AdamW
loss:
  _component_: torch.nn.CrossEntropyLoss
compile: false
device: cuda
dtype: bf16
enable_activation_checkpointing: true
`;

const REPORTS: readonly Report[] = [
  {
    issue: 'hiyouga/LlamaFactory#3809',
    gpu: 'A100-SXM4-80GB',
    gpus: 1,
    file: 'train.sh',
    text: `CUDA_VISIBLE_DEVICES=0 python src/train_bash.py --stage sft --do_train --model_name_or_path meta-llama/Llama-2-7b-chat-hf \\
  --finetuning_type full --cutoff_len 1024 --low_cpu_mem_usage false --per_device_train_batch_size 1 \\
  --gradient_accumulation_steps 8 --fp16
`,
  },
  {
    issue: 'hiyouga/LlamaFactory#46',
    gpu: 'A100-SXM4-80GB',
    gpus: 1,
    file: 'train.sh',
    text: `CUDA_VISIBLE_DEVICES=0 python src/train_sft.py --do_train --model_name_or_path huggyllama/llama-7b --finetuning_type full \\
  --per_device_train_batch_size 4 --gradient_accumulation_steps 1 --max_source_length 512 --max_target_length 512 --fp16
`,
    beside: { 'requirements.txt': 'transformers==4.30.2\n' },
  },
  {
    issue: 'hiyouga/LlamaFactory#5977',
    gpu: 'RTX-3090',
    gpus: 8,
    file: 'train.yaml',
    text: `model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
stage: sft
do_train: true
finetuning_type: full
deepspeed: ds_z3_config.json
template: llama3
cutoff_len: 1024
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
fp16: true
val_size: 0.1
per_device_eval_batch_size: 1
eval_strategy: steps
eval_steps: 500
`,
    beside: {
      'ds_z3_config.json': ZERO_3,
      'requirements.txt': 'torch==2.5.1\ntransformers==4.46.1\naccelerate==1.0.1\ndeepspeed==0.15.3\n',
    },
  },
  {
    issue: 'hiyouga/LlamaFactory#3631',
    gpu: 'A800-SXM4-80GB',
    gpus: 8,
    file: 'train.yaml',
    text: `model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
stage: sft
do_train: true
finetuning_type: lora
lora_target: q_proj,v_proj
deepspeed: ds_z3_config.json
template: llama3
cutoff_len: 8192
per_device_train_batch_size: 6
gradient_accumulation_steps: 8
bf16: true
val_size: 0.01
per_device_eval_batch_size: 1
evaluation_strategy: steps
eval_steps: 100
`,
    beside: { 'ds_z3_config.json': ZERO_3 },
  },
  {
    issue: 'hiyouga/LlamaFactory#5545',
    gpu: 'H100-SXM5-80GB',
    gpus: 1,
    file: 'train.yaml',
    text: `model_name_or_path: unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit
quantization_bit: 4
quantization_method: bitsandbytes
stage: sft
do_train: true
finetuning_type: lora
lora_target: all
template: llama3
cutoff_len: 51974
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
val_size: 0.1
per_device_eval_batch_size: 1
eval_strategy: steps
eval_steps: 500
`,
  },
  {
    issue: 'tatsu-lab/stanford_alpaca#73',
    gpu: 'RTX-3090',
    gpus: 4,
    file: 'train.sh',
    text: `torchrun --nproc_per_node=4 train.py --model_name_or_path huggyllama/llama-7b --data_path ./alpaca_data.json --bf16 True \\
  --per_device_train_batch_size 1 --per_device_eval_batch_size 1 --gradient_accumulation_steps 1 --evaluation_strategy no \\
  --fsdp "full_shard auto_wrap" --fsdp_transformer_layer_cls_to_wrap LLaMADecoderLayer --tf32 True
`,
  },
  {
    issue: 'modelscope/ms-swift#2743',
    gpu: 'A100-SXM4-80GB',
    gpus: 8,
    file: 'train.sh',
    text: `NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2-VL-7B-Instruct --train_type full --torch_dtype bfloat16 \\
  --per_device_train_batch_size 1 --gradient_accumulation_steps 8 --gradient_checkpointing true --freeze_vit true --deepspeed zero2 \\
  --eval_strategy no
`,
  },
  {
    issue: 'princeton-nlp/SimPO#10',
    gpu: 'A100-SXM4-80GB',
    gpus: 1,
    file: 'run.sh',
    text: 'accelerate launch --config_file zero3.yaml scripts/run_simpo.py mistral-7b-instruct-simpo.yaml\n',
    beside: {
      'zero3.yaml': `${ACCELERATE_ZERO_3}num_processes: 1\n`,
      'mistral-7b-instruct-simpo.yaml': `model_name_or_path: mistralai/Mistral-7B-Instruct-v0.2
torch_dtype: null
attn_implementation: flash_attention_2
bf16: true
beta: 2.5
gradient_accumulation_steps: 16
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: false
max_length: 2048
max_prompt_length: 1800
optim: adamw_torch
per_device_train_batch_size: 2
per_device_eval_batch_size: 4
`,
    },
  },
  {
    issue: 'huggingface/open-r1#506',
    gpu: 'H20',
    gpus: 8,
    file: 'run.sh',
    text: `accelerate launch --config_file=zero3.yaml src/open_r1/sft.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --packing \\
  --max_seq_length 16384 --per_device_train_batch_size 16 --gradient_checkpointing --bf16
`,
    beside: { 'zero3.yaml': `${ACCELERATE_ZERO_3}num_processes: 8\n` },
  },
  {
    issue: 'haotian-liu/LLaVA#655',
    gpu: 'A100-SXM4-40GB',
    gpus: 4,
    file: 'finetune.sh',
    // Two nodes of four, each with a launcher of its own that knows nothing of the other.
    text: `deepspeed --num_gpus=4 llava/train/train_mem.py --deepspeed ./zero2.json --model_name_or_path lmsys/vicuna-7b-v1.5 --version v1 \\
  --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --mm_vision_select_layer -2 \\
  --mm_use_im_start_end False --mm_use_im_patch_token False --image_aspect_ratio pad --group_by_modality_length True --bf16 True \\
  --per_device_train_batch_size 1 --per_device_eval_batch_size 1 --gradient_accumulation_steps 16 --evaluation_strategy no \\
  --tf32 True --model_max_length 2048 --gradient_checkpointing True --lazy_preprocess True
`,
    beside: { 'zero2.json': ZERO_2 },
  },
  {
    issue: 'haotian-liu/LLaVA#560',
    ran: true,
    gpu: 'A100-SXM4-40GB',
    gpus: 8,
    file: 'finetune.sh',
    text: `export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
deepspeed llava/train/train_mem.py --deepspeed ./zero3.json --model_name_or_path lmsys/vicuna-7b-v1.5 --version v1 \\
  --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --mm_vision_select_layer -2 \\
  --mm_use_im_start_end False --mm_use_im_patch_token False --image_aspect_ratio pad --group_by_modality_length True --bf16 True \\
  --per_device_train_batch_size 4 --per_device_eval_batch_size 4 --gradient_accumulation_steps 4 --evaluation_strategy no \\
  --tf32 True --model_max_length 2048 --gradient_checkpointing True --lazy_preprocess True
`,
    beside: { 'zero3.json': ZERO_3 },
  },
  {
    issue: 'haotian-liu/LLaVA#68',
    gpu: 'A100-SXM4-80GB',
    gpus: 1,
    file: 'train.sh',
    text: `srun --gres=gpu:1 -n 1 --ntasks-per-node 1 torchrun --nnodes=1 --nproc_per_node=1 llava/train/train_mem.py \\
  --model_name_or_path huggyllama/llama-13b --vision_tower openai/clip-vit-large-patch14 --mm_vision_select_layer -2 \\
  --mm_use_im_start_end True --bf16 True --per_device_train_batch_size 1 --per_device_eval_batch_size 1 \\
  --gradient_accumulation_steps 1 --evaluation_strategy no --tf32 True --fsdp "full_shard auto_wrap" \\
  --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer --model_max_length 2048
`,
  },
  {
    issue: 'lm-sys/FastChat#367',
    gpu: 'A100-SXM4-80GB',
    gpus: 1,
    file: 'train.sh',
    text: `torchrun --nnodes=1 --nproc_per_node=1 fastchat/train/train_mem.py --model_name_or_path huggyllama/llama-13b --bf16 True \\
  --per_device_train_batch_size 1 --per_device_eval_batch_size 1 --gradient_accumulation_steps 32 --evaluation_strategy no \\
  --fsdp "full_shard auto_wrap" --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer --tf32 True --model_max_length 2048 \\
  --gradient_checkpointing True --lazy_preprocess True
`,
  },
  {
    issue: 'OpenRLHF/OpenRLHF#698',
    gpu: 'A100-SXM4-80GB',
    gpus: 1,
    file: 'train.sh',
    text: `deepspeed --num_gpus 1 --module openrlhf.cli.train_sft --max_len 128 --dataset Open-Orca/OpenOrca --train_batch_size 1 \\
  --micro_train_batch_size 1 --pretrain meta-llama/Meta-Llama-3-8B --save_steps -1 --eval_steps -1 --zero_stage 2 \\
  --packing_samples --bf16 --flash_attn --gradient_checkpointing
`,
  },
  {
    issue: 'deepspeedai/DeepSpeedExamples#368',
    gpu: 'A100-SXM4-40GB',
    gpus: 8,
    file: 'training/step3_rlhf_finetuning/run.sh',
    text: `deepspeed main.py --actor_model_name_or_path facebook/opt-13b --critic_model_name_or_path facebook/opt-350m \\
  --num_padding_at_beginning 1 --per_device_train_batch_size 1 --per_device_mini_train_batch_size 1 --generation_batch_numbers 1 \\
  --ppo_epochs 1 --max_answer_seq_len 256 --max_prompt_seq_len 256 --gradient_accumulation_steps 1 --deepspeed \\
  --enable_hybrid_engine --actor_zero_stage 3 --critic_zero_stage 3 --actor_gradient_checkpointing --critic_gradient_checkpointing \\
  --offload_reference_model
`,
  },
  {
    issue: 'hiyouga/LlamaFactory#4311',
    gpu: 'A800-PCIE-80GB',
    gpus: 2,
    file: 'train.yaml',
    text: `model_name_or_path: Qwen/Qwen2-72B-Instruct
stage: sft
do_train: true
finetuning_type: lora
lora_target: q_proj,v_proj
deepspeed: ds_z3_config.json
template: qwen
cutoff_len: 1024
per_device_train_batch_size: 1
gradient_accumulation_steps: 1
bf16: true
val_size: 0.1
per_device_eval_batch_size: 1
eval_strategy: steps
eval_steps: 500
`,
    beside: {
      'ds_z3_config.json': ZERO_3,
      'requirements.txt': 'torch==2.3.1\ntransformers==4.41.2\naccelerate==0.31.0\ndeepspeed==0.14.3\n',
    },
  },
  {
    issue: 'hiyouga/LlamaFactory#4133',
    gpu: 'A100-SXM4-40GB',
    gpus: 8,
    file: 'train.yaml',
    text: `model_name_or_path: Qwen/Qwen1.5-7B
stage: sft
do_train: true
finetuning_type: full
deepspeed: ds_z2_config.json
template: qwen
cutoff_len: 512
per_device_train_batch_size: 1
gradient_accumulation_steps: 1
fp16: true
val_size: 0.1
per_device_eval_batch_size: 1
evaluation_strategy: steps
eval_steps: 2
`,
    beside: {
      'ds_z2_config.json': BUCKETS_2,
      'requirements.txt':
        'llamafactory==0.7.1\ntorch==2.3.0\ntransformers==4.41.2\naccelerate==0.30.1\ndeepspeed==0.14.0\n',
    },
  },
  {
    issue: 'hiyouga/LlamaFactory#2379',
    gpu: 'A800-SXM4-80GB',
    gpus: 8,
    file: 'train.sh',
    text: `accelerate launch --config_file default_config.yaml src/train_bash.py --stage sft --do_train --model_name_or_path mistralai/Mixtral-8x7B-Instruct-v0.1 --template mistral --finetuning_type lora --lora_target q_proj,v_proj --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --fp16
`,
    beside: {
      'default_config.yaml':
        'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\ngpu_ids: all\nmachine_rank: 0\nmixed_precision: fp16\nnum_machines: 1\nnum_processes: 8\n',
    },
  },
  {
    issue: 'hiyouga/LlamaFactory#6999',
    gpu: 'A800-SXM4-80GB',
    gpus: 7,
    file: 'train.yaml',
    text: `model_name_or_path: deepseek-ai/DeepSeek-R1-Distill-Qwen-32B
stage: sft
do_train: true
finetuning_type: full
deepspeed: ds_z3_config.json
template: deepseek3
cutoff_len: 1024
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
bf16: true
val_size: 0.1
per_device_eval_batch_size: 4
eval_strategy: steps
eval_steps: 20
`,
    beside: {
      'ds_z3_config.json': ZERO_3,
    },
  },
  {
    issue: 'hiyouga/LlamaFactory#6270',
    gpu: 'A800-SXM4-80GB',
    gpus: 4,
    file: 'train.yaml',
    text: `model_name_or_path: Qwen/Qwen2-VL-72B-Instruct
stage: sft
do_train: true
finetuning_type: full
freeze_vision_tower: false
train_mm_proj_only: false
deepspeed: ds_z3_config.json
template: qwen2_vl
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
bf16: true
val_size: 0.1
per_device_eval_batch_size: 1
eval_strategy: steps
eval_steps: 500
`,
    beside: {
      'ds_z3_config.json': ZERO_3,
      'requirements.txt': 'torch==2.5.1\ntransformers==4.46.1\naccelerate==1.0.1\ndeepspeed==0.15.4\n',
    },
  },
  {
    issue: 'hiyouga/LlamaFactory#5449',
    gpu: 'A100-SXM4-80GB',
    gpus: 2,
    file: 'train.yaml',
    text: `model_name_or_path: Qwen/Qwen2-VL-7B-Instruct
stage: sft
do_train: true
finetuning_type: full
deepspeed: ds_z3_config.json
freeze_vision_tower: false
template: qwen2_vl
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 1
bf16: true
val_size: 0.1
per_device_eval_batch_size: 16
eval_strategy: steps
eval_steps: 2500
`,
    beside: {
      'ds_z3_config.json': ZERO_3,
      'requirements.txt': 'torch==2.2.0\ntransformers==4.45.0\naccelerate==0.33.0\ndeepspeed==0.13.0\n',
    },
  },
  {
    issue: 'OpenRLHF/OpenRLHF#858',
    gpu: 'A40-48GB',
    gpus: 4,
    file: 'train_ppo.sh',
    text: trainPpo(1, 4, 1, 4, 2),
  },
  {
    issue: 'OpenRLHF/OpenRLHF#519',
    gpu: 'H100-SXM5-80GB',
    gpus: 8,
    file: 'train_ppo.sh',
    text: trainPpo(2, 128, 4, 1024, 1),
  },
  {
    issue: 'hiyouga/LlamaFactory#1409',
    gpu: 'RTX-3090',
    gpus: 8,
    file: 'train.sh',
    text: `deepspeed -i localhost:0,1,2,3,4,5,6,7 src/train_bash.py --deepspeed ds_config_zero2.json --stage sft \\
  --model_name_or_path Qwen/Qwen-14B-Chat --do_train True --finetuning_type lora --template chatml --lora_target c_attn \\
  --cutoff_len 1024 --per_device_train_batch_size 1 --gradient_accumulation_steps 12 --val_size 0.1 --evaluation_strategy no \\
  --fp16 True
`,
    beside: { 'ds_config_zero2.json': ZERO_2 },
  },
  {
    issue: 'hiyouga/LlamaFactory#4559',
    gpu: 'A10G',
    gpus: 4,
    file: 'train.yaml',
    text: `model_name_or_path: TechxGenus/Meta-Llama-3-70B-Instruct-GPTQ
quantization_bit: 4
stage: sft
do_train: true
finetuning_type: lora
lora_target: all
flash_attn: fa2
low_cpu_mem_usage: true
template: llama3
cutoff_len: 1024
per_device_train_batch_size: 1
gradient_accumulation_steps: 1
fp16: false
val_size: 0.1
per_device_eval_batch_size: 1
eval_strategy: steps
eval_steps: 500
`,
  },
  {
    issue: 'hiyouga/LlamaFactory#6827',
    gpu: 'L40S',
    gpus: 2,
    file: 'train.yaml',
    text: `model_name_or_path: casperhansen/llama-3.3-70b-instruct-awq
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all
template: llama3
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
`,
    beside: {
      'requirements.txt': 'torch==2.6.0\ntransformers==4.45.2\naccelerate==1.2.1\npeft==0.12.0\n',
    },
  },
  {
    issue: 'hiyouga/LlamaFactory#5077',
    gpu: 'T4-16GB',
    gpus: 2,
    file: 'config.yaml',
    text: `model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
quantization_bit: 4
quantization_method: bitsandbytes
template: llama3
rope_scaling: dynamic
flash_attn: fa2
stage: rm
do_train: true
finetuning_type: lora
lora_target: all
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
optim: adamw_torch
packing: false
fp16: true
lora_rank: 8
lora_alpha: 16
use_rslora: true
deepspeed: ds_z2_config.json
cutoff_len: 4096
`,
    beside: {
      'ds_z2_config.json': BUCKETS_2,
      'requirements.txt':
        'torch==2.1.2\ntransformers==4.42.3\naccelerate==0.32.0\npeft==0.12.0\ndeepspeed==0.14.4\n',
    },
  },
  {
    issue: 'hiyouga/LlamaFactory#7833',
    gpu: 'V100-PCIE-16GB',
    gpus: 8,
    file: 'train.yaml',
    text: `model_name_or_path: Qwen/Qwen2.5-0.5B
stage: dpo
do_train: true
finetuning_type: full
pref_beta: 0.1
pref_loss: sigmoid
deepspeed: ds_z3_offload_config.json
template: qwen
cutoff_len: 4096
per_device_train_batch_size: 1
gradient_accumulation_steps: 1
fp16: true
`,
    beside: {
      'ds_z3_offload_config.json': ZERO_3_OFFLOAD,
      'requirements.txt':
        'torch==2.6.0\ntransformers==4.49.0\naccelerate==1.2.1\ntrl==0.9.6\ndeepspeed==0.16.7\n',
    },
  },
  {
    issue: 'hiyouga/LlamaFactory#7938',
    gpu: 'A100-SXM4-80GB',
    gpus: 64,
    file: 'train.yaml',
    text: `model_name_or_path: Qwen/Qwen2.5-7B
stage: dpo
do_train: true
finetuning_type: lora
lora_rank: 32
lora_target: all
pref_beta: 0.1
pref_loss: sigmoid
pref_ftx: 0.1
deepspeed: ds_z3_offload_config.json
template: qwen
cutoff_len: 32768
per_device_train_batch_size: 1
gradient_accumulation_steps: 1
bf16: true
flash_attn: fa2
enable_liger_kernel: true
use_unsloth_gc: true
`,
    beside: { 'ds_z3_offload_config.json': ZERO_3_OFFLOAD, 'requirements.txt': 'llamafactory==0.9.2\n' },
  },
  {
    issue: 'hiyouga/LlamaFactory#8436',
    gpu: 'H100-SXM5-80GB',
    gpus: 4,
    ran: true,
    file: 'train.yaml',
    text: `model_name_or_path: Qwen/Qwen2.5-14B-Instruct
stage: pt
do_train: true
finetuning_type: freeze
freeze_trainable_layers: 8
freeze_trainable_modules: all
flash_attn: fa2
deepspeed: ds_z3_config.json
template: qwen
cutoff_len: 8192
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
bf16: true
`,
    beside: { 'ds_z3_config.json': ZERO_3, 'requirements.txt': 'llamafactory==0.9.3\n' },
  },
  {
    issue: 'hiyouga/LlamaFactory#10367',
    gpu: 'L40S',
    gpus: 3,
    file: 'train.yaml',
    text: `model_name_or_path: Qwen/Qwen3.5-27B
deepspeed: ds_z3_config.json
flash_attn: auto
quantization_method: bnb
quantization_type: nf4
double_quantization: true
upcast_layernorm: true
freeze_vision_tower: true
freeze_multi_modal_projector: true
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 64
lora_alpha: 64
lora_target: [q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, out_proj]
template: qwen3_5
cutoff_len: 8192
per_device_train_batch_size: 1
gradient_accumulation_steps: 4
bf16: true
`,
    beside: { 'ds_z3_config.json': ZERO_3 },
  },
  {
    issue: 'hiyouga/LlamaFactory#4772',
    gpu: 'A100-SXM4-80GB',
    gpus: 1,
    ran: true,
    file: 'train.yaml',
    text: `model_name_or_path: THUDM/glm-4-9b-chat
quantization_bit: 4
quantization_method: bitsandbytes
stage: sft
do_train: true
finetuning_type: lora
lora_target: all
template: glm4
cutoff_len: 10240
per_device_train_batch_size: 1
gradient_accumulation_steps: 16
bf16: true
val_size: 0.1
per_device_eval_batch_size: 1
eval_strategy: steps
eval_steps: 500
`,
    beside: { 'requirements.txt': 'torch==2.2.0\ntransformers==4.42.3\n' },
  },
  {
    issue: 'deepspeedai/DeepSpeedExamples#387',
    gpu: 'V100-SXM2-32GB',
    gpus: 1,
    ran: true,
    file: 'run_1.3b.sh',
    text: `deepspeed --num_gpus 1 main.py --model_name_or_path facebook/opt-1.3b --per_device_train_batch_size 8 \\
  --per_device_eval_batch_size 8 --gradient_accumulation_steps 2 --lora_dim 128 --zero_stage 2 --only_optimize_lora --deepspeed
`,
    beside: { 'requirements.txt': 'transformers==4.28.1\n' },
  },
  {
    issue: 'deepspeedai/DeepSpeed#3208',
    gpu: 'A100-SXM4-40GB',
    gpus: 1,
    file: 'run_1.3b.sh',
    text: `OUTPUT=$1
ZERO_STAGE=$2
if [ "$ZERO_STAGE" == "" ]; then
    ZERO_STAGE=0
fi
deepspeed --num_gpus 1 main.py --model_name_or_path facebook/opt-1.3b --gradient_accumulation_steps 2 --lora_dim 128 \\
  --zero_stage $ZERO_STAGE --deepspeed --output_dir $OUTPUT
`,
    beside: { 'requirements.txt': 'transformers==4.28.1\n' },
  },
  {
    issue: 'meta-pytorch/torchtune#856',
    gpu: 'RTX-4090',
    gpus: 1,
    file: '8B_lora_single_device.yaml',
    text: tuneLora(8192),
  },
  {
    issue: 'meta-pytorch/torchtune#979',
    gpu: 'A100-SXM4-80GB',
    gpus: 1,
    ran: true,
    file: '8B_lora_single_device.yaml',
    text: tuneLora(8192),
  },
  {
    issue: 'pytorch/torchtitan#1789',
    gpu: 'H100-SXM5-80GB',
    gpus: 8,
    file: 'deepseek_v3_16b.toml',
    text: `[model]
name = "deepseek_v3"
flavor = "16B"
[optimizer]
name = "AdamW"
[training]
local_batch_size = 8
seq_len = 4096
[parallelism]
data_parallel_shard_degree = -1
fsdp_reshard_after_forward = "default"
expert_parallel_degree = 8
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
[compile]
enable = true
components = ["loss"]
`,
  },
  {
    issue: 'axolotl-ai-cloud/axolotl#708',
    gpu: 'RTX-4090',
    gpus: 1,
    ran: true,
    file: 'qlora.yml',
    text: `base_model: mistralai/Mistral-7B-v0.1
model_type: MistralForCausalLM
load_in_4bit: true
datasets: [{path: data, type: alpaca}]
val_set_size: 0.01
adapter: qlora
sequence_len: 8192
sample_packing: true
pad_to_sequence_len: true
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_target_linear: true
gradient_accumulation_steps: 4
micro_batch_size: 2
optimizer: adamw_bnb_8bit
bf16: true
fp16: false
gradient_checkpointing: true
flash_attention: true
`,
    beside: { 'requirements.txt': 'torch==2.0.1\ntransformers==4.34.0\naccelerate==0.23.0\npeft==0.5.0\n' },
  },
  {
    issue: 'axolotl-ai-cloud/axolotl#1000',
    gpu: 'RTX-4090',
    gpus: 1,
    ran: true,
    file: 'qlora.yml',
    text: `base_model: 01-ai/Yi-34B-Chat
model_type: LlamaForCausalLM
load_in_4bit: true
sequence_len: 1024
bf16: true
flash_attention: true
datasets: [{path: data, type: alpaca}]
val_set_size: 0.1
eval_sample_packing: false
eval_batch_size: 1
adapter: qlora
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_target_linear: true
sample_packing: false
pad_to_sequence_len: false
gradient_accumulation_steps: 4
micro_batch_size: 1
gradient_checkpointing: true
optimizer: paged_adamw_8bit
`,
    beside: { 'requirements.txt': 'torch==2.0.1\ntransformers==4.36.2\naccelerate==0.24.1\npeft==0.6.0\n' },
  },
  {
    issue: 'Lightning-AI/litgpt#781',
    gpu: 'A100-SXM4-40GB',
    gpus: 1,
    file: 'lora.yaml',
    text: `checkpoint_dir: checkpoints/mistralai/Mistral-7B-Instruct-v0.1
precision: bf16-true
devices: 1
lora_r: 8
lora_alpha: 16
lora_dropout: 0.05
lora_query: true
lora_key: false
lora_value: true
lora_projection: false
lora_mlp: false
lora_head: false
data:
  class_path: litgpt.data.Alpaca
train:
  global_batch_size: 128
  micro_batch_size: 4
optimizer: AdamW
`,
  },
];

export function issueRuns(): DocumentedRun[] {
  return REPORTS.map(({ issue, gpu, gpus, file, text, beside = {}, ran }) => {
    const [repository = '', number = ''] = issue.split('#');
    return {
      source: `https://github.com/${repository}/issues/${number}`,
      outcome: ran ? 'ran' : 'out-of-memory',
      file,
      files: { ...beside, [file]: `# oomlint: gpu=${gpu} gpus=${gpus}\n${text}` },
    };
  });
}
