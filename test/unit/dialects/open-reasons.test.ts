import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { assumptionsOf } from '../../../server/src/workspace/assumptions';
import { smallWorkspace } from '../workspace/small-workspace';
import { assertStates, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);
const HEAD = `import sys, torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
open_ended = len(sys.argv) > 1
`;
const LOAD = 'model = AutoModelForCausalLM.from_pretrained("gpt2")\n';
const TRAIN = 'Trainer(model=model, args=TrainingArguments("a"), train_dataset=rows).train()\n';
const reasons = (text: string) =>
  python(text).unread?.map(({ message, fields = [] }) => [message, ...fields]) ?? [];
const WHICH = 'Which adapters this makes is known only when the script runs.';

describe('what hangs on a condition that the text does not settle', () => {
  before(loadPython);

  it('is no full training where the other arm makes adapters', () => {
    for (const arms of [
      'if open_ended:\n    model = get_peft_model(model, LoraConfig(r=8))\n',
      'if open_ended:\n    model = PeftModel.from_pretrained(model, "a")\nelse:\n    model = get_peft_model(model, LoraConfig(r=8))\n',
      'if open_ended:\n    model = get_peft_model(model, LoraConfig(r=8))\nelse:\n    model = PeftModel.from_pretrained(model, "a")\n',
    ]) {
      const run = python(HEAD + LOAD + arms + TRAIN);
      const kind = run.facts.find(({ field }) => field === 'method.kind');
      assert.ok(kind?.value !== 'full', arms);
      for (const [message, ...fields] of reasons(HEAD + LOAD + arms + TRAIN))
        if (fields.includes('method.kind')) assert.equal(message, WHICH, arms);
    }
  });

  it('is how weights are quantized, by classes that are read', () => {
    const load = (config: string) =>
      `model = AutoModelForCausalLM.from_pretrained("gpt2", quantization_config=${config})\n`;
    const either = HEAD + load('BitsAndBytesConfig(load_in_4bit=True) if open_ended else None') + TRAIN;
    assert.deepEqual(
      reasons(either).filter(([, ...fields]) => fields.includes('quantization.kind')),
      [
        [
          'Whether and how `BitsAndBytesConfig` stores the weights depends on a condition which the text does not settle.',
          'quantization.kind',
        ],
      ],
    );
  });
});

describe('what a model decides', () => {
  it('is no default while the model is unknown', async () => {
    const loop = `import torch
from torch.utils.data import DataLoader
optimizer = torch.optim.AdamW(model.parameters())
for batch in DataLoader(rows, batch_size=8, shuffle=True):
    loss = criterion(model(batch["x"]), batch["y"])
    loss.backward()
    optimizer.step()
`;
    const zero = `{"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": true}, "zero_optimization": {"stage": 3,
"reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}}`;
    const own = `{"model_name_or_path": "m", "output_dir": "o", "per_device_train_batch_size": 1, "max_seq_length": 512}`;
    const config = `{"model_type": "internlm", "architectures": ["InternLMForCausalLM"], "vocab_size": 103168, "hidden_size": 4096,
"intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048}`;
    const { analyze } = smallWorkspace({
      'train.py': loop,
      'zero3.json': zero,
      'args.json': own,
      'm/config.json': config,
    });
    const listed = async (path: string) => assumptionsOf(await analyze(path)).map(({ field }) => field);
    const types = (await analyze('args.json')).model?.config?.model_type;
    assert.equal(types, 'internlm');
    for (const path of ['train.py', 'zero3.json', 'args.json'])
      assert.deepEqual(
        (await listed(path)).filter((field) =>
          /^(?:model\.code|attention\.implementation|zero\.(?:reduce|prefetch|persistence)\w*)$/.test(field),
        ),
        [],
      );
    assert.equal((await listed('train.py')).includes('method.objective'), false);
  });
});

describe('flags that a script drops', () => {
  it('change nothing', () => {
    const launch =
      'python qlora.py --model_name_or_path b --output_dir o --lora_modules all --lora_bottleneck 3\n';
    const { unread } = read('launch-script', 'file:///run.sh', launch);
    assert.deepEqual(
      unread?.map(({ text }) => text),
      ['--lora_bottleneck'],
    );
  });
});

describe('scripts without a Trainer', () => {
  it('have no default of it for their optimizer', () => {
    const launch = (script: string) =>
      read('launch-script', 'file:///run.sh', `python ${script} --model_name_or_path b --output_dir o\n`, {
        'version.transformers': '4.15.0',
      });
    const own = launch('run_glue_no_trainer.py');
    assertStates(own, { 'optimizer.name': 'adamw default', 'optimizer.implementation': undefined });
    assertStates(launch('run_glue.py'), { 'optimizer.implementation': 'for-loop default' });
  });
});
