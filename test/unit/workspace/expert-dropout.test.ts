import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const script = (
  lora: string,
  installs = '',
) => `${installs}from transformers import AutoModelForCausalLM, TrainingArguments
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-30B-A3B")
SFTTrainer(model=model, args=SFTConfig(max_length=512), peft_config=LoraConfig(r=8, ${lora})).train()
`;

/** `ValueError: lora.ParamWrapper does not work with lora_dropout != 0.` (peft 0.21.2, `lora/layer.py`). */
describe('dropout of adapters on stacked experts', () => {
  const PINS = '!pip install peft==0.21.0 transformers==5.20.0\n';
  const NAMES = 'target_modules=["q_proj", "gate_proj", "up_proj", "down_proj"]';
  const analyzed = async (lora: string, installs = '') => {
    const files = {
      'a.py': script(lora, installs).replace(/^!.*\n/, ''),
      'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 1\n',
      ...(installs ? { 'requirements.txt': installs.replace(/^!pip install /, '').replace(' ', '\n') } : {}),
    };
    return smallWorkspace(files).analyze('a.py');
  };
  const found = async (...given: Parameters<typeof analyzed>) => {
    const { estimate, problems } = await analyzed(...given);
    const problem = problems.find(({ code }) => code === 'experts-dropout');
    return [problem?.severity, estimate !== undefined];
  };

  it('is an error where releases are named, and leaves no estimate', async () => {
    for (const lora of [
      `${NAMES}, lora_dropout=0.1`,
      'target_modules="all-linear", lora_dropout=0.05',
      'target_parameters=["mlp.experts.down_proj"], target_modules=["q_proj"], lora_dropout=0.05',
    ])
      assert.deepEqual(await found(lora, PINS), ['error', false], lora);
  });

  it('is a warning where releases are assumed, which leaves no estimate either', async () => {
    assert.deepEqual(await found(`${NAMES}, lora_dropout=0.1`), ['warning', false]);
  });

  it('is none where experts get no adapters, have linear layers, or nothing is dropped out', async () => {
    const older = PINS.replace('0.21.0', '0.18.1');
    const four = PINS.replace('5.20.0', '4.57.1');
    assert.deepEqual(await found(`${NAMES}, lora_dropout=0.1`, older), [undefined, true]);
    assert.deepEqual(await found(`${NAMES}, lora_dropout=0.1`, four), [undefined, true]);
    assert.deepEqual(await found(`${NAMES}, lora_dropout=0.0`, PINS), [undefined, true]);
    assert.deepEqual(await found('target_modules=["q_proj"], lora_dropout=0.1', PINS), [undefined, true]);
  });
});
