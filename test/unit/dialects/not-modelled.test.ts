import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const KOHYA = `pretrained_model_name_or_path = "stabilityai/stable-diffusion-xl-base-1.0"
network_module = "networks.lora"
network_dim = 32
train_batch_size = 4
mixed_precision = "bf16"
`;
const OLMO = `model:
  d_model: 2048
  n_heads: 16
  n_layers: 16
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
  OLMo: ['olmo.yaml', OLMO],
};

describe('trainers that are not modelled', () => {
  for (const [name, [path, text]] of Object.entries(FILES))
    it(`${name} is told by its config, once, and not estimated`, async () => {
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

  it('leave the configs of families alone', async () => {
    const text =
      'job: train\nbase_model: gpt2\nadapter: lora\nmicro_batch_size: 1\nsequence_len: 1024\ndatasets: []\n';
    assert.equal((await smallWorkspace({ 'a.yaml': text }).analyze('a.yaml')).dialect.id, 'axolotl');
  });
});
