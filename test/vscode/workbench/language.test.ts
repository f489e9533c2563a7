import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../../page/panel-page';
import { openWorkbench, type Workbench } from './workbench';

const STATUS = '.statusbar-item[id="oomlint.oomlint.oomlint.verdict"]';

/** Texts of the manifest. */
const RUSSIAN: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(path.join(ROOT, 'package.nls.ru.json'), 'utf8'),
);

/** A person whose editor speaks Russian reads Russian: what the server writes and what the extension writes. */
describe('Russian, in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;

  before(async () => {
    workbench = await openWorkbench(undefined, 'ru');
    ({ page } = workbench);
    await workbench.openFile('ds_config.json');
  });
  after(() => workbench?.stop());

  it('stands in the lens', async () => {
    // VS Code draws a lens anew now and then: its text is waited for, not read in between.
    const text = /Помещается:\s[\d,]+\sиз\s[\d,]+\sГиБ[\s\S]*8×H100/;
    await page.locator('.codelens-decoration', { hasText: text }).first().waitFor();
  });

  it('stands in the status bar and behind the keys', async () => {
    await page.locator(STATUS, { hasText: / из / }).waitFor();
    await page
      .locator('.view-line', { hasText: /состояния\s+модели/ })
      .first()
      .waitFor();
  });

  it('stands in what a search offers', async () => {
    await workbench.command('What Fits?');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'На GPU этого обучения' }).waitFor();
    await workbench.pictures('russian-what-fits');
    await page.keyboard.press('Escape');
  });

  it('stands above the groups of a list, with numbers of configs as the language has them', async () => {
    const rows = page.locator('.quick-input-list .monaco-list-row');
    const own = rows.filter({ hasText: 'В этой рабочей области' });
    // Folders that take long to look through are there the next time.
    for (let left = 5; ; left--) {
      await workbench.command('Choose Model');
      await page.locator('.quick-input-title', { hasText: 'Модель' }).waitFor();
      const found = own.first().waitFor({ timeout: 3_000 });
      if (await found.then(() => true).catch(() => false)) break;
      assert.ok(left > 0, 'the configs of the workspace are found');
      await page.keyboard.press('Escape');
    }
    assert.match(await own.first().innerText(), /\d+ конфиг(?:а|ов)? · /);
    await rows.filter({ hasText: 'Популярные' }).first().waitFor();
    await workbench.pictures('russian-choose-model');
    await page.keyboard.press('Escape');
  });

  it('stands in the manifest: commands, which their English titles find too', async () => {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').fill('>Oomlint: Choose GPU');
    const row = page
      .locator('.quick-input-list .monaco-list-row', { hasText: 'Oomlint: Choose GPU' })
      .first();
    await row.waitFor();
    assert.match(await row.innerText(), new RegExp(RUSSIAN['oomlint.chooseGpu.title'] ?? 'no such text'));
    await page.keyboard.press('Escape');
  });

  it('stands in the manifest: settings', async () => {
    await workbench.command('Preferences: Open Settings (UI)');
    await page.locator('.settings-editor').waitFor();
    await page.keyboard.type('oomlint.gpu');
    const setting = page.locator('.setting-item', { hasText: /[А-я]{4}/ }).first();
    await setting.waitFor();
    const [first = ''] = (RUSSIAN['oomlint.gpu.description'] ?? '').split(/[`*.]/);
    assert.ok(first.length > 10);
    await page.locator('.setting-item-description', { hasText: first.trim() }).first().waitFor();
    await workbench.pictures('russian-settings');
  });

  it('stands in the walkthrough', async () => {
    await workbench.command('Oomlint: Get Started');
    await page
      .locator('.getting-started-step', { hasText: RUSSIAN['walkthrough.start.chooseGpu.title'] })
      .waitFor();
    assert.equal(await page.locator('.getting-started-step').count(), 7);
    // The step that is open has its picture beside it, where the window is wide enough.
    const picture = page.locator('.getting-started-media img').first();
    await picture.waitFor({ state: 'attached' });
    const width = await picture.evaluate(async (image: HTMLImageElement) => {
      await image.decode();
      return image.naturalWidth;
    });
    assert.ok(width > 100, String(width));
    await workbench.pictures('russian-walkthrough');
  });

  it('stands in the panel', async () => {
    await workbench.openFile('ds_config.json');
    await workbench.command('Oomlint: Estimate Memory');
    const frame = await workbench.panel();
    assert.equal(await frame.locator('[data-key=tab-overview]').innerText(), 'Обзор');
    await frame.locator('.components tr', { hasText: 'Состояния оптимизатора' }).waitFor();
    await workbench.pictures('russian-panel');
  });
});
