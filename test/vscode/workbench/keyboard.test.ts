import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Frame, Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

const FILE = 'ds_config.json';
const BIG = 'ds_big.json';
const TOO_LARGE = `{
  "train_micro_batch_size_per_gpu": 32,
  "gradient_accumulation_steps": 2,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3 }
}
`;

/** A person who has no mouse compares, searches and writes. */
describe('by keys alone, in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;

  before(async () => {
    workbench = await openWorkbench(async (folder) => {
      await writeFile(path.join(folder, 'requirements.txt'), 'torch==2.3.0\ntransformers==4.44.0\n');
      await writeFile(path.join(folder, BIG), TOO_LARGE);
    });
    ({ page } = workbench);
    await workbench.openFile(FILE);
    await page.locator('.codelens-decoration a', { hasText: 'GiB' }).first().waitFor();
  });
  after(() => workbench?.stop());

  const title = (text: string | RegExp) => page.locator('.quick-input-title', { hasText: text });
  const focusedRow = (text: string | RegExp) =>
    page.locator('.quick-input-list .monaco-list-row.focused', { hasText: text });
  /** The `data-key` of what has the focus in the page of the panel. */
  const focusedKey = (frame: Frame) =>
    frame.evaluate(() =>
      document.hasFocus() ? document.activeElement?.getAttribute('data-key') : undefined,
    );
  /** Presses a key until the focus is where it shall be. */
  const until = async (frame: Frame, key: string, wanted: string) => {
    const passed: unknown[] = [];
    for (let left = 40; left > 0; left--) {
      const at = await focusedKey(frame);
      if (at === wanted) return;
      passed.push(at);
      await page.keyboard.press(key);
      await page.waitForTimeout(50);
    }
    assert.fail(`${key} does not lead to ${wanted}: ${passed.join(', ')}`);
  };

  it('compares a config with itself under the newest releases, of which each difference is priced', async () => {
    await page.keyboard.press('F1');
    await page.keyboard.type('Oomlint: Compare with the Newest Releases');
    await focusedRow('Newest Releases').waitFor();
    await page.keyboard.press('Enter');
    const frame = await workbench.panel(FILE);
    await frame
      .locator('h2', { hasText: `${FILE} under the newest releases compared with ${FILE}` })
      .waitFor();
    const text = await frame.locator('#panel-compare').innerText();
    assert.match(text, /PyTorch version 2\.3\.0 → \d/);
    await workbench.pictures('panel-compare-releases');
  });

  it('compares it with another config, and comes back to where it was', async () => {
    const frame = await workbench.panel(FILE);
    await page.locator('.tab', { hasText: 'Memory:' }).first().focus();
    await page.keyboard.press('Enter');
    await until(frame, 'Tab', 'tab-compare');
    await until(frame, 'Tab', 'compare-file');
    await page.keyboard.press('Enter');
    await title('Config to compare with').waitFor();
    await page.keyboard.type('accelerate');
    await focusedRow('accelerate.yaml').waitFor();
    await page.keyboard.press('Enter');
    await frame.locator('h2', { hasText: `${FILE} compared with accelerate.yaml` }).waitFor();
    await until(frame, 'Tab', 'compare-file');
    await until(frame, 'Tab', 'compare-stop');
    await page.keyboard.press('Enter');
    await frame.locator('h2', { hasText: 'compared with' }).waitFor({ state: 'detached' });
    // What was pressed is gone; the focus stays in the page, beside it.
    assert.ok((await focusedKey(frame)) !== undefined, 'the page has lost the focus');
    await page.keyboard.press('Control+1');
    await page.locator('.editor-instance .monaco-editor.focused').first().waitFor();
  });

  it('searches what fits, looks at what would be written, and writes it', async () => {
    const before = await workbench.fileText(FILE);
    await page.keyboard.press('F1');
    await page.keyboard.type('Oomlint: What Fits');
    await focusedRow('What Fits').waitFor();
    await page.keyboard.press('Enter');
    await title('What Fits?').waitFor();
    await focusedRow('With the GPUs of this run').waitFor();
    await page.keyboard.press('Enter');
    await title(/What fits: \d+ of \d+ runs/).waitFor();
    await focusedRow('ZeRO').waitFor();
    for (let left = 10; left > 0 && !(await focusedRow('offload').isVisible()); left--) {
      await page.keyboard.press('ArrowDown');
      await page.waitForTimeout(100);
    }
    await focusedRow('offload').waitFor();
    await page.keyboard.press('Enter');
    await title('Write the chosen run?').waitFor();
    await workbench.picture('keyboard-what-fits-write');
    await page.keyboard.press('Enter');
    await page
      .locator('.view-line', { hasText: /offload_(?:optimizer|param)/ })
      .first()
      .waitFor();
    await page.keyboard.press('Control+S');
    for (let left = 50; left > 0 && (await workbench.fileText(FILE)) === before; left--)
      await page.waitForTimeout(100);
    assert.match(await workbench.fileText(FILE), /offload_(?:optimizer|param)/);
  });

  it('applies a fix from its card in the panel', async () => {
    await workbench.openFile(BIG);
    await page.locator('.codelens-decoration a', { hasText: 'Does not fit' }).first().waitFor();
    await page.keyboard.press('F1');
    await page.keyboard.type('Oomlint: Estimate Memory');
    await focusedRow('Estimate Memory').waitFor();
    await page.keyboard.press('Enter');
    const frame = await workbench.panel(BIG);
    // The panel stays at the page that it showed before.
    await frame.getByRole('tab', { name: 'Overview' }).click();
    await frame.locator('[data-key=apply-fix-0]').waitFor();
    await page.locator('.tab', { hasText: 'Memory:' }).first().focus();
    await page.keyboard.press('Enter');
    await until(frame, 'Tab', 'apply-fix-0');
    await workbench.picture('keyboard-fix-card');
    await page.keyboard.press('Enter');
    await frame.locator('h1', { hasText: /^Fits/ }).waitFor();
    // What was pressed is gone with the verdict; the focus stays in the page.
    assert.ok((await focusedKey(frame)) !== undefined, 'the page has lost the focus');
    await page.keyboard.press('Control+1');
    await page.locator('.editor-instance .monaco-editor.focused').first().waitFor();
    await page.keyboard.press('Control+S');
    for (let left = 50; left > 0 && (await workbench.fileText(BIG)) === TOO_LARGE; left--)
      await page.waitForTimeout(100);
    assert.notEqual(await workbench.fileText(BIG), TOO_LARGE);
    await page.locator('.codelens-decoration a', { hasText: /Fits/ }).first().waitFor();
  });
});
