import assert from 'node:assert/strict';
import { ROOT, smallWorkspace } from './small-workspace';

const PROJECT = 'targets: {gpu: H100, gpus: 8}\n';
const GRPO = `grpo: {num_prompts_per_step: 64, num_generations_per_prompt: 8, max_num_steps: 100}
policy:
  model_name: Qwen/Qwen2.5-7B
  train_global_batch_size: 512
  train_micro_batch_size: 1
  max_total_sequence_length: 4096
  dtensor_cfg: {enabled: true, tensor_parallel_size: 8, activation_checkpointing: true}
cluster: {gpus_per_node: 8, num_nodes: 4}
`;
const SMALLER = `defaults: base.yaml
policy:
  dtensor_cfg: {tensor_parallel_size: 2}
cluster: {gpus_per_node: 4, num_nodes: 4}
`;
const world = (files: Record<string, string>) => smallWorkspace({ 'oomlint.yaml': PROJECT, ...files });
type Found = Awaited<ReturnType<ReturnType<typeof world>['analyze']>>;
const overridden = ({ problems }: Found) =>
  problems.flatMap(({ code, message }) => (code === 'overridden-value' ? [message] : []));

describe('a config that others inherit from', () => {
  it('is judged as it stands where it is a run of its own', async () => {
    const { analyze } = world({ 'base.yaml': GRPO, 'smaller.yaml': SMALLER });
    const base = await analyze('base.yaml');
    assert.deepEqual(overridden(base), []);
    assert.equal(base.resolved.values['parallel.tensor'], 8);
    assert.equal(base.resolved.values['hardware.gpus'], 32);
    assert.equal(base.run ?? `${ROOT}/base.yaml`, `${ROOT}/base.yaml`);
    const smaller = await analyze('smaller.yaml');
    assert.equal(smaller.resolved.values['parallel.tensor'], 2);
    assert.equal(smaller.resolved.values['hardware.gpus'], 16);
  });

  it('is so in other families', async () => {
    const sft =
      'model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 4\nbf16: true\nmax_length: 2048\noutput_dir: x\n';
    const { analyze } = world({
      'base.yaml': sft,
      'child.yaml': 'defaults: [base, _self_]\nper_device_train_batch_size: 16\n',
    });
    const base = await analyze('base.yaml');
    assert.equal(base.resolved.values['batch.micro'], 4);
    assert.deepEqual(overridden(base), []);
    assert.equal((await analyze('child.yaml')).resolved.values['batch.micro'], 16);
  });

  it('is still started by a script that gives it other values', async () => {
    const { analyze } = world({
      'base.yaml': GRPO,
      'smaller.yaml': SMALLER,
      'run.sh':
        'uv run examples/run_grpo.py --config base.yaml policy.dtensor_cfg.tensor_parallel_size=4 cluster.num_nodes=2\n',
    });
    const base = await analyze('base.yaml');
    assert.equal(base.run, `${ROOT}/run.sh`);
    assert.equal(base.resolved.values['parallel.tensor'], 4);
  });

  it('is shown with one that inherits it where it is only a part of a run, and what is computed is named by its field', async () => {
    const part = GRPO.replace(/ {2}model_name.*\n/, '');
    const { analyze } = world({
      'base.yaml': part,
      'whole.yaml': `${SMALLER.replace('policy:\n', 'policy:\n  model_name: Qwen/Qwen2.5-7B\n')}`,
    });
    const base = await analyze('base.yaml');
    assert.equal(base.run, `${ROOT}/whole.yaml`);
    assert.deepEqual(overridden(base), [
      'whole.yaml inherits this file with tensor_parallel_size = 2, which counts in the place of 8.',
      'whole.yaml inherits this file with gpus = 16, which counts in the place of 32.',
    ]);
  });

  it('leaves a file that it names in both runs', async () => {
    const sft =
      'model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 4\nbf16: true\nmax_length: 2048\noutput_dir: x\ndeepspeed: ds.json\n';
    const { analyze } = world({
      'base.yaml': sft,
      'child.yaml': 'defaults: [base, _self_]\nper_device_train_batch_size: 16\n',
      'ds.json': '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}',
    });
    const found = await analyze('ds.json');
    assert.deepEqual(found.runs?.map(({ name }) => name).sort(), ['base.yaml', 'child.yaml']);
  });
});
