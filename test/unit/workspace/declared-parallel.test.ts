import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const script = (declared: string, load = '') => `import os
import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
${load}
model = AutoModelForCausalLM.from_pretrained("gpt2"${load ? ', device_map=place' : ''})
${declared}
args = TrainingArguments("o", per_device_train_batch_size=1)
Trainer(model=model, args=args, train_dataset=load_dataset("x")["train"]).train()
`;
const BOTH = `if torch.cuda.device_count() > 1:
    model.is_parallelizable = True
    model.model_parallel = True`;

async function parallel(text: string, files: Record<string, string> = {}) {
  const { resolved } = await smallWorkspace({ 'train.py': text, ...files }).analyze('train.py');
  return resolved.values['parallel.data'];
}

describe('a model that its code declares to be spread', () => {
  const older = { 'requirements.txt': 'transformers==4.40.0\n' };

  it('is replicated by no Trainer of transformers 4', async () => {
    assert.equal(await parallel(script(''), older), 'ddp');
    assert.equal(await parallel(script(BOTH), older), 'none');
  });

  it('is replicated where one of both words is missing, or nobody reads them', async () => {
    assert.equal(await parallel(script('model.model_parallel = True'), older), 'ddp');
    assert.equal(await parallel(script(BOTH), { 'requirements.txt': 'transformers==5.2.0\n' }), 'ddp');
  });

  it('is asked about where one process may spread it', async () => {
    const load = `place = "auto"
if int(os.environ.get("WORLD_SIZE", 1)) > 1:
    place = {"": int(os.environ["LOCAL_RANK"])}`;
    const files = {
      'train.py': script(BOTH, load),
      'oomlint.yaml': 'gpu: T4\nsequence: 512\n',
      'run.sh': 'python train.py\n',
    };
    const { answers } = await smallWorkspace(files).analyze('train.py');
    assert.ok(answers?.some(({ field }) => field === 'hardware.gpus'));
  });
});
