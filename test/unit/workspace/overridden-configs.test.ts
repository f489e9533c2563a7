import assert from 'node:assert/strict';
import { sourcesOf } from '../../../server/src/advice/run-sources';
import { writeChanges } from '../../../server/src/advice/write/write';
import { ROOT, smallWorkspace } from './small-workspace';

const D = '$';

const world = (files: Record<string, string>) =>
  smallWorkspace({ 'oomlint.yaml': 'targets: {gpu: H100}\n', ...files });
type Found = Awaited<ReturnType<ReturnType<typeof world>['analyze']>>;
const placeOf = ({ resolved }: Found, field: keyof Found['resolved']['origins']) => {
  const origin = resolved.origins[field];
  const { location } = origin ?? {};
  return (
    location && `${origin?.kind} ${location.uri.slice(ROOT.length + 1)}:${location.range.start.line + 1}`
  );
};

const NEMO = {
  'conf/megatron_gpt_config.yaml': `trainer:
  devices: 8
  num_nodes: 1
  precision: bf16
exp_manager: {name: x}
model:
  micro_batch_size: 4
  global_batch_size: 256
  tensor_model_parallel_size: 1
  encoder_seq_length: 2048
  max_position_embeddings: ${D}{.encoder_seq_length}
  num_layers: 24
  hidden_size: 2048
  num_attention_heads: 16
  ffn_hidden_size: 8192
  make_vocab_size_divisible_by: 128
  megatron_amp_O2: true
  tokenizer: {library: megatron, type: GPT2BPETokenizer}
  optim: {name: distributed_fused_adam}
`,
  'train.sh': `#!/bin/bash
python megatron_gpt_pretraining.py \\
  --config-path=conf --config-name=megatron_gpt_config \\
  trainer.num_nodes=4 \\
  model.micro_batch_size=2 \\
  ++model.encoder_seq_length=4096 \\
  model.tensor_model_parallel_size=2
`,
};

describe('a config under the overrides of its launch', () => {
  it('is read with them laid over it, each value with its place', async () => {
    const run = await world(NEMO).analyze('train.sh');
    const { values } = run.resolved;
    assert.equal(run.dialect.id, 'launch-script');
    assert.equal(values['batch.micro'], 2);
    assert.equal(values['batch.sequence'], 4096);
    assert.equal(values['parallel.tensor'], 2);
    // Eight on each of four machines: neither file states 32 by itself.
    assert.equal(values['hardware.gpus'], 32);
    assert.equal(values['batch.global'], 256);
    assert.equal(placeOf(run, 'batch.micro'), 'file train.sh:5');
    assert.equal(placeOf(run, 'batch.global'), 'linked-file conf/megatron_gpt_config.yaml:8');
    assert.ok(run.estimate);
    assert.ok(!run.problems.some(({ code }) => code === 'missing-file'));
  });

  it('is shown so in the config itself', async () => {
    const run = await world(NEMO).analyze('conf/megatron_gpt_config.yaml');
    const { values } = run.resolved;
    assert.equal(values['batch.micro'], 2);
    assert.equal(values['hardware.gpus'], 32);
    assert.equal(values['batch.sequence'], 4096);
    assert.equal(placeOf(run, 'batch.micro'), 'overriding-file train.sh:5');
    assert.equal(placeOf(run, 'batch.global'), 'file conf/megatron_gpt_config.yaml:8');
  });

  it('gives the same run from either file', async () => {
    const { analyze } = world(NEMO);
    const [script, config] = [await analyze('train.sh'), await analyze('conf/megatron_gpt_config.yaml')];
    assert.deepEqual(config.resolved.run, script.resolved.run);
  });

  it('is changed where the value that counts stands', async () => {
    const { workspace, analyze } = world(NEMO);
    for (const path of ['train.sh', 'conf/megatron_gpt_config.yaml']) {
      const analysis = await analyze(path);
      const { run, origins } = analysis.resolved;
      assert.ok(run);
      const files = await sourcesOf(analysis, workspace);
      const write = (changes: { 'batch.micro'?: number; 'batch.global'?: number }) =>
        writeChanges({
          files,
          run,
          origins,
          changes,
          fields: Object.keys(changes) as (keyof typeof changes)[],
        });
      const micro = write({ 'batch.micro': 1 })?.find(({ uri }) => uri.endsWith('train.sh'));
      assert.match(micro?.after ?? '', /model\.micro_batch_size=1 /, path);
      const [global] = write({ 'batch.global': 128 }) ?? [];
      assert.equal(global?.uri, `${ROOT}/conf/megatron_gpt_config.yaml`, path);
    }
  });

  it('counts by what the launch states where the config is not here', async () => {
    const run = await world({
      'train.sh': `python /opt/NeMo/examples/nlp/language_modeling/megatron_gpt_pretraining.py \\
  trainer.devices=8 trainer.num_nodes=2 trainer.precision=bf16 \\
  model.micro_batch_size=4 model.global_batch_size=256 model.encoder_seq_length=2048 \\
  model.max_position_embeddings=2048 model.num_layers=24 model.hidden_size=2048 \\
  model.num_attention_heads=16 model.ffn_hidden_size=8192 model.tensor_model_parallel_size=2 \\
  model.megatron_amp_O2=true model.optim.name=distributed_fused_adam
`,
    }).analyze('train.sh');
    assert.equal(run.resolved.values['batch.micro'], 4);
    assert.equal(run.resolved.values['hardware.gpus'], 16);
    assert.equal(run.resolved.values['parallel.tensor'], 2);
    assert.ok(!run.problems.some(({ code }) => code === 'missing-file'));
  });

  it('takes the options of groups that the launch chooses', async () => {
    const run = await world({
      'main.py': '',
      'conf/config.yaml':
        'defaults:\n  - _self_\n  - model: small\n  - trainer: node\nexp_manager: {name: x}\n',
      'conf/model/small.yaml':
        'micro_batch_size: 4\nglobal_batch_size: 64\nnum_layers: 2\nhidden_size: 512\n',
      'conf/model/large.yaml':
        'micro_batch_size: 1\nglobal_batch_size: 64\nnum_layers: 24\nhidden_size: 2048\n',
      'conf/trainer/node.yaml': 'devices: 8\nnum_nodes: 1\nprecision: bf16\n',
      'run.sh':
        'python main.py --config-path conf --config-name config model=large model.global_batch_size=128\n',
    }).analyze('run.sh');
    assert.equal(run.resolved.values['batch.micro'], 1);
    assert.equal(run.resolved.values['batch.global'], 128);
  });

  it('of NeMo-RL, Automodel and llm-foundry alike', async () => {
    const rl = await world({
      'grpo.yaml': `grpo: {num_prompts_per_step: 32, num_generations_per_prompt: 16}
policy:
  model_name: Qwen/Qwen2.5-1.5B
  train_global_batch_size: 512
  train_micro_batch_size: 4
  max_total_sequence_length: 512
  precision: bfloat16
  dtensor_cfg: {enabled: true, tensor_parallel_size: 1}
cluster: {gpus_per_node: 1, num_nodes: 1}
`,
      'run.sh':
        'uv run examples/run_grpo_math.py --config grpo.yaml policy.model_name=Qwen/Qwen2.5-7B policy.train_micro_batch_size=1 cluster.gpus_per_node=8\n',
    }).analyze('run.sh');
    assert.equal(rl.resolved.values['model.id'], 'Qwen/Qwen2.5-7B');
    assert.equal(rl.resolved.values['batch.micro'], 1);
    assert.equal(rl.resolved.values['hardware.gpus'], 8);

    const automodel = await world({
      'ft.yaml': `step_scheduler: {global_batch_size: 64, local_batch_size: 8}
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: Qwen/Qwen2.5-1.5B
`,
      'run.sh':
        'torchrun --nproc-per-node=8 nemo_automodel/recipes/llm/train_ft.py --config ft.yaml --step_scheduler.local_batch_size 2 --model.pretrained_model_name_or_path Qwen/Qwen2.5-7B\n',
    }).analyze('run.sh');
    assert.equal(automodel.resolved.values['batch.micro'], 2);
    assert.equal(automodel.resolved.values['model.id'], 'Qwen/Qwen2.5-7B');

    const foundry = await world({
      'mpt.yaml': `max_seq_len: 2048
model: {name: mpt_causal_lm, d_model: 2048, n_heads: 16, n_layers: 24, max_seq_len: ${D}{max_seq_len}, vocab_size: 50368}
tokenizer: {name: EleutherAI/gpt-neox-20b, kwargs: {model_max_length: ${D}{max_seq_len}}}
optimizer: {name: decoupled_adamw}
global_train_batch_size: 256
device_train_microbatch_size: 16
precision: amp_bf16
fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: PURE}
`,
      'run.sh':
        'composer -n 8 scripts/train/train.py mpt.yaml max_seq_len=4096 device_train_microbatch_size=4\n',
    }).analyze('run.sh');
    assert.equal(foundry.resolved.values['batch.micro'], 4);
    assert.equal(foundry.resolved.values['batch.sequence'], 4096);
  });

  it('is asked for where any script is started under Hydra: most train no language model', async () => {
    const { workspace } = world({
      ...NEMO,
      // A template that projects of Lightning are made from.
      'lightning.sh': 'python src/train.py trainer.max_epochs=20 trainer.devices=4 model.optimizer.lr=0.01\n',
      'missing.sh': 'python train.py --config-path conf --config-name asr model.encoder=conformer\n',
      'vision.sh': 'python train.py --config-path conf --config-name imagenet model.arch=resnet50\n',
      'conf/imagenet.yaml':
        'trainer: {max_epochs: 90, devices: 8}\nmodel: {_target_: src.ResNet, arch: resnet18}\n',
      'own.sh': 'python train.py --config-path conf --config-name megatron_gpt_config\n',
    });
    for (const script of ['lightning.sh', 'missing.sh', 'vision.sh'])
      assert.equal(await workspace.analyze(`${ROOT}/${script}`), undefined, script);
    const own = await workspace.analyze(`${ROOT}/own.sh`);
    assert.equal(own?.resolved.values['batch.micro'], 4);
  });
});
