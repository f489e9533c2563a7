import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const script = (parser = '') => `import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
parser = argparse.ArgumentParser(${parser})
parser.add_argument("--model_name", default="gpt2")
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--batch-order", default="random")
a = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(a.model_name)
args = TrainingArguments(output_dir="out", per_device_train_batch_size=a.batch_size)
Trainer(model=model, args=args, train_dataset=None).train()
`;

async function read(flags: string, parser?: string) {
  const { resolved } = await smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100, gpus: 1}\n',
    'run.sh': `python train.py ${flags}\n`,
    'train.py': script(parser),
  }).analyze('run.sh');
  return [resolved.values['model.id'], resolved.values['batch.micro']];
}

describe('flags of argparse that a command only begins to write', () => {
  it('are those that begin so, where it is one alone', async () => {
    assert.deepEqual(await read('--model Qwen/Qwen2.5-0.5B --batch-s 8'), ['Qwen/Qwen2.5-0.5B', 8]);
    assert.deepEqual(await read('--model_name Qwen/Qwen2.5-0.5B --batch 8'), ['Qwen/Qwen2.5-0.5B', 4]);
  });

  it('are none where the parser takes whole flags alone', async () => {
    assert.deepEqual(await read('--batch-s 8', 'allow_abbrev=False'), ['gpt2', 4]);
  });
});
