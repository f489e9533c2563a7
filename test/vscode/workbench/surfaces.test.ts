import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

/** Half of the usual window: what a person has at 200 %, or beside another window. */
const HALF = { width: 650, height: 600 };

const LANGUAGES = [
  {
    language: undefined,
    name: 'English',
    fits: /Fits: [\d.]+ of [\d.]+ GiB/,
    unit: 'GiB',
    actions: ['Lock Breakdown to Its File', 'Copy Breakdown as Markdown', 'Save Breakdown As...'],
    onThese: 'With the GPUs of this run',
  },
  {
    language: 'ru',
    name: 'Russian',
    fits: /Помещается: [\d,]+ из [\d,]+ ГиБ/,
    unit: 'ГиБ',
    actions: ['Закрепить разбор за файлом', 'Скопировать разбор как Markdown', 'Сохранить разбор как...'],
    onThese: 'На GPU этого обучения',
  },
] as const;

/** What decides is within a window of half the width, whatever stands behind it. */
for (const { language, name, fits, unit, actions, onThese } of LANGUAGES)
  describe(`a window of half the width, in ${name}`, function () {
    this.timeout(300_000);
    let workbench: Workbench;
    let page: Page;

    before(async () => {
      workbench = await openWorkbench(undefined, language);
      ({ page } = workbench);
      await workbench.openFile('ds_config.json');
      await page.locator('.codelens-decoration', { hasText: unit }).first().waitFor();
      await page.setViewportSize(HALF);
      // The side bar takes half of it; people fold it away.
      await page.keyboard.press('Control+B');
    });
    after(() => workbench?.stop());

    const picture = (surface: string) => workbench.pictures(`half-${language ?? 'en'}-${surface}`);

    /** The right end of the first text that matches, in pixels of the window. */
    const endOf = (within: Locator, pattern: RegExp): Promise<number | undefined> =>
      within.evaluate((element, source) => {
        const text = new RegExp(source);
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          const found = text.exec((node.textContent ?? '').replaceAll('\u00a0', ' '));
          if (!found) continue;
          const range = document.createRange();
          range.setStart(node, found.index);
          range.setEnd(node, found.index + found[0].length);
          return range.getBoundingClientRect().right;
        }
        return undefined;
      }, pattern.source);

    it('has verdict and figures in the lens', async () => {
      const lens = page.locator('.codelens-decoration', { hasText: unit }).first();
      await lens.waitFor();
      const end = await endOf(lens, fits);
      assert.ok(end !== undefined && end <= HALF.width, String(end));
      await picture('lens');
    });

    it('has all of a hover without scrolling sideways', async () => {
      await page
        .locator('.view-line span', { hasText: /^"stage"$/ })
        .last()
        .hover();
      const table = page
        .locator('.monaco-hover:not(.hidden)', { hasText: unit })
        .first()
        .locator('table')
        .first();
      await table.waitFor();
      const box = (await table.boundingBox()) ?? assert.fail('the table is shown');
      assert.ok(box.x >= 0 && box.x + box.width <= HALF.width, JSON.stringify(box));
      await picture('hover');
      await page.mouse.move(HALF.width - 40, HALF.height - 60);
      await page.keyboard.press('Escape');
    });

    it('has the figure of the status bar', async () => {
      const status = page.locator('.statusbar-item[id="oomlint.oomlint.oomlint.verdict"]');
      const box = (await status.boundingBox()) ?? assert.fail('the status is shown');
      assert.ok(box.x >= 0 && box.x + box.width <= HALF.width, JSON.stringify(box));
    });

    it('has the memory of each row of a search', async () => {
      await workbench.command('What Fits?');
      const rows = page.locator('.quick-input-list .monaco-list-row');
      await rows.filter({ hasText: onThese }).first().click();
      const row = rows.filter({ hasText: unit }).first();
      await row.waitFor();
      const end = await endOf(row, new RegExp(`[\\d.,]+ ${unit}`));
      const list =
        (await page.locator('.quick-input-list').boundingBox()) ?? assert.fail('the list is shown');
      assert.ok(end !== undefined && end <= list.x + list.width, `${end} of ${list.x + list.width}`);
      await picture('what-fits');
      await page.keyboard.press('Escape');
    });

    it('has the view of configs', async () => {
      await page.keyboard.press('Control+B');
      const header = page.locator('.pane-header', { hasText: /Training Configs|Конфиги обучения/ });
      await header.waitFor();
      if ((await header.getAttribute('aria-expanded')) === 'false') await header.click();
      await page.locator('.pane', { has: header }).locator('.monaco-list-row').first().waitFor();
      await picture('configs');
      await page.keyboard.press('Control+B');
    });

    it('has a panel that nothing stands beyond', async () => {
      await workbench.openFile('ds_config.json');
      await workbench.command('Oomlint: Estimate Memory');
      const frame = await workbench.panel();
      await frame.locator('.components tr').first().waitFor();
      const beyond = await frame.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(beyond <= 0, `${beyond} pixels beyond the panel`);
      await picture('panel');
    });

    it('has every action of the title bar of the panel, in its menu where there is no room', async () => {
      await page.locator('.tab', { hasText: 'ds_config.json' }).last().click();
      const group = page.locator('.editor-group-container.active');
      await group.locator('.editor-actions .action-label.codicon-toolbar-more').click();
      const menu = page.locator('.monaco-menu');
      await menu.waitFor();
      const shown = [
        ...(await menu.locator('.action-label').allInnerTexts()),
        ...(await group
          .locator('.editor-actions .action-label')
          .evaluateAll((labels) => labels.map((label) => label.getAttribute('aria-label') ?? ''))),
      ];
      for (const action of actions)
        assert.ok(
          shown.some((text) => text.startsWith(action)),
          `${action} in ${shown.join(', ')}`,
        );
      for (const row of await menu.locator('.action-item').all()) {
        const box = (await row.boundingBox()) ?? assert.fail('the row is shown');
        assert.ok(box.x >= 0 && box.x + box.width <= HALF.width, JSON.stringify(box));
      }
      await picture('title-bar-menu');
      await page.keyboard.press('Escape');
    });
  });
