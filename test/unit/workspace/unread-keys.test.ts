import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const RECIPE = `# oomlint: gpu=RTX-4090 gpus=1
model_name_or_path: Qwen/Qwen2.5-14B
dataset_name: trl-lib/Capybara
learning_rate: 1.0e-5
per_device_train_batch_size: 4
gradient_accumulation_steps: 4
max_length: 4096
bf16: true
output_dir: out
`;

async function judged(text: string) {
  const { problems, unread = [] } = await smallWorkspace({ 'sft.yaml': text }).analyze('sft.yaml');
  return {
    fit: problems.find(({ code }) => code === 'does-not-fit'),
    unread: unread.map(({ kind, text: key }) => `${kind} ${key}`),
  };
}

describe('Keys of a recipe that nobody knows', () => {
  it('make its verdict a warning that names them, where they may change what a GPU holds', async () => {
    const sure = await judged(RECIPE);
    assert.equal(sure.fit?.severity, 'error');
    assert.deepEqual(sure.unread, []);
    const open = await judged(`${RECIPE}freeze_llm: true\n`);
    assert.deepEqual(open.unread, ['flag freeze_llm']);
    assert.equal(open.fit?.severity, 'warning');
    assert.match(open.fit.message, /Not understood: `freeze_llm`\.$/);
  });

  it('say nothing of it where they name files, seeds or data', async () => {
    const { unread } = await judged(`${RECIPE}my_eval_batch_file: a.json\nrun_label: x\ndata_seed_2: 3\n`);
    assert.deepEqual(
      unread.filter((each) => each.startsWith('flag')),
      [],
    );
  });

  it('are reported of DeepSpeed files, too', async () => {
    const files = {
      'ds.json':
        '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1, "sparse_offload": {"a": 1}}',
    };
    const { unread = [] } = await smallWorkspace(files).analyze('ds.json');
    assert.deepEqual(
      unread.map(({ text }) => text),
      ['sparse_offload'],
    );
  });
});
