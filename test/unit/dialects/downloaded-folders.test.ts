import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const modelOf = async (before: string, name: string) => {
  const text = `# oomlint: gpu=A100-SXM4-80GB gpus=1
from huggingface_hub import snapshot_download
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
${before}
model = AutoModelForCausalLM.from_pretrained(${name})
Trainer(model=model, args=TrainingArguments("o"), train_dataset=rows).train()
`;
  const { resolved } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
  return resolved.values['model.id'];
};

describe('a folder that the code downloads a model into', () => {
  it('holds the model of that repository', async () => {
    const into = 'snapshot_download("Qwen/Qwen3-0.6B", local_dir="weights")';
    assert.equal(await modelOf(into, '"./weights"'), 'Qwen/Qwen3-0.6B');
    assert.equal(await modelOf(into, '"weights/"'), 'Qwen/Qwen3-0.6B');
    assert.equal(
      await modelOf('path = snapshot_download(repo_id="Qwen/Qwen3-0.6B")', 'path'),
      'Qwen/Qwen3-0.6B',
    );
  });

  it('is no other folder, and none of data', async () => {
    const into = 'snapshot_download("Qwen/Qwen3-0.6B", local_dir="weights")';
    assert.equal(await modelOf(into, '"others"'), 'others');
    const data = 'snapshot_download("someone/rows", local_dir="weights", repo_type="dataset")';
    assert.equal(await modelOf(data, '"weights"'), 'weights');
  });
});
