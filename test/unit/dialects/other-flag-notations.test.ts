import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

async function valuesOf(command: string, fields: readonly string[]) {
  const { resolved, unread = [] } = await smallWorkspace({ 'run.sh': `${command}\n` }).analyze('run.sh');
  const values: Readonly<Record<string, unknown>> = resolved.values;
  return { of: fields.map((field) => values[field]), unread: unread.map(({ text }) => text) };
}

/** Launches with the same flags in two notations, and the fields that they state. */
const NOTATIONS: readonly (readonly [fields: readonly string[], one: string, ...others: string[]])[] = [
  [
    ['batch.micro', 'batch.sequence', 'parallel.tensor', 'hardware.gpus'],
    'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --micro-batch-size 4 --tensor-model-parallel-size 2',
    'torchrun --nproc_per_node=8 pretrain_gpt.py --num-layers=2 --hidden-size=64 --num-attention-heads=4 --seq-length=128 --micro-batch-size=4 --tensor-model-parallel-size=2',
    'torchrun --nproc-per-node=8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --micro-batch-size 9 --tensor-model-parallel-size 2 --micro-batch-size 4',
  ],
  [
    ['batch.micro', 'batch.sequence', 'precision.compute', 'activations.checkpointing', 'hardware.gpus'],
    'accelerate launch --num_processes 4 sft.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --bf16 --gradient_checkpointing --max_length 512',
    'accelerate launch --num_processes=4 sft.py --model_name_or_path=Qwen/Qwen2.5-7B --per_device_train_batch_size=2 --bf16=True --gradient_checkpointing=true --max_length=512',
    'accelerate launch --num-processes 4 sft.py --model-name-or-path Qwen/Qwen2.5-7B --per-device-train-batch-size 2 --bf16 true --gradient-checkpointing --max-length 512',
    'accelerate launch --num_processes 4 sft.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 8 --per_device_train_batch_size 2 --bf16 --gradient_checkpointing --max_length 512',
  ],
  [
    ['batch.micro', 'model.id', 'method.kind', 'lora.rank'],
    'llamafactory-cli train --stage sft --model_name_or_path Qwen/Qwen2.5-7B --finetuning_type lora --lora_rank 16 --per_device_train_batch_size 2',
    'llamafactory-cli train --stage=sft --model_name_or_path=Qwen/Qwen2.5-7B --finetuning_type=lora --lora_rank=16 --per_device_train_batch_size=2',
    'llamafactory-cli train stage=sft model_name_or_path=Qwen/Qwen2.5-7B finetuning_type=lora lora_rank=16 per_device_train_batch_size=2',
  ],
  [
    ['batch.micro', 'model.id', 'method.kind', 'lora.rank'],
    'swift sft --model Qwen/Qwen2.5-7B --train_type lora --lora_rank 16 --per_device_train_batch_size 2',
    'swift sft --model=Qwen/Qwen2.5-7B --train_type=lora --lora_rank=16 --per_device_train_batch_size=2',
  ],
  [
    ['batch.micro', 'model.id', 'hardware.gpus', 'rollout.engine', 'batch.global'],
    'python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8 trainer.nnodes=1',
    'python3 -m verl.trainer.main_ppo +actor_rollout_ref.model.path=Qwen/Qwen2.5-7B ++actor_rollout_ref.actor.ppo_mini_batch_size=64 +actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 ++trainer.n_gpus_per_node=8 trainer.nnodes=1',
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path='Qwen/Qwen2.5-7B' actor_rollout_ref.actor.ppo_mini_batch_size=32 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8 trainer.nnodes=1 actor_rollout_ref.actor.ppo_mini_batch_size=64",
  ],
  [
    ['batch.micro', 'model.id', 'parallel.tensor', 'hardware.gpus'],
    'uv run examples/run_sft.py policy.model_name=Qwen/Qwen2.5-7B policy.train_micro_batch_size=2 policy.dtensor_cfg.enabled=true policy.dtensor_cfg.tensor_parallel_size=2 cluster.gpus_per_node=8',
    'uv run examples/run_sft.py ++policy.model_name=Qwen/Qwen2.5-7B ++policy.train_micro_batch_size=2 ++policy.dtensor_cfg.enabled=true +policy.dtensor_cfg.tensor_parallel_size=2 cluster.gpus_per_node=8',
  ],
  [
    ['batch.micro', 'batch.sequence', 'hardware.gpus'],
    'tune run --nproc_per_node 2 full_finetune_distributed --config llama3/8B_full batch_size=4 tokenizer.max_seq_len=512',
    'tune run --nproc-per-node=2 full_finetune_distributed --config=llama3/8B_full batch_size=4 tokenizer.max_seq_len=512',
  ],
  [
    ['batch.micro', 'zero.stage', 'model.id'],
    'deepspeed --num_gpus 4 --module openrlhf.cli.train_sft --pretrain Qwen/Qwen2.5-7B --micro_train_batch_size 2 --zero_stage 3 --max_len 512',
    'deepspeed --num_gpus=4 --module openrlhf.cli.train_sft --pretrain=Qwen/Qwen2.5-7B --micro_train_batch_size=2 --zero_stage=3 --max_len=512',
  ],
];

describe('flags in another notation', () => {
  for (const [fields, one, ...others] of NOTATIONS)
    it(`state the same: ${one.slice(0, 60)}`, async () => {
      const plain = await valuesOf(one, fields);
      assert.ok(
        plain.of.some((value) => value !== undefined),
        'nothing is stated',
      );
      for (const other of others) assert.deepEqual(await valuesOf(other, fields), plain, other);
    });
});
