import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const HERE = '# oomlint: gpu=A100-SXM4-80GB gpus=1 sequence=256\n';

function script(model: string, body: string): string {
  return `${HERE}import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("${model}", dtype=torch.float16)
lora = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
${body}`;
}

const PLAIN = `model = get_peft_model(model, lora)
Trainer(model, TrainingArguments("out")).train()
`;
const PREPARED = `model = prepare_model_for_kbit_training(model)\n${PLAIN}`;
const BY_TRL = 'SFTTrainer(model, args=SFTConfig("out"), peft_config=lora).train()\n';

const AWQ = 'Qwen/Qwen2.5-7B-Instruct-AWQ';
const GPTQ = 'Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4';
const BNB = 'unsloth/Qwen2.5-7B-Instruct-bnb-4bit';

async function preparedIn(model: string, body: string, release?: string) {
  const files = {
    'train.py': script(model, body),
    ...(release === undefined ? {} : { 'requirements.txt': `trl==${release}\n` }),
  };
  const { resolved } = await smallWorkspace(files).analyze('train.py');
  const { values } = resolved;
  return {
    kind: values['quantization.kind'],
    prepared: values['quantization.prepared'],
    adapters: values['lora.dtype'],
    weights: values['precision.weights'],
    checkpointing: values['activations.checkpointing'],
  };
}

describe('weights that the name of a model states to be quantized', () => {
  for (const [model, kind] of [
    [AWQ, 'awq'],
    [GPTQ, 'gptq'],
    [BNB, 'nf4'],
  ] as const)
    it(`are prepared where the script calls for it: ${model}`, async () => {
      const plain = await preparedIn(model, PLAIN);
      assert.equal(plain.kind, kind);
      assert.equal(plain.prepared, false);
      assert.equal((await preparedIn(model, PREPARED)).prepared, true);
    });

  it('are prepared by TRL before 0.26 where bitsandbytes quantized them', async () => {
    assert.equal((await preparedIn(BNB, BY_TRL, '0.22.2')).prepared, true);
    assert.equal((await preparedIn(AWQ, BY_TRL, '0.22.2')).prepared, false);
    const fresh = await preparedIn(BNB, BY_TRL, '1.12.0');
    assert.deepEqual([fresh.prepared, fresh.adapters], [false, 'bf16']);
    assert.equal((await preparedIn(AWQ, BY_TRL, '1.12.0')).prepared, false);
  });
});

describe('weights that are not quantized', () => {
  it('are cast to fp32 by a preparation for those that are, without checkpointing', async () => {
    const plain = 'Qwen/Qwen2.5-7B-Instruct';
    const before = await preparedIn(plain, PLAIN);
    assert.deepEqual([before.weights, before.checkpointing], ['fp16', 'none']);
    for (const name of ['prepare_model_for_kbit_training', 'prepare_model_for_int8_training']) {
      const after = await preparedIn(plain, PREPARED.replace('prepare_model_for_kbit_training', name));
      assert.deepEqual(
        [after.kind, after.weights, after.adapters, after.checkpointing],
        ['none', 'fp32', 'fp32', 'none'],
      );
    }
    const quantized = await preparedIn(BNB, PREPARED);
    assert.deepEqual([quantized.weights, quantized.checkpointing], ['fp16', 'full']);
  });
});
