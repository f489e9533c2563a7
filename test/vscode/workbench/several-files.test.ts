import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
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
deepspeed: zero.json # the other half
`;
const ZERO = '{\n  "train_micro_batch_size_per_gpu": 16,\n  "zero_optimization": { "stage": 3 }\n}\n';
/** Both files state the micro batch, so both have to go along. */
const SMALLER =
  /^Micro batch (\d+), (\d+) accumulation steps: [\d.]+ → ([\d.]+) GiB, fits.*, in [\w.-]+ and [\w.-]+$/;

/** A person takes a fix that changes a recipe and the DeepSpeed config that it names, and sees it before it is written. */
describe('a fix of two files, in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;
  let micro = 0;
  let steps = 0;
  let peak = '';

  before(async () => {
    workbench = await openWorkbench(async (folder) => {
      await mkdir(path.join(folder, 'tune'));
      await writeFile(path.join(folder, 'tune', 'recipe.yaml'), RECIPE);
      await writeFile(path.join(folder, 'tune', 'zero.json'), ZERO);
    });
    ({ page } = workbench);
    await workbench.openFile('recipe.yaml');
    await page.locator('.codelens-decoration', { hasText: 'Does not fit at ' }).first().waitFor();
  });
  after(() => workbench?.stop());

  const problems = () => page.locator('.markers-panel .monaco-list-row', { hasText: 'Does not fit' });
  const preview = () => page.locator('.bulk-edit-panel');
  const text = (name: string) => workbench.fileText(path.join('tune', name));

  it('is under the lightbulb, with what it comes to and how many files it changes', async () => {
    await workbench.command('Problems: Focus on Problems View');
    const entries = await workbench.fixesOf(problems(), 'GiB');
    const titles = await entries.allInnerTexts();
    const index = titles.findIndex((title) => SMALLER.test(title));
    const found = SMALLER.exec(titles[index] ?? '') ?? assert.fail(titles.join('\n'));
    micro = Number(found[1]);
    steps = Number(found[2]);
    peak = found[3] ?? '';
    assert.equal(micro * steps, 16, 'the global batch stays');
    await workbench.pictures('lightbulb-two-files');
    for (let down = 0; down < index; down++) await page.keyboard.press('ArrowDown');
    await page.locator('.action-widget .monaco-list-row.focused', { hasText: 'Micro batch' }).waitFor();
  });

  it('is shown file by file before it is made', async () => {
    await page.keyboard.press('Control+Enter');
    await preview().locator('.monaco-list-row', { hasText: 'recipe.yaml' }).waitFor();
    await preview().locator('.monaco-list-row', { hasText: 'zero.json' }).waitFor();
    const ticks = preview().locator('input[type=checkbox], .monaco-checkbox');
    assert.ok((await ticks.count()) >= 2);
    await workbench.pictures('refactor-preview');
    assert.equal(await text('zero.json'), ZERO);
    assert.equal(await page.locator('.view-line', { hasText: /batch_size:\s16/ }).count(), 1);
  });

  it('changes both files, and the problem is gone from both', async () => {
    await preview().locator('.monaco-button', { hasText: 'Apply' }).click();
    const lens = page.locator('.codelens-decoration', { hasText: `: ${peak} of` }).first();
    await lens.waitFor();
    await workbench.command('File: Save All');
    await workbench.command('Problems: Focus on Problems View');
    await problems().first().waitFor({ state: 'detached' });
    const recipe = await text('recipe.yaml');
    assert.match(recipe, new RegExp(`^per_device_train_batch_size: ${micro}$`, 'm'));
    assert.match(recipe, new RegExp(`^gradient_accumulation_steps: ${steps}$`, 'm'));
    assert.match(recipe, /deepspeed: zero\.json # the other half/, 'comments stay');
    const zero = JSON.parse(await text('zero.json'));
    assert.equal(zero.train_micro_batch_size_per_gpu, micro);
    assert.equal(zero.zero_optimization.stage, 3);
    await workbench.openFile('zero.json');
    await lens.waitFor();
    assert.equal(await problems().count(), 0);
    await workbench.pictures('two-files-fixed');
  });
});
