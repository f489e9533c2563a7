import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseConfig } from '../../../server/src/config/parse';
import { launchScript } from '../../../server/src/dialects/launch-script';
import { hover } from '../../../server/src/features/hover';
import type { FieldPath } from '../../../server/src/run/fields';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { read, stated } from './reading';

const URI = 'file:///w/run.sh';
const script = (text: string, known = {}) => read('launch-script', URI, text, known);
const FLAGS = '--model_name_or_path m --per_device_train_batch_size 2 --max_seq_length 1024 --output_dir o';

function golden(reading: ReturnType<typeof script>, expected: Partial<Record<FieldPath, string>>): void {
  for (const [field, value] of Object.entries(expected))
    assert.equal(stated(reading, field as FieldPath), value, field);
}

/** Text of the script at the origin of a field. */
function placeOf(text: string, reading: ReturnType<typeof script>, field: FieldPath): string | undefined {
  const range = reading.facts.find((fact) => fact.field === field)?.origin.location?.range;
  return range && text.split('\n')[range.start.line]?.slice(range.start.character, range.end.character);
}

describe('GPUs of a launch', () => {
  const counts: readonly (readonly [text: string, gpus: string | undefined, nodes?: string])[] = [
    [`torchrun --nproc_per_node 8 train.py ${FLAGS}`, '8 file'],
    [`torchrun --nproc-per-node=4 --nnodes=2 train.py ${FLAGS}`, '8 file', '2 file'],
    [`torchrun --nnodes 1:4 --nproc_per_node 2 train.py ${FLAGS}`, '2 file', '1 file'],
    [`torchrun train.py ${FLAGS}`, '1 inferred', '1 default'],
    [`CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node gpu train.py ${FLAGS}`, '2 file'],
    [`python -m torch.distributed.run --nproc_per_node=4 train.py ${FLAGS}`, '4 file'],
    [`python3 -m torch.distributed.launch --nproc_per_node 2 --nnodes 2 train.py ${FLAGS}`, '4 file'],
    [`accelerate launch --num_processes 16 --num_machines 2 train.py ${FLAGS}`, '16 file', '2 file'],
    [`CUDA_VISIBLE_DEVICES=0,1,2 accelerate launch train.py ${FLAGS}`, '3 file'],
    [`accelerate launch train.py ${FLAGS}`, undefined],
    [`deepspeed --num_gpus 4 --num_nodes 2 train.py ${FLAGS}`, '8 file', '2 file'],
    [`deepspeed --include localhost:0,1,2 train.py ${FLAGS}`, '3 file'],
    [`deepspeed --include a:0,1@b:0,1,2 train.py ${FLAGS}`, '5 file'],
    [`deepspeed --hostfile hosts train.py ${FLAGS}`, undefined],
    [`deepspeed train.py ${FLAGS}`, undefined],
    [`python train.py ${FLAGS}`, '1 inferred'],
    [`CUDA_VISIBLE_DEVICES=0,1 python train.py ${FLAGS}`, '2 file'],
    [`srun --nodes 2 --ntasks-per-node 4 python train.py ${FLAGS}`, '8 file', '2 file'],
    [`NPROC_PER_NODE=8 swift sft --model m --max_length 512`, '8 file'],
    [`NPROC_PER_NODE=8 NNODES=2 megatron sft --model m --max_length 512`, '16 file', '2 file'],
    [`swift sft --model m --max_length 512`, '1 inferred'],
    [`NNODES=1 swift sft --model m --max_length 512`, '1 inferred'],
    [`NNODES=2 NODE_RANK=0 swift sft --model m --max_length 512`, undefined, '2 file'],
    [`NNODES=$WORLD_SIZE NODE_RANK=$RANK swift sft --model m --max_length 512`, undefined, '1 default'],
    [`FORCE_TORCHRUN=1 NPROC_PER_NODE=4 NNODES=2 llamafactory-cli train x.yaml`, '8 file', '2 file'],
    [`CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train x.yaml`, '2 file'],
    [`llamafactory-cli train x.yaml`, undefined],
    [`axolotl train x.yaml --num-processes 4`, '4 file'],
    [`axolotl train x.yaml --launcher torchrun -- --nproc_per_node=8`, '8 file'],
    [`tune run --nproc_per_node 2 full_finetune_distributed --config a/b`, '2 file'],
    [`tune run full_finetune_single_device --config a/b`, '1 inferred'],
    [`composer -n 8 train/train.py x.yaml`, '8 file'],
    [`litgpt finetune_lora meta-llama/Llama-3.1-8B --devices 4`, '4 file'],
    [`trl sft --num_processes 2 ${FLAGS} --use_peft`, '2 file'],
  ];
  for (const [text, gpus, nodes] of counts) {
    it(text.replace(FLAGS, '...'), () => {
      const reading = script(`${text}\n`);
      assert.equal(stated(reading, 'hardware.gpus'), gpus);
      if (nodes !== undefined) assert.equal(stated(reading, 'hardware.nodes'), nodes);
    });
  }

  it('leave open how many machines the platform gives', () => {
    const reading = script('NNODES=$WORLD_SIZE NPROC_PER_NODE=8 swift sft --model m --max_length 512\n');
    golden(reading, { 'hardware.gpus': '8 file', 'hardware.nodes': '1 default' });
    assert.deepEqual(
      reading.unread?.map(({ text, fields }) => [text, fields]),
      [['NNODES=$WORLD_SIZE', ['hardware.nodes']]],
    );
  });

  it('resolves what Slurm was asked for, and arithmetic with it', () => {
    const text = `#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gres=gpu:a100:8
EACH=$((SLURM_GPUS_ON_NODE / 2))
srun torchrun --nnodes $SLURM_JOB_NUM_NODES --nproc_per_node $EACH train.py ${FLAGS}
`;
    golden(script(text), { 'hardware.gpus': '16 file', 'hardware.nodes': '4 file' });
  });
});

describe('launch scripts', () => {
  it('read flags over variables, arrays and here-documents', () => {
    const text = `MICRO=4
LENGTH=\${LENGTH:-2048}
ARGS=(--gradient_accumulation_steps 8 --bf16 True)
torchrun --nproc_per_node 8 train.py \\
  --model_name_or_path meta-llama/Llama-3.1-8B \\
  --per_device_train_batch_size $MICRO \\
  --max_seq_length $LENGTH --output_dir o "\${ARGS[@]}"
`;
    const reading = script(text);
    golden(reading, {
      'model.id': 'meta-llama/Llama-3.1-8B file',
      'batch.micro': '4 file',
      'batch.accumulation': '8 file',
      'batch.sequence': '2048 file',
      'precision.compute': 'bf16 file',
    });
    assert.equal(placeOf(text, reading, 'batch.micro'), '4');
    assert.equal(placeOf(text, reading, 'batch.accumulation'), '8');
  });

  it('leave open what nobody sets in a file that they write', () => {
    const text = (stage: string) => `#!/bin/bash
cat <<EOT > ds.json
{ "train_micro_batch_size_per_gpu": $((TOTAL / 8)), "zero_optimization": { "stage": ${stage}, "offload_optimizer": { "device": "cpu" } }, "fp16": { "enabled": true } }
EOT
deepspeed --num_gpus 8 train.py ${FLAGS} --deepspeed ds.json
`;
    const reading = script(text('$ZERO_STAGE'));
    assert.equal(stated(reading, 'zero.stage'), undefined);
    assert.deepEqual(
      reading.problems.filter(({ severity }) => /error|warning/.test(severity)),
      [],
    );
    const left = reading.unread?.map(({ text: words }) => words) ?? [];
    assert.ok(left.includes('stage: $ZERO_STAGE'), left.join(', '));
    assert.ok(left.includes('train_micro_batch_size_per_gpu: $((TOTAL / 8))'), left.join(', '));
    // Within quotes as without them; and what is set is a value.
    assert.equal(stated(script(text('"$ZERO_STAGE"')), 'zero.stage'), undefined);
    assert.equal(stated(script(text('${ZERO_STAGE:-2}')), 'zero.stage'), '2 file');
  });

  it('say nothing of values that they cannot know', () => {
    const reading = script(
      'torchrun train.py --model_name_or_path m --per_device_train_batch_size $1 --deepspeed $DS/z.json --bf16 True --output_dir o\n',
    );
    assert.equal(stated(reading, 'batch.micro'), undefined);
    assert.deepEqual(
      reading.links.filter(({ path }) => !path.endsWith('.py')),
      [],
    );
  });

  it('take a switch without a value for no file', () => {
    const reading = script(`deepspeed train.py ${FLAGS} --deepspeed --deepspeed_config ds.json\n`);
    assert.deepEqual(
      reading.links.map(({ path }) => path),
      ['train.py'],
    );
    assert.equal(stated(reading, 'parallel.data'), 'zero file');
  });

  it('lose the flags behind a comment between continued lines, as the shell does', () => {
    const text = `torchrun train.py ${FLAGS} \\\n  # a remark\n  --gradient_accumulation_steps 8\n`;
    const reading = script(text);
    assert.equal(stated(reading, 'batch.accumulation'), '1 default');
    const [lost, ...more] = reading.problems.filter(({ code }) => code === 'lost-flags');
    assert.deepEqual([lost?.severity, lost?.range.start.line, more.length], ['warning', 2, 0]);
    assert.equal(
      script(`torchrun train.py ${FLAGS} \\\n  --gradient_accumulation_steps 8\n`).problems.some(
        ({ code }) => code === 'lost-flags',
      ),
      false,
    );
  });

  it('count the first of several launches, and say so at the others', () => {
    const text = `torchrun --nproc_per_node 2 train.py ${FLAGS}\npython preprocess.py --x 1\ntorchrun --nproc_per_node 4 train.py ${FLAGS}\n`;
    const reading = script(text);
    assert.equal(stated(reading, 'hardware.gpus'), '2 file');
    const others = reading.problems.filter(({ code }) => code === 'another-launch');
    assert.deepEqual(
      others.map(({ severity, range }) => [severity, range.start.line]),
      [['information', 2]],
    );
    assert.equal(
      script(`torchrun train.py ${FLAGS}\n`).problems.some(({ code }) => code === 'another-launch'),
      false,
    );
  });

  it('read a DeepSpeed config that they write where it stands', () => {
    const text = `cat > ds.json <<'EOT'
{
  "train_micro_batch_size_per_gpu": "auto",
  "zero_optimization": { "stage": 3, "reduce_bucket_size": 1000000 }
}
EOT
deepspeed --num_gpus 8 train.py ${FLAGS} --bf16 True --deepspeed ./ds.json
`;
    const reading = script(text);
    assert.equal(stated(reading, 'zero.stage'), '3 file');
    assert.equal(placeOf(text, reading, 'zero.stage'), '3');
    assert.equal(placeOf(text, reading, 'zero.reduceBucket'), '1000000');
    assert.deepEqual(
      reading.links.filter(({ path }) => !path.endsWith('.py')),
      [],
    );
  });

  it('read a config that they write and start with, and what runs for its output', () => {
    const text = `cat > sft.yaml <<'EOT'
stage: sft
model_name_or_path: meta-llama/Llama-3.1-8B
finetuning_type: lora
cutoff_len: 4096
output_dir: o
EOT
LOG=$(NPROC_PER_NODE=4 llamafactory-cli train sft.yaml per_device_train_batch_size=2)
`;
    const reading = script(text);
    golden(reading, {
      'model.id': 'meta-llama/Llama-3.1-8B file',
      'batch.sequence': '4096 file',
      'hardware.gpus': '4 file',
      'lora.rank': '8 default',
    });
    assert.equal(placeOf(text, reading, 'batch.sequence'), '4096');
    const micro = reading.facts.find((fact) => fact.field === 'batch.micro');
    assert.equal(micro?.value, 2);
    assert.equal(placeOf(text, reading, 'batch.micro'), '2');
    assert.deepEqual(
      reading.links.filter(({ path }) => !path.endsWith('.py')),
      [],
    );
  });

  it('take what stands behind the dashes of a submitter, and in the text of bash -c', () => {
    golden(
      script(
        `python mason.py --gpus 8 --num_nodes 2 -- accelerate launch --num_processes 16 train.py ${FLAGS}\n`,
      ),
      {
        'hardware.gpus': '16 file',
      },
    );
    golden(script(`srun --gres=gpu:4 bash -c "cd /x && torchrun --nproc_per_node 4 train.py ${FLAGS}"\n`), {
      'hardware.gpus': '4 file',
      'batch.micro': '2 file',
    });
  });

  it('are none where nothing is trained', () => {
    const { root } = parseConfig(
      URI,
      'python preprocess.py --input x\ntorchrun --nproc_per_node 2 eval.py --x 1\n',
    );
    assert.ok(root);
    assert.throws(() => script('python preprocess.py --input x\n'));
  });
});

describe('training programs', () => {
  it('LLaMA-Factory: flags of train_bash.py, a config with overrides', () => {
    golden(
      script(
        'deepspeed --num_gpus 2 src/train_bash.py --stage sft --model_name_or_path m --finetuning_type lora --lora_rank 16 --per_device_train_batch_size 2 --cutoff_len 1024 --fp16\n',
      ),
      {
        framework: 'llama-factory default',
        'lora.rank': '16 file',
        'batch.sequence': '1024 file',
        'lora.alpha': '32 default',
      },
    );
    const linked = script('llamafactory-cli train examples/sft.yaml per_device_train_batch_size=4\n');
    assert.deepEqual(
      linked.links.map(({ path, role }) => [path, role]),
      [['examples/sft.yaml', 'include']],
    );
    golden(linked, { 'batch.micro': '4 file', 'batch.sequence': undefined, 'lora.rank': undefined });
  });

  it('Axolotl, torchtune, litgpt and torchtitan: configs with overrides', () => {
    golden(script('accelerate launch -m axolotl.cli.train x.yaml --micro-batch-size 4\n'), {
      'batch.micro': '4 file',
    });
    const tune = script(
      'tune run --nproc_per_node 4 lora_finetune_distributed --config llama3_1/8B_lora batch_size=8 tokenizer.max_seq_len=4096\n',
    );
    golden(tune, { 'batch.micro': '8 file', 'batch.sequence': '4096 file', 'hardware.gpus': '4 file' });
    assert.deepEqual(
      tune.links.map(({ path, optional }) => [path, optional]),
      [['recipes/configs/llama3_1/8B_lora.yaml', true]],
    );
    golden(
      script(
        'litgpt finetune_full meta-llama/Llama-3.1-8B --train.micro_batch_size 2 --train.max_seq_length 512\n',
      ),
      {
        'model.id': 'meta-llama/Llama-3.1-8B file',
        'batch.micro': '2 file',
        'batch.sequence': '512 file',
        'hardware.gpus': '1 inferred',
      },
    );
    for (const command of ['finetune_adapter_v2', 'finetune adapter_v2'])
      golden(script(`litgpt ${command} meta-llama/Llama-3.1-8B --train.max_seq_length 512\n`), {
        'model.id': 'meta-llama/Llama-3.1-8B file',
        'lora.kind': 'llama-adapter-v2 default',
      });
    golden(
      script(
        'torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file c.toml --training.seq_len 4096\n',
      ),
      { 'batch.sequence': '4096 file', 'hardware.gpus': '8 file' },
    );
  });

  it('OpenRLHF: packed samples are seen by FlashAttention 2, whatever is asked for', () => {
    const attention = (flags: string, trainer = 'sft'): string | undefined => {
      const started = `deepspeed --module openrlhf.cli.train_${trainer} --pretrain m ${flags}\n`;
      return stated(script(started), 'attention.implementation')?.split(' ')[0];
    };
    for (const trainer of ['sft', 'dpo', 'rm', 'ppo_ray'])
      assert.equal(attention('--packing_samples --zero_stage 3', trainer), 'flash2', trainer);
    assert.equal(attention('--ds.packing_samples --ds.attn_implementation sdpa'), 'flash2');
    assert.equal(attention('--ds.packing_samples --ds.attn_implementation flash_attention_3'), 'flash3');
    assert.equal(attention('--zero_stage 3'), 'eager');
    assert.equal(attention('--ds.attn_implementation sdpa'), 'sdpa');
    // `cli/train_ppo_ray.py` packs for these, the others do not.
    for (const flags of ['--ring_attn_size 2', '--use_dynamic_batch'])
      assert.equal(attention(flags, 'ppo_ray'), 'flash2', flags);
    assert.equal(attention('--ring_attn_size 1', 'ppo_ray'), 'eager');
  });

  it('OpenRLHF: dotted flags in a here-document, old flags, PPO over Ray', () => {
    const dotted = script(`read -r -d '' training_commands <<EOF
openrlhf.cli.train_sft \\
  --model.model_name_or_path meta-llama/Meta-Llama-3-8B --data.max_len 4096 --train.batch_size 256 \\
  --train.micro_batch_size 2 --ds.zero_stage 3 --ds.packing_samples --ds.lora.rank 64
EOF
deepspeed --num_gpus 8 --module $training_commands
`);
    golden(dotted, {
      'batch.micro': '2 file',
      'batch.global': '256 file',
      'batch.sequence': '4096 file',
      'batch.packed': 'true file',
      'zero.stage': '3 file',
      'lora.rank': '64 file',
      'precision.weights': 'bf16 default',
      'attention.implementation': 'flash2 default',
    });
    const old = script(
      'deepspeed --num_gpus 8 --module openrlhf.cli.train_dpo --pretrain m --max_len 2048 --micro_train_batch_size 1 --zero_stage 3 --bf16 --flash_attn --ring_attn_size 2\n',
      { 'hardware.gpus': 8 },
    );
    golden(old, {
      'method.objective': 'dpo default',
      'method.referenceModel': 'true default',
      'attention.implementation': 'flash2 file',
      'batch.accumulation': '32 inferred',
      'parallel.context': '2 file',
    });
    assert.deepEqual(
      old.problems.filter(({ severity }) => severity === 'error').map(({ code }) => code),
      ['ring-without-packing'],
    );
    // `cli/train_ppo_ray.py` packs then itself, and prints it.
    const turned = script(
      'python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 8 --actor.model_name_or_path m --ds.ring_attn_size 2\n',
    );
    assert.deepEqual(
      turned.problems.filter(({ code }) => code === 'ring-without-packing'),
      [],
    );
    const ppo = script(
      'ray job submit -- python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 2 --actor.num_gpus_per_node 4 --train.colocate_all --vllm.num_engines 4 --vllm.gpu_memory_utilization 0.5 --vllm.enable_sleep --actor.model_name_or_path m --algo.advantage.estimator group_norm\n',
    );
    golden(ppo, {
      'hardware.gpus': '8 file',
      'rollout.engine': 'vllm-colocate file',
      'rollout.sleep': 'true file',
      'hardware.reservedFraction': '0.5 file',
      'method.referenceModel': 'true file',
      'method.valueModel': 'false file',
    });
    // Generated while others train: vLLM's share is of another GPU.
    for (const flag of ['--train.async_enable', '--async_train']) {
      const beside = script(
        `python3 -m openrlhf.cli.train_ppo_ray --actor.num_gpus_per_node 4 --train.colocate_all --vllm.num_engines 2 --vllm.gpu_memory_utilization 0.95 ${flag} --actor.model_name_or_path m\n`,
      );
      golden(beside, { 'rollout.engine': 'vllm-server file', 'method.referenceModel': 'true file' });
      assert.ok(beside.facts.every(({ field }) => field !== 'hardware.reservedFraction'));
    }
    // What the policy computes of many rollouts at once is more than of the few that it trains on.
    const many = (flags: string) =>
      stated(
        script(`python3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path m ${flags}\n`),
        'features.unmodelled',
      );
    assert.equal(many('--micro_train_batch_size 4 --micro_rollout_batch_size 8'), undefined);
    assert.equal(many('--micro_train_batch_size 1 --micro_rollout_batch_size 32'), 'rollout-buffers file');
    assert.equal(
      many('--train.micro_batch_size 1 --rollout.micro_batch_size 32 --train.dynamic_batch_enable'),
      undefined,
    );
    const alone = script(
      'python3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path m --data.max_len 2048\n',
    );
    golden(alone, { 'hardware.gpus': '8 default', 'method.referenceModel': 'false default' });
  });

  const scripts: readonly (readonly [command: string, expected: Partial<Record<FieldPath, string>>])[] = [
    [
      'deepspeed llava/train/train_mem.py --lora_enable True --bits 4 --bf16 True --vision_tower v --model_name_or_path m --output_dir o',
      {
        'batch.sequence': '512 default',
        'lora.rank': '64 default',
        'lora.targets': 'all-linear default',
        'quantization.kind': 'nf4 file',
        'quantization.double': 'true default',
        'precision.weights': 'bf16 file',
      },
    ],
    [
      'torchrun --nproc_per_node=4 fastchat/train/train_lora.py --model_name_or_path m --output_dir o --q_lora True',
      {
        'method.kind': 'lora default',
        'lora.rank': '8 default',
        'batch.sequence': '512 default',
        'quantization.kind': 'nf4 file',
      },
    ],
    [
      'torchrun --nproc_per_node=4 train_mem.py --model_name_or_path m --data_path d --lazy_preprocess True --output_dir o',
      { 'batch.sequence': '512 default', 'batch.micro': '8 default' },
    ],
    [
      'python finetune.py --model_name_or_path Qwen/Qwen-7B --data_path d --lazy_preprocess True --use_lora --q_lora --output_dir o',
      {
        'batch.sequence': '8192 default',
        'lora.targets': 'c_attn,c_proj,w1,w2 default',
        'quantization.kind': 'gptq file',
      },
    ],
    [
      'python qlora.py --model_name_or_path m --output_dir o --target_max_len 512',
      {
        'batch.sequence': '1536 file',
        'batch.micro': '1 default',
        'batch.accumulation': '16 default',
        'quantization.kind': 'nf4 default',
        'optimizer.name': 'paged-adamw default',
        'activations.checkpointing': 'full default',
      },
    ],
    [
      'python qlora.py --model_name_or_path m --output_dir o --bf16',
      { 'lora.dtype': 'bf16 file', 'quantization.recast': 'true file', 'precision.weights': 'bf16 file' },
    ],
    [
      'torchrun --nproc_per_node=8 internvl/train/internvl_chat_finetune.py --model_name_or_path m --output_dir o --use_llm_lora 16 --grad_checkpoint True',
      {
        'method.kind': 'lora file',
        'lora.rank': '16 file',
        'lora.alpha': '32 default',
        'batch.sequence': '2048 default',
      },
    ],
    [
      'python run_clm.py --model_name_or_path gpt2 --output_dir o --do_train',
      { 'batch.sequence': '1024 default', 'batch.packed': 'true default' },
    ],
    [
      'python examples/pytorch/text-classification/run_glue.py --model_name_or_path b --output_dir o',
      { 'batch.sequence': '128 default', 'method.objective': 'classification default' },
    ],
    [
      'python run_summarization.py --model_name_or_path t --output_dir o',
      { 'batch.sequence': '1024 default', 'batch.targetSequence': '128 default' },
    ],
    [
      'python run_translation.py --model_name_or_path t --output_dir o --max_source_length 256 --max_target_length 64',
      { 'batch.sequence': '256 file', 'batch.targetSequence': '64 file' },
    ],
    [
      'accelerate launch train.py --model_name_or_path m --output_dir o --use_peft_lora True --use_4bit_quantization True --lora_target_modules q_proj,v_proj',
      {
        'lora.rank': '64 default',
        'lora.targets': 'q_proj,v_proj file',
        'quantization.kind': 'nf4 file',
      },
    ],
    [
      'deepspeed --num_gpus 8 main.py --model_name_or_path facebook/opt-1.3b --data_path d --zero_stage 2 --max_seq_len 512 --deepspeed',
      {
        'batch.micro': '16 default',
        'zero.stage': '2 file',
        'precision.weights': 'fp16 default',
        'batch.sequence': '512 file',
      },
    ],
    [
      'deepspeed main.py --actor_model_name_or_path a --critic_model_name_or_path c --actor_zero_stage 3 --max_answer_seq_len 512 --deepspeed',
      { 'method.objective': 'ppo default', 'batch.sequence': '768 file', 'zero.stage': '3 file' },
    ],
    [
      'accelerate launch --num_processes 8 open_instruct/finetune.py --model_name_or_path m --max_seq_length 4096 --use_lora',
      {
        framework: 'open-instruct default',
        'lora.rank': '64 default',
        'precision.weights': 'bf16 default',
      },
    ],
    [
      'deepspeed src/train/train_sft.py --model_id Qwen/Qwen2-VL-7B-Instruct --freeze_vision_tower True --bf16 True --per_device_train_batch_size 1 --output_dir o',
      {
        'model.id': 'Qwen/Qwen2-VL-7B-Instruct file',
        'method.kind': 'freeze file',
        'kernels.liger': 'true default',
      },
    ],
  ];
  for (const [command, expected] of scripts)
    it(command.split(' --')[0] ?? command, () => {
      const reading = script(`${command}\n`);
      for (const [field, value] of Object.entries(expected)) {
        const first = reading.facts.find((fact) => fact.field === field);
        assert.equal(first && `${String(first.value)} ${first.origin.kind}`, value, field);
      }
    });
});

describe('broken scripts', () => {
  const whole = `#SBATCH --nodes=2
MICRO=4
ARGS=(--bf16 True "--lr" 1e-5)
cat > ds.json <<EOT
{ "zero_optimization": { "stage": $STAGE } }
EOT
NPROC_PER_NODE=$((2 * 4)) swift rlhf --model m --rlhf_type grpo --deepspeed ds.json
ray job submit -- python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 2 --train.colocate_all
torchrun --nproc_per_node \${N:-8} fastchat/train/train.py --per_device_train_batch_size $MICRO "\${ARGS[@]}"
tune run lora_finetune_distributed --config a tokenizer.max_seq_len=8
`;
  it('are read as far as they go, and never throw', () => {
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(whole.length), fc.string(), (from, to, noise) => {
        const text = whole.slice(0, Math.min(from, to)) + noise + whole.slice(Math.max(from, to));
        const document = parseConfig(URI, text);
        assert.ok(Array.isArray(launchScript.read(document, { known: {} }).facts));
      }),
      { numRuns: 300 },
    );
  });
});

describe('hover in a script', () => {
  const text = `MICRO=4
MODEL=meta-llama/Llama-3.1-8B
NPROC=8
torchrun --nproc_per_node $NPROC train.py \\
  --model_name_or_path $MODEL \\
  --per_device_train_batch_size $MICRO \\
  --max_seq_length 1024 --bf16 True --output_dir o
`;
  const at = async (line: number, character: number) => {
    const host = new MemoryHost({ [URI]: text });
    const workspace = new Workspace(host, { settings: () => ({ 'hardware.gpu': 'H100-SXM5-80GB' }) });
    const analysis = await workspace.analyze(URI);
    assert.ok(analysis);
    return hover(analysis, { line, character })?.markdown;
  };

  it('tells a flag, its value, and the variable that holds it, where it is set and where it is used', async () => {
    for (const [line, character] of [
      [5, 10],
      [5, 33],
      [0, 6],
    ] as const) {
      const markdown = (await at(line, character)) ?? '';
      assert.match(markdown, /^\*\*`--per_device_train_batch_size`\*\*/, `${line}:${character}`);
      assert.match(markdown, /\*\*Value\*\* 4/);
      assert.match(markdown, /\*\*Memory\*\* /);
    }
  });

  it('tells flags of the launcher', async () => {
    assert.match((await at(3, 14)) ?? '', /^\*\*`--nproc_per_node`\*\*[\s\S]*8 GPUs/);
    assert.match((await at(2, 6)) ?? '', /^\*\*`--nproc_per_node`\*\*/);
  });
});

describe('what belongs to a script as a whole', () => {
  const marked = async (text: string, code: string) => {
    const analysis = await new Workspace(new MemoryHost({ [URI]: text })).analyze(URI);
    const found = analysis?.problems.find((problem) => problem.code === code);
    assert.ok(found, analysis?.problems.map((problem) => problem.code).join(', '));
    const { start, end } = found.range;
    assert.equal(start.line, end.line);
    return `${start.line}: ${text.split('\n')[start.line]?.slice(start.character, end.character)}`;
  };

  it('is reported at the command that starts the run, not over all commands', async () => {
    const text = `#!/bin/bash
pip install -r requirements.txt
export A=1
A=2 torchrun --nproc_per_node 8 train.py ${FLAGS.replace(' m ', ' a/b ')}
echo done
`;
    assert.equal(await marked(text, 'unknown-fields'), '3: torchrun');
  });

  it('is that of the launch that counts', async () => {
    const text = `if [ -n "$DEBUG" ]; then
  python train.py ${FLAGS}
fi
deepspeed train.py ${FLAGS}
`;
    assert.equal(await marked(text, 'unknown-fields'), '3: deepspeed');
  });
});
