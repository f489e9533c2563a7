import assert from 'node:assert/strict';
import type { FieldPath } from '../../../server/src/run/fields';
import { smallWorkspace } from '../workspace/small-workspace';

type Files = Readonly<Record<string, string>>;

/** What a file states of the allocator, and who. */
async function statedOf(files: Files, path: string, field: FieldPath, gpus = 8) {
  const { resolved } = await smallWorkspace({
    'oomlint.yaml': `targets: {gpu: H100, gpus: ${gpus}}\n`,
    ...files,
  }).analyze(path);
  return `${resolved.values[field]} ${resolved.origins[field]?.kind}`;
}

const segments = (files: Files, path: string, gpus = 8) =>
  statedOf(files, path, 'allocator.expandableSegments', gpus);

const AXOLOTL =
  'base_model: NousResearch/Llama-3.2-1B\ndatasets: [{path: a, type: alpaca}]\nsequence_len: 2048\nmicro_batch_size: 1\n';
const FACTORY =
  'model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: alpaca\ntemplate: qwen\ncutoff_len: 2048\noutput_dir: o\nper_device_train_batch_size: 1\n';
const VERL =
  'actor_rollout_ref:\n  model: {path: Qwen/Qwen2.5-7B}\n  rollout: {name: vllm}\n  actor: {ppo_micro_batch_size_per_gpu: 1}\nalgorithm: {adv_estimator: grpo}\ndata: {train_batch_size: 8, max_prompt_length: 512, max_response_length: 512}\ntrainer: {n_gpus_per_node: 8, nnodes: 1}\n';
const NEMO =
  'policy:\n  model_name: Qwen/Qwen2.5-7B\n  train_micro_batch_size: 1\n  max_total_sequence_length: 2048\n  dtensor_cfg: {enabled: true, env_vars: {PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True"}}\ncluster: {gpus_per_node: 8, num_nodes: 1}\ngrpo: {num_prompts_per_step: 8}\n';

describe('frameworks that set the allocator themselves', () => {
  it('Axolotl, unless the environment or another launcher does otherwise', async () => {
    const of = (launch: string) => segments({ 'a.yaml': AXOLOTL, 'run.sh': launch }, 'run.sh');
    assert.equal(await segments({ 'a.yaml': AXOLOTL }, 'a.yaml'), 'true default');
    assert.equal(await of('axolotl train a.yaml\n'), 'true default');
    assert.equal(await of('accelerate launch -m axolotl.cli.train a.yaml\n'), 'false file');
    assert.equal(
      await of('export PYTORCH_ALLOC_CONF=max_split_size_mb:512\naxolotl train a.yaml\n'),
      'false file',
    );
  });

  it('Axolotl, which rounds requests up as well in older releases, and with older torch', async () => {
    for (const [requirement, variable] of [
      ['axolotl==0.15.0', 'PYTORCH_ALLOC_CONF'],
      ['torch==2.8.0', 'PYTORCH_CUDA_ALLOC_CONF'],
    ]) {
      const files = { 'a.yaml': AXOLOTL, 'requirements.txt': `${requirement}\n` };
      assert.equal(await segments(files, 'a.yaml'), 'true default');
      assert.equal(await statedOf(files, 'a.yaml', 'allocator.roundup'), '16 default');
      const launched = async (launch: string) =>
        statedOf({ ...files, 'run.sh': launch }, 'run.sh', 'allocator.roundup');
      assert.equal(await launched('axolotl train a.yaml\n'), '16 default');
      assert.equal(await launched('accelerate launch -m axolotl.cli.train a.yaml\n'), '1 file');
      assert.equal(
        await launched(`export ${variable}=expandable_segments:True\naxolotl train a.yaml\n`),
        '1 file',
      );
    }
    assert.equal(await statedOf({ 'a.yaml': AXOLOTL }, 'a.yaml', 'allocator.roundup'), 'undefined undefined');
  });

  it('Axolotl whatever an old variable holds, with torch that has a new one', async () => {
    const of = (variable: string, torch: string) => {
      const launch = `export ${variable}=max_split_size_mb:512\naxolotl train a.yaml\n`;
      const files = { 'a.yaml': AXOLOTL, 'run.sh': launch, 'requirements.txt': `torch==${torch}\n` };
      return segments(files, 'run.sh');
    };
    assert.equal(await of('PYTORCH_CUDA_ALLOC_CONF', '2.10.0'), 'true default');
    assert.equal(await of('PYTORCH_ALLOC_CONF', '2.10.0'), 'false file');
    assert.equal(await of('PYTORCH_CUDA_ALLOC_CONF', '2.8.0'), 'false file');
  });

  it('Axolotl though an old variable switches it off, and only its own command', async () => {
    const of = (start: string) =>
      segments(
        {
          'a.yaml': AXOLOTL,
          'run.sh': `export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False\n${start} a.yaml\n`,
          'requirements.txt': 'torch==2.10.0\n',
        },
        'run.sh',
      );
    assert.equal(await of('axolotl train'), 'true default');
    assert.equal(await of('accelerate launch -m axolotl.cli.train'), 'false file');
  });

  it('LLaMA-Factory whatever an old variable holds, where it starts several processes', async () => {
    const of = (variable: string, gpus = 8, more = '') =>
      segments(
        {
          'a.yaml': FACTORY,
          'run.sh': `export ${variable}\n${more}llamafactory-cli train a.yaml\n`,
          'requirements.txt': 'torch==2.10.0\n',
        },
        'run.sh',
        gpus,
      );
    const off = 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False';
    assert.equal(await of(off), 'true default');
    assert.equal(await of('PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512'), 'true default');
    assert.equal(await of(off, 1), 'false file');
    assert.equal(await of(off, 1, 'FORCE_TORCHRUN=1 '), 'true file');
    assert.equal(await of(off, 8, 'OPTIM_TORCH=0 '), 'false file');
    assert.equal(await of('PYTORCH_ALLOC_CONF=max_split_size_mb:512'), 'false file');
    assert.equal(await of('PYTORCH_ALLOC_CONF=expandable_segments:True'), 'true file');
  });

  it('LLaMA-Factory keeps no setting of a variable that it writes over', async () => {
    const { resolved, problems } = await smallWorkspace({
      'oomlint.yaml': 'targets: {gpu: H100, gpus: 8}\n',
      'a.yaml': FACTORY,
      'run.sh':
        'export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512,expandable_segments:yes\nllamafactory-cli train a.yaml\n',
    }).analyze('run.sh');
    assert.equal(resolved.values['allocator.maxSplit'], undefined);
    assert.ok(!problems.some(({ code }) => code === 'allocator-settings'));
  });

  it('LLaMA-Factory, where it starts several processes', async () => {
    const of = (launch: string, gpus?: number) =>
      segments({ 'a.yaml': FACTORY, 'run.sh': launch }, 'run.sh', gpus);
    assert.equal(await segments({ 'a.yaml': FACTORY }, 'a.yaml'), 'true default');
    assert.equal(await segments({ 'a.yaml': FACTORY }, 'a.yaml', 1), 'false default');
    assert.equal(await of('llamafactory-cli train a.yaml\n'), 'true default');
    assert.equal(await of('OPTIM_TORCH=0 llamafactory-cli train a.yaml\n'), 'false file');
    assert.equal(await of('USE_RAY=1 llamafactory-cli train a.yaml\n'), 'false file');
    assert.equal(await of('FORCE_TORCHRUN=1 llamafactory-cli train a.yaml\n', 1), 'true file');
    assert.equal(await of('torchrun --nproc_per_node 8 src/train.py a.yaml\n'), 'false file');
    const old = { 'a.yaml': FACTORY, 'requirements.txt': 'llamafactory==0.9.2\n' };
    assert.equal(await segments(old, 'a.yaml'), 'false default');
  });

  it('verl, where what generates shares the GPUs', async () => {
    assert.equal(await segments({ 'a.yaml': VERL }, 'a.yaml'), 'true default');
    assert.equal(
      await segments({ 'a.yaml': VERL, 'requirements.txt': 'verl==0.5.0\n' }, 'a.yaml'),
      'false default',
    );
  });

  it('NeMo-RL as the environment of its workers has it', async () => {
    assert.equal(await segments({ 'a.yaml': NEMO }, 'a.yaml'), 'true file');
    const other = NEMO.replace(
      'dtensor_cfg: {enabled: true',
      'dtensor_cfg: {enabled: true}\n  megatron_cfg: {enabled: false',
    );
    assert.equal(await segments({ 'a.yaml': other }, 'a.yaml'), 'false default');
  });
});
