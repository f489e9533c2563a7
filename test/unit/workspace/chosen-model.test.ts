import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const script = (condition: string) => `import torch
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
memory = torch.cuda.get_device_properties(0).total_memory / 1024 ** 3
if ${condition}:
    name = "unsloth/Llama-3.3-70B-Instruct"
    four = False
    rank = 64
else:
    name = "unsloth/Llama-3.1-8B-Instruct"
    four = True
    rank = 16
model, tokenizer = FastLanguageModel.from_pretrained(model_name=name, max_seq_length=1024, load_in_4bit=four)
model = FastLanguageModel.get_peft_model(model, r=rank, target_modules=["q_proj"])
trainer = SFTTrainer(model=model, tokenizer=tokenizer, train_dataset=data,
    args=SFTConfig(per_device_train_batch_size=2, max_length=1024))
trainer.train()
`;

describe('a model that a condition chooses', () => {
  const on = (gpu: string, condition: string) =>
    smallWorkspace({
      'train.py': `# oomlint: gpu=${gpu} gpus=1\n${script(condition)}`,
    }).analyze('train.py');

  it('is the one of the card that the run has', async () => {
    for (const [gpu, model, rank, kind] of [
      ['MI300X', 'unsloth/Llama-3.3-70B-Instruct', 64, 'none'],
      ['H100-SXM5-80GB', 'unsloth/Llama-3.1-8B-Instruct', 16, 'nf4'],
    ] as const) {
      const { resolved, estimate } = await on(gpu, 'memory >= 150');
      const { values } = resolved;
      assert.deepEqual(
        [values['model.id'], values['lora.rank'], values['quantization.kind']],
        [model, rank, kind],
      );
      const bytes = estimate?.peak.processBytes ?? 0;
      assert.equal(bytes > 130 * 2 ** 30, rank === 64, 'the weights are those of the model that is named');
    }
  });

  it('is not known where the text does not settle the condition, and neither are its bits and its rank', async () => {
    const { resolved, estimate } = await on('MI300X', 'is_large');
    assert.equal(estimate, undefined);
    assert.deepEqual(resolved.unknown.map(({ field }) => field).sort(), [
      'lora.rank',
      'model.id',
      'quantization.kind',
    ]);
    for (const { reason } of resolved.unknown) assert.match(String(reason), /depends on a condition/);
  });
});
