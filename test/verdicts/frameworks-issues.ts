import type { DocumentedRun } from './documented';

/*
 * Runs of further frameworks whose outcome people reported in issues, changes and comments: GPT-NeoX, llm-foundry, Alpaca's trainer, Unsloth's
 * and TRL's scripts, FSDP with 4-bit weights, experts over many machines, and GRPO. Stated as they had them, in the settings that
 * memory depends on, with the versions of the report or of its day.
 */

interface Report {
  /** `owner/repository#number`. */
  readonly issue: string;
  /** `# oomlint:` facts of the machine. */
  readonly machine: string;
  readonly file: string;
  readonly text: string;
  readonly beside?: Readonly<Record<string, string>>;
  readonly ran?: true;
}

/** GPT-NeoX-20B as its config has it, over other parallel sizes. */
const neox = (pipe: number, tensor: number, micro: number) => `{
  "pipe-parallel-size": ${pipe}, "model-parallel-size": ${tensor},
  "num-layers": 44, "hidden-size": 6144, "num-attention-heads": 64, "seq-length": 2048, "max-position-embeddings": 2048,
  "norm": "layernorm", "pos-emb": "rotary", "rotary-pct": 0.25, "no-weight-tying": true, "gpt-j-residual": true,
  "output-layer-parallelism": "column", "scaled-upper-triang-masked-softmax-fusion": true, "bias-gelu-fusion": true,
  "optimizer": {"type": "Adam", "params": {"lr": 0.97e-4, "betas": [0.9, 0.95], "eps": 1.0e-8}},
  "zero_optimization": {"stage": 1, "allgather_partitions": true, "allgather_bucket_size": 1260000000, "overlap_comm": true,
    "reduce_scatter": true, "reduce_bucket_size": 1260000000, "contiguous_gradients": true, "cpu_offload": false},
  "train_micro_batch_size_per_gpu": ${micro}, "gradient_accumulation_steps": 32,
  "checkpoint-activations": true, "checkpoint-num-layers": 1, "partition-activations": false, "synchronize-each-layer": true,
  "gradient_clipping": 1.0, "weight-decay": 0.01, "hidden-dropout": 0, "attention-dropout": 0,
  "fp16": {"fp16": true, "enabled": true, "loss_scale": 0, "initial_scale_power": 12}
}
`;

/** MPT-7B in llm-foundry's words of 2023. */
const mpt = (micro: number, length: number) => `max_seq_len: ${length}
model:
  name: mpt_causal_lm
  init_device: meta
  d_model: 4096
  n_heads: 32
  n_layers: 32
  expansion_ratio: 4
  max_seq_len: \${max_seq_len}
  vocab_size: 50368
  attn_config:
    attn_impl: triton
train_loader:
  name: finetuning
  dataset:
    max_seq_len: \${max_seq_len}
optimizer:
  name: decoupled_adamw
  lr: 1.0e-5
global_train_batch_size: ${micro * 8}
device_eval_batch_size: ${micro}
device_train_microbatch_size: ${micro}
precision: amp_bf16
fsdp_config:
  sharding_strategy: FULL_SHARD
  mixed_precision: PURE
  activation_checkpointing: true
  activation_checkpointing_reentrant: false
  activation_cpu_offload: true
  limit_all_gathers: true
`;

/** Alpaca's trainer as its README starts it. */
const alpaca = (gpus: number, batch: number, fsdp: string) =>
  `torchrun --nproc_per_node=${gpus} train.py --model_name_or_path huggyllama/llama-7b --data_path ./alpaca_data.json --bf16 True \\
  --num_train_epochs 3 --per_device_train_batch_size ${batch} --per_device_eval_batch_size ${batch} --gradient_accumulation_steps 8 \\
  --evaluation_strategy no --fsdp "${fsdp}" --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer --tf32 True
`;

const ZERO_3 = `{
  "train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto", "gradient_accumulation_steps": "auto",
  "bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"},
  "zero_optimization": {"stage": 3, "overlap_comm": true, "contiguous_gradients": true, "sub_group_size": 1e9,
    "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
    "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": true}
}
`;

const REPORTS: readonly Report[] = [
  {
    issue: 'EleutherAI/gpt-neox#606',
    machine: 'gpu=A100-SXM4-40GB gpus=2',
    file: '20B.yml',
    text: neox(1, 2, 1),
  },
  {
    issue: 'EleutherAI/gpt-neox#616',
    machine: 'gpu=A100-SXM4-80GB gpus=2',
    file: '20B.yml',
    text: neox(1, 2, 1),
  },
  {
    issue: 'EleutherAI/gpt-neox#707',
    machine: 'gpu=A100-SXM4-40GB gpus=24 nodes=3',
    file: '20B.yml',
    text: neox(6, 4, 4),
    ran: true,
  },
  {
    issue: 'mosaicml/llm-foundry#468',
    machine: 'gpu=A100-SXM4-80GB gpus=1',
    file: 'mpt-7b.yaml',
    text: mpt(1, 2048),
  },
  {
    issue: 'tatsu-lab/stanford_alpaca#280',
    machine: 'gpu=A100-SXM4-40GB gpus=4',
    file: 'train.sh',
    text: alpaca(4, 2, 'full_shard auto_wrap offload'),
    ran: true,
  },
  {
    issue: 'tatsu-lab/stanford_alpaca#46',
    machine: 'gpu=A10-24GB gpus=4',
    file: 'train.sh',
    text: alpaca(4, 1, 'full_shard auto_wrap'),
  },
  {
    issue: 'haotian-liu/LLaVA#157',
    machine: 'gpu=RTX-3090 gpus=2',
    file: 'finetune.sh',
    text: `CUDA_VISIBLE_DEVICES=0,1 torchrun --nnodes=1 --nproc_per_node=2 --master_port=25001 llava/train/train_mem.py \\
  --model_name_or_path lmsys/vicuna-7b-v1.5 --vision_tower openai/clip-vit-large-patch14 --mm_vision_select_layer -2 \\
  --mm_use_im_start_end True --bf16 True --per_device_train_batch_size 1 --per_device_eval_batch_size 1 \\
  --gradient_accumulation_steps 4 --evaluation_strategy no --tf32 True --model_max_length 2048 --gradient_checkpointing True
`,
  },
  {
    issue: 'hiyouga/LlamaFactory#3880',
    machine: 'gpu=T4 gpus=8',
    file: 'train.yaml',
    text: `model_name_or_path: meta-llama/Meta-Llama-3-70B-Instruct
stage: sft
do_train: true
finetuning_type: lora
lora_target: all
quantization_bit: 4
double_quantization: true
deepspeed: ds_z3_config.json
template: llama3
cutoff_len: 2048
per_device_train_batch_size: 1
fp16: true
`,
    beside: { 'ds_z3_config.json': ZERO_3 },
  },
  {
    issue: 'unslothai/unsloth#465',
    machine: 'gpu=T4 gpus=1',
    file: 'train.py',
    text: `from unsloth import FastLanguageModel
from trl import SFTTrainer
from transformers import TrainingArguments
from datasets import load_dataset
import torch

max_seq_length = 18000
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/llama-3-8b-bnb-4bit", max_seq_length=max_seq_length, dtype=None, load_in_4bit=True
)
model = FastLanguageModel.get_peft_model(
    model,
    r=16,
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    lora_alpha=16,
    lora_dropout=0,
    bias="none",
    use_gradient_checkpointing="unsloth",
)
dataset = load_dataset("json", data_files="long.jsonl", split="train")
trainer = SFTTrainer(
    model=model,
    tokenizer=tokenizer,
    train_dataset=dataset,
    dataset_text_field="text",
    max_seq_length=max_seq_length,
    packing=False,
    args=TrainingArguments(
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        max_steps=60,
        fp16=not torch.cuda.is_bf16_supported(),
        bf16=torch.cuda.is_bf16_supported(),
        optim="adamw_8bit",
        output_dir="outputs",
    ),
)
trainer.train()
`,
    beside: { 'requirements.txt': 'unsloth==2024.5\ntransformers==4.40.2\ntrl==0.8.6\ntorch==2.3.0\n' },
  },
  {
    issue: 'huggingface/trl#3168',
    machine: 'gpu=A100-SXM4-80GB gpus=1',
    file: 'run_dpo.py',
    text: `from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct")
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct")
dataset = load_dataset("trl-lib/ultrafeedback_binarized", split="train")
trainer = DPOTrainer(model=model, args=DPOConfig(output_dir="out"), train_dataset=dataset, processing_class=tokenizer)
trainer.train()
`,
    beside: { 'requirements.txt': 'trl==0.16.0\ntransformers==4.50.0\ntorch==2.6.0\n' },
  },
  {
    issue: 'axolotl-ai-cloud/axolotl#1428',
    machine: 'gpu=RTX-3090 gpus=2',
    file: 'qlora-fsdp.yml',
    text: `base_model: NousResearch/Llama-2-70b-hf
model_type: LlamaForCausalLM
load_in_8bit: false
load_in_4bit: true
datasets: [{path: yahma/alpaca-cleaned, type: alpaca}]
val_set_size: 0.05
adapter: qlora
sequence_len: 512
sample_packing: false
pad_to_sequence_len: true
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_target_linear: true
gradient_accumulation_steps: 4
micro_batch_size: 1
optimizer: adamw_torch
bf16: auto
tf32: true
gradient_checkpointing: true
gradient_checkpointing_kwargs: {use_reentrant: true}
flash_attention: true
evals_per_epoch: 4
fsdp: [full_shard, auto_wrap]
fsdp_config:
  fsdp_limit_all_gathers: true
  fsdp_sync_module_states: true
  fsdp_offload_params: true
  fsdp_use_orig_params: false
  fsdp_cpu_ram_efficient_loading: true
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_state_dict_type: SHARDED_STATE_DICT
`,
    beside: { 'requirements.txt': 'torch==2.2.1\ntransformers==4.39.0\naccelerate==0.28.0\npeft==0.10.0\n' },
    ran: true,
  },
  {
    issue: 'modelscope/ms-swift#6558',
    machine: 'gpu=A100-SXM4-80GB gpus=64 nodes=8',
    file: 'sft.sh',
    text: `IMAGE_MAX_TOKEN_NUM=256 NNODES=8 NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-VL-235B-A22B-Instruct --dataset data.jsonl \\
  --max_epochs 10 --tensor_model_parallel_size 4 --pipeline_model_parallel_size 2 --expert_model_parallel_size 8 \\
  --expert_tensor_parallel_size 1 --micro_batch_size 1 --global_batch_size 16 --sequence_parallel true --max_length 1024 \\
  --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true --recompute_granularity full \\
  --recompute_method uniform --recompute_num_layers 1 --finetune true
`,
  },
  {
    issue: 'OpenRLHF/OpenRLHF#1066',
    machine: 'gpu=H800-SXM5-80GB',
    file: 'grpo.sh',
    text: `python3 -m openrlhf.cli.train_ppo_ray --ref_num_nodes 1 --ref_num_gpus_per_node 1 --actor_num_nodes 1 --actor_num_gpus_per_node 4 \\
  --vllm_num_engines 1 --vllm_tensor_parallel_size 2 --vllm_gpu_memory_utilization 0.6 --init_kl_coef 1e-3 --use_kl_loss \\
  --kl_estimator k3 --advantage_estimator group_norm --pretrain Qwen/Qwen3-8B --micro_train_batch_size 1 --train_batch_size 4 \\
  --micro_rollout_batch_size 32 --rollout_batch_size 128 --n_samples_per_prompt 2 --max_epochs 2 --prompt_max_len 4096 \\
  --generate_max_len 8192 --zero_stage 3 --bf16 --normalize_reward --gradient_checkpointing --enforce_eager --vllm_enable_sleep \\
  --use_liger_kernel --adam_offload
`,
  },
];

export function frameworkIssueRuns(): DocumentedRun[] {
  return REPORTS.map(({ issue, machine, file, text, beside = {}, ran }) => {
    const [repository = '', number = ''] = issue.split('#');
    return {
      source: `https://github.com/${repository}/issues/${number}`,
      outcome: ran ? 'ran' : 'out-of-memory',
      file,
      files: { ...beside, [file]: `# oomlint: ${machine}\n${text}` },
    };
  });
}
