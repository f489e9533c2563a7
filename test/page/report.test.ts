import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../../scripts/browser.mjs';
import { EDITOR_COLOURS } from '../../server/src/cli/html-report/editor-colours';
import { spawned } from '../unit/cli/oomlint';

const CONFIG = 'examples/zero3-llama-8b.json';

/** Colour as browsers tell it. */
function asRgb(hex: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  return `rgb(${red}, ${green}, ${blue})`;
}

/** What people without an editor open: one file from the disk. */
describe('oomlint report', function () {
  this.timeout(60_000);
  let browser: Browser;
  let folder = '';
  let file = '';

  before(async () => {
    browser = await launchBrowser();
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-report-'));
    file = path.join(folder, 'report.html');
    const { code, err } = await spawned(['report', CONFIG, '--html', '--output', file], process.cwd());
    assert.equal(code, 0, err);
  });
  after(async () => {
    await browser?.close();
    await rm(folder, { recursive: true, force: true });
  });

  for (const scheme of ['light', 'dark'] as const)
    it(`opens from the disk, in ${scheme} colours, and asks nobody`, async () => {
      const context = await browser.newContext({
        colorScheme: scheme,
        viewport: { width: 900, height: 900 },
      });
      const page = await context.newPage();
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => faults.push(message.text()));
      page.on('request', (request) => {
        if (request.url() !== pathToFileURL(file).href) faults.push(request.url());
      });
      await page.goto(pathToFileURL(file).href);
      await page.locator('h1, h2', { hasText: /Fits/ }).first().waitFor();
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(background, asRgb(EDITOR_COLOURS[scheme]['editor-background'] ?? ''));
      const text = await page.locator('main').innerText();
      assert.match(text, /optimizer states/i);
      assert.match(text, /H100-SXM5-80GB/);
      assert.match(await page.title(), /zero3-llama-8b\.json/);
      assert.match(text, /[Aa]ssume/, 'what the figures hang on');
      assert.match(await page.locator('.sized-legend').innerText(), /GiB/);
      assert.match(
        await page.locator('footer').innerText(),
        /^Estimated by Oomlint \d+\.\d+\.\d+, \p{L}+ \d+, \d{4}$/u,
      );
      for (const control of ['.locked', '.knobs', '#tab-compare'])
        assert.equal(await page.locator(control).locator('visible=true').count(), 0, control);
      // A figure opens: to its formula, with what the file carries.
      const row = page.locator('[aria-expanded="false"]', { hasText: /optimizer states/i }).first();
      await row.click();
      await page
        .locator('[role="treeitem"], tr, li', { hasText: /AdamW|adamw|2 ×|elements/ })
        .first()
        .waitFor();
      if (process.env.OOMLINT_PICTURES)
        await page.screenshot({ path: `out/pictures/report-${scheme}.png`, fullPage: true });
      assert.deepEqual(faults, []);
      await context.close();
    });

  it('has on paper neither what is folded nor what leads elsewhere', async () => {
    const page = await browser.newPage({ viewport: { width: 900, height: 900 } });
    await page.emulateMedia({ media: 'print' });
    await page.goto(pathToFileURL(file).href);
    await page.locator('h1, h2', { hasText: /Fits/ }).first().waitFor();
    for (const control of ['summary', '.headline a', '.headline button', '[role=tab]'])
      assert.equal(await page.locator(control).locator('visible=true').count(), 0, control);
    const leftOf = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => {
          const text = document.createRange();
          text.selectNodeContents(element);
          return Math.round(text.getBoundingClientRect().left);
        });
    assert.equal(await leftOf('footer'), await leftOf('main h2'), 'who made it stands below the figures');
    if (process.env.OOMLINT_PICTURES)
      await page.screenshot({ path: 'out/pictures/report-print.png', fullPage: true });
    await page.close();
  });

  it('draws in the frame of a notebook, which lets scripts run and nothing else', async () => {
    const page = await browser.newPage({ viewport: { width: 900, height: 700 } });
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    await page.setContent('<iframe id="output" sandbox="allow-scripts" width="860" height="640"></iframe>');
    const report = await readFile(file, 'utf8');
    await page.evaluate((text) => document.getElementById('output')?.setAttribute('srcdoc', text), report);
    const frame = page.frameLocator('#output');
    await frame.locator('h1, h2', { hasText: /Fits/ }).first().waitFor();
    assert.match(await frame.locator('main').innerText(), /optimizer states/i);
    const drawn = frame.locator('svg').filter({ visible: true });
    const sizes = await drawn.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
    assert.ok(Math.max(...sizes) > 600, `charts are drawn, as wide as the frame: ${sizes.join(', ')}`);
    if (process.env.OOMLINT_PICTURES) await page.screenshot({ path: 'out/pictures/report-notebook.png' });
    assert.deepEqual(faults, []);
    await page.close();
  });

  it('names no place of the machine that it was made on', async () => {
    const page = await readFile(file, 'utf8');
    assert.ok(!page.includes(process.cwd()) && !page.includes(pathToFileURL(process.cwd()).href));
    assert.ok(!/(?:src|href)=["']?https?:/.test(page.replace(/<script[\s\S]*?<\/script>/g, '')));
  });

  it('ends as an estimate does', async () => {
    const absent = await spawned(['report', 'nowhere.json'], process.cwd());
    assert.equal(absent.code, 2);
    const { code, out } = await spawned(['report', CONFIG, '--gpu', 'T4', '--gpus', '1'], process.cwd());
    assert.equal(code, 1);
    assert.match(out, /^<!DOCTYPE html>[\s\S]*<title>examples\/zero3-llama-8b\.json: does not fit<\/title>/);
  });
});
