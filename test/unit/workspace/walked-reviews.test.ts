import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

type Files = Readonly<Record<string, string>>;

async function read(file: string, text: string, files: Files = {}) {
  const analysis = await smallWorkspace({ ...files, [file]: text }).analyze(file);
  const { problems, estimate, resolved, unread = [] } = analysis;
  return {
    problems,
    messages: problems.map(({ code, message }) => `${code}: ${message}`),
    verdict: estimate?.verdict,
    peak: estimate?.peak.processBytes,
    unknown: resolved.unknown.map(({ field }) => field),
    unread: unread.map(({ kind }) => kind),
    values: resolved.values,
  };
}

const OWN_FLAGS =
  '--model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 1 --bf16 True --model_max_length 2048';

describe('a script of the project’s own that DeepSpeed’s launcher starts', () => {
  const HEAD = '# oomlint: gpu=H100 gpus=8\n';

  it('has no verdict where no file shows what it hands DeepSpeed', async () => {
    for (const start of ['deepspeed', 'python -m deepspeed.launcher.runner', 'srun deepspeed']) {
      const { unknown, verdict } = await read('run.sh', `${HEAD}${start} own_script.py ${OWN_FLAGS}\n`);
      assert.deepEqual(unknown, ['parallel.data'], start);
      assert.equal(verdict, undefined, start);
    }
  });

  it('has one where it is given a config, or shards by no DeepSpeed of its own', async () => {
    const zero = { 'ds.json': '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}' };
    for (const [text, files] of [
      [`deepspeed own_script.py ${OWN_FLAGS} --deepspeed ds.json\n`, zero],
      [`deepspeed own_script.py ${OWN_FLAGS} --deepspeed_config ds.json\n`, zero],
      [`torchrun --nproc_per_node 8 own_script.py ${OWN_FLAGS}\n`, {}],
      [`deepspeed run_clm.py ${OWN_FLAGS} --do_train\n`, {}],
    ] as const)
      assert.deepEqual((await read('run.sh', HEAD + text, files)).unknown, [], text);
  });
});

describe('what waits in host memory while vLLM generates', () => {
  const SWIFT = `# oomlint: gpu=H100 gpus=8
rlhf_type: grpo
model: Qwen/Qwen2.5-7B-Instruct
dataset: x
max_length: 1024
max_completion_length: 1024
per_device_train_batch_size: 1
use_vllm: true
vllm_mode: colocate
vllm_gpu_memory_utilization: 0.7
sleep_level: 1
`;
  const offloadOf = async (text: string) => (await read('grpo.yaml', text)).values['rollout.offload'];

  it('is read of ms-swift', async () => {
    for (const [keys, expected] of [
      ['tuner_type: lora\n', undefined],
      ['tuner_type: lora\noffload_model: false\n', 'none'],
      ['tuner_type: lora\noffload_model: true\n', 'weights'],
      ['tuner_type: lora\noffload_optimizer: true\n', 'states'],
      ['tuner_type: lora\noffload_model: true\noffload_optimizer: true\n', 'all'],
      // What DeepSpeed trains lies in its own flat buffers, which moving a weight leaves where they are.
      ['tuner_type: full\ndeepspeed: zero3\noffload_model: true\n', 'none'],
      ['tuner_type: full\ndeepspeed: zero3\noffload_model: true\noffload_optimizer: true\n', 'states'],
      ['tuner_type: lora\ndeepspeed: zero2\noffload_model: true\n', 'weights'],
    ] as const)
      assert.equal((await offloadOf(SWIFT + keys)) ?? 'none', expected ?? 'none', keys);
  });

  it('is read of OpenRLHF and NeMo-RL', async () => {
    const openrlhf = `# oomlint: gpu=H100\npython3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-7B --actor_num_gpus_per_node 8 --colocate_all_models --vllm_num_engines 8 --vllm_gpu_memory_utilization 0.6 --vllm_enable_sleep --micro_train_batch_size 1 --zero_stage 3 --bf16`;
    const waits = async (flags: string) =>
      (await read('ppo.sh', `${openrlhf}${flags}\n`)).values['rollout.offload'];
    assert.equal(await waits(' --deepspeed_enable_sleep'), 'states');
    assert.equal((await waits('')) ?? 'none', 'none');
    const nemo = (colocated: boolean) => `grpo:
  num_prompts_per_step: 8
policy:
  model_name: Qwen/Qwen2.5-7B
  train_micro_batch_size: 1
  train_global_batch_size: 64
  max_total_sequence_length: 2048
  dtensor_cfg: {enabled: true}
  generation:
    backend: vllm
    colocated: {enabled: ${colocated}}
cluster: {gpus_per_node: 8, num_nodes: 1}
`;
    assert.equal((await read('grpo.yaml', nemo(true))).values['rollout.offload'], 'all');
    assert.equal((await read('grpo.yaml', nemo(false))).values['rollout.offload'] ?? 'none', 'none');
  });

  it('makes room for vLLM', async () => {
    const peakOf = async (keys: string) =>
      (await read('grpo.yaml', `${SWIFT}tuner_type: lora\n${keys}`)).peak ?? 0;
    assert.ok((await peakOf('offload_model: true\n')) < (await peakOf('')));
  });
});

describe('GPUs that a layout does not divide', () => {
  const MEGATRON =
    '--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 16 --bf16 --vocab-size 50257';

  it('are reported with the numbers of the layout, and nothing that the run has not', async () => {
    const { messages } = await read(
      'run.sh',
      `# oomlint: gpu=H100\ntorchrun --nproc_per_node 8 pretrain_gpt.py ${MEGATRON} --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4\n`,
    );
    assert.ok(
      messages.includes('world-size: 8 GPUs cannot be divided into groups of 16 (tensor 4 × pipeline 4).'),
      messages.join('\n'),
    );
  });
});

describe('a word that YAML reads as a switch', () => {
  it('is reported as what it is read as', async () => {
    const { messages } = await read(
      'sft.yaml',
      'model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: d\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 1\nmax_length: 1024\noutput_dir: o\neval_strategy: no\n',
    );
    assert.ok(
      messages.includes(
        'wrong-type: `eval_strategy` takes one of no, steps, epoch: without quotes YAML reads `no` as false.',
      ),
      messages.join('\n'),
    );
  });
});

describe('folders of Hydra that are not part of the repository', () => {
  it('hold no file that is missing, in each way to write them', async () => {
    for (const place of [
      'file:../../verl/verl/trainer/config',
      'file://verl/trainer/config',
      'pkg://verl.trainer',
    ]) {
      const text = `hydra:\n  searchpath:\n    - ${place}\ndefaults:\n  - ppo_trainer\n  - _self_\nactor_rollout_ref:\n  actor:\n    ppo_micro_batch_size_per_gpu: 1\n`;
      const { problems } = await read('own/configs/multiturn.yaml', text);
      assert.equal(problems.find(({ code }) => code === 'missing-file')?.severity, 'information', place);
    }
  });

  it('are found where they are', async () => {
    const text =
      'hydra:\n  searchpath:\n    - file:../../verl/verl/trainer/config\ndefaults:\n  - ppo_trainer\n  - _self_\nactor_rollout_ref:\n  actor:\n    ppo_micro_batch_size_per_gpu: 1\n';
    const { problems } = await read('own/configs/multiturn.yaml', text, {
      'verl/verl/trainer/config/ppo_trainer.yaml':
        'actor_rollout_ref:\n  model:\n    path: Qwen/Qwen2.5-7B\n',
    });
    assert.equal(
      problems.find(({ code }) => code === 'missing-file'),
      undefined,
    );
  });
});

describe('preferences in LLaMA-Factory', () => {
  const config = (stage: string) => `# oomlint: gpu=A100-SXM4-80GB gpus=8
model_name_or_path: Qwen/Qwen2.5-7B
stage: ${stage}
do_train: true
finetuning_type: lora
lora_target: all
template: qwen
cutoff_len: 2048
per_device_train_batch_size: 1
bf16: true
`;

  it('take the log-softmax of all logits', async () => {
    for (const stage of ['dpo', 'kto'])
      assert.equal(
        (await read('train.yaml', config(stage))).values['loss.implementation'],
        'full-log-softmax',
        stage,
      );
    assert.notEqual(
      (await read('train.yaml', config('sft'))).values['loss.implementation'],
      'full-log-softmax',
    );
  });

  it('have no “fits” where a reward model computes the logits of the vocabulary as well', async () => {
    const { values } = await read('train.yaml', config('rm'));
    assert.deepEqual(values['features.unmodelled'], ['value-heads']);
  });
});

describe('OPT', () => {
  const run = (transformers: string, attention = '') =>
    read(
      'run.sh',
      `# oomlint: gpu=A100-SXM4-80GB gpus=1\npython run_clm.py --model_name_or_path facebook/opt-1.3b --do_train --per_device_train_batch_size 16 --block_size 512 --fp16${attention}\n`,
      { 'requirements.txt': `transformers==${transformers}\n` },
    );
  const GIB = 2 ** 30;

  it('has no SDPA before transformers 4.46, and keeps its masked scores until 4.49', async () => {
    const peaks = await Promise.all(
      ['4.28.1', '4.45.2', '4.48.3'].map(async (of) => (await run(of)).peak ?? 0),
    );
    const [first = 0, late = 0, sdpa = 0] = peaks;
    assert.ok(Math.abs(first - late) < 0.5 * GIB, `${first / GIB} and ${late / GIB}`);
    assert.ok(late > sdpa + 10 * GIB, `${late / GIB} and ${sdpa / GIB}`);
  });
});
