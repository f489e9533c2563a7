import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const script = (lora: string) => `from transformers import AutoModelForCausalLM, TrainingArguments
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("gpt2")
SFTTrainer(model=model, args=SFTConfig(max_length=512), peft_config=LoraConfig(${lora})).train()
`;

describe('adapters whose modules the model does not have', () => {
  const analyzed = async (lora: string) => {
    const files = { 'a.py': script(lora), 'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 1\n' };
    return smallWorkspace(files).analyze('a.py');
  };

  for (const lora of ['target_modules=["q_proj", "dense"]', 'target_modules=".*q_proj"'])
    it(`${lora} leave the run without an estimate`, async () => {
      const { estimate, resolved, problems } = await analyzed(lora);
      assert.equal(estimate, undefined);
      assert.deepEqual(
        resolved.unknown.map(({ field, stated }) => [field, stated]),
        [['lora.targets', true]],
      );
      assert.deepEqual(
        problems.flatMap(({ code, severity }) => (code === 'nothing-trained' ? [severity] : [])),
        ['warning'],
      );
    });

  it('are those of which one is enough', async () => {
    const { estimate } = await analyzed('target_modules=["q_proj", "c_attn"]');
    assert.ok((estimate?.model.trainableParameters ?? 0) > 0);
  });
});
