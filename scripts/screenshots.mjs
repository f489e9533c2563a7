// Pictures of the real editor for the README, in media/screenshots/.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from './browser.mjs';
import { serveVsCode } from './served-vscode.mjs';
import { smallPng } from './small-png.mjs';
import {
  runCommand as command,
  copyExamples,
  frameWith,
  lens,
  openFile as open,
  PATIENCE_MS,
  setTheme,
  settle,
} from './workbench.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const pictures = path.join(root, 'media', 'screenshots');

const { examples, remove } = await copyExamples(root);
const theme = (name) => setTheme(examples, name);
await mkdir(pictures, { recursive: true });
await theme('Default Dark Modern');

const browser = await launchBrowser();
const server = await serveVsCode();
try {
  const page = await browser.newPage({
    viewport: { width: 1240, height: 640 },
    deviceScaleFactor: 1.25,
  });
  page.setDefaultTimeout(PATIENCE_MS);
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

  await page.mouse.move(250, 500);
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
  const panel = await frameWith(page, '#panel');
  await panel.waitForSelector('.component-bar');
  await page.keyboard.press('Control+B');
  // Where nothing lies under it that would light up.
  await page.mouse.move(300, 900);
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
  await settle(page);
  await panel.locator('[data-key=knob-micro-batch-slider]').press('ArrowRight');
  await panel.locator('[data-key=knob-optimizer]').selectOption('adamw-8bit');
  await panel.waitForSelector('.changes table');
  await settle(page);
  await shoot(page, 'panel-try');
  await panel.locator('[data-key=reset]').click();
  await panel.locator('[data-key=tab-timeline]').click();
  await panel.locator('[data-key=timeline]').press('Home');
  for (let sample = 0; sample < 9; sample++) {
    await panel.locator('[data-key=timeline]').press('ArrowRight');
  }
  await panel.locator('.chart-detail', { hasText: 'Alive:' }).waitFor();
  await settle(page);
  await shoot(page, 'panel-timeline');
  await panel.locator('[data-key=tab-compute]').click();
  await settle(page);
  await shoot(page, 'panel-compute');
} catch (error) {
  const [page] = browser.contexts().flatMap((context) => context.pages());
  await page?.screenshot({ path: path.join(root, 'out', 'screenshot-failed.png') });
  throw error;
} finally {
  await server.stop();
  await browser.close();
  await remove();
}

async function shoot(page, name) {
  const picture = smallPng(await page.screenshot());
  await writeFile(path.join(pictures, `${name}.png`), picture);
  console.log(`media/screenshots/${name}.png, ${Math.round(picture.length / 1000)} kB`);
}
