import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { ReadContext } from '../../../server/src/dialects/dialect';
import { codeActions } from '../../../server/src/features/code-actions';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { read, statedVersions } from './reading';

const TRL = { 'version.trl': '1.16.0', 'version.transformers': '5.23.0', 'version.peft': '0.21.2' } as const;

function found(text: string, known: ReadContext['known'] = {}, versions = statedVersions(known)) {
  const { problems } = read('python', 'file:///w/train.py', text, known, versions);
  return problems
    .filter(({ code }) => code === 'scaled-gradients')
    .map(({ severity, message }) => `${severity} ${/ in (\w+), and/.exec(message)?.[1]}`);
}

const script = (load: string, args: string, before = '') => `import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
from trl import DPOConfig, DPOTrainer, ORPOConfig, ORPOTrainer, SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"${load})
${before}
Trainer(model=model, args=TrainingArguments(output_dir="o", ${args})).train()
`;
const FP16 = ', torch_dtype=torch.float16';
const BF16 = ', torch_dtype=torch.bfloat16';
const FOUR = ', quantization_config=BitsAndBytesConfig(load_in_4bit=True)';

describe('gradients that a scaler takes', () => {
  before(loadPython);

  it('are those of fp32 weights', () => {
    assert.deepEqual(found(script(FP16, 'fp16=True')), ['error fp16']);
    assert.deepEqual(found(script(BF16, 'fp16=True')), ['error bf16']);
    assert.deepEqual(found(script(', torch_dtype=torch.float32', 'fp16=True')), []);
    assert.deepEqual(found(script('', 'fp16=True')), []);
    assert.deepEqual(found(script(FP16, 'bf16=True')), []);
    assert.deepEqual(found(script(FP16, 'fp16=False')), []);
  });

  it('are of adapters that have the type of the weights', () => {
    const put = (more = '') =>
      `model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"])${more})`;
    assert.deepEqual(found(script(BF16, 'fp16=True', put(', autocast_adapter_dtype=False'))), ['error bf16']);
    assert.deepEqual(found(script(FP16, 'fp16=True', put()), { 'version.peft': '0.11.1' }), ['error fp16']);
    assert.deepEqual(found(script(FP16, 'fp16=True', put())), []);
    const cast = `${put(', autocast_adapter_dtype=False')}\nmodel.float()`;
    assert.deepEqual(found(script(BF16, 'fp16=True', cast)), []);
  });

  it('are not known of a copy of PEFT that the project has of its own', () => {
    const put =
      'model = get_peft_model(prepare_model_for_int8_training(model), LoraConfig(r=8, target_modules=["q_proj"]))';
    const text = script(FP16, 'fp16=True', put).replace(
      'LoraConfig,',
      'LoraConfig, prepare_model_for_int8_training,',
    );
    const copy = (folder: string) =>
      `import os, sys\nsys.path.append(os.path.join(os.getcwd(), "${folder}"))\n${text}`;
    const old = { 'version.peft': '0.9.0' } as const;
    assert.deepEqual(found(text, old), ['error fp16']);
    for (const folder of ['peft/src/', 'hf_peft', 'libs/peft-main/src']) {
      assert.deepEqual(found(copy(folder), old), []);
      const { unread } = read('python', 'file:///w/train.py', copy(folder), old);
      assert.deepEqual(
        unread?.map(({ kind, text }) => `${kind} ${text}`),
        ['script peft'],
      );
    }
    for (const folder of ['src', 'peft_scripts', 'my/peft/data'])
      assert.deepEqual(found(copy(folder), old), ['error fp16']);
  });

  it('are of adapters that TRL casts to bf16, by its release', () => {
    const trl = (name: string) =>
      script(FOUR, 'bf16=True').replace(
        /Trainer\(model=model, args=TrainingArguments\(output_dir="o", bf16=True\)\)/,
        `${name}Trainer(model, args=${name}Config(fp16=True), peft_config=LoraConfig(r=8))`,
      );
    assert.deepEqual(found(trl('SFT'), TRL), ['error bf16']);
    assert.deepEqual(found(trl('SFT'), { ...TRL, 'version.trl': '0.24.0' }), []);
    assert.deepEqual(found(trl('DPO'), { ...TRL, 'version.trl': '0.27.0' }), []);
    assert.deepEqual(found(trl('DPO'), TRL), ['error bf16']);
    assert.deepEqual(found(trl('ORPO'), TRL), []);
    const assumed = { trl: { version: '1.16', source: 'assumed' } } as const;
    assert.deepEqual(found(trl('SFT'), TRL, assumed), ['warning bf16']);
  });

  it('need no scaler with bf16, which takes the place of fp16 in the call', async () => {
    const uri = 'file:///w/train.py';
    const text = script(FP16, 'fp16=True');
    const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
    const problem = analysis?.problems.find(({ code }) => code === 'scaled-gradients');
    assert.ok(analysis && problem);
    const action = codeActions(analysis, { text, range: problem.range }).find(({ preferred }) => preferred);
    assert.equal(action?.title, 'Change to "bf16"');
    assert.deepEqual(
      action.edits?.map(({ newText }) => newText),
      ['bf16'],
    );
    assert.equal(
      text.split('\n')[problem.range.start.line]?.slice(problem.range.start.character).startsWith('fp16='),
      true,
    );
  });

  it('are nobody’s where something else may scale, or change the types', () => {
    const weights = (before: string) => script(FP16, 'fp16=True', before);
    for (const text of [
      script(FP16, 'fp16=True, deepspeed="ds.json"'),
      script(FP16, 'fp16=True, fsdp="full_shard"'),
      script(FP16, 'fp16=True, half_precision_backend="apex"'),
      script(FP16, 'fp16=True, max_grad_norm=0'),
      script(FP16, 'fp16=True, use_cpu=True'),
      script(FP16, 'fp16=ask()'),
      script(FP16, 'fp16=True, **more()'),
      weights('for p in model.parameters():\n    p.data = p.data.float()'),
      weights('model = model.float()'),
      weights('from tools import raise_types\nraise_types.apply(model)'),
      weights('class Trainer(Trainer):\n    pass'),
    ])
      assert.deepEqual(found(text), [], text);
    assert.deepEqual(found(script(BF16, 'fp16=True, max_grad_norm=0')), ['error bf16']);
    assert.deepEqual(found(script(BF16, 'fp16=True'), { 'version.torch': '2.14' }), []);
  });
});
