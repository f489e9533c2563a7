import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

const SCRIPT = `import argparse
import torch
from helpers import load_config
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
cfg = load_config(parser.parse_args().config)
model = AutoModelForCausalLM.from_pretrained(cfg["model"]["name"], torch_dtype=torch.bfloat16)
args = SFTConfig(per_device_train_batch_size=cfg["train"]["batch"], max_length=cfg["train"]["length"])
SFTTrainer(model, args=args).train()
`;
const FILES = {
  'train.py': SCRIPT,
  'helpers.py':
    'import yaml\n\ndef load_config(path):\n    with open(path) as f:\n        return yaml.safe_load(f)\n',
  'settings.yaml':
    '# our own format\nmodel:\n  name: meta-llama/Llama-3.1-8B\ntrain:\n  batch: 16\n  length: 4096\n',
  'run.sh':
    '#!/bin/bash\n#SBATCH --gres=gpu:a100:4\nsrun torchrun --nproc_per_node 4 train.py --config settings.yaml\n',
};

/** A person whose script loads settings of a format of its own, by a helper, from where the command states. */
describe("a script with settings of one's own, in the workbench", function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;

  before(async () => {
    workbench = await openWorkbench(async (folder) => {
      await mkdir(path.join(folder, 'own'));
      for (const [name, text] of Object.entries(FILES)) await writeFile(path.join(folder, 'own', name), text);
    });
    ({ page } = workbench);
  });
  after(() => workbench?.stop());

  const lens = () => page.locator('.codelens-decoration', { hasText: /Does not fit|GiB/ }).first();

  it('is judged in the command, in the script, and in the settings', async () => {
    for (const name of ['run.sh', 'train.py', 'settings.yaml']) {
      await workbench.openFile(name);
      await lens().waitFor();
      await workbench.pictures(`own-${name.replace('.', '-')}`);
    }
  });

  it('explains a setting where it stands, and who takes it', async () => {
    await page.locator('.view-line', { hasText: 'batch: 16' }).first().locator('span').last().hover();
    const hover = page.locator('.monaco-hover', { hasText: 'SFTConfig.per_device_train_batch_size' });
    await hover.first().waitFor();
    await workbench.pictures('own-settings-hover');
  });
});
