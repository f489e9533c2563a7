import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { unpackVsix } from '../../../scripts/vsix.mjs';
import { serveWebVsCode } from '../../../scripts/web-vscode.mjs';
import { ROOT } from '../../page/panel-page';
import { openWorkbench, type Workbench } from './workbench';

const RECIPE = `# oomlint: gpu=A100-SXM4-80GB gpus=8
model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 16
gradient_accumulation_steps: 1
max_length: 16384
bf16: true
learning_rate: 2.0e-5
gradient_checkpointing: true
dataset_name: x/y
deepspeed: ../ds/zero.json
`;
const ZERO = '{\n  "train_micro_batch_size_per_gpu": 16,\n  "zero_optimization": { "stage": 3 }\n}\n';
const SCRIPT = `from transformers import Trainer, TrainingArguments, AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, bf16=True)
Trainer(model=model, args=args, train_dataset=data).train()
`;

const PACKAGE = path.join(ROOT, 'out/oomlint.vsix');
/** What an installation may download, with the web's build in it. Bytes. */
const MOST = 3e6;

/** A person with nothing but a browser: no machine runs anything, and the files lie in a file system of the page. */
describe('VS Code for the Web', function () {
  this.timeout(600_000);
  let workbench: Workbench;
  let page: Page;
  const faults: string[] = [];

  before(async () => {
    // What is installed, not the folder that it is made from.
    await promisify(execFile)(process.execPath, ['scripts/package.mjs'], { cwd: ROOT });
    const extension = await unpackVsix(PACKAGE, path.join(ROOT, 'out/web-vsix'));
    workbench = await openWorkbench(
      async (folder) => {
        await mkdir(path.join(folder, 'tune'));
        await mkdir(path.join(folder, 'ds'));
        await writeFile(path.join(folder, 'tune', 'recipe.yaml'), RECIPE);
        await writeFile(path.join(folder, 'ds', 'zero.json'), ZERO);
        await writeFile(path.join(folder, 'train.py'), SCRIPT);
      },
      undefined,
      (folder) => serveWebVsCode(extension, folder),
    );
    ({ page } = workbench);
    page.on('console', (message) => {
      if (message.type() === 'error' && /oomlint/i.test(message.text())) faults.push(message.text());
    });
  });
  after(() => workbench?.stop());

  const lens = (text: string | RegExp) => page.locator('.codelens-decoration', { hasText: text }).first();

  /** By the explorer: the page has no search over its file system. */
  const open = async (...names: readonly string[]) => {
    for (const name of names) {
      const row = page.locator('.explorer-folders-view .monaco-list-row', { hasText: name }).first();
      await row.click();
    }
    await page.locator('.tab.active', { hasText: names.at(-1) }).waitFor();
  };

  it('comes in a package that is quickly installed', async () => {
    const { size } = await stat(PACKAGE);
    assert.ok(size > MOST / 10 && size < MOST, `${size} bytes`);
  });

  it('estimates a config on the file system of the page', async () => {
    await open('tune', 'recipe.yaml');
    await lens('Does not fit at ').waitFor();
    await workbench.picture('web-lens');
  });

  it('reports what is wrong, and how to mend it in both files, of which one was only named', async () => {
    await workbench.command('Problems: Focus on Problems View');
    const problem = page.locator('.markers-panel .monaco-list-row', { hasText: 'Does not fit' });
    await problem.first().waitFor();
    const entries = await workbench.fixesOf(problem, 'GiB');
    const titles = await entries.allInnerTexts();
    assert.ok(
      titles.some((title) => /, in [\w.-]+ and [\w.-]+$/.test(title)),
      titles.join('\n'),
    );
    await page.keyboard.press('Escape');
  });

  it('explains a key where the pointer rests', async () => {
    await page.locator('.view-line span', { hasText: 'per_device_train_batch_size' }).last().hover();
    await page.locator('.monaco-hover', { hasText: 'Samples' }).first().waitFor();
    await workbench.picture('web-hover');
  });

  it('shows the breakdown', async () => {
    await workbench.command('Oomlint: Estimate Memory');
    const frame = await workbench.panel('recipe.yaml');
    await frame.locator('h1', { hasText: 'GiB' }).waitFor();
    await workbench.picture('web-panel');
  });

  it('reads Python by the parser that the extension brings', async () => {
    await open('train.py');
    await lens(/Llama-3\.1-8B|GiB|GPU/).waitFor();
    await workbench.picture('web-python');
  });

  it('offers no command that a browser cannot carry out', async () => {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').fill('>Oomlint: ');
    const row = (name: string) =>
      page.locator('.quick-input-list .monaco-list-row', { hasText: `Oomlint: ${name}` });
    await row('Estimate Memory').first().waitFor();
    const { contributes } = JSON.parse(await readFile('package.json', 'utf8'));
    const words = JSON.parse(await readFile('package.nls.json', 'utf8'));
    // The editor's Git extension, which knows the versions of a file, runs on a machine alone.
    const dead = [
      'compareWithHead',
      'compareWithVersion',
      'compareWithRun',
      'learnFromRun',
      'explainTerminalSelection',
      'openSample',
    ];
    // What is done to the panel is offered while it is at hand, on any machine.
    const palette: readonly { readonly command: string; readonly when?: string }[] =
      contributes.menus.commandPalette;
    const ofPanel = palette.filter(({ when = '' }) => /\bactiveWebviewPanelId\b/.test(when));
    assert.ok(ofPanel.length > 0);
    // What belongs to an entry of the Explorer is in no palette.
    const ofMenus = palette.filter(({ when }) => when === 'false');
    for (const { command } of contributes.commands) {
      const title: string = words[`${command}.title`];
      await page.locator('.quick-input-widget input').fill(`>Oomlint: ${title}`);
      const hidden =
        dead.includes(command.replace(/^oomlint\./, '')) ||
        [...ofPanel, ...ofMenus].some((entry) => entry.command === command);
      if (!hidden) await row(title).first().waitFor();
      else {
        await page.waitForTimeout(300);
        assert.equal(await row(title).count(), 0, title);
      }
    }
    await page.keyboard.press('Escape');
  });

  it('leaves no error of ours in the console', () => assert.deepEqual(faults, []));
});
