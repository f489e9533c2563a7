import assert from 'node:assert/strict';
import type { Frame, Page } from 'playwright-core';
import { ROOT } from '../../page/panel-page';
import { contributedColors } from '../../page/themes';
import { openWorkbench, THEMES, type Workbench } from './workbench';

/** The colour of the verdict that the manifest gives to each kind of theme. */
const fits =
  contributedColors(ROOT).find(({ id }) => id === 'oomlint.verdict.fits')?.defaults ?? assert.fail();

/** As a browser computes `#1E7B34`. */
const rgb = (hex: string) =>
  `rgb(${[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(', ')})`;

/** A person switches the colour theme while the panel is open. */
describe('the panel and the colour theme, in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;
  let frame: Frame;

  before(async () => {
    workbench = await openWorkbench();
    ({ page } = workbench);
    await workbench.openFile('ds_config.json');
    await page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
    await workbench.command('Oomlint: Estimate Memory');
    frame = await workbench.panel();
  });
  after(() => workbench?.stop());

  /** What the page draws: every colour as the browser computed it. */
  function drawn(): Promise<{
    kinds: string[];
    paper: string;
    ink: string;
    verdict: string;
    fills: string[];
  }> {
    return frame.evaluate(() => {
      const style = getComputedStyle(document.body);
      const heading = document.querySelector('h1');
      return {
        kinds: [...document.body.classList],
        paper: style.getPropertyValue('--vscode-editor-background').trim(),
        verdict: getComputedStyle(document.querySelector('.verdict-icon .disc') ?? document.body).fill,
        ink: heading ? getComputedStyle(heading).color : '',
        fills: [...document.querySelectorAll('.component-bar .segment .fill')].map(
          (fill) => getComputedStyle(fill).fill,
        ),
      };
    });
  }

  for (const { name, page: kind, workbench: id, own } of THEMES) {
    it(`is drawn in the colours of ${name}`, async () => {
      const before = await drawn();
      await workbench.command('Preferences: Color Theme');
      await page.locator('.quick-input-widget input').waitFor();
      await page.keyboard.type(name);
      await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: name }).waitFor();
      await page.keyboard.press('Enter');
      await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
      await frame.waitForFunction((kind) => document.body.classList.contains(kind), kind);

      const after = await drawn();
      assert.notEqual(after.paper, before.paper);
      assert.notEqual(after.ink, before.ink);
      assert.ok(after.fills.length > 5);
      assert.equal(new Set(after.fills).size, after.fills.length, 'parts differ in colour');
      assert.notDeepEqual(after.fills, before.fills);
      assert.equal(after.verdict, rgb(fits[own]));
      await workbench.picture(`theme-switched-${id}`);
    });
  }
});
