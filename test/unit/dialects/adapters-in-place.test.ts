import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { assertStates, factOf, read, stated } from './reading';

const python = (text: string) => read('python', 'file:///w/train.py', text);
const doubts = (text: string) => (python(text).unread ?? []).map(({ message }) => message).join('\n');

const IMPORTS = `import torch
from peft import LoraConfig, PeftModel, PromptTuningConfig, get_peft_model, inject_adapter_in_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer
`;
const MODEL =
  'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", dtype=torch.bfloat16)\nconfig = LoraConfig(r=4, target_modules=["q_proj"])\n';
const TRAIN = 'Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=2)).train()\n';

const LORA = { 'method.kind': 'lora file', 'lora.rank': '4 file', 'model.id': 'Qwen/Qwen2.5-0.5B file' };
const UNKNOWN = { 'method.kind': undefined, 'lora.rank': undefined };

describe('adapters that are put into the model itself', () => {
  before(loadPython);

  it('are trained, whatever name what the call gives back is bound to', () => {
    for (const put of [
      'lora = get_peft_model(model, config)\n',
      'get_peft_model(model, config)\n',
      'lora = get_peft_model(model.to("cuda"), config)\nlora.print_trainable_parameters()\n',
      'lora = get_peft_model(peft_config=config, model=model)\n',
    ])
      for (const train of [TRAIN, 'SFTTrainer(model, args=SFTConfig(max_length=512)).train()\n']) {
        const text = IMPORTS + MODEL + put + train;
        assertStates(python(text), LORA);
        assert.doesNotMatch(doubts(text), /What `.*` makes of the model/, put);
        // PEFT casts them.
        assert.equal(factOf(python(text), 'lora.dtype'), undefined);
      }
  });

  it('keep the type of the weights where PEFT wraps nothing', () => {
    for (const put of [
      'inject_adapter_in_model(config, model)\n',
      'model = inject_adapter_in_model(config, model, "default")\n',
      'model.add_adapter(config)\n',
      'model.add_adapter(adapter_config=config, adapter_name="one")\n',
    ])
      assertStates(python(IMPORTS + MODEL + put + TRAIN), { ...LORA, 'lora.dtype': 'bf16 default' });
  });

  it('keep it where a call asks for it, and before PEFT cast any', () => {
    const plain = 'lora = get_peft_model(model, config)\n';
    const asked = 'lora = get_peft_model(model, config, autocast_adapter_dtype=False)\n';
    const dtype = (put: string, peft?: string) =>
      stated(
        read(
          'python',
          'file:///w/train.py',
          IMPORTS + MODEL + put + TRAIN,
          peft === undefined ? {} : { 'version.peft': peft },
        ),
        'lora.dtype',
      );
    assert.deepEqual(
      [dtype(asked), dtype(plain, '0.11.1'), dtype(plain, '0.12.0'), dtype(plain)],
      ['bf16 default', 'bf16 default', undefined, undefined],
    );
    const trainer = 'SFTTrainer(model, args=SFTConfig(max_length=512), peft_config=config).train()\n';
    const byTrainer = (peft: string) =>
      stated(
        read('python', 'file:///w/train.py', IMPORTS + MODEL + trainer, { 'version.peft': peft }),
        'lora.dtype',
      );
    assert.deepEqual([byTrainer('0.11.1'), byTrainer('0.12.0')], ['bf16 default', undefined]);
  });

  it('are not known where they are loaded, decided by a branch, or taken out again', () => {
    for (const put of [
      'model.load_adapter("me/adapter")\n',
      'lora = PeftModel.from_pretrained(model, "me/adapter", is_trainable=True)\n',
      'if ask():\n    get_peft_model(model, config)\n',
      'if ask():\n    model.add_adapter(config)\n',
      'lora = get_peft_model(model, config)\nlora.unload()\n',
      'lora = get_peft_model(model, config)\nmerged = lora.merge_and_unload()\n',
      'model.add_adapter("name", config="pfeiffer")\n',
      'lora = get_peft_model(model, PromptTuningConfig(num_virtual_tokens=8))\n',
    ]) {
      assert.deepEqual(factOf(python(IMPORTS + MODEL + put + TRAIN), 'method.kind'), undefined, put);
      assert.match(doubts(IMPORTS + MODEL + put + TRAIN), /dapters/, put);
    }
    // Its reference is the model without them where it sees that PEFT has wrapped it, which here it has not.
    const dpo = 'get_peft_model(model, config)\nDPOTrainer(model, args=DPOConfig()).train()\n';
    assertStates(python(IMPORTS + MODEL + dpo), UNKNOWN);
    const unsloth = `from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B")\nlora = FastLanguageModel.get_peft_model(model, r=8)\nSFTTrainer(model=model, args=SFTConfig()).train()`;
    assertStates(python(unsloth), { 'method.kind': undefined });
  });

  it('are none of a model that is trained before, or is loaded anew', () => {
    for (const text of [
      `${MODEL}${TRAIN}lora = get_peft_model(model, config)\n`,
      `${MODEL}lora = get_peft_model(model, config)\n${MODEL}${TRAIN}`,
    ])
      assertStates(python(IMPORTS + text), { 'method.kind': 'full default' });
  });
});
