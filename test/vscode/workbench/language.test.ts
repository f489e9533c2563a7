import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

const STATUS = '.statusbar-item[id="oomlint.oomlint.oomlint.verdict"]';

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
    const lens = page.locator('.codelens-decoration', { hasText: '8×H100' }).first();
    await lens.waitFor();
    assert.match(await lens.innerText(), /пик [\d.,]+ из [\d.,]+ GiB · помещается/);
  });

  it('stands in the status bar and behind the keys', async () => {
    await page.locator(STATUS, { hasText: / из / }).waitFor();
    await page
      .locator('.view-line', { hasText: /GiB\s+состояния\s+модели/ })
      .first()
      .waitFor();
  });

  it('stands in what a search offers', async () => {
    // Titles of commands come from the manifest, which the editor reads in its own way.
    await workbench.command('What Fits?');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'На GPU этого обучения' }).waitFor();
    await page.keyboard.press('Escape');
  });
});
