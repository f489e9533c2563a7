/** A model on some GPUs as it was published, and the plain config that a person begins with. */
export interface PublishedRecipe {
  readonly name: string;
  readonly source: string;
  /** Kinds of the changes by which it was made to fit, as far as the plain config lacks them. */
  readonly published: readonly [string, ...string[]];
  readonly files: Readonly<Record<string, string>>;
}

const axolotl = (head: string, lines: string) => ({
  'config.yaml': `# oomlint: ${head}\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\n${lines}`,
});
const FULL = 'optimizer: adamw_torch\nlearning_rate: 2.0e-5\nbf16: true\ngradient_accumulation_steps: 4\n';
const LORA = `adapter: lora\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\n${FULL}`;
const QLORA = `adapter: qlora\nload_in_4bit: true\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\n${FULL}`;
const trainer = (head: string, lines: string) => ({
  'args.yaml': `# oomlint: ${head}\n${lines}learning_rate: 2.0e-5\nbf16: true\ngradient_accumulation_steps: 4\n`,
});
const deepspeed = (head: string, lines: string) => ({
  'ds.json': `{\n  "gradient_accumulation_steps": 4,\n  "bf16": { "enabled": true },\n${lines}\n  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } }\n}\n`,
  'oomlint.yaml': head,
});
const factory = (head: string, lines: string) => ({
  'sft.yaml': `# oomlint: ${head}\nstage: sft\ndo_train: true\ndataset: alpaca_en\ntemplate: default\noutput_dir: out\nbf16: true\nlearning_rate: 1.0e-5\n${lines}`,
});
const tune = (head: string, model: string, lines: string) => ({
  'tune.yaml': `# oomlint: ${head}\nmodel:\n  _component_: torchtune.models.${model}\ntokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  path: /tmp/tokenizer.model\n  max_seq_len: 2048\ndataset:\n  _component_: torchtune.datasets.alpaca_dataset\nloss:\n  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss\nepochs: 1\nenable_activation_checkpointing: False\ndtype: bf16\n${lines}`,
});
const TUNE_ADAMW = 'optimizer:\n  _component_: torch.optim.AdamW\n  lr: 2e-5\n';
const accelerate = (head: string, command: string, yaml: string) => ({
  'train.sh': `# oomlint: ${head}\n${command}\n`,
  'accelerate.yaml': yaml,
});

export const PUBLISHED_RECIPES: readonly PublishedRecipe[] = [
  {
    name: '70B with QLoRA on two 24 GB cards: FSDP with CPU offload',
    source: 'https://www.answer.ai/posts/2024-03-06-fsdp-qlora.html',
    published: ['sharding', 'offload'],
    files: axolotl(
      'gpu=RTX-4090 gpus=2',
      `base_model: meta-llama/Llama-2-70b-hf\nsequence_len: 2048\nmicro_batch_size: 1\n${QLORA}`,
    ),
  },
  {
    name: 'Llama 3 70B with QLoRA on four A10G',
    source: 'https://www.philschmid.de/fsdp-qlora-llama3',
    published: ['sharding', 'offload'],
    files: axolotl(
      'gpu=A10G gpus=4',
      `base_model: meta-llama/Meta-Llama-3-70B\nsequence_len: 3072\nmicro_batch_size: 1\n${QLORA}`,
    ),
  },
  {
    name: '13B with LoRA on one 24 GB card: 4-bit weights',
    source: 'https://arxiv.org/abs/2305.14314',
    published: ['method'],
    files: axolotl(
      'gpu=RTX-3090 gpus=1',
      `base_model: meta-llama/Llama-2-13b-hf\nsequence_len: 512\nmicro_batch_size: 4\nadapter: lora\nlora_r: 64\nlora_alpha: 16\nlora_target_linear: true\n${FULL}`,
    ),
  },
  {
    name: '65B of QLoRA on one 48 GB card',
    source: 'https://arxiv.org/abs/2305.14314',
    published: ['checkpointing'],
    files: axolotl(
      'gpu=A6000 gpus=1',
      `base_model: huggyllama/llama-65b\nsequence_len: 512\nmicro_batch_size: 16\n${QLORA}`,
    ),
  },
  {
    name: 'Mistral 7B in full on eight 40 GB cards',
    source: 'https://github.com/axolotl-ai-cloud/axolotl/tree/main/examples/mistral',
    published: ['deepspeed'],
    files: axolotl(
      'gpu=A100-SXM4-40GB gpus=8',
      `base_model: mistralai/Mistral-7B-v0.1\nsequence_len: 4096\nmicro_batch_size: 2\n${FULL}`,
    ),
  },
  {
    name: 'Alpaca: LLaMA 7B in full on four 80 GB cards with FSDP',
    source: 'https://github.com/tatsu-lab/stanford_alpaca#fine-tuning',
    published: ['sharding'],
    files: trainer(
      'gpu=A100-SXM4-80GB gpus=4',
      'model_name_or_path: huggyllama/llama-7b\nper_device_train_batch_size: 4\nmax_length: 512\ndataset_name: tatsu-lab/alpaca\n',
    ),
  },
  {
    name: 'Vicuna: 13B in full on eight 80 GB cards',
    source: 'https://github.com/lm-sys/FastChat#fine-tuning',
    published: ['sharding'],
    files: trainer(
      'gpu=A100-SXM4-80GB gpus=8',
      'model_name_or_path: meta-llama/Llama-2-13b-hf\nper_device_train_batch_size: 4\nmax_length: 2048\ndataset_name: x/y\n',
    ),
  },
  {
    name: 'Zephyr: Mistral 7B on eight 80 GB cards with ZeRO 3',
    source: 'https://github.com/huggingface/alignment-handbook/tree/main/recipes/zephyr-7b-beta',
    published: ['checkpointing', 'sharding'],
    files: deepspeed(
      'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 8\ndefaults:\n  model: mistralai/Mistral-7B-v0.1\n  sequence: 2048\n',
      '  "train_micro_batch_size_per_gpu": 16,\n  "zero_optimization": { "stage": 0 },',
    ),
  },
  {
    name: '13B in full on one 32 GB card with ZeRO-Offload',
    source: 'https://arxiv.org/abs/2101.06840',
    published: ['offload'],
    files: deepspeed(
      'targets:\n  gpu: V100-SXM2-32GB\n  gpus: 1\n  nodes: 1\ndefaults:\n  model: meta-llama/Llama-2-13b-hf\n  sequence: 1024\n',
      '  "train_micro_batch_size_per_gpu": 4,\n  "zero_optimization": { "stage": 2 },',
    ),
  },
  {
    name: 'Llama 2 7B in full on eight 40 GB cards with ZeRO',
    source: 'https://huggingface.co/docs/peft/main/en/accelerate/deepspeed',
    published: ['sharding'],
    files: deepspeed(
      'targets:\n  gpu: A100-SXM4-40GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-2-7b-hf\n  sequence: 2048\n',
      '  "train_micro_batch_size_per_gpu": 8,\n  "zero_optimization": { "stage": 1 },',
    ),
  },
  {
    name: 'Llama 2 70B in full on sixteen 80 GB cards with ZeRO 3 and offload',
    source: 'https://huggingface.co/blog/ram-efficient-pytorch-fsdp',
    published: ['offload'],
    files: deepspeed(
      'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 16\n  nodes: 2\ndefaults:\n  model: meta-llama/Llama-2-70b-hf\n  sequence: 2048\n',
      '  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": { "stage": 2 },',
    ),
  },
  {
    name: 'Llama 3.1 8B in full on one 24 GB card: 8-bit states, optimizer in the backward pass',
    source:
      'https://github.com/pytorch/torchtune/blob/v0.6.1/recipes/configs/llama3_1/8B_full_single_device.yaml',
    published: ['optimizer', 'step-in-backward'],
    files: tune(
      'gpu=RTX-4090 gpus=1',
      'llama3_1.llama3_1_8b',
      `batch_size: 2\ngradient_accumulation_steps: 1\noptimizer_in_bwd: False\n${TUNE_ADAMW}`,
    ),
  },
  {
    name: 'Llama 3.1 8B with LoRA on one 24 GB card',
    source:
      'https://github.com/pytorch/torchtune/blob/v0.6.1/recipes/configs/llama3_1/8B_lora_single_device.yaml',
    published: ['checkpointing'],
    files: tune(
      'gpu=RTX-4090 gpus=1',
      "llama3_1.lora_llama3_1_8b\n  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']\n  apply_lora_to_mlp: True\n  lora_rank: 8\n  lora_alpha: 16",
      `batch_size: 2\ngradient_accumulation_steps: 8\n${TUNE_ADAMW}`,
    ),
  },
  {
    name: 'Llama 3.1 70B with LoRA on eight 80 GB cards',
    source: 'https://github.com/pytorch/torchtune/blob/v0.6.1/recipes/configs/llama3_1/70B_lora.yaml',
    published: ['checkpointing'],
    files: tune(
      'gpu=A100-SXM4-80GB gpus=8',
      "llama3_1.lora_llama3_1_70b\n  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']\n  apply_lora_to_mlp: True\n  lora_rank: 16\n  lora_alpha: 32",
      `batch_size: 8\ngradient_accumulation_steps: 1\n${TUNE_ADAMW}`,
    ),
  },
  {
    name: 'Llama 3.1 70B in full on eight 80 GB cards',
    source: 'https://github.com/pytorch/torchtune/blob/v0.6.1/recipes/configs/llama3_1/70B_full.yaml',
    published: ['checkpointing', 'offload'],
    files: tune(
      'gpu=H100-SXM5-80GB gpus=8',
      'llama3_1.llama3_1_70b',
      `batch_size: 2\ngradient_accumulation_steps: 1\nfsdp_cpu_offload: False\n${TUNE_ADAMW}`,
    ),
  },
  {
    name: 'Llama 3.1 8B on eight H100: selective checkpointing',
    source: 'https://github.com/pytorch/torchtitan/blob/v0.1.0/docs/performance.md',
    published: ['checkpointing'],
    files: {
      'llama3_8b.toml':
        '# oomlint: gpu=H100-SXM5-80GB gpus=8\n[model]\nname = "llama3"\nflavor = "8B"\n[optimizer]\nname = "AdamW"\nlr = 3e-4\n[training]\nbatch_size = 2\nseq_len = 8192\nsteps = 1000\n[parallelism]\ndata_parallel_shard_degree = -1\n[activation_checkpoint]\nmode = "none"\n',
    },
  },
  {
    name: 'Llama 3.1 70B on 64 H100: full checkpointing',
    source: 'https://arxiv.org/abs/2410.06511',
    published: ['checkpointing'],
    files: {
      'llama3_70b.toml':
        '# oomlint: gpu=H100-SXM5-80GB gpus=64 nodes=8\n[model]\nname = "llama3"\nflavor = "70B"\n[optimizer]\nname = "AdamW"\nlr = 1.5e-4\n[training]\nbatch_size = 2\nseq_len = 8192\nsteps = 1000\n[parallelism]\ndata_parallel_shard_degree = -1\n[activation_checkpoint]\nmode = "none"\n',
    },
  },
  {
    name: 'LLaMA-Factory: 7B with LoRA in 16 GB',
    source: 'https://github.com/hiyouga/LLaMA-Factory/tree/v0.9.3#hardware-requirement',
    published: ['batch'],
    files: factory(
      'gpu=V100-SXM2-16GB gpus=1',
      'model_name_or_path: mistralai/Mistral-7B-v0.1\nfinetuning_type: lora\nlora_target: all\nlora_rank: 8\ncutoff_len: 1024\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 4\n',
    ),
  },
  {
    name: 'LLaMA-Factory: 70B with QLoRA in 48 GB',
    source: 'https://github.com/hiyouga/LLaMA-Factory/tree/v0.9.3#hardware-requirement',
    published: ['method'],
    files: factory(
      'gpu=A6000 gpus=1',
      'model_name_or_path: meta-llama/Llama-3.1-70B\nfinetuning_type: lora\nlora_target: all\nlora_rank: 8\ncutoff_len: 1024\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\n',
    ),
  },
  {
    name: 'Qwen2.5 7B in full on four 80 GB cards with ZeRO 3',
    source: 'https://github.com/hiyouga/LLaMA-Factory/blob/v0.9.3/examples/train_full/llama3_full_sft.yaml',
    published: ['deepspeed'],
    files: factory(
      'gpu=A100-SXM4-80GB gpus=4',
      'model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: full\ncutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 2\n',
    ),
  },
  {
    name: 'GPT-2 XL on two 24 GB cards with FSDP',
    source: 'https://huggingface.co/blog/pytorch-fsdp',
    published: ['sharding'],
    files: accelerate(
      'gpu=TITAN-RTX',
      'accelerate launch --config_file accelerate.yaml run_clm.py --model_name_or_path gpt2-xl --dataset_name wikitext --per_device_train_batch_size 5 --block_size 1024',
      'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: fp16\nnum_machines: 1\nnum_processes: 2\n',
    ),
  },
  {
    name: 'GPT-2 XL on two 24 GB cards with FSDP: a config of Accelerate that is not there yet',
    source: 'https://huggingface.co/blog/pytorch-fsdp',
    published: ['sharding'],
    files: {
      'train.sh':
        '# oomlint: gpu=TITAN-RTX\naccelerate launch --mixed_precision fp16 --num_processes 2 run_clm_no_trainer.py --model_name_or_path gpt2-xl --dataset_name wikitext --per_device_train_batch_size 5 --block_size 1024\n',
    },
  },
  {
    name: 'Llama 2 13B in full on eight 80 GB cards: a loop around an Accelerator, whose launch is given FSDP',
    source: 'https://huggingface.co/docs/accelerate/v1.10.1/en/usage_guides/fsdp',
    published: ['sharding'],
    files: {
      'train.sh':
        '# oomlint: gpu=A100-SXM4-80GB sequence=2048\naccelerate launch --multi_gpu --num_processes 8 train.py\n',
      'train.py':
        'import torch\nfrom accelerate import Accelerator\nfrom torch.utils.data import DataLoader\nfrom transformers import AutoModelForCausalLM\n\naccelerator = Accelerator(mixed_precision="bf16")\nmodel = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-13b-hf")\nloader = DataLoader(dataset, batch_size=2, shuffle=True)\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)\nmodel, optimizer, loader = accelerator.prepare(model, optimizer, loader)\nfor batch in loader:\n    loss = model(**batch).loss\n    accelerator.backward(loss)\n    optimizer.step()\n    optimizer.zero_grad()\n',
    },
  },
  {
    name: 'T5-3B on one 24 GB card with ZeRO-Offload',
    source: 'https://huggingface.co/blog/zero-deepspeed-fairscale',
    published: ['offload'],
    files: deepspeed(
      'targets:\n  gpu: RTX-3090\n  gpus: 1\n  nodes: 1\ndefaults:\n  model: google-t5/t5-3b\n  sequence: 128\n',
      '  "train_micro_batch_size_per_gpu": 8,\n  "zero_optimization": { "stage": 0 },',
    ),
  },
  {
    name: 'FLAN-T5 XXL on four A10G with ZeRO 3 and offload',
    source: 'https://www.philschmid.de/fine-tune-flan-t5-deepspeed',
    published: ['offload'],
    files: deepspeed(
      'targets:\n  gpu: A10G\n  gpus: 4\n  nodes: 1\ndefaults:\n  model: google/flan-t5-xxl\n  sequence: 512\n',
      '  "train_micro_batch_size_per_gpu": 8,\n  "zero_optimization": { "stage": 2 },',
    ),
  },
  {
    name: 'Falcon 180B with LoRA on sixteen A100 with ZeRO 3',
    source: 'https://www.philschmid.de/deepspeed-lora-flash-attention',
    published: ['deepspeed'],
    files: axolotl(
      'gpu=A100-SXM4-80GB gpus=16 nodes=2',
      `base_model: tiiuae/falcon-180B\nsequence_len: 2048\nmicro_batch_size: 1\n${LORA}`,
    ),
  },
  {
    name: 'GPT-NeoX 20B with adapters on one 24 GB card',
    source: 'https://huggingface.co/blog/trl-peft',
    published: ['method'],
    files: axolotl(
      'gpu=RTX-4090 gpus=1',
      `base_model: EleutherAI/gpt-neox-20b\nsequence_len: 512\nmicro_batch_size: 4\n${LORA}`,
    ),
  },
  {
    name: 'Alpaca-LoRA: 7B on one RTX 4090',
    source: 'https://github.com/tloen/alpaca-lora',
    published: ['batch'],
    files: axolotl(
      'gpu=RTX-4090 gpus=1',
      `base_model: huggyllama/llama-7b\nsequence_len: 512\nmicro_batch_size: 16\n${LORA}`,
    ),
  },
  {
    name: 'Mixtral 8x7B with QLoRA on one A100',
    source: 'https://huggingface.co/blog/mixtral',
    published: ['method'],
    files: {
      ...axolotl(
        'gpu=A100-SXM4-80GB gpus=1',
        `base_model: mistralai/Mixtral-8x7B-v0.1\nsequence_len: 1024\nmicro_batch_size: 2\n${LORA}`,
      ),
      // Of its time: transformers 5 holds experts in tensors of three dimensions, which bitsandbytes does not quantize.
      'requirements.txt': 'transformers==4.46.3\n',
    },
  },
  {
    name: '33B of QLoRA on one 24 GB card: paged optimizer',
    source: 'https://arxiv.org/abs/2305.14314',
    published: ['checkpointing'],
    files: axolotl(
      'gpu=RTX-4090 gpus=1',
      `base_model: huggyllama/llama-30b\nsequence_len: 512\nmicro_batch_size: 4\n${QLORA}`,
    ),
  },
  {
    name: 'Dolly 6.9B on eight A10 with ZeRO 3 and offload',
    source: 'https://github.com/databrickslabs/dolly#a10-gpus',
    published: ['offload'],
    files: deepspeed(
      'targets:\n  gpu: A10\n  gpus: 8\n  nodes: 1\ndefaults:\n  model: EleutherAI/pythia-6.9b\n  sequence: 1024\n',
      '  "train_micro_batch_size_per_gpu": 3,\n  "zero_optimization": { "stage": 2 },',
    ),
  },
  {
    name: 'Llama 3.1 8B on 32 k tokens on one H100: offloaded checkpoints',
    source: 'https://arxiv.org/abs/2506.13996',
    published: ['checkpointing', 'offload'],
    files: deepspeed(
      'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 1\n  nodes: 1\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 32768\n',
      '  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": { "stage": 2 },',
    ),
  },
  {
    name: 'Llama 3.1 8B on 64 k tokens on eight H100: context split, offload',
    source: 'https://arxiv.org/abs/2506.13996',
    published: ['parallel.context'],
    files: axolotl(
      'gpu=H100-SXM5-80GB gpus=8',
      `base_model: meta-llama/Llama-3.1-8B\nsequence_len: 65536\nmicro_batch_size: 1\nflash_attention: true\n${FULL}`,
    ),
  },
  {
    name: 'DPO of Mistral 7B with QLoRA on one A100 40 GB',
    source: 'https://huggingface.co/blog/mlabonne/fine-tune-mistral-7b-dpo',
    // With `load_in_4bit` and `gradient_checkpointing`, of which the second is enough.
    published: ['checkpointing'],
    files: {
      'config.yaml': `# oomlint: gpu=A100-SXM4-40GB gpus=1\nrl: dpo\ndatasets:\n  - path: Intel/orca_dpo_pairs\n    type: chatml.intel\n    split: train\nbase_model: mistralai/Mistral-7B-v0.1\nsequence_len: 1536\nmicro_batch_size: 4\n${LORA}`,
    },
  },
  {
    name: 'Llama 2 13B in full on eight 80 GB cards: FSDP by an argument of the launched script',
    source: 'https://huggingface.co/docs/transformers/v4.57.1/en/fsdp',
    published: ['sharding'],
    files: {
      'train.sh':
        '# oomlint: gpu=A100-SXM4-80GB\ntorchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-2-13b-hf --dataset_name wikitext --per_device_train_batch_size 2 --block_size 2048 --bf16 True\n',
    },
  },
  {
    name: 'Llama 2 13B in full on eight 80 GB cards: FSDP in the config of Accelerate',
    source: 'https://huggingface.co/docs/accelerate/v1.10.1/en/usage_guides/fsdp',
    published: ['sharding'],
    files: {
      'accelerate.yaml':
        'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n',
      'oomlint.yaml':
        'targets:\n  gpu: A100-SXM4-80GB\ndefaults:\n  model: meta-llama/Llama-2-13b-hf\n  sequence: 2048\n  micro: 2\n',
    },
  },
  {
    name: 'Llama 2 13B in full on eight 80 GB cards: FSDP in the arguments of a Python script',
    source: 'https://huggingface.co/docs/transformers/v4.57.1/en/fsdp',
    published: ['sharding'],
    files: {
      'train.py':
        '# oomlint: gpu=A100-SXM4-80GB gpus=8 sequence=2048\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-13b-hf")\nargs = TrainingArguments(output_dir="out", per_device_train_batch_size=2, bf16=True)\ntrainer = Trainer(model=model, args=args)\ntrainer.train()\n',
    },
  },
];
