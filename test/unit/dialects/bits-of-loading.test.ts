import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { smallWorkspace } from '../workspace/small-workspace';
import { assertStates, read, stated } from './reading';

const load = (
  bits: string,
) => `from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", ${bits})
Trainer(model, TrainingArguments("out", per_device_train_batch_size=2)).train()
`;
const python = (text: string) => read('python', 'file:///train.py', text);

describe('bits of bitsandbytes as arguments of `from_pretrained`', () => {
  before(loadPython);

  it('are of transformers 4, which takes them', () => {
    for (const bits of ['load_in_8bit=True', 'load_in_4bit=True'])
      assertStates(python(load(bits)), { 'version.transformers': '4.57.6 inferred' });
  });

  it('tell of no release in a config', () => {
    const config = python(load('quantization_config=BitsAndBytesConfig(load_in_8bit=True)'));
    assert.equal(stated(config, 'version.transformers'), undefined);
  });
});

describe('what hangs on whether the GPU computes in bf16', () => {
  before(loadPython);

  /** The model, how it is stored, and the rank of its adapters; undefined of what is not known. */
  const trained = async (gpu: string | undefined, text: string) => {
    const fact = gpu === undefined ? '' : `# oomlint: gpu=${gpu} gpus=1\n`;
    const { resolved } = await smallWorkspace({ 'train.py': fact + text }).analyze('train.py');
    const { values, unknown } = resolved;
    return (['model.id', 'quantization.kind', 'lora.rank'] as const).map((field) =>
      unknown.some((one) => one.field === field) ? undefined : values[field],
    );
  };
  const unsloth = (bits: string, rank = '16', name = '"unsloth/Llama-3.2-1B"') => `import torch
from unsloth import FastLanguageModel, is_bfloat16_supported
from trl import SFTConfig, SFTTrainer
if not is_bfloat16_supported():
    four = True
else:
    four = False
model, tokenizer = FastLanguageModel.from_pretrained(${name}, max_seq_length=1024, load_in_4bit=${bits})
model = FastLanguageModel.get_peft_model(model, r=${rank})
SFTTrainer(model=model, train_dataset=data, args=SFTConfig("o", per_device_train_batch_size=1)).train()
`;
  const own = (name: string, bits: string, rank = '16') => `import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
new = torch.cuda.get_device_capability()[0] >= 8
model = AutoModelForCausalLM.from_pretrained(${name}, quantization_config=BitsAndBytesConfig(load_in_4bit=${bits}, bnb_4bit_quant_type="nf4"))
model = get_peft_model(model, LoraConfig(r=${rank}, target_modules=["q_proj"]))
Trainer(model, TrainingArguments("o", per_device_train_batch_size=1), train_dataset=data).train()
`;
  const [LLAMA, SMALL, LARGE] = ['unsloth/Llama-3.2-1B', 'Qwen/Qwen2.5-0.5B', 'Qwen/Qwen2.5-1.5B'];

  it('is what holds on the GPU that is known', async () => {
    for (const bits of [
      'not is_bfloat16_supported()',
      'True if not is_bfloat16_supported() else False',
      'four',
    ]) {
      assert.deepEqual(await trained('T4', unsloth(bits)), [LLAMA, 'nf4', 16]);
      assert.deepEqual(await trained('L4', unsloth(bits)), [LLAMA, 'none', 16]);
    }
    const ranked = unsloth('True', '16 if is_bfloat16_supported() else 64');
    assert.deepEqual(await trained('T4', ranked), [LLAMA, 'nf4', 64]);
    assert.deepEqual(await trained('L4', ranked), [LLAMA, 'nf4', 16]);
    const named = own(`"${SMALL}" if new else "${LARGE}"`, 'not new', '8 if new else 32');
    assert.deepEqual(await trained('T4', named), [LARGE, 'nf4', 32]);
    assert.deepEqual(await trained('L4', named), [SMALL, 'none', 8]);
  });

  it('is not guessed where no GPU is known', async () => {
    const stored = await trained(undefined, unsloth('not is_bfloat16_supported()'));
    assert.deepEqual(stored, [LLAMA, undefined, 16]);
    const ranked = await trained(undefined, unsloth('True', '16 if is_bfloat16_supported() else 64'));
    assert.deepEqual(ranked, [LLAMA, 'nf4', undefined]);
    const either = `"${SMALL}" if new else "${LARGE}"`;
    assert.equal((await trained(undefined, own(either, 'True')))[0], undefined);
    assert.deepEqual(await trained(undefined, own(`"${SMALL}"`, 'not new', '8 if new else 32')), [
      SMALL,
      undefined,
      undefined,
    ]);
  });
});
