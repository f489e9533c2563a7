import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Frame, Page } from 'playwright-core';
import { launchBrowser, ROOT } from '../../page/panel-page';

interface ServedVsCode {
  url(folder: string, extension: string): string;
  stop(): Promise<void>;
}

const PATIENCE_MS = 30_000;

/** What only a person in front of the workbench sees: the page inside its frames, typing, a reload of the window. */
describe('the panel in the workbench', function () {
  this.timeout(600_000);
  let browser: Browser;
  let server: ServedVsCode;
  let folder: string;
  let page: Page;

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'oomlint-workbench-'));
    await cp(path.join(ROOT, 'test', 'vscode', 'workspace'), folder, { recursive: true });
    const { serveVsCode } = await import(pathToFileURL(path.join(ROOT, 'scripts', 'served-vscode.mjs')).href);
    server = await serveVsCode();
    browser = await launchBrowser();
    page = await browser.newPage({ viewport: { width: 1300, height: 850 } });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(server.url(folder, ROOT));
    await page.waitForSelector('.monaco-workbench');
    await page.keyboard.press('Control+P');
    await pick('ds_config.json');
    await page.locator('.codelens-decoration', { hasText: 'GiB' }).first().click();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  async function pick(text: string): Promise<void> {
    await page.locator('.quick-input-widget input').fill(text);
    const name = text.replace(/^>/, '');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
  }

  async function panel(): Promise<Frame> {
    const until = Date.now() + PATIENCE_MS;
    while (Date.now() < until) {
      for (const frame of page.frames()) {
        if (await frame.$('#panel .component-bar').catch(() => null)) {
          return frame;
        }
      }
      await page.waitForTimeout(100);
    }
    throw new Error('The panel shows no breakdown.');
  }

  async function untilHeadline(pattern: RegExp): Promise<void> {
    const frame = await panel();
    await frame.locator('h1', { hasText: pattern }).waitFor();
  }

  it('opens from the lens, in the colours of the theme', async () => {
    await untilHeadline(/^Fits: [\d.]+ of [\d.]+ GiB$/);
    const frame = await panel();
    const colors = await frame.$$eval('.component-bar .segment .fill', (fills) =>
      fills.map((fill) => getComputedStyle(fill).fill),
    );
    assert.ok(colors.length > 5);
    assert.equal(new Set(colors).size, colors.length);
    assert.ok(!colors.includes('rgb(0, 0, 0)'));
  });

  it('follows what is typed, before it is saved', async () => {
    await page.locator('.view-line', { hasText: 'micro_batch' }).first().click();
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.type('99');
    await untilHeadline(/^Does not fit: [\d.]+ GiB missing$/);
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await untilHeadline(/^Fits/);
    await page.keyboard.press('Control+S');
  });

  it('changes with a fact that is supplied to the project file', async () => {
    await page.locator('.view-line', { hasText: 'micro_batch' }).first().click();
    await page.keyboard.press('F1');
    await pick('>Oomlint: Choose GPU');
    await page.locator('.quick-input-title', { hasText: 'GPU' }).waitFor();
    await pick('RTX 4090');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'oomlint.yaml' }).first().click();
    await page.locator('.view-line', { hasText: 'RTX 4090' }).first().waitFor();
    await untilHeadline(/^Does not fit/);
  });

  it('survives a reload of the window', async () => {
    await page.keyboard.press('F1');
    // The command writes down what is open first, which a reload of the browser's page does not wait for.
    const reloaded = page.waitForEvent('load');
    await pick('>Developer: Reload Window');
    await reloaded;
    await page.waitForSelector('.monaco-workbench');
    await untilHeadline(/^Does not fit/);
  });
});
