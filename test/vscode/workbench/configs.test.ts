import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Frame, Locator, Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

/** A person looks over all training configs of a folder. */
describe('the configs of the workspace', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;
  const rows = () => page.locator('.pane', { hasText: 'Training Configs' }).locator('.monaco-list-row');

  before(async () => {
    workbench = await openWorkbench(async (folder) => {
      // Four fit if activations are checkpointed, which no file states; sixty-four never do.
      for (const [name, micro] of [
        ['ds_perhaps.json', 4],
        ['ds_never.json', 64],
      ] as const)
        await writeFile(
          path.join(folder, name),
          `{ "train_micro_batch_size_per_gpu": ${micro}, "bf16": { "enabled": true }, "zero_optimization": { "stage": 2 } }\n`,
        );
    });
    ({ page } = workbench);
  });
  after(() => workbench?.stop());

  it('are not shown before a training config was seen', async () => {
    await workbench.openFile('tasks.json');
    await page.locator('.pane-header', { hasText: 'Outline' }).waitFor();
    assert.equal(await page.locator('.pane-header', { hasText: 'Training Configs' }).count(), 0);
  });

  it('are offered by name and verdict to a person who asks for an estimate and has no editor open', async () => {
    await page.keyboard.press('Control+K');
    await page.keyboard.press('Control+W');
    await page.locator('.editor-group-container .tab').first().waitFor({ state: 'detached' });
    await workbench.command('Oomlint: Estimate Memory');
    await page.locator('.quick-input-title', { hasText: 'Training config to estimate' }).waitFor();
    const offered = page.locator('.quick-input-list .monaco-list-row');
    await offered.filter({ hasText: /ds_never\.json.*does not fit/ }).waitFor();
    await offered.filter({ hasText: 'Browse' }).waitFor();
    await workbench.pictures('estimate-which');
    await page.keyboard.press('Escape');
  });

  it('are listed by the panel of a file that is none, and lead to their breakdown', async () => {
    await workbench.openFile('tasks.json');
    await workbench.command('Oomlint: Estimate Memory');
    let frame: Frame | undefined;
    for (const end = Date.now() + 30_000; !frame; await page.waitForTimeout(100)) {
      assert.ok(Date.now() < end, 'the panel lists configs');
      for (const one of page.frames()) if (await one.$('.state li').catch(() => null)) frame = one;
    }
    assert.match((await frame.textContent('h1')) ?? '', /tasks\.json is not a training config/);
    await frame.locator('.state li', { hasText: /ds_never\.json .*does not fit/ }).waitFor();
    await workbench.pictures('panel-lists-configs');
    await frame.locator('.state li button', { hasText: /^ds_config\.json$/ }).click();
    await workbench.panel('ds_config.json');
    await page.locator('.tab.active', { hasText: 'ds_config.json' }).first().waitFor();
  });

  it('have a badge although nobody opened their view', async () => {
    await workbench.openFile('ds_config.json');
    const header = page.locator('.pane-header', { hasText: 'Training Configs' });
    await header.waitFor();
    await page
      .locator('.activitybar .action-item', { has: page.locator('[aria-label^="Explorer"]') })
      .locator('.badge-content', { hasText: /^[1-9]/ })
      .waitFor();
    assert.equal(await header.getAttribute('aria-expanded'), 'false');
  });

  it('stand in the Explorer with verdict and peak, what does not fit first', async () => {
    await workbench.openFile('ds_config.json');
    await page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
    await page.locator('.pane-header', { hasText: 'Training Configs' }).click();
    await rows()
      .filter({ hasText: /ds_config\.json\s*[\d.]+ of [\d.]+ GiB, fits/ })
      .waitFor();
    const texts = (await rows().allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
    const rank = texts.map((text) =>
      /does not fit/.test(text) ? 0 : /tight/.test(text) ? 1 : /, fits/.test(text) ? 3 : 2,
    );
    assert.deepEqual(rank, [...rank].sort(), texts.join('\n'));
    // What a narrow side bar cuts off is the folder, not the name and the figure.
    assert.ok(
      texts.some((text) => /^run\.sh\s*[\d.,]+ of [\d.,]+ GiB, .* · runs$/.test(text)),
      texts.join('\n'),
    );
    await workbench.pictures('configs-view');
  });

  it('have a badge of those that do not fit, which reports in words of how many it is', async () => {
    const large = await rows().locator('.codicon-error').count();
    const explorer = page.locator('.activitybar .action-item', {
      has: page.locator('[aria-label^="Explorer"]'),
    });
    await explorer.locator('.badge-content', { hasText: new RegExp(`^${large}$`) }).waitFor();
    const all = await rows().count();
    const label = await explorer.locator('.action-label').getAttribute('aria-label');
    assert.ok(large > 0 && label?.includes(`${large} of ${all} configs do not fit`), `${large}: ${label}`);
  });

  it('lead to the file and to its breakdown', async () => {
    const row = rows().filter({ hasText: 'accelerate.yaml' }).first();
    await row.click();
    await page.locator('.tab.active', { hasText: 'accelerate.yaml' }).waitFor();
    await row.hover();
    await row.locator('.action-label[aria-label*="Estimate Memory"]').click();
    await workbench.panel('accelerate.yaml');
  });

  it('have the signs that Problems have, here and in the list to compare with', async () => {
    const signs = async (rows: Locator) => {
      for (const [file, sign] of [
        ['ds_perhaps.json', 'warning'],
        ['ds_never.json', 'error'],
        ['ds_config.json', 'pass'],
      ] as const) {
        const row = rows.filter({ hasText: file });
        await row.waitFor();
        assert.equal(await row.locator(`.codicon-${sign}`).count(), 1, `${file}: ${sign}`);
      }
    };
    await signs(rows());
    const frame = await workbench.panel('accelerate.yaml');
    await frame.locator('[data-key=tab-compare]').click();
    await frame.locator('[data-key=compare-file]').click();
    await signs(page.locator('.quick-input-list .monaco-list-row'));
    await page.keyboard.press('Escape');
  });

  it('lead to the fixes of one that does not fit, and to what fits, from their menu', async () => {
    const row = rows().filter({ hasText: 'ds_never.json' }).first();
    await row.click({ button: 'right' });
    const menu = page.locator('.monaco-menu .action-label');
    await menu.filter({ hasText: 'Show Fixes' }).waitFor();
    await menu.filter({ hasText: 'What Fits?' }).waitFor();
    await page.keyboard.press('Escape');
    await row.hover();
    await row.locator('.action-label[aria-label*="Show Fixes"]').click();
    await page.locator('.action-widget .monaco-list-row', { hasText: 'GiB' }).first().waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.tab.active', { hasText: 'ds_never.json' }).first().waitFor();
    const fitting = rows().filter({ hasText: 'ds_config.json' }).first();
    await fitting.hover();
    assert.equal(await fitting.locator('.action-label[aria-label*="Show Fixes"]').count(), 0);
  });

  it('have a chord that opens the breakdown of the config at hand', async () => {
    await workbench.openFile('ds_config.json');
    await page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
    await page.keyboard.press('Control+K');
    await page.keyboard.press('Alt+M');
    await workbench.panel('ds_config.json');
  });

  it('leave a sentence and ways on once the last one is gone', async () => {
    const { folder } = workbench;
    // What is open in an editor is there, wherever its file went.
    await page.keyboard.press('Control+K');
    await page.keyboard.press('Control+W');
    await page.locator('.editor-group-container .tab').first().waitFor({ state: 'detached' });
    for (const name of await readdir(folder))
      if (!/^(?:\.vscode|tasks\.json|oomlint\.yaml)$/.test(name))
        await rm(path.join(folder, name), { recursive: true });
    await workbench.command('Oomlint: Refresh Training Configs');
    const pane = page.locator('.pane', { hasText: 'Training Configs' });
    const welcome = pane.locator('.welcome-view-content');
    await welcome.filter({ hasText: 'No training config was found in this workspace.' }).waitFor();
    const ways = [welcome.getByText('Look Again'), welcome.getByText('Open Sample Workspace')] as const;
    const within = (await pane.boundingBox()) ?? assert.fail('the view is shown');
    for (const way of ways) {
      const box = (await way.boundingBox()) ?? assert.fail('it is shown');
      assert.ok(
        box.y + box.height <= within.y + within.height,
        'nothing is cut off in a view of that height',
      );
    }
    await workbench.pictures('configs-none');
    await writeFile(path.join(folder, 'ds_new.json'), '{ "train_micro_batch_size_per_gpu": 1 }\n');
    // The keyboard gets there.
    await page.locator('.pane-header', { hasText: 'Training Configs' }).focus();
    for (let left = 12; !(await ways[0].evaluate((one) => one === document.activeElement)); left--) {
      assert.ok(left > 0, 'Tab leads to Look Again');
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await rows().filter({ hasText: 'ds_new.json' }).waitFor();
  });
});
