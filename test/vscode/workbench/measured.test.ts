import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Frame, Page } from 'playwright-core';
import { accessibilityViolations } from '../../page/accessibility';
import { openWorkbench, type Workbench } from './workbench';

const CONFIG = `base_model: NousResearch/Llama-3.2-1B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
sequence_len: 2048
micro_batch_size: 4
gradient_accumulation_steps: 1
optimizer: adamw_torch
bf16: true
output_dir: runs/measured
`;
const LOG = `[axolotl] [RANK:0] min_input_len: 31
[axolotl] [RANK:0] max_input_len: 1187
{'loss': 1.1, 'memory/max_active (GiB)': 30.5, 'memory/max_allocated (GiB)': 30.5, 'memory/device_reserved (GiB)': 34.25, 'epoch': 0.1}
`;

async function withRun(folder: string): Promise<void> {
  const run = path.join(folder, 'measured');
  await mkdir(path.join(run, 'runs', 'measured'), { recursive: true });
  await writeFile(path.join(run, 'measured.yaml'), CONFIG);
  await writeFile(path.join(run, 'oomlint.yaml'), 'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 1\n');
  await writeFile(path.join(run, 'runs', 'measured', 'train.log'), LOG);
}

/** Both bars in the panel, in the editor's language. */
async function bothBars(workbench: Workbench, title: RegExp): Promise<{ frame: Frame; figures: string[] }> {
  const frame = await workbench.panel('measured.yaml');
  const section = frame.locator('section', { has: frame.locator('h2', { hasText: title }) }).last();
  await section.waitFor();
  // One bar for each measured figure beside the estimate's, which is divided.
  assert.equal(await section.locator('.fill.undivided').count(), 3);
  await section.scrollIntoViewIfNeeded();
  return { frame, figures: await section.locator('.row-figure').allTextContents() };
}

describe('a measured run in the workbench', function () {
  this.timeout(600_000);
  let workbench: Workbench;
  let page: Page;

  const open = async (language?: string) => {
    workbench = await openWorkbench(withRun, language);
    ({ page } = workbench);
    await workbench.openFile('measured.yaml');
  };
  afterEach(() => workbench?.stop());

  it('stands above its config and bar beside bar in the panel, and teaches by a code action', async () => {
    await open();
    const lens = page.locator('.codelens-decoration a', {
      hasText: /^measured\s34\.3\sof\s79\.\d\sGiB\sheld\sby\sthe\sallocator,\sestimated\s[\d.]+\sGiB$/,
    });
    await lens.first().click();
    const { frame, figures } = await bothBars(workbench, /^Measured beside estimated$/);
    assert.equal(figures.length, 6, figures.join('|'));
    assert.equal(figures.filter((text) => text.includes('30.5 GiB')).length, 2, figures.join('|'));
    assert.deepEqual(await accessibilityViolations(frame), []);
    await workbench.pictures('measured-run');
    await workbench.pressLine('sequence_len');
    await page.keyboard.press('Control+.');
    const entry = page.locator('.action-widget .monaco-list-row', { hasText: 'longest sample: 1187 tokens' });
    await entry.first().waitFor();
    await workbench.picture('measured-run-lesson');
    await entry.first().click();
    // What a refactoring writes VS Code saves by itself.
    const project = path.join(workbench.folder, 'measured', 'oomlint.yaml');
    for (let left = 100; left > 0 && !(await readFile(project, 'utf8')).includes('1187'); left--)
      await page.waitForTimeout(100);
    assert.match(await readFile(project, 'utf8'), /batch\.longestSequence: 1187/);
  });

  it('speaks Russian', async () => {
    await open('ru');
    await page
      .locator('.codelens-decoration a', { hasText: /измерено/ })
      .first()
      .click();
    const { frame, figures } = await bothBars(workbench, /^Измеренное рядом с оценкой$/);
    assert.ok(
      figures.some((text) => text.includes('30,5 ГиБ')),
      figures.join('|'),
    );
    assert.deepEqual(await accessibilityViolations(frame), []);
    await workbench.pictures('measured-run-russian');
  });
});
