import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const URI = 'file:///w/run.sh';
const FLAGS =
  '--model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 --max_seq_length 1024 --output_dir o';

async function valuesOf(text: string, files: Record<string, string> = {}) {
  const analysis = await new Workspace(new MemoryHost({ ...files, [URI]: text })).analyze(URI);
  return analysis?.resolved.values;
}

describe('the GPU that Slurm is asked for', () => {
  const rows: readonly (readonly [options: string, gpu: string | undefined, gpus?: number])[] = [
    ['#SBATCH --gres=gpu:a100:8', 'A100-SXM4-40GB', 8],
    ['#SBATCH --gres=gpu:H100:4,nvme:1', 'H100-SXM5-80GB', 4],
    ['#SBATCH --gres=gpu:a100_80:4', 'A100-SXM4-80GB', 4],
    ['#SBATCH --gres gpu:nvidia_h100_80gb:4', 'H100-SXM5-80GB', 4],
    ['#SBATCH --gpus-per-node=h100:4', 'H100-SXM5-80GB', 4],
    ['#SBATCH --gpus=a100:4', 'A100-SXM4-40GB', 4],
    ['#SBATCH -G v100:2', 'V100-SXM2-16GB', 2],
    ['#SBATCH --gpus-per-task=h200:1\n#SBATCH --ntasks-per-node=4', 'H200-SXM-141GB', 4],
    ['#SBATCH --constraint=v100-32g\n#SBATCH --gres=gpu:4', 'V100-SXM2-32GB', 4],
    ['#SBATCH -C a100\n#SBATCH --gres=gpu:8', 'A100-SXM4-40GB', 8],
    ['#SBATCH --gres=gpu:a100:4\n#SBATCH --constraint=a100-80gb', 'A100-SXM4-80GB', 4],
    // No proof of a card.
    ['#SBATCH --partition=h100\n#SBATCH --gres=gpu:8', undefined, 8],
    ['#SBATCH --constraint="a100|h100"\n#SBATCH --gres=gpu:8', undefined, 8],
    ['#SBATCH --gres=gpu:a100_3g.20gb:1', 'GPU with 19.5 GiB', 1],
    ['#SBATCH --gpus-per-node=1g.10gb:1', 'GPU with 9.5 GiB', 1],
    ['#SBATCH --gres=gpu:a100_9g.99gb:1', undefined, 1],
    ['#SBATCH --gres=nvme:1\n#SBATCH --gpus-per-node=2', undefined, 2],
  ];
  for (const [options, gpu, gpus] of rows)
    it(options.replaceAll('\n', ' '), async () => {
      const values = await valuesOf(`#!/bin/bash\n${options}\ndeepspeed train.py ${FLAGS}\n`);
      assert.equal(values?.['hardware.gpu'], gpu);
      assert.equal(values?.['hardware.gpus'], gpus);
    });

  it('is read from the flags of srun, too', async () => {
    const values = await valuesOf(
      `srun --nodes=2 --gres=gpu:h100:8 deepspeed --num_nodes 2 train.py ${FLAGS}\n`,
    );
    assert.equal(values?.['hardware.gpu'], 'H100-SXM5-80GB');
    assert.equal(values?.['hardware.gpus'], 16);
  });
});

describe('GPUs that are visible', () => {
  it('do not count where the config of verl states how many there are', async () => {
    const values = await valuesOf(
      'export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7\npython3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo trainer.n_gpus_per_node=1 trainer.nnodes=1 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B\n',
    );
    assert.equal(values?.['hardware.gpus'], 1);
  });

  it('do not count where the config of Accelerate states how many', async () => {
    const config = 'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\n';
    const text = `CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 accelerate launch --config_file acc.yaml train.py ${FLAGS}\n`;
    const files = (processes: string) => ({ 'file:///w/acc.yaml': `${config}${processes}` });
    assert.equal((await valuesOf(text, files('num_processes: 4\n')))?.['hardware.gpus'], 4);
    assert.equal((await valuesOf(text, files('')))?.['hardware.gpus'], 8);
  });

  it('do not count beside a number for the launcher', async () => {
    for (const start of [
      'torchrun --nproc_per_node 2',
      'deepspeed --num_gpus 2',
      'accelerate launch --num_processes 2',
    ])
      assert.equal(
        (await valuesOf(`CUDA_VISIBLE_DEVICES=0,1,2,3 ${start} train.py ${FLAGS}\n`))?.['hardware.gpus'],
        2,
      );
  });
});

describe('scripts that train nothing', () => {
  const MEGATRON =
    '--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4';
  for (const script of [
    `torchrun --nproc_per_node 8 evaluate_megatron_llama.py ${MEGATRON}`,
    `torchrun --nproc_per_node 8 generate_text_llama.py ${MEGATRON}`,
    `torchrun --nproc_per_node 8 tools/run_text_generation_server.py ${MEGATRON}`,
    `torchrun --nproc_per_node 1 hf2mcore_qwen1.5_dense_gqa_convertor.py ${MEGATRON}`,
    `torchrun --nproc_per_node 1 hf2mcore_qwen2.5_vl.py ${MEGATRON}`,
    'torchrun eaglevl/train/data_prepare.py --model_name_or_path m --per_device_train_batch_size 1 --learning_rate 1 --output_dir o',
    `python tools/checkpoint/util.py ${MEGATRON}`,
    `python ../analyze_data.py --analyzing-task map ${MEGATRON}`,
    `deepspeed --num_gpus 1 scripts/deepspeed_to_hf_llama.py --deepspeed ${MEGATRON}`,
    `torchrun tools/ckpts/llama_to_megatron.py ${MEGATRON}`,
    `python ./tasks/eval_harness/evaluate.py ${MEGATRON}`,
    `python tasks/main.py --task LAMBADA ${MEGATRON}`,
    `deepspeed Megatron-DeepSpeed/tasks/main.py --task "EVAL-HARNESS" ${MEGATRON}`,
    `torchrun pretrain_gpt.py --skip-train ${MEGATRON}`,
    'python3 -m verl.trainer.main_generation trainer.n_gpus_per_node=8 model.path=x actor_rollout_ref.rollout.n=1',
    'python eval_sft.py --model_name_or_path m --per_device_train_batch_size 1 --learning_rate 1',
    'python run_glue.py --model_name_or_path m --do_eval --per_device_train_batch_size 1 --learning_rate 1',
    'torchrun --nproc_per_node=1 train.py --job.config_file debug_model.toml --checkpoint.enable_checkpoint --checkpoint.create_seed_checkpoint --training.seq_len 2048',
    'python megatron_gpt_eval.py model.micro_batch_size=1 trainer.devices=8 model.tensor_model_parallel_size=2',
  ])
    it(script.split(' ').find((word) => /\.py$|^verl/.test(word)) ?? script, async () => {
      assert.equal(await valuesOf(`${script}\n`), undefined);
    });

  it('are distinguished from those that train and evaluate', async () => {
    for (const script of [
      'train_and_eval.py',
      'pretrain_gpt.py',
      'run_generation_ppo.py',
      'pretrain_to_hf.py',
      'text_to_sql.py',
    ])
      assert.ok(await valuesOf(`torchrun ${script} ${MEGATRON}\n`), script);
    const flags = '--per_device_train_batch_size 1 --learning_rate 1e-5 --output_dir o';
    for (const script of [
      'internvl/train/internvl_chat_mpo.py',
      'internvl/train/internvl_chat_finetune.py',
      'sample_packing.py',
    ])
      assert.ok(await valuesOf(`python -u ${script} --model_name_or_path m ${flags}\n`), script);
  });
});

describe('variables of a script', () => {
  const RUN = 'swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --dataset x --max_length 2048\n';

  it('reach a launch where they are exported, or stand before it', async () => {
    for (const set of [
      'export NPROC_PER_NODE=4\n',
      'NPROC_PER_NODE=4 \\\n',
      'NPROC_PER_NODE=4\nexport NPROC_PER_NODE\n',
    ])
      assert.equal((await valuesOf(`${set}${RUN}`))?.['hardware.gpus'], 4, set);
  });

  it('do not where a comment cuts them off, which is how bash reads it', async () => {
    // https://github.com/modelscope/ms-swift/issues/3504
    const cut = await valuesOf(`NPROC_PER_NODE=4 \\\n# processes\nMAX_PIXELS=100352\n${RUN}`);
    assert.notEqual(cut?.['hardware.gpus'], 4);
    assert.equal(cut?.['batch.imagePixels'], undefined);
  });
});
