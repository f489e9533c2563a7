import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

async function modelOf(config: string, name = 'cfg.name', lines = '') {
  const { resolved } = await smallWorkspace({
    'config.py': config,
    'train.py': `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from config import cfg
${lines}
model = AutoModelForCausalLM.from_pretrained(${name})
Trainer(model=model, args=TrainingArguments(output_dir="o"), train_dataset=None).train()
`,
  }).analyze('train.py');
  return resolved.values['model.id'];
}

const QWEN = 'Qwen/Qwen2.5-0.5B';
const CLASS = `from dataclasses import dataclass, field\n@dataclass\nclass C:\n    name: str = "${QWEN}"\n    batch: int = 4\n`;

describe('settings that a module makes an object of', () => {
  it('are read where another imports it', async () => {
    assert.equal(await modelOf(`${CLASS}cfg = C()\n`), QWEN);
    assert.equal(await modelOf(`${CLASS}cfg = C(name="gpt2")\n`), 'gpt2');
    assert.equal(await modelOf(`${CLASS}cfg = C()\ncfg.name = "gpt2"\n`), 'gpt2');
    assert.equal(
      await modelOf(
        `${CLASS}@dataclass\nclass All:\n    model: C = field(default_factory=C)\ncfg = All()\n`,
        'cfg.model.name',
      ),
      QWEN,
    );
    assert.equal(
      await modelOf(
        `from pydantic_settings import BaseSettings\nclass C(BaseSettings):\n    name: str = "${QWEN}"\ncfg = C()\n`,
      ),
      QWEN,
    );
  });

  it('are as they are set last, and unknown where a function may set them', async () => {
    assert.equal(await modelOf(`${CLASS}cfg = C()\n`, 'cfg.name', 'cfg.name = "gpt2"'), 'gpt2');
    assert.equal(
      await modelOf(
        `${CLASS}cfg = C()\ndef use(other):\n    cfg.name = other\n`,
        'cfg.name',
        'from config import use\nuse(ask())',
      ),
      undefined,
    );
  });
});
