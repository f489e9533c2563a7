import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Frame, Locator, Page } from 'playwright-core';
import { serveVsCode } from '../../../scripts/served-vscode.mjs';
import { launchBrowser, ROOT } from '../../page/panel-page';

const PATIENCE_MS = 30_000;

/** One theme of each kind: its name, the classes by which the workbench and its pages know the kind, and our manifest's word. */
export const THEMES = [
  { name: 'Dark Modern', workbench: 'vs-dark', page: 'vscode-dark', own: 'dark' },
  { name: 'Light Modern', workbench: 'vs', page: 'vscode-light', own: 'light' },
  { name: 'Dark High Contrast', workbench: 'hc-black', page: 'vscode-high-contrast', own: 'highContrast' },
  {
    name: 'Light High Contrast',
    workbench: 'hc-light',
    page: 'vscode-high-contrast-light',
    own: 'highContrastLight',
  },
] as const;
/** What settings call them. */
const SETTING: Readonly<Record<(typeof THEMES)[number]['workbench'], string>> = {
  'vs-dark': 'Default Dark Modern',
  vs: 'Default Light Modern',
  'hc-black': 'Default High Contrast',
  'hc-light': 'Default High Contrast Light',
};

/** Where pictures go, where they are asked for. */
const PICTURES = process.env.OOMLINT_PICTURES === undefined ? undefined : path.join(ROOT, 'out', 'pictures');

/** The window that is open, for what is printed of a failure. */
let shown: { readonly page: Page; readonly folder: string } | undefined;

/** What the editor showed when a test failed, which nobody can look at later: behind the message, and as a picture. */
afterEach('what the editor showed', async function () {
  const error = this.currentTest?.state === 'failed' ? this.currentTest.err : undefined;
  if (!error || !shown) return;
  const { page, folder } = shown;
  const texts = (selector: string) =>
    page
      .locator(selector)
      .allInnerTexts()
      .catch(() => []);
  const project = await readFile(path.join(folder, 'oomlint.yaml'), 'utf8').catch(() => 'none');
  const seen = {
    tabs: await texts('.tabs-container .tab'),
    lenses: await texts('.codelens-decoration a'),
    notifications: await texts('.notification-list-item-message'),
    status: await texts('.statusbar-item[id^="oomlint"]'),
    project,
  };
  error.message += `\n  shown: ${JSON.stringify(seen)}`;
  error.stack = `${error.message}\n${error.stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')}`;
  const name = this.currentTest?.fullTitle().replace(/[^\w]+/g, '-') ?? '';
  await page
    .screenshot({ path: path.join(ROOT, 'out', `failed-${name.slice(-80)}.png`) })
    .catch(() => undefined);
});

/** A served VS Code on a copy of the test workspace, and a person's hands in it. */
export interface Workbench {
  readonly page: Page;
  readonly folder: string;
  /** How often window and extensions called each other since the window was opened, by the method (`$provideCodeLenses`). */
  readonly calls: ReadonlyMap<string, number>;
  /** Picks an entry of the quick input that is open: what is typed, and what the entry reads. */
  pick(text: string, entry?: string): Promise<void>;
  command(title: string): Promise<void>;
  openFile(name: string): Promise<void>;
  /** Puts the cursor into the first line with a text, at the left of what is to be seen of it: at its right may stand hints. */
  pressLine(text: string): Promise<void>;
  /** A file of the folder on the disk: the editor empties it before it writes it, so never nothing. */
  fileText(name: string): Promise<string>;
  /** The entries under the lightbulb of the problem of that row in the Problems view, once one of them reads `entry`. */
  fixesOf(problem: Locator, entry: string): Promise<Locator>;
  /** The page of the panel, inside its frames, once it shows a breakdown; of the file where one is named. */
  panel(file?: string): Promise<Frame>;
  untilHeadline(pattern: RegExp): Promise<void>;
  /**
   * Pictures of what is to be seen now, in a theme of each kind, in `out/pictures/`: where the environment variable
   * `OOMLINT_PICTURES` asks for them, as they take their time.
   */
  pictures(name: string): Promise<void>;
  /** One picture in the theme that there is, under the same condition. */
  picture(name: string): Promise<void>;
  stop(): Promise<void>;
}

interface Served {
  readonly address: string;
  stop(): Promise<void>;
}

/** VS Code with a machine behind it. */
async function onMachine(folder: string): Promise<Served> {
  const server = await serveVsCode();
  return { address: server.url(folder, ROOT), stop: () => server.stop() };
}

/** The same, of which a folder inside is opened. */
export const openedAt = (inside: string) => (folder: string) => onMachine(path.join(folder, inside));

/** Counts what window and extensions ask of each other: a call names its method in the frame that carries it. */
function countedCalls(page: Page): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  const count = ({ payload }: { readonly payload: string | Buffer }) => {
    for (const [method] of payload.toString('latin1').matchAll(/\$[a-z][A-Za-z]+/g))
      calls.set(method, (calls.get(method) ?? 0) + 1);
  };
  page.on('websocket', (socket) => socket.on('framesent', count).on('framereceived', count));
  return calls;
}

/**
 * `prepare` gets the folder before it is opened. `language` is the editor's display language; its own words stay
 * English, as there is no language pack.
 */
export async function openWorkbench(
  prepare?: (folder: string) => Promise<void>,
  language?: string,
  serve: (folder: string) => Promise<Served> = onMachine,
): Promise<Workbench> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'oomlint-workbench-'));
  await cp(path.join(ROOT, 'test', 'vscode', 'workspace'), folder, { recursive: true });
  await prepare?.(folder);
  const server = await serve(folder);
  const browser = await launchBrowser();
  const page = await browser.newPage({ viewport: { width: 1300, height: 850 } });
  page.setDefaultTimeout(PATIENCE_MS);
  const calls = countedCalls(page);
  if (language !== undefined) {
    // What the texts of an installed language pack set before the workbench starts.
    await page.addInitScript((tag) => Object.assign(globalThis, { _VSCODE_NLS_LANGUAGE: tag }), language);
  }
  await page.goto(server.address);
  await page.waitForSelector('.monaco-workbench');

  const input = page.locator('.quick-input-widget input');
  const pick = async (text: string, entry = text.replace(/^>/, ''), timeout = PATIENCE_MS): Promise<void> => {
    await input.fill(text, { timeout });
    await page.locator('.quick-input-list .monaco-list-row', { hasText: entry }).first().click({ timeout });
  };
  /** Opens the quick input. A page that is just coming up takes the focus, and with it closes what was open. */
  const ask = async (key: string): Promise<void> => {
    for (const end = Date.now() + PATIENCE_MS; ; ) {
      await page.keyboard.press(key);
      await page.waitForTimeout(250);
      if (await input.isVisible()) return;
      if (Date.now() > end) throw new Error(`${key} opens no quick input.`);
    }
  };
  /** Asks and picks, again where something took the focus in between: the input closes then. */
  const asked = async (key: string, text: string): Promise<void> => {
    for (let left = 3; ; left--) {
      await ask(key);
      try {
        await pick(text, undefined, PATIENCE_MS / 4);
        return;
      } catch (error) {
        if (left === 0) throw error;
      }
    }
  };
  const panel = async (file?: string): Promise<Frame> => {
    const until = Date.now() + PATIENCE_MS;
    while (Date.now() < until) {
      for (const frame of page.frames()) {
        const origin = await frame.$('#panel [role=tablist]').then(
          (found) => found && frame.textContent('.origin button'),
          () => null,
        );
        if (origin && (file === undefined || origin === file)) return frame;
      }
      await page.waitForTimeout(100);
    }
    await page.screenshot({ path: path.join(ROOT, 'out', 'workbench-failed.png') });
    throw new Error('The panel shows no breakdown; see out/workbench-failed.png.');
  };
  const picture = async (name: string): Promise<void> => {
    if (PICTURES === undefined) return;
    await mkdir(PICTURES, { recursive: true });
    // Layout and fades come to rest.
    await page.waitForTimeout(600);
    await page.screenshot({ path: path.join(PICTURES, `${name}.png`) });
  };
  shown = { page, folder };
  return {
    page,
    folder,
    calls,
    picture,
    pictures: async (name) => {
      if (PICTURES === undefined) return;
      const settings = path.join(folder, '.vscode', 'settings.json');
      await mkdir(path.dirname(settings), { recursive: true });
      for (const { workbench } of THEMES) {
        // Settings of a folder are read at once: what is open stays open.
        await writeFile(settings, JSON.stringify({ 'workbench.colorTheme': SETTING[workbench] }));
        await page.locator(`.monaco-workbench.${workbench}`).waitFor();
        await picture(`${name}-${workbench}`);
      }
      await rm(settings);
    },
    pick,
    panel,
    command: async (title) => {
      await asked('F1', `>${title}`);
    },
    openFile: async (name) => {
      // Not the tab of a panel about the file, which names it too.
      const tab = page.locator(`.tab.active[data-resource-name="${path.posix.basename(name)}"]`).first();
      // A click on a row that a slow search draws anew is on another one: once more, then.
      for (let left = 2; ; left--) {
        await asked('Control+P', name);
        try {
          await tab.waitFor({ timeout: PATIENCE_MS / 2 });
          return;
        } catch (error) {
          if (left === 0) throw error;
        }
      }
    },
    pressLine: async (text) => {
      const line = page.locator('.view-line', { hasText: text }).first();
      await line.waitFor();
      // A narrow editor is scrolled to the end of a line with a hint: its beginning lies below what stands beside the editor.
      const seen = line.locator('xpath=ancestor::div[contains(@class, "editor-scrollable")]').first();
      const [area, row] = await Promise.all([seen.boundingBox(), line.boundingBox()]);
      assert.ok(area && row, text);
      await page.mouse.click(area.x + 40, row.y + row.height / 2);
    },
    fileText: async (name) => {
      for (const end = Date.now() + PATIENCE_MS; ; await page.waitForTimeout(20)) {
        const text = await readFile(path.join(folder, name), 'utf8');
        if (text !== '') return text;
        if (Date.now() > end) throw new Error(`${name} is empty.`);
      }
    },
    fixesOf: async (problem, entry) => {
      const entries = page.locator('.action-widget .monaco-list-row', { hasText: entry });
      // The widget closes where the editor is only just moving to the problem, so the whole way is gone again.
      for (const end = Date.now() + PATIENCE_MS; ; ) {
        await problem.first().dblclick();
        await page.locator('.monaco-editor.focused').first().waitFor();
        await page.keyboard.press('Control+.');
        await entries
          .first()
          .waitFor({ timeout: 5_000 })
          .catch(() => undefined);
        // Open, and still open: what closes it comes within that time.
        await page.waitForTimeout(250);
        if (await entries.first().isVisible()) return entries;
        if (Date.now() > end) throw new Error(`No entry under the lightbulb reads ${entry}.`);
        await page.keyboard.press('Escape');
      }
    },
    untilHeadline: async (pattern) => {
      const frame = await panel();
      await frame.locator('h1', { hasText: pattern }).waitFor();
    },
    stop: async () => {
      await browser.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
