import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const SCRIPT = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
args = TrainingArguments("o", per_device_train_batch_size=4, auto_find_batch_size=True, deepspeed="ds.json", bf16=True)
Trainer(model=model, args=args, train_dataset=data).train()
`;
const RECIPE = `model_name_or_path: Qwen/Qwen2.5-7B
learning_rate: 1e-5
per_device_train_batch_size: 4
max_length: 1024
auto_find_batch_size: true
deepspeed: ds.json
bf16: true
`;
const AXOLOTL = `base_model: Qwen/Qwen2.5-7B
datasets: [{path: a, type: alpaca}]
sequence_len: 1024
micro_batch_size: 4
auto_find_batch_size: true
deepspeed: ds.json
bf16: true
`;

async function refusal(text: string, path: string, stage: number, requirements = 'transformers==4.57.6\n') {
  const { problems, estimate } = await smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100, gpus: 8, sequence: 1024}\n',
    'requirements.txt': requirements,
    'ds.json': `{"zero_optimization": {"stage": ${stage}}, "bf16": {"enabled": true}}`,
    [path]: text,
  }).analyze(path);
  const found = problems.find(({ code }) => code === 'search-under-zero3');
  return `${found?.severity} ${estimate ? 'estimated' : 'unknown'}`;
}

describe('a micro batch that is looked for under ZeRO stage 3', () => {
  for (const [path, text] of [
    ['train.py', SCRIPT],
    ['sft.yaml', RECIPE],
    ['axolotl.yml', AXOLOTL],
  ] as const)
    it(`is refused by the Trainer: ${path}`, async () => {
      assert.equal(await refusal(text, path, 3), 'error unknown');
      assert.equal(await refusal(text, path, 2), 'undefined estimated');
    });

  it('is none of releases before, and not certain where they are open', async () => {
    assert.equal(await refusal(SCRIPT, 'train.py', 3, 'transformers==4.44.2\n'), 'undefined estimated');
    assert.equal(await refusal(SCRIPT, 'train.py', 3, 'transformers>=4.40\n'), 'warning unknown');
    assert.equal(await refusal(SCRIPT, 'train.py', 3, ''), 'warning unknown');
  });
});

describe('saving the model alone', () => {
  const of = async (more: string, requirements = 'transformers==4.57.6\n') => {
    const text = `model_name_or_path: Qwen/Qwen2.5-7B\nlearning_rate: 1e-5\nper_device_train_batch_size: 4\nsave_only_model: true\n${more}`;
    const { problems } = await smallWorkspace({ 'requirements.txt': requirements, 'a.yaml': text }).analyze(
      'a.yaml',
    );
    return problems.flatMap(({ code, severity }) => (code === 'model-saved-alone' ? severity : []));
  };

  it('does not go with the best model, nor with sharded states', async () => {
    const best = 'load_best_model_at_end: true\n';
    assert.deepEqual(await of(`deepspeed: ds.json\n${best}`), ['error']);
    assert.deepEqual(await of(`fsdp: full_shard\n${best}`), ['error']);
    assert.deepEqual(await of(best), []);
    assert.deepEqual(await of('deepspeed: ds.json\n'), []);
    assert.deepEqual(await of(`deepspeed: ds.json\n${best}`, 'transformers==4.37.2\n'), []);
    const config = 'fsdp: full_shard\nfsdp_config: {state_dict_type: SHARDED_STATE_DICT}\n';
    assert.deepEqual(await of(config), ['error']);
    assert.deepEqual(await of(config, 'transformers==4.49.0\n'), []);
  });

  it('goes with what PyTorch/XLA shards, which is no plugin of Accelerate', async () => {
    const xla = 'fsdp: full_shard\nfsdp_config: {xla: true, state_dict_type: SHARDED_STATE_DICT}\n';
    assert.deepEqual(await of(xla), []);
    assert.deepEqual(await of(`${xla}load_best_model_at_end: true\n`), []);
  });
});
