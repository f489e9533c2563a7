import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { Workspace } from '../../../server/src/workspace/analyze';
import { commandLineFacts } from '../../../server/src/workspace/command-line-facts';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

async function judged(load: string, before = '', replaced?: string) {
  const text = `# oomlint: sequence=512
import transformers
from transformers import AutoConfig, Trainer, TrainingArguments
${before}
model = transformers.${load}
Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=8)).train()
`;
  const host = new MemoryHost({ 'file:///w/train.py': text }, { folders: ['file:///w'] });
  const commandLine = commandLineFacts({ gpu: 'H100', gpus: '1', ...(replaced ? { model: replaced } : {}) });
  const analysis = await new Workspace(host, { commandLine }).analyze('file:///w/train.py');
  assert.ok(analysis);
  const found = analysis.problems.find(({ code }) => code === 'auto-class');
  return { message: found?.message, severity: found?.severity, estimate: analysis.estimate };
}

describe('Auto classes that take no model of a type', () => {
  before(loadPython);

  for (const [load, message] of [
    [
      'AutoModelForCausalLM.from_pretrained("google-t5/t5-small")',
      '`AutoModelForCausalLM` takes no model of the type `t5`: the call stops with a `ValueError`. `AutoModelForSeq2SeqLM` takes it.',
    ],
    [
      'AutoModelForSeq2SeqLM.from_pretrained("meta-llama/Llama-3.2-1B")',
      '`AutoModelForSeq2SeqLM` takes no model of the type `llama`: the call stops with a `ValueError`. `AutoModelForCausalLM` takes it.',
    ],
    [
      'AutoModelForCausalLM.from_pretrained("Qwen/Qwen2-VL-2B-Instruct")',
      '`AutoModelForCausalLM` takes no model of the type `qwen2_vl`: the call stops with a `ValueError`. `AutoModelForImageTextToText` takes it.',
    ],
    ['AutoModelForTokenClassification.from_pretrained("google-t5/t5-small")', undefined],
    [
      'AutoModelForSequenceClassification.from_pretrained("openai/whisper-small")',
      '`AutoModelForSequenceClassification` takes no model of the type `whisper`: the call stops with a `ValueError`.',
    ],
    ['AutoModelForCausalLM.from_pretrained("bert-base-uncased")', undefined],
    ['AutoModelForCausalLM.from_pretrained("facebook/bart-base")', undefined],
    ['AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")', undefined],
    ['AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-base")', undefined],
    ['T5ForConditionalGeneration.from_pretrained("google-t5/t5-small")', undefined],
  ] as const)
    it(`${load}: ${message === undefined ? 'nothing' : 'an error, and no estimate'}`, async () => {
      const { message: found, severity, estimate } = await judged(load);
      assert.deepEqual([found, severity], [message, message && 'error']);
      if (message !== undefined) assert.equal(estimate, undefined);
    });

  it('makes the text model alone of some that also see: no images, no tower, no adapters in it', async () => {
    const adapted = `AutoModelForCausalLM.from_pretrained("Qwen/Qwen3.5-2B")
import peft
model = peft.get_peft_model(model, peft.LoraConfig(r=8, target_modules="all-linear"))`;
    const { model } = (await judged(adapted)).estimate ?? {};
    // Counted on the meta device with transformers 5.23.0 and PEFT 0.21.2.
    assert.equal(model?.totalParameters, 1_881_825_088 + 8_409_600);
    assert.equal(model?.trainableParameters, 8_409_600);
    for (const [load, total] of [
      ['AutoModelForCausalLM.from_pretrained("Qwen/Qwen3.5-0.8B")', 752_393_024],
      ['Qwen3_5ForCausalLM.from_pretrained("Qwen/Qwen3.5-0.8B")', 752_393_024],
      ['AutoModelForImageTextToText.from_pretrained("Qwen/Qwen3.5-0.8B")', 852_985_920],
    ] as const) {
      const { estimate: whole } = await judged(load);
      assert.equal(whole?.model.totalParameters, total, load);
    }
  });

  it('may take what code of the model registers, or a config that is given', async () => {
    const T5 = '"google-t5/t5-small"';
    for (const [load, before = ''] of [
      [`AutoModelForCausalLM.from_pretrained(${T5}, trust_remote_code=True)`],
      [`AutoModelForCausalLM.from_pretrained(${T5}, trust_remote_code=asked())`],
      [`AutoModelForCausalLM.from_pretrained(${T5}, **more())`],
      [`AutoModelForCausalLM.from_pretrained(${T5}, config=AutoConfig.from_pretrained("gpt2"))`],
      [
        `AutoModelForCausalLM.from_pretrained(${T5})`,
        'transformers.AutoModelForCausalLM.register(Own, Model)',
      ],
    ] as const)
      assert.equal((await judged(load, before)).message, undefined, load);
  });

  it('are judged by the model that the call names', async () => {
    const load = 'AutoModelForCausalLM.from_pretrained("gpt2")';
    assert.equal((await judged(load, '', 'google-t5/t5-small')).message, undefined);
  });
});
