import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

/** `self.q_proj` since transformers 5.9.0, `self.query` in 5.8.0 (`models/vit/modeling_vit.py`). */
describe('adapters of layers that a release named anew', () => {
  const script = (
    targets: string,
  ) => `from transformers import AutoModelForImageClassification, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
model = AutoModelForImageClassification.from_pretrained("google/vit-base-patch16-224-in21k")
model = get_peft_model(model, LoraConfig(r=16, target_modules=${targets}))
Trainer(model, TrainingArguments("o", per_device_train_batch_size=8, fp16=True), train_dataset=data).train()
`;
  const found = async (targets: string, version?: string) => {
    const { estimate, problems } = await smallWorkspace({
      'a.py': script(targets),
      'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 1\n',
      ...(version ? { 'requirements.txt': `transformers==${version}\n` } : {}),
    }).analyze('a.py');
    const problem = problems.find(({ code }) => code === 'no-lora-targets');
    return [problem?.severity, estimate !== undefined];
  };

  it('are none: an error where the release is named, else a warning', async () => {
    assert.deepEqual(await found('["query", "value"]', '5.20.0'), ['error', false]);
    assert.deepEqual(await found('["query", "value"]'), ['warning', false]);
  });

  it('are those of the old names before, and of the new ones since', async () => {
    assert.deepEqual(await found('["query", "value"]', '5.8.0'), [undefined, true]);
    assert.deepEqual(await found('["query", "value"]', '4.57.1'), [undefined, true]);
  });
});
