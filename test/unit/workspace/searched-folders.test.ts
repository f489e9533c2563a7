import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const HELPER = `def tokenized(tokenizer, data, cutoff_len):
    def tokenize(prompt):
        return tokenizer(prompt["text"], truncation=True, max_length=cutoff_len)
    return data.map(tokenize)
MICRO = 3
`;
const script = (adds: string) => `# oomlint: gpu=A100-SXM4-80GB gpus=1
import os
import sys
from pathlib import Path
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
${adds}
from common.tokens import MICRO, tokenized
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
data = tokenized(tokenizer, data, cutoff_len=777)
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=MICRO), train_dataset=data).train()
`;

const lengthOf = async (adds: string, helper = 'examples/common/tokens.py') => {
  const files = { 'examples/lora/run/train.py': script(adds), [helper]: HELPER };
  const { resolved } = await smallWorkspace(files).analyze('examples/lora/run/train.py');
  return [resolved.values['batch.sequence'], resolved.values['batch.micro']];
};

describe('folders that a script adds to where Python looks for modules', () => {
  it('hold modules that are followed as others of the workspace are', async () => {
    for (const adds of [
      'here = os.path.dirname(os.path.realpath(__file__))\nsys.path.append(os.path.join(here, "..", ".."))',
      'sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))',
      'sys.path.append(str(Path(__file__).resolve().parents[2]))',
      'sys.path.append("../../")',
      'sys.path.extend(["../.."])',
      'root = os.path.join(os.path.dirname(__file__), "../..")\nif root not in sys.path:\n    sys.path.insert(0, root)',
    ])
      assert.deepEqual(await lengthOf(adds), [777, 3], adds);
  });

  it('are none where the script adds none, or one that lies outside of the workspace', async () => {
    assert.deepEqual(await lengthOf('pass'), [undefined, undefined]);
    assert.deepEqual(await lengthOf('sys.path.append("/elsewhere")'), [undefined, undefined]);
    assert.deepEqual(await lengthOf('sys.path.append(folder())'), [undefined, undefined]);
  });

  it('count from the folder of the workspace, too, where a program may be started', async () => {
    assert.deepEqual(await lengthOf('sys.path.append("src")', 'src/common/tokens.py'), [777, 3]);
  });
});
