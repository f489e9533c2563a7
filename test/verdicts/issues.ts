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
