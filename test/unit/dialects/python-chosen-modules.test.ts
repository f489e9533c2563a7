import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const script = (targets: string) => `# oomlint: gpu=H100-SXM5-80GB gpus=1 sequence=512
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16)
model = get_peft_model(model, LoraConfig(r=8, target_modules=${targets}))
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=2)).train()
`;

describe('modules that a condition chooses', () => {
  it('are those of either list that the model has', async () => {
    const of = async (targets: string) => {
      const { analyze } = smallWorkspace({ 'train.py': script(targets) });
      const analysis = await analyze('train.py');
      const codes = analysis.problems.map(({ code }) => code);
      return { trained: analysis.resolved.values['lora.targets'], stops: codes.includes('nothing-trained') };
    };
    const either =
      '(["q_a_proj", "kv_b_proj"] if model.config.architectures == ["Other"] else ["q_proj", "v_proj"])';
    const { trained, stops } = await of(either);
    assert.deepEqual(trained, ['q_a_proj', 'kv_b_proj', 'q_proj', 'v_proj']);
    assert.equal(stops, false);
    assert.equal((await of('["q_a_proj", "kv_b_proj"]')).stops, true);
  });
});
