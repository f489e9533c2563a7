// A person's hands in a served VS Code, for pictures: opens files, runs commands, waits for what is to be seen.
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

export const PATIENCE_MS = 30_000;

/** A copy of the examples, with settings that keep pictures plain. `remove()` when done. */
export async function copyExamples(root) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'examples-'));
  const examples = path.join(folder, 'examples');
  await cp(path.join(root, 'examples'), examples, { recursive: true });
  return { examples, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** The folder's settings are read at once, so they can change what is shown while it is open; `more` beside those of every picture. */
export async function setTheme(examples, name, more = {}) {
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
      ...more,
    }),
  );
}

export async function openFile(page, name) {
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input').fill(name);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
  await page.locator('.tab.active', { hasText: name }).waitFor();
}

export async function runCommand(page, title) {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input').fill(`>${title}`);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().click();
}

/** The estimate above the config. */
export function lens(page) {
  return page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
}

/** Layout and fades come to rest. */
export async function settle(page) {
  await page.waitForTimeout(800);
}

/** The frame that shows this: what a webview holds stands two frames deep. */
export async function frameWith(page, selector) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await page.waitForTimeout(100)) {
    for (const frame of page.frames()) {
      if (await frame.$(selector).catch(() => null)) return frame;
    }
  }
  throw new Error(`No frame shows ${selector}.`);
}
