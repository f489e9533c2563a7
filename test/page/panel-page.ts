import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { panelHtml } from '../../client/src/panel-html';
import type {
  EditorMessage,
  OpenedMessage,
  PageMessage,
  PanelContent,
  ShowMessage,
} from '../../client/webview/messages';
import { launchBrowser } from '../../scripts/browser.mjs';
import { withoutMap } from '../../server/src/shared/page';
import { type ThemeKind, theme } from './themes';

/** Tests run from the repository's root. */
export const ROOT = process.cwd();
const ORIGIN = 'https://panel.test';

export { launchBrowser };

export interface PanelPage {
  readonly page: Page;
  /** Everything that the page must not do: policy violations, errors, requests to anywhere but its own files. */
  readonly faults: readonly string[];
  show(content: PanelContent, more?: Partial<ShowMessage>): Promise<void>;
  /** Any other message of the extension. */
  post(message: EditorMessage): Promise<void>;
  /** The answer to `open-figures`. */
  answer(message: Omit<OpenedMessage, 'type'>): Promise<void>;
  messages(): Promise<PageMessage[]>;
  state(): Promise<unknown>;
}

const built = (name: string) => withoutMap(readFileSync(path.join(ROOT, 'client', 'dist', name), 'utf8'));

interface FakeEditor {
  messages: PageMessage[];
  state: unknown;
}

/** The browser of a suite. What each test opened must be without a fault when it ends, and is closed. */
export function suiteBrowser(panel: () => PanelPage): () => Browser {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());
  afterEach(async () => {
    assert.deepEqual(panel().faults, []);
    await panel().page.context().close();
  });
  return () => browser;
}

/** The panel's real page with VS Code's side of it played by the test. */
export async function openPanel(
  browser: Browser,
  options: {
    readonly theme?: ThemeKind;
    readonly width?: number;
    readonly height?: number;
    /** How far the window is zoomed in: 2 is 200 %. Sides are those of the window on the screen. */
    readonly zoom?: number;
    /** What the page kept over a reload. */
    readonly state?: unknown;
  } = {},
): Promise<PanelPage> {
  const { width = 800, height = 900, zoom = 1 } = options;
  const context = await browser.newContext({
    viewport: { width: width / zoom, height: height / zoom },
    deviceScaleFactor: zoom,
  });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      faults.push(`console: ${message.text()}`);
    }
  });
  await page.route('**/*', async (route) => {
    const url = new URL(route.request().url());
    const name = url.pathname.slice(1);
    if (url.origin !== ORIGIN) {
      faults.push(`request: ${url}`);
      await route.abort();
    } else if (name === 'index.html') {
      await route.fulfill({
        contentType: 'text/html',
        body: panelHtml({ script: built('panel.js'), style: built('panel.css') }),
      });
    } else {
      // Icons, which the page does without.
      await route.fulfill({ status: 404 });
    }
  });
  await page.addInitScript(
    ({ bodyClass, variables, kept }) => {
      const fake: FakeEditor = { messages: [], state: kept };
      Object.assign(window, {
        fakeEditor: fake,
        acquireVsCodeApi: () => ({
          postMessage: (message: PageMessage) => fake.messages.push(message),
          setState: (state: unknown) => {
            fake.state = state;
          },
          getState: () => fake.state,
        }),
      });
      document.addEventListener('securitypolicyviolation', (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
      const dress = (): void => {
        for (const [name, value] of Object.entries(variables)) {
          document.documentElement.style.setProperty(name, value);
        }
        document.body.className = bodyClass;
      };
      document.addEventListener('DOMContentLoaded', dress);
    },
    { ...theme(options.theme ?? 'dark', ROOT), kept: options.state },
  );
  await page.goto(`${ORIGIN}/index.html`);
  return {
    page,
    faults,
    async show(content, more) {
      await page.evaluate(
        (message) =>
          window.dispatchEvent(new MessageEvent('message', { data: message, origin: window.origin })),
        {
          type: 'show',
          uri: 'file:///project/ds_config.json',
          content,
          ...more,
        },
      );
      // Charts are drawn when their width is known.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30))));
    },
    async post(message) {
      await page.evaluate(
        (data) => window.dispatchEvent(new MessageEvent('message', { data, origin: window.origin })),
        message as unknown,
      );
    },
    async answer(message) {
      await page.evaluate(
        (data) => window.dispatchEvent(new MessageEvent('message', { data, origin: window.origin })),
        {
          type: 'opened',
          ...message,
        },
      );
    },
    messages: () => page.evaluate(() => (Reflect.get(window, 'fakeEditor') as FakeEditor).messages),
    state: () => page.evaluate(() => (Reflect.get(window, 'fakeEditor') as FakeEditor).state),
  };
}
