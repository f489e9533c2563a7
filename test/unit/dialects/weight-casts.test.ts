import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { assertStates, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);
const left = (text: string) => python(text).unread?.map(({ text: words }) => words) ?? [];

const HEAD = `import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from peft.tuners.lora import LoraLayer
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer
`;
const PLAIN = 'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B", dtype=torch.bfloat16)\n';
const FOUR =
  'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B", quantization_config=BitsAndBytesConfig(load_in_4bit=True))\n';
const PUT = 'model = get_peft_model(model, LoraConfig(r=8, task_type="CAUSAL_LM"))\n';
const TRAIN = 'Trainer(model=model, args=TrainingArguments("a"), train_dataset=rows).train()\n';
/** Spellings of a loop over all weights that ask for a gradient. */
const TRAINED = [
  'for param in filter(lambda p: p.requires_grad, model.parameters()):\n    param.data = param.data.to(torch.float32)\n',
  'for n, p in model.named_parameters():\n    if p.requires_grad:\n        p.data = p.data.float()\n',
  'for p in model.parameters():\n    if not p.requires_grad:\n        continue\n    p.data = p.data.to(dtype=torch.float32)\n',
  'for p in [p for p in model.parameters() if p.requires_grad]:\n    with torch.no_grad():\n        p.data = p.float()\n',
  'def up(m):\n    for p in m.parameters():\n        if p.requires_grad:\n            p.data = p.data.type(torch.float32)\nup(model)\n',
];

describe('loops that cast weights', () => {
  before(loadPython);

  it('cast the weights of the model where it has no adapters yet', () => {
    for (const loop of TRAINED) {
      assertStates(python(HEAD + PLAIN + loop + PUT + TRAIN), { 'precision.weights': 'fp32 file' });
      assertStates(python(HEAD + PLAIN + loop + TRAIN), { 'precision.weights': 'fp32 file' });
      const byTrainer = 'SFTTrainer(model=model, args=SFTConfig(), peft_config=LoraConfig(r=8)).train()\n';
      assertStates(python(HEAD + PLAIN + loop + byTrainer), { 'precision.weights': 'fp32 file' });
    }
    for (const [cast, type] of [
      ['p.data.half()', 'fp16'],
      ['p.data.bfloat16()', 'bf16'],
      ['p.data.to(torch.float16)', 'fp16'],
    ])
      assertStates(
        python(`${HEAD}${PLAIN}for p in model.parameters():\n    p.data = ${cast}\n${PUT}${TRAIN}`),
        { 'precision.weights': `${type} file` },
      );
  });

  it('cast adapters alone where PEFT has frozen the rest', () => {
    for (const loop of TRAINED) {
      const run = python(
        HEAD +
          PLAIN +
          PUT +
          loop.replace(/float32|float\(/, 'bfloat16').replace(/bfloat16\)$/, 'bfloat16()') +
          TRAIN,
      );
      assert.equal(run.facts.find(({ field }) => field === 'precision.weights')?.value, 'bf16', loop);
    }
    const [first = ''] = TRAINED;
    assertStates(python(HEAD + PLAIN + PUT + first.replace('float32', 'float16') + TRAIN), {
      'precision.weights': 'bf16 file',
      'lora.dtype': 'fp16 file',
    });
    assertStates(python(HEAD + FOUR + PUT + first.replace('float32', 'bfloat16') + TRAIN), {
      'lora.dtype': 'bf16 file',
    });
  });

  it('raise what stays unquantized of a quantized model', () => {
    for (const loop of TRAINED)
      assertStates(python(HEAD + FOUR + loop + PUT + TRAIN), { 'quantization.prepared': 'true file' });
    for (const asks of ['p.ndim == 1', 'p.dim() == 1', '"norm" in n']) {
      const loop = `for n, p in model.named_parameters():\n    p.requires_grad = False\n    if ${asks}:\n        p.data = p.data.to(torch.float32)\n`;
      const stated = { 'quantization.prepared': 'true file', 'quantization.recast': 'true file' };
      assertStates(python(HEAD + FOUR + loop + PUT + TRAIN), stated);
    }
  });

  it('put embedding, head and adapters back to 16 bits', () => {
    const loop = (bf16: string) => `bf16 = ${bf16}
for name, module in model.named_modules():
    if isinstance(module, LoraLayer):
        if bf16:
            module = module.to(torch.bfloat16)
    if 'norm' in name:
        module = module.to(torch.float32)
    if 'lm_head' in name or 'embed_tokens' in name:
        if hasattr(module, 'weight'):
            if bf16 and module.weight.dtype == torch.float32:
                module = module.to(torch.bfloat16)
`;
    const prepared = `${HEAD}${FOUR}model = prepare_model_for_kbit_training(model)\n${PUT}`;
    assertStates(python(prepared + loop('True') + TRAIN), {
      'lora.dtype': 'bf16 file',
      'quantization.prepared': 'true file',
      'quantization.recast': 'true file',
    });
    const plain = python(prepared + loop('False') + TRAIN);
    assert.deepEqual(
      plain.facts.filter(({ field }) => /^lora\.dtype$|recast/.test(field)),
      [],
    );
    assert.deepEqual(left(prepared + loop('True') + TRAIN), []);
  });

  it('leave types open where they choose otherwise', () => {
    const some =
      'for n, p in model.named_parameters():\n    if "layers.1" in n:\n        p.data = p.data.float()\n';
    assert.deepEqual(left(HEAD + PLAIN + some + PUT + TRAIN), ['data']);
    const [first = ''] = TRAINED;
    const under = `if unclear():\n    ${first.replace('\n    ', '\n        ')}`;
    assert.deepEqual(left(HEAD + PLAIN + under + PUT + TRAIN), ['data']);
    const moved = 'for p in model.parameters():\n    p.data = p.data.to("cuda")\n';
    assert.deepEqual(left(HEAD + PLAIN + moved + TRAIN), []);
  });
});
