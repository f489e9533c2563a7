import assert from 'node:assert/strict';
import type { FieldPath } from '../../../server/src/run/fields';
import { smallWorkspace } from './small-workspace';

const OPEN = 'trl>=0.0.3\ntransformers>=4.0\npeft>=0.0.2\naccelerate>=0.1\ntorch>=1.0\ndeepspeed>=0.3\n';

const GRPO = `from trl import GRPOConfig, GRPOTrainer
args = GRPOConfig("o", per_device_train_batch_size=8, num_generations=8)
GRPOTrainer(model="Qwen/Qwen2.5-7B-Instruct", args=args, reward_funcs=reward, train_dataset=data).train()
`;

async function oldest(files: Readonly<Record<string, string>>, path: string) {
  const { resolved, answers = [] } = await smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100, gpus: 8}\n',
    'requirements.txt': OPEN,
    ...files,
  }).analyze(path);
  const of = (name: string) => resolved.origins[`version.${name}` as FieldPath]?.orElse;
  const words = answers.flatMap(({ otherwise }) => otherwise?.words ?? []);
  return { of, words, resolved };
}

describe('the oldest release of a range', () => {
  it('has what a script imports', async () => {
    const { of, words } = await oldest({ 'train.py': GRPO }, 'train.py');
    assert.equal(of('trl'), '0.14.0');
    assert.ok(words.every((one) => !/0\.0\.3/.test(one)));
    const sft = GRPO.replace(/GRPO/g, 'SFT').replace(', num_generations=8', '');
    // The first of those that were looked at which has a config of the trainer.
    assert.equal((await oldest({ 'train.py': sft }, 'train.py')).of('trl'), '0.9.6');
  });

  it('has the arguments that are passed, whose they are', async () => {
    const text = GRPO.replace('8)\n', '8, average_tokens_across_devices=True)\n');
    assert.equal((await oldest({ 'train.py': text }, 'train.py')).of('transformers'), '4.46.3');
    const later = GRPO.replace('train_dataset', 'tools=[t], train_dataset');
    assert.equal((await oldest({ 'train.py': later }, 'train.py')).of('trl'), '0.26.0');
  });

  it('has the class of the model, unless its code comes with it', async () => {
    const text = GRPO.replace('Qwen2.5-7B-Instruct', 'Qwen3-8B');
    assert.equal((await oldest({ 'train.py': text }, 'train.py')).of('transformers'), '4.51.3');
  });

  it('runs with the oldest of the packages around it', async () => {
    const { of } = await oldest({ 'train.py': GRPO }, 'train.py');
    // TRL 0.14.0 requires transformers >=4.46.0 and Accelerate >=0.34.0, which requires PyTorch >=1.10.0; the oldest known one is newer.
    assert.equal(of('transformers'), '4.46.0');
    assert.equal(of('accelerate'), '0.34.0');
    assert.equal(of('torch'), '1.13.1');
    // A release of transformers that is named takes no older PyTorch than its own code does.
    const named = OPEN.replace('transformers>=4.0', 'transformers==5.1.0');
    const { of: beside } = await oldest({ 'train.py': GRPO, 'requirements.txt': named }, 'train.py');
    assert.equal(beside('torch'), '2.4');
    assert.equal(beside('accelerate'), '1.1.0');
  });

  it('has the keys of a recipe and the flags of a launch', async () => {
    const recipe = [
      'model_name_or_path: Qwen/Qwen2.5-7B-Instruct',
      'per_device_train_batch_size: 1',
      'learning_rate: 1e-6',
      'output_dir: o',
      'use_vllm: true',
      'vllm_mode: colocate',
      'num_generations: 8',
    ].join('\n');
    const { of } = await oldest({ 'grpo.yaml': recipe }, 'grpo.yaml');
    assert.equal(of('trl'), '0.18.2');
    const launch =
      'trl sft --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --output_dir o --liger_kernel_config "{}"\n';
    assert.equal((await oldest({ 'run.sh': launch }, 'run.sh')).of('transformers'), '4.53.3');
  });

  it('has the keys of files for DeepSpeed and Accelerate', async () => {
    const script = GRPO.replace('"o",', '"o", deepspeed="ds.json",');
    const ds = '{"zero_optimization": {"stage": 3, "zero_quantized_weights": true}}';
    assert.equal((await oldest({ 'train.py': script, 'ds.json': ds }, 'train.py')).of('deepspeed'), '0.10.3');
  });

  it('stays where what is needed lies outside of the range, and is none where a release is named', async () => {
    const old = 'trl>=0.8,<0.13\n';
    assert.notEqual(
      (await oldest({ 'train.py': GRPO, 'requirements.txt': old }, 'train.py')).of('trl'),
      '0.14.0',
    );
    const exact = await oldest({ 'train.py': GRPO, 'requirements.txt': 'trl==0.19.0\n' }, 'train.py');
    assert.equal(exact.of('trl'), undefined);
    assert.equal(exact.resolved.values['version.trl'], '0.19.0');
  });

  it('is no older than the file, of a fork or a commit either', async () => {
    const fork = 'trl @ git+https://github.com/somebody/trl.git@0123abc\n';
    assert.equal(
      (await oldest({ 'train.py': GRPO, 'requirements.txt': fork }, 'train.py')).of('trl'),
      '0.14.0',
    );
  });
});

describe('the newest release that a recipe or a launch goes with', () => {
  const KEYS = {
    model_name_or_path: 'Qwen/Qwen2.5-7B',
    learning_rate: '1e-5',
    evaluation_strategy: 'no',
    bf16: true,
  };
  const recipe = Object.entries({
    ...KEYS,
    per_device_train_batch_size: 1,
    max_length: 2048,
    output_dir: 'o',
  });
  const text = recipe.map(([key, value]) => `${key}: ${value}`).join('\n');
  const versions = async (files: Readonly<Record<string, string>>, path: string) => {
    const { values } = (await smallWorkspace(files).analyze(path)).resolved;
    return [values['version.transformers'], values['version.trl']];
  };

  it('is the last that has all of its arguments', async () => {
    assert.deepEqual(await versions({ 'sft.yaml': text }, 'sft.yaml'), ['4.50.3', '0.18.2']);
    const flags = recipe.map(([key, value]) => `--${key} ${value}`).join(' ');
    assert.equal((await versions({ 'run.sh': `python train.py ${flags}\n` }, 'run.sh'))[0], '4.50.3');
  });

  it('is the one that is named, else lies in the range', async () => {
    const exact = { 'sft.yaml': text, 'requirements.txt': 'transformers==4.46.0\n' };
    assert.equal((await versions(exact, 'sft.yaml'))[0], '4.46.0');
    const range = { 'sft.yaml': text, 'requirements.txt': 'transformers>=4.46\n' };
    assert.equal((await versions(range, 'sft.yaml'))[0], '4.50.3');
    const newer = { 'sft.yaml': text, 'requirements.txt': 'transformers>=5.0\n' };
    assert.notEqual((await versions(newer, 'sft.yaml'))[0], '4.50.3');
  });
});
