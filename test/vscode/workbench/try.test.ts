import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Frame, Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

const run = promisify(execFile);

/** DeepSpeed makes the optimizer of its own list. */
const WITH_OPTIMIZER = `{
  "train_micro_batch_size_per_gpu": 1,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3 },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } }
}
`;

/** A folder whose files are committed, so that there is a version to compare with. */
async function commit(folder: string): Promise<void> {
  await writeFile(path.join(folder, 'ds_optimizer.json'), WITH_OPTIMIZER);
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], { cwd: folder });
  await git('init', '--quiet');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'Configs');
}

/** A person turns a knob in the panel, applies it, and sees the file change. */
describe('trying in the workbench', function () {
  this.timeout(600_000);
  let workbench: Workbench;
  let page: Page;
  let frame: Frame;

  before(async () => {
    workbench = await openWorkbench(commit);
    ({ page } = workbench);
    await workbench.openFile('ds_config.json');
    await page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
    await workbench.command('Oomlint: Estimate Memory');
    frame = await workbench.panel();
  });
  after(() => workbench?.stop());

  /** What the editor shows of the config. */
  const text = async () => (await page.locator('.view-lines').first().innerText()).replaceAll('\u00a0', ' ');

  it('follows a slider, and writes nothing yet', async () => {
    await workbench.pictures('panel-open');
    const width = () =>
      frame.$$eval('.component-bar .segment .fill', (fills) =>
        fills.reduce((sum, fill) => sum + Number(fill.getAttribute('width')), 0),
      );
    const before = await width();
    await frame.locator('[data-key=knob-micro-batch-slider]').press('ArrowRight');
    await frame.locator('.trying', { hasText: 'Micro batch 1 → 2, Gradient accumulation 8 → 4' }).waitFor();
    await frame.locator('.changes tbody tr', { hasText: 'Peak' }).waitFor();
    assert.equal(await page.locator('.tab.dirty').count(), 0);
    assert.ok((await width()) > before, 'the bar grows with the micro batch');
    await workbench.pictures('panel-control-moved');
  });

  it('shows tokens per second beside the time: a larger batch is no slower run', async () => {
    // The other knobs no longer keep the tokens of a step.
    await frame.locator('[data-key=keep-batch]').uncheck();
    const slider = frame.locator('[data-key=knob-micro-batch-slider]');
    await slider.press('ArrowRight');
    await frame.locator('.trying', { hasText: 'Micro batch 1 → 4' }).waitFor();
    await frame.locator('.changes tbody tr', { hasText: 'Tokens per step' }).waitFor();
    const rows = await frame.locator('.changes tbody tr').allInnerTexts();
    assert.ok(
      rows.some((row) => /^Tokens per second\s+[\d,.]+\s*(?:→|\t)\s*[\d,.]+.*\+/s.test(row)),
      rows.join('\n'),
    );
    // More than there is is not tight.
    const [verdict = '', peak = ''] = rows;
    const [, tried = 0] = /→ ([\d.]+) GiB/.exec(peak.replaceAll('\t', '→ ')) ?? [];
    assert.equal(/tight/.test(verdict) && Number(tried) > 79.1, false, `${verdict} ${peak}`);
    assert.ok(
      rows.some((row) => /^Tokens per step/.test(row)),
      rows.join('\n'),
    );
    await frame.locator('[data-key=keep-batch]').check();
    await slider.press('ArrowLeft');
    await frame.locator('.trying', { hasText: 'Micro batch 1 → 2, Gradient accumulation 8 → 4' }).waitFor();
  });

  it('has what is tried below the headline, and keeps it, Apply and Reset in view wherever the page is scrolled to', async () => {
    const strip = frame.locator('.trying');
    const text = (await strip.innerText()).replaceAll('\u00a0', ' ');
    assert.match(
      text,
      /Trying Micro batch 1 → 2, Gradient accumulation 8 → 4\. [\s\S]*In the file – fits: [\d.]+ of 79\.1 GiB/,
    );
    // What would be written comes after the figures, and draws the strip anew.
    await frame.locator('[data-key=apply]:enabled').waitFor();
    await frame.evaluate(() => window.scrollTo(0, 0));
    const below = await frame.evaluate(
      () =>
        (document.querySelector('.trying')?.getBoundingClientRect().top ?? 0) -
        (document.querySelector('.headline')?.getBoundingClientRect().bottom ?? 0),
    );
    assert.ok(below >= 0 && below < 40, `${below} pixels below the headline`);
    for (const part of [0, 0.5, 1]) {
      await frame.evaluate((to) => window.scrollTo(0, to * document.body.scrollHeight), part);
      for (const key of ['apply', 'reset']) {
        const found = await frame.evaluate((name) => {
          const button = document.querySelector(`[data-key=${name}]`);
          const { left, top, width, height } = button?.getBoundingClientRect() ?? new DOMRect();
          const at = document.elementFromPoint(left + width / 2, top + height / 2);
          return button?.contains(at) ? name : `${at?.outerHTML.slice(0, 200)} at ${left}, ${top}`;
        }, key);
        assert.equal(found, key, `where ${part} of the page is scrolled`);
      }
    }
    await frame.evaluate(() => window.scrollTo(0, 0));
    await workbench.picture('panel-trying-strip');
  });

  it('applies to the file, which can be undone', async () => {
    await frame.locator('[data-key=apply]').click();
    await frame.locator('.trying', { hasText: 'Applied.' }).waitFor();
    await page.locator('.view-line', { hasText: 'train_micro_batch_size_per_gpu": 2' }).first().waitFor();
    await page.locator('.view-line', { hasText: 'gradient_accumulation_steps": 4' }).first().waitFor();
    await frame.waitForFunction(
      () => document.querySelector<HTMLInputElement>('[data-key=knob-micro-batch]')?.value === '2',
    );
    const saved = await workbench.fileText('ds_config.json');
    assert.match(saved, /_per_gpu": 1,/, 'saving is left to the person');
    await workbench.pictures('panel-applied');
  });

  it('states no longer that it applied once that is no news', async () => {
    await frame.locator('.trying', { hasText: 'Applied.' }).waitFor({ state: 'detached', timeout: 20_000 });
  });

  it('does not offer to write an optimizer that the framework refuses', async () => {
    await workbench.openFile('ds_optimizer.json');
    await workbench.panel('ds_optimizer.json');
    await page.locator('.view-line', { hasText: 'AdamW' }).first().waitFor();
    const before = await text();
    await frame.locator('[data-key=knob-optimizer]').selectOption('adamw-8bit');
    await frame.locator('.trying', { hasText: 'What-if only: no file of this run can say it.' }).waitFor();
    assert.ok(await frame.locator('[data-key=apply]').isDisabled());
    await frame.locator('[data-key=reset]').click();
    assert.equal(await text(), before);
    await workbench.openFile('ds_config.json');
    await workbench.panel('ds_config.json');
  });

  it('names the file and what is done by hand where only Oomlint reads what is noted, for this config alone', async () => {
    await frame.locator('[data-key=knob-checkpointing]').selectOption('full');
    await frame.locator('[data-key=apply]', { hasText: 'Note in oomlint.yaml' }).waitFor();
    await frame.locator('.trying .by-hand', { hasText: '--gradient_checkpointing True' }).first().waitFor();
    await workbench.pictures('panel-note');
    await frame.locator('[data-key=apply]').click();
    await frame.locator('.trying', { hasText: 'Noted. The training changes when you do this' }).waitFor();
    await frame.locator('.trying .by-hand', { hasText: '--gradient_checkpointing True' }).first().waitFor();
    await workbench.openFile('oomlint.yaml');
    const noted = page.locator('.view-lines', { hasText: 'checkpointing' }).first();
    await noted.waitFor();
    const lines = (await noted.locator('.view-line').allInnerTexts()).map((line) =>
      line.replaceAll('\u00a0', ' '),
    );
    const at = lines.findIndex((line) => line.includes('match:'));
    assert.ok(at >= 0 && lines.findIndex((line) => line.includes('checkpointing')) > at, lines.join('\n'));
    await page.keyboard.press('Control+Z');
    await workbench.openFile('ds_config.json');
    await workbench.panel('ds_config.json');
    await frame.locator('[data-key=close-outcome]').click();
  });

  it('lists GPUs by maker and memory, and no rank where there is no adapter', async () => {
    const list = frame.locator('[data-key=knob-gpu]');
    const groups = await list
      .locator('optgroup')
      .evaluateAll((found) => found.map((group) => (group as HTMLOptGroupElement).label));
    assert.equal(groups[0], 'NVIDIA');
    assert.ok(groups.includes('AMD'));
    const names = await list.locator('optgroup').first().locator('option').allInnerTexts();
    assert.ok(names.length > 10 && !/V100/.test(names[0] ?? ''), names[0]);
    assert.equal(await frame.locator('[data-key=knob-rank]').isVisible(), false);
    await frame.locator('[data-key=knob-method]').selectOption('lora');
    await frame.locator('[data-key=knob-rank]').waitFor();
    await frame.locator('[data-key=reset]').click();
  });

  it('compares with the version in git, and names what differs', async () => {
    await frame.locator('[data-key=tab-compare]').click();
    await frame.locator('[data-key=compare-git]').click();
    await frame.locator('h2', { hasText: 'ds_config.json compared with HEAD' }).waitFor();
    const [row] = await frame.locator('#panel-compare table').first().locator('tbody tr').allInnerTexts();
    assert.match(row ?? '', /^micro batch size\s+1(?:\t| → )2\s+\+[\d.]+ [GM]iB/);
    await workbench.pictures('panel-compare');
  });

  it('compares with a commit that is picked from those of the file', async () => {
    await frame.locator('[data-key=compare-commit]').click();
    const input = page.locator('.quick-input-widget');
    await input.locator('.quick-input-title', { hasText: 'Compare with Version' }).waitFor();
    await input.locator('.monaco-list-row', { hasText: /Configs.*[0-9a-f]{8}/s }).waitFor();
    await input.locator('.monaco-list-row', { hasText: /^\s*(main|master)/ }).waitFor();
    await workbench.picture('compare-versions');
    await input.locator('.monaco-list-row', { hasText: /Configs.*[0-9a-f]{8}/s }).click();
    await frame.locator('h2', { hasText: /^ds_config\.json compared with [0-9a-f]{8}$/ }).waitFor();
  });

  it('offers the configs of the workspace to compare with, each with how it comes out', async () => {
    await frame.locator('[data-key=compare-file]').click();
    const list = page.locator('.quick-input-widget');
    await list.locator('.monaco-list-row', { hasText: /accelerate\.yaml.*GiB, / }).waitFor();
    await list.locator('.monaco-list-row', { hasText: 'Browse...' }).waitFor();
    assert.equal(await list.locator('.monaco-list-row', { hasText: /^\s*ds_config\.json/ }).count(), 0);
    await workbench.picture('compare-configs');
    await list.locator('.monaco-list-row', { hasText: 'accelerate.yaml' }).click();
    await frame.locator('h2', { hasText: 'ds_config.json compared with accelerate.yaml' }).waitFor();
  });

  it('leads from a part to its key, and from the cursor to the parts', async () => {
    await frame.locator('[data-key=tab-overview]').click();
    // By its name alone: formulas of others speak of gradients too.
    await frame
      .locator('.figure-name', { hasText: /^Gradients$/ })
      .first()
      .click();
    await frame.locator('.set-by button', { hasText: 'zero_optimization.stage' }).first().click();
    await page.locator('.editor-instance .selected-text').first().waitFor();
    await frame.locator('.at-cursor', { hasText: 'zero_optimization.stage' }).waitFor();
    await workbench.pictures('panel-part-and-key');
    await workbench.pressLine('train_micro_batch');
    await frame.locator('.at-cursor', { hasText: 'train_micro_batch_size_per_gpu' }).waitFor();
  });

  it('stays with its file when it is locked; another config gets a panel of its own', async () => {
    await page.locator('.tab', { hasText: 'Memory:' }).first().click();
    await workbench.command('Oomlint: Lock Breakdown to Its File');
    await frame.locator('[data-key=locked]').waitFor();
    await page.locator('.view-line', { hasText: 'train_micro_batch' }).first().click();
    await workbench.openFile('accelerate.yaml');
    await page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
    await workbench.command('Oomlint: Estimate Memory');
    await workbench.panel('accelerate.yaml');
    const titles = await page.locator('.tab', { hasText: 'Memory' }).allInnerTexts();
    assert.deepEqual(titles.map((title) => title.trim()).sort(), [
      'Memory: accelerate.yaml',
      '[Memory] ds_config.json',
    ]);
    await workbench.pictures('panel-two-panels');
  });
});
