import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

/** `Module 'out_proj' is incompatible with Mamba-based models` (peft 0.21.2, `tuners_utils.py`, `_check_lora_target_modules_mamba`). */
describe('adapters of what the kernels of Mamba read themselves', () => {
  const FALCON = 'tiiuae/Falcon-H1-0.5B-Base';
  const NEMOTRON = 'nvidia/NVIDIA-Nemotron-3-Nano-4B-BF16';
  const script = (model: string, lora: string) => `from transformers import AutoModelForCausalLM
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("${model}")
SFTTrainer(model=model, args=SFTConfig(max_length=512), peft_config=LoraConfig(r=8, ${lora})).train()
`;
  const analyzed = async (text: string, pins: string) => {
    const { estimate, problems } = await smallWorkspace({
      'a.py': text,
      'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 1\n',
      ...(pins ? { 'requirements.txt': pins } : {}),
    }).analyze('a.py');
    const problem = problems.find(({ code }) => code === 'mamba-targets');
    return [problem?.severity, estimate !== undefined];
  };
  const found = (model: string, lora: string, peft?: string) =>
    analyzed(script(model, lora), peft ? `peft==${peft}\n` : '');

  it('are refused by their names, by all linear layers, and by a pattern', async () => {
    for (const targets of [
      '["in_proj", "out_proj"]',
      '"all-linear"',
      '".*out_proj"',
      '["q_proj", "conv1d"]',
    ]) {
      const lora = `target_modules=${targets}`;
      assert.deepEqual(await found(FALCON, lora, '0.21.0'), ['error', false], targets);
    }
    assert.deepEqual(await found(FALCON, 'target_modules=["out_proj"]'), ['warning', false]);
  });

  it('are refused since a release that each type has', async () => {
    const lora = 'target_modules=["in_proj", "out_proj"]';
    assert.deepEqual(await found(FALCON, lora, '0.16.0'), ['error', false]);
    assert.deepEqual(await found(FALCON, lora, '0.15.2'), [undefined, true]);
    assert.deepEqual(await found(NEMOTRON, lora, '0.20.0'), ['error', false]);
    assert.deepEqual(await found(NEMOTRON, lora, '0.19.1'), [undefined, true]);
  });

  it('are taken by the release that is given as an example', async () => {
    const lora = 'target_modules=["in_proj", "out_proj"]';
    for (const [model, release] of [
      [FALCON, '0.15'],
      [NEMOTRON, '0.19'],
    ] as const) {
      const { resolved } = await smallWorkspace({
        'a.py': script(model, lora),
        'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 1\n',
      }).analyze('a.py');
      assert.equal(resolved.unknown.find(({ field }) => field === 'version.peft')?.example, release);
      assert.deepEqual(await found(model, lora, `${release}.0`), [undefined, true]);
    }
  });

  it('are none where other layers are named, or those of a model without such kernels', async () => {
    assert.deepEqual(await found(FALCON, 'target_modules=["in_proj"]', '0.21.0'), [undefined, true]);
    assert.deepEqual(
      await found(FALCON, 'target_modules="all-linear", exclude_modules=["out_proj"]', '0.21.0'),
      [undefined, true],
    );
    assert.deepEqual(await found('facebook/opt-350m', 'target_modules=["out_proj"]', '0.21.0'), [
      undefined,
      true,
    ]);
  });

  it('are refused of Unsloth where the call names them, and left out by it where it does not', async () => {
    const unsloth = (targets: string) => `from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
model, tokenizer = FastLanguageModel.from_pretrained("${NEMOTRON}", max_seq_length=512)
model = FastLanguageModel.get_peft_model(model, r=8${targets})
SFTTrainer(model=model, tokenizer=tokenizer, train_dataset=data, args=SFTConfig(per_device_train_batch_size=1)).train()
`;
    assert.equal(
      (await analyzed(unsloth(', target_modules=["in_proj", "out_proj"]'), 'peft==0.21.0\n'))[0],
      'error',
    );
    assert.equal((await analyzed(unsloth(', target_modules="all-linear"'), 'peft==0.21.0\n'))[0], undefined);
  });
});
