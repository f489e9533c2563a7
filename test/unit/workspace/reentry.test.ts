import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const LOADED = `from datasets import load_dataset
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
import torch
bits = BitsAndBytesConfig(load_in_4bit=True)
model = AutoModelForCausalLM.from_pretrained("gpt2", quantization_config=bits, device_map={"": 0})
`;
const ADAPTED = 'model = get_peft_model(model, LoraConfig(r=8, task_type="CAUSAL_LM"))\n';
const LOOP = `optimizer = torch.optim.AdamW(model.parameters())
for row in load_dataset("x")["train"]:
    model(**row).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
`;
const trained = (more = '') =>
  `args = TrainingArguments("o", per_device_train_batch_size=1${more})\nTrainer(model, args, train_dataset=load_dataset("x")["train"]).train()\n`;

async function reentrant(text: string, release: string) {
  const requirements = `transformers==${release}\n`;
  const files = { 'requirements.txt': requirements, 'train.py': text };
  const { resolved } = await smallWorkspace(files).analyze('train.py');
  assert.equal(resolved.values['activations.checkpointing'], 'full');
  return resolved.values['activations.reentrant'];
}

describe('checkpointing that code turns on', () => {
  const ENABLED = 'model.gradient_checkpointing_enable()\n';
  const PREPARED = 'model = prepare_model_for_kbit_training(model)\n';

  it('reenters by itself until transformers 5 alone', async () => {
    for (const end of [LOOP, trained()]) {
      assert.equal(await reentrant(LOADED + ADAPTED + ENABLED + end, '4.57.6'), true);
      assert.equal(await reentrant(LOADED + ADAPTED + ENABLED + end, '5.2.0'), false);
    }
  });

  it('reenters where PEFT turns it on, whose words are empty', async () => {
    for (const end of [LOOP, trained(), trained(', gradient_checkpointing_kwargs={"use_reentrant": False}')])
      for (const before of [PREPARED, ENABLED + PREPARED])
        assert.equal(await reentrant(LOADED + before + ADAPTED + end, '5.2.0'), true, before + end);
    assert.equal(await reentrant(LOADED + PREPARED + ENABLED + ADAPTED + LOOP, '5.2.0'), false);
  });

  it('does as its words state, there and here', async () => {
    const stated = 'model = prepare_model_for_kbit_training(model, True, {"use_reentrant": False})\n';
    assert.equal(await reentrant(LOADED + stated + ADAPTED + LOOP, '4.57.6'), false);
    const again = 'model.gradient_checkpointing_enable({"use_reentrant": True})\n';
    assert.equal(await reentrant(LOADED + stated + ADAPTED + again + LOOP, '5.2.0'), true);
  });

  it('is turned on again by a trainer that is asked for it, as that states', async () => {
    const asked = trained(', gradient_checkpointing=True');
    assert.equal(await reentrant(LOADED + PREPARED + ADAPTED + asked, '5.2.0'), false);
    const without = 'model.gradient_checkpointing_enable({"use_reentrant": False})\n';
    assert.equal(await reentrant(LOADED + ADAPTED + without + asked, '4.57.6'), true);
    const supervised = `from trl import SFTConfig, SFTTrainer
SFTTrainer(model, args=SFTConfig("o", max_length=512, per_device_train_batch_size=1), train_dataset=load_dataset("x")["train"]).train()
`;
    assert.equal(await reentrant(LOADED + PREPARED + ADAPTED + supervised, '5.2.0'), false);
  });
});
