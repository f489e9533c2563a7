// Pictures of the real editor for the README, in media/screenshots/.
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from './browser.mjs';
import { serveVsCode } from './served-vscode.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const pictures = path.join(root, 'media', 'screenshots');
const PATIENCE = { timeout: 30_000 };

const folder = await mkdtemp(path.join(os.tmpdir(), 'examples-'));
const examples = path.join(folder, 'examples');
await cp(path.join(root, 'examples'), examples, { recursive: true });
await mkdir(pictures, { recursive: true });
await theme('Default Dark Modern');

const browser = await launchBrowser();
const server = await serveVsCode();
try {
  const page = await browser.newPage({
    viewport: { width: 1240, height: 640 },
    deviceScaleFactor: 1.25,
  });
  page.setDefaultTimeout(PATIENCE.timeout);
  await page.goto(server.url(examples, root));
  await page.waitForSelector('.monaco-workbench');

  await open(page, 'zero3-llama-8b.json');
  await lens(page);
  await page
    .locator('.view-line span > span', { hasText: /^"stage"$/ })
    .first()
    .hover();
  await page.waitForSelector('.monaco-hover:not(.hidden) .hover-contents');
  await settle(page);
  await shoot(page, 'hover');

  await page.mouse.move(10, 700);
  await page.keyboard.press('Escape');
  await open(page, 'does-not-fit.json');
  await lens(page);
  await page.keyboard.press('Control+Shift+M');
  await page.waitForSelector('.markers-panel .monaco-list-row');
  await settle(page);
  await shoot(page, 'problems');
  await page.keyboard.press('Control+J');

  // Room for the whole panel: bar, table and the step.
  await page.setViewportSize({ width: 1440, height: 1020 });
  await command(page, 'View: Close All Editors');
  await open(page, 'zero3-llama-8b.json');
  await lens(page);
  await page.locator('.codelens-decoration a').first().click();
  const panel = await panelFrame(page);
  await panel.waitForSelector('.component-bar');
  await page.keyboard.press('Control+B');
  for (const [name, label, kind] of [
    ['panel-dark', 'Default Dark Modern', 'vscode-dark'],
    ['panel-light', 'Default Light Modern', 'vscode-light'],
    ['panel-high-contrast', 'Default High Contrast', 'vscode-high-contrast'],
    ['panel-high-contrast-light', 'Default High Contrast Light', 'vscode-high-contrast-light'],
  ]) {
    await theme(label);
    await panel.waitForSelector(`body[data-vscode-theme-kind="${kind}"]`);
    await settle(page);
    await shoot(page, name);
  }
  await theme('Default Dark Modern');
  await panel.evaluate(() => {
    document.querySelector('.timeline')?.closest('section')?.scrollIntoView();
  });
  await settle(page);
  await shoot(page, 'panel-step');
} catch (error) {
  const [page] = browser.contexts().flatMap((context) => context.pages());
  await page?.screenshot({ path: path.join(root, 'out', 'screenshot-failed.png') });
  throw error;
} finally {
  await server.stop();
  await browser.close();
  await rm(folder, { recursive: true, force: true });
}

/** The folder's settings are read at once, so they can change what is shown while it is open. */
async function theme(name) {
  await mkdir(path.join(examples, '.vscode'), { recursive: true });
  await writeFile(
    path.join(examples, '.vscode', 'settings.json'),
    JSON.stringify({
      'workbench.colorTheme': name,
      'window.commandCenter': false,
      'workbench.layoutControl.enabled': false,
      'editor.minimap.enabled': false,
      'editor.fontSize': 13,
      'breadcrumbs.enabled': false,
      'files.exclude': { '.vscode': true },
    }),
  );
}

async function open(page, name) {
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input').fill(name);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
  await page.locator('.tab.active', { hasText: name }).waitFor();
}

async function command(page, title) {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input').fill(`>${title}`);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().click();
}

function lens(page) {
  return page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
}

/** The page inside the webview's two frames. */
async function panelFrame(page) {
  const until = Date.now() + PATIENCE.timeout;
  while (Date.now() < until) {
    for (const frame of page.frames()) {
      const found = await frame.$('#panel').catch(() => null);
      if (found) {
        return frame;
      }
    }
    await page.waitForTimeout(100);
  }
  throw new Error('The breakdown panel did not appear.');
}

/** Layout and fades come to rest. */
async function settle(page) {
  await page.waitForTimeout(800);
}

async function shoot(page, name) {
  await page.screenshot({ path: path.join(pictures, `${name}.png`) });
  console.log(`media/screenshots/${name}.png`);
}
