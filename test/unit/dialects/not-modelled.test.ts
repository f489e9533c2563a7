import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const KOHYA = `pretrained_model_name_or_path = "stabilityai/stable-diffusion-xl-base-1.0"
network_module = "networks.lora"
network_dim = 32
train_batch_size = 4
mixed_precision = "bf16"
`;
const OLMOE = `model:
  d_model: 2048
  n_heads: 16
  n_layers: 16
  block_type: moe
  moe_num_experts: 64
  max_sequence_length: 4096
save_folder: out
global_train_batch_size: 1024
device_train_microbatch_size: 4
precision: amp_bf16
fsdp:
  wrapping_strategy: by_block
`;
const FILES: Readonly<Record<string, readonly [path: string, text: string]>> = {
  'sd-scripts (kohya)': ['lora.toml', KOHYA],
  SimpleTuner: [
    'config.json',
    '{"--model_family": "flux", "--data_backend_config": "a.json", "--train_batch_size": 1, "--lora_rank": 16}',
  ],
  'AI Toolkit': [
    'train.yaml',
    'job: extension\nconfig:\n  name: a\n  process:\n    - type: sd_trainer\n      network: {type: lora, linear: 16}\n      datasets: []\n      train: {batch_size: 1}\n',
  ],
  OneTrainer: [
    'preset.json',
    '{"training_method": "LORA", "model_type": "FLUX_DEV_1", "base_model_name": "a/b", "resolution": "768"}',
  ],
  OLMoE: ['olmoe.yaml', OLMOE],
  'prime-rl': [
    'rl.toml',
    'max_steps = 20\nseq_len = 2048\n[model]\nname = "Qwen/Qwen3-0.6B"\n[orchestrator]\nbatch_size = 128\n[trainer.optim]\nlr = 3e-6\n[inference]\n',
  ],
  AReaL: [
    'areal.yaml',
    'experiment_name: a\ntrial_name: b\ncluster: {n_nodes: 1, n_gpus_per_node: 8}\nactor:\n  backend: fsdp:d8p1t1\n  path: Qwen/Qwen3-1.7B\n  gradient_checkpointing: true\n  mb_spec: {max_tokens_per_mb: 4096}\n',
  ],
  PaddleNLP: [
    'sft_argument.json',
    '{"model_name_or_path": "bigscience/bloomz-560m", "output_dir": "x", "per_device_train_batch_size": 4, "evaluation_strategy": "epoch", "learning_rate": 3e-5, "fp16": true, "fp16_opt_level": "O2", "recompute": true, "tensor_parallel_degree": 4}',
  ],
};

describe('trainers that are not modelled', () => {
  for (const [name, [path, text]] of Object.entries(FILES))
    it(`${name} is recognized by its config, once, and not estimated`, async () => {
      const { analyze } = smallWorkspace({
        [path]: text,
        'oomlint.yaml': 'gpu: H100-SXM5-80GB\nmodel: gpt2\n',
      });
      const analysis = await analyze(path);
      assert.deepEqual(
        analysis.problems.map(({ code, severity }) => `${severity} ${code}`),
        ['information trainer-not-modelled'],
      );
      assert.ok(analysis.problems[0]?.message.includes(name));
      assert.equal(analysis.estimate, undefined);
      assert.deepEqual(analysis.resolved.unknown, []);
    });

  const LAUNCHES: Readonly<Record<string, readonly [name: string, script: string]>> = {
    'a script of sd-scripts with its config': [
      'sd-scripts (kohya)',
      'accelerate launch --num_cpu_threads_per_process 1 sdxl_train_network.py --config_file lora.toml',
    ],
    'a script of sd-scripts by flags': [
      'sd-scripts (kohya)',
      `accelerate launch --mixed_precision bf16 ./train_network.py --pretrained_model_name_or_path=a/b \\
  --train_data_dir=img --network_module=networks.lora --network_dim=32 --learning_rate=1e-4 \\
  --gradient_accumulation_steps=2 --output_dir=out --gradient_checkpointing --mixed_precision=bf16`,
    ],
    'a config that another script is given': [
      'sd-scripts (kohya)',
      'accelerate launch my.py --config lora.toml',
    ],
    'SimpleTuner by flags': [
      'SimpleTuner',
      'accelerate launch --num_processes=2 train.py --model_family=flux --data_backend_config=a.json --learning_rate=1e-4',
    ],
    'a preset of OneTrainer': ['OneTrainer', 'python scripts/train.py --config-path preset.json'],
    'a config of OLMoE': [
      'OLMoE',
      'torchrun --nproc_per_node=8 scripts/train.py olmoe.yaml --save_folder=out',
    ],
    'Musubi Tuner': [
      'Musubi Tuner',
      'accelerate launch --mixed_precision bf16 src/musubi_tuner/wan_train_network.py --task t2v-14B --dit a.safetensors --dataset_config data.toml --optimizer_type adamw8bit --gradient_checkpointing --network_module networks.lora_wan --network_dim 32',
    ],
    'a whole model by Musubi Tuner': [
      'Musubi Tuner',
      'accelerate launch qwen_image_train.py --dit a.safetensors --dataset_config data.toml --gradient_checkpointing',
    ],
    "XTuner's second trainer": [
      'XTuner V1',
      'torchrun --nproc-per-node=8 xtuner/v1/train/cli/sft.py --config cfg.py',
    ],
    "XTuner's second trainer by its module": [
      'XTuner V1',
      'torchrun --nproc-per-node=8 -m xtuner.v1.train.cli.sft --config cfg.py',
    ],
    "open-instruct's script on OLMo-core": [
      'OLMo-core',
      'torchrun --nproc_per_node=8 open_instruct/olmo_core_finetune.py --model_name_or_path gpt2 --per_device_train_batch_size 16 --max_seq_length 16384',
    ],
    "a script of Megatron-Bridge's MIMO": [
      'Megatron-Bridge (MIMO)',
      'torchrun --nproc-per-node=8 examples/megatron_mimo/llava/megatron_mimo_training_llava.py --micro-batch-size 1 --global-batch-size 32 --train-iters 10',
    ],
    'a script of PaddleNLP': [
      'PaddleNLP',
      'python -m paddle.distributed.launch --gpus "0,1" run_pretrain.py --model_name_or_path a/b --tensor_parallel_degree 2 --per_device_train_batch_size 1 --max_seq_length 512',
    ],
    'a config of AI Toolkit': ['AI Toolkit', 'python run.py train.yaml'],
    'a config of AReaL': ['AReaL', 'python3 examples/math_grpo.py --config areal.yaml scheduler.type=local'],
    slime: [
      'slime',
      'ray job submit -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --num-layers 36 --hidden-size 2560 --num-attention-heads 32 --hf-checkpoint a --rollout-batch-size 32 --global-batch-size 256 --tensor-model-parallel-size 2 --micro-batch-size 1 --seq-length 4096',
    ],
    SkyRL: [
      'SkyRL',
      'uv run --isolated --extra fsdp -m skyrl.train.entrypoints.main_base trainer.policy.model.path=gpt2 trainer.micro_train_batch_size_per_gpu=4 trainer.strategy=fsdp2',
    ],
    "SkyRL's supervised trainer": ['SkyRL', 'python -m skyrl.train.main_sft model.path=gpt2 strategy=fsdp'],
    Tinker: [
      'Tinker',
      'python -m tinker_cookbook.recipes.math_rl.train model_name=Qwen/Qwen3-8B group_size=4 learning_rate=1e-4 lora_rank=32',
    ],
    "torchtitan's configs in Python": [
      'torchtitan',
      'NGPU=${NGPU:-"8"}\nMODULE=${MODULE:-"llama3"}\ntorchrun --nproc_per_node=${NGPU} -m torchtitan.train --module ${MODULE} --config llama3_8b --training.local_batch_size 2',
    ],
    'a recipe of Megatron-Bridge': [
      'Megatron-Bridge',
      'torchrun --nproc_per_node=8 scripts/training/run_recipe.py --recipe gemma3_vl_4b_peft_config --mode lora model.seq_length=4096 train.global_batch_size=32 train.micro_batch_size=2 model.tensor_model_parallel_size=2',
    ],
  };
  const CONFIGS = Object.fromEntries(Object.values(FILES));
  for (const [what, [name, script]] of Object.entries(LAUNCHES))
    it(`are recognized by a launch, once, with no question: ${what}`, async () => {
      const { analyze } = smallWorkspace({ ...CONFIGS, 'run.sh': `#!/bin/bash\n${script}\n` });
      const analysis = await analyze('run.sh');
      assert.deepEqual(
        analysis.problems.map(({ code, severity }) => `${severity} ${code}`),
        ['information trainer-not-modelled'],
      );
      assert.ok(analysis.problems[0]?.message.includes(name), analysis.problems[0]?.message);
      assert.equal(analysis.problems[0]?.range.start.line, script.split(/(?<!\\)\n/).length);
      assert.equal(analysis.estimate, undefined);
      assert.deepEqual(analysis.resolved.unknown, []);
      assert.equal(analysis.unread, undefined);
    });

  it('are not taken for PaddleNLP by one flag that others have, too', async () => {
    const text =
      'torchrun --nproc_per_node=8 train.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --output_dir x --tensor_parallel_degree 2\n';
    const { problems } = await smallWorkspace({ 'run.sh': text }).analyze('run.sh');
    assert.deepEqual(
      problems.filter(({ message }) => message.includes('PaddleNLP')),
      [],
    );
  });

  it('leave what a script starts beside them alone', async () => {
    const text = `accelerate launch sdxl_train_network.py --config_file lora.toml
accelerate launch sft.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --learning_rate 1e-5
`;
    const analysis = await smallWorkspace({ ...CONFIGS, 'run.sh': text }).analyze('run.sh');
    assert.equal(analysis.resolved.values['batch.micro'], 1);
    assert.ok(!analysis.problems.some(({ code }) => code === 'trainer-not-modelled'));
  });

  it('are not what a folder that others have too starts', async () => {
    const text =
      'torchrun --nproc_per_node=1 src/scripts/train/sft.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --learning_rate 1e-5\n';
    const analysis = await smallWorkspace({ 'run.sh': text }).analyze('run.sh');
    assert.equal(analysis.resolved.values['batch.micro'], 1);
  });

  it('are not what a name that others have too starts', async () => {
    const text =
      'python fine_tune.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --learning_rate 1e-5\n';
    const analysis = await smallWorkspace({ 'run.sh': text }).analyze('run.sh');
    assert.equal(analysis.resolved.values['batch.micro'], 1);
  });

  it('leave the configs of families alone', async () => {
    const text =
      'job: train\nbase_model: gpt2\nadapter: lora\nmicro_batch_size: 1\nsequence_len: 1024\ndatasets: []\n';
    assert.equal((await smallWorkspace({ 'a.yaml': text }).analyze('a.yaml')).dialect.id, 'axolotl');
  });
});
