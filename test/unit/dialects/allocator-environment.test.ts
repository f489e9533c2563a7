import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { loadPython } from '../../../server/src/config/python/grammar';
import { pythonRun } from '../../../server/src/dialects/python/python-run';
import { read, stated } from './reading';

/** The settings of PyTorch's allocator, and whether its segments grow (`c10/core/AllocatorConfig.cpp`, `parseArgs`). */
const SETTINGS: readonly (readonly [settings: string, grows: string | undefined])[] = [
  ['expandable_segments:True', 'true file'],
  ['expandable_segments:False', 'false file'],
  ['max_split_size_mb:512, expandable_segments : True', 'true file'],
  ['expandable_segments:True,expandable_segments:False', 'false file'],
  ['backend:cudaMallocAsync,expandable_segments:True', 'false file'],
  ['backend:native,expandable_segments:True', 'true file'],
  ['max_split_size_mb:512', undefined],
];

describe("settings of PyTorch's allocator", () => {
  before(loadPython);

  for (const [settings, grows] of SETTINGS) {
    it(`are read the same in a script and in Python: ${settings}`, () => {
      const launch = `PYTORCH_CUDA_ALLOC_CONF="${settings}" torchrun --nproc_per_node 8 train.py --model_name_or_path m --per_device_train_batch_size 2 --max_seq_length 1024 --output_dir o`;
      assert.equal(
        stated(read('launch-script', 'file:///w/run.sh', launch), 'allocator.expandableSegments'),
        grows,
      );
      const text = `import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "${settings}"
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model=model, args=TrainingArguments(output_dir="o")).train()
`;
      const reading = pythonRun.read(parseConfig('file:///w/train.py', text), { known: {} });
      assert.equal(stated(reading, 'allocator.expandableSegments'), grows, 'Python');
    });
  }
});
