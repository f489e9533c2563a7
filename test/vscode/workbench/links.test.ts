import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { openedAt, openWorkbench, type Workbench } from './workbench';

/** A person goes from a recipe to the DeepSpeed config that it names, and back. */
describe('following links in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;

  before(async () => {
    workbench = await openWorkbench(async (folder) => {
      const runs = path.join(folder, 'runs');
      const config = { train_micro_batch_size_per_gpu: 'auto', zero_optimization: { stage: 3 } };
      await writeFile(path.join(runs, 'zero3.json'), JSON.stringify(config, null, 2));
      await appendFile(path.join(runs, 'sft.yaml'), 'deepspeed: zero3.json\n');
    });
    ({ page } = workbench);
    await workbench.openFile('sft.yaml');
    await page.locator('.codelens-decoration a', { hasText: 'GiB' }).first().waitFor();
  });
  after(() => workbench?.stop());

  it('opens the DeepSpeed config that a recipe names', async () => {
    const link = page.locator('.view-line .detected-link', { hasText: 'zero3.json' });
    await link.waitFor();
    await workbench.pictures('link');
    await link.click({ modifiers: ['ControlOrMeta'] });
    await page.locator('.tab.active', { hasText: 'zero3.json' }).waitFor();
  });

  it('shows there the run that it is part of', async () => {
    await page
      .locator('.codelens-decoration a', { hasText: /: [\d.]+ of [\d.]+ GiB/ })
      .first()
      .waitFor();
    // The script starts the recipe, which names this file.
    await page.locator('.codelens-decoration a', { hasText: 'in the run of runs/run.sh' }).first().waitFor();
    await workbench.pictures('link-followed');
  });

  it('leads back from its first key to the line that names it', async () => {
    await page.locator('.view-line span', { hasText: 'train_micro_batch' }).last().hover();
    const hover = page.locator('.monaco-hover', { hasText: 'Used by' });
    await hover.waitFor();
    await workbench.pictures('hover');
    await hover.locator('a', { hasText: 'sft.yaml' }).first().click();
    await page.locator('.tab.active', { hasText: 'sft.yaml' }).waitFor();
    await page.locator('.statusbar-item', { hasText: 'Ln 10, ' }).waitFor();
  });
});

/** Of a repository a person opens the folder that they work in: its scripts name what lies above as seen from the root. */
describe('a folder below the root of its repository, in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;

  before(async () => {
    workbench = await openWorkbench(
      async (folder) => {
        await mkdir(path.join(folder, '.git'));
        await mkdir(path.join(folder, 'configs'));
        const config = { train_micro_batch_size_per_gpu: 'auto', zero_optimization: { stage: 3 } };
        await writeFile(path.join(folder, 'configs', 'zero3.json'), JSON.stringify(config, null, 2));
        await appendFile(path.join(folder, 'runs', 'sft.yaml'), 'deepspeed: configs/zero3.json\n');
      },
      undefined,
      openedAt('runs'),
    );
    ({ page } = workbench);
  });
  after(() => workbench?.stop());

  it('finds what a config names from that root, and has its part in the run', async () => {
    await workbench.openFile('sft.yaml');
    await page.locator('.codelens-decoration a', { hasText: 'GiB' }).first().waitFor();
    const link = page.locator('.view-line .detected-link', { hasText: 'zero3.json' });
    await link.waitFor();
    await workbench.picture('folder-below-the-root');
    await link.click({ modifiers: ['ControlOrMeta'] });
    await page.locator('.tab.active', { hasText: 'zero3.json' }).waitFor();
    await page.locator('.codelens-decoration a', { hasText: 'in the run of' }).first().waitFor();
  });

  it('follows what changes on the disk above it, as after a checkout', async () => {
    // What is open in an editor is watched by it.
    await workbench.command('View: Close All Editors');
    await workbench.openFile('sft.yaml');
    const peak = page.locator('.statusbar-item', { hasText: / of [\d.]+ GiB/ });
    const before = await peak.innerText();
    const config = path.join(workbench.folder, 'configs', 'zero3.json');
    const other = { train_micro_batch_size_per_gpu: 'auto', zero_optimization: { stage: 0 } };
    await writeFile(config, JSON.stringify(other, null, 2));
    await peak.filter({ hasNotText: before.trim() }).waitFor();
  });
});
