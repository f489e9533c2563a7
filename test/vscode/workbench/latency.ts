import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Workbench } from './workbench';

/** What is drawn after a key. */
export const DRAWN = ['lens', 'hint', 'status'] as const;
type Drawn = (typeof DRAWN)[number];

/** Milliseconds from a key to the frame that shows another text. */
export type Latencies = Readonly<Record<Drawn, readonly number[]>>;

/**
 * Milliseconds from the key's event in the page to the first frame with another text of the lens, of the hint behind the
 * micro batch, and of the status. All are watched in the page itself, so that the driver's own way there and back counts
 * for nothing.
 */
async function changesAfter(page: Page, key: string): Promise<Readonly<Record<Drawn, number>>> {
  await page.evaluate(() => {
    const read = {
      // The second lens, of the largest micro batch, is worked out later.
      lens: () =>
        [...document.querySelectorAll('.codelens-decoration a')]
          .map((lens) => lens.textContent ?? '')
          .filter((text) => text.includes('GiB'))
          .join('\n'),
      // What is typed itself stands in a span of its own; the hint's has the figure.
      hint: () =>
        [...document.querySelectorAll('.view-line span')]
          .filter((span) => span.children.length === 0 && /\d\sGiB/.test(span.textContent ?? ''))
          .map((span) => span.textContent)
          .join('\n'),
      status: () =>
        [...document.querySelectorAll('.statusbar-item')]
          .map((item) => item.textContent ?? '')
          .filter((text) => text.includes('GiB'))
          .join('\n'),
    };
    const seen: { pressed?: number; lens?: number; hint?: number; status?: number } = {};
    Object.assign(window, { seen });
    const before = { lens: read.lens(), hint: read.hint(), status: read.status() };
    const look = () => {
      for (const what of ['lens', 'hint', 'status'] as const) {
        const now = read[what]();
        if (seen.pressed !== undefined && now.includes('GiB') && now !== before[what])
          seen[what] ??= performance.now() - seen.pressed;
      }
      if (seen.lens === undefined || seen.hint === undefined || seen.status === undefined)
        requestAnimationFrame(look);
    };
    window.addEventListener('keydown', () => (seen.pressed = performance.now()), {
      capture: true,
      once: true,
    });
    requestAnimationFrame(look);
  });
  await page.keyboard.press(key);
  const seen = await page.waitForFunction(() => {
    const { seen } = window as unknown as { seen: { lens?: number; hint?: number; status?: number } };
    const { lens, hint, status } = seen;
    return lens !== undefined && hint !== undefined && status !== undefined
      ? { lens, hint, status }
      : undefined;
  });
  return (await seen.jsonValue()) ?? assert.fail('nothing was drawn');
}

/** Puts the cursor behind a micro batch of 1. */
export async function atMicroBatch({ page, openFile }: Workbench, file: string): Promise<void> {
  await openFile(file);
  await page.locator('.codelens-decoration a', { hasText: 'GiB' }).first().waitFor();
  await page
    .locator('.view-line', { hasText: /micro_batch.*GiB/ })
    .first()
    .click();
  await page.keyboard.press('Control+F');
  await page.keyboard.type('_per_gpu": 1');
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
}

/** Between two keys: longer than VS Code waits before it asks for what stands above a text. */
const REST_MS = 300;

/** Key by key in turn in two windows, so that what else the machine does meanwhile counts for both: latencies of each. */
export async function typedInTurn(
  own: Workbench,
  other: Workbench,
  times: number,
): Promise<{ readonly own: Latencies; readonly other: Latencies; readonly texts: ReadonlySet<string> }> {
  const found = { own: noLatencies(), other: noLatencies() };
  const lens = own.page.locator('.codelens-decoration a', { hasText: 'GiB' }).first();
  const texts = new Set([await lens.innerText()]);
  for (let i = 0; i < times; i++) {
    // 12, 1, 13, 1, ...: each is another run.
    const key = i % 2 === 0 ? String(2 + i / 2) : 'Backspace';
    const windows = [
      ['own', own],
      ['other', other],
    ] as const;
    for (const [name, { page }] of i % 4 < 2 ? windows : windows.toReversed()) {
      const change = await changesAfter(page, key);
      for (const what of DRAWN) found[name][what].push(change[what]);
      if (name === 'own') texts.add(await lens.innerText());
      await page.waitForTimeout(REST_MS);
    }
  }
  return { ...found, texts };
}

const noLatencies = (): Record<Drawn, number[]> => ({ lens: [], hint: [], status: [] });

/** Work long enough to meet a scheduler's turns, and how often. */
const WORK = { ms: 50, times: 9 } as const;

/** How many times as long work takes as it would on a core of its own: what others leave of the machine, now. */
export async function stretch(): Promise<number> {
  const factors: number[] = [];
  for (let i = 0; i < WORK.times; i++) {
    const before = { cpu: process.cpuUsage(), at: performance.now() };
    const spent = () => {
      const { user, system } = process.cpuUsage(before.cpu);
      return (user + system) / 1000;
    };
    while (spent() < WORK.ms);
    factors.push((performance.now() - before.at) / spent());
    await new Promise((resolve) => setTimeout(resolve, WORK.ms));
  }
  return Math.max(1, median(factors));
}

/** Milliseconds from a click on the lens to the page of a panel that shows its headline. */
export async function opened({ page }: Workbench): Promise<number> {
  const lens = page.locator('.codelens-decoration a', { hasText: 'GiB' }).first();
  await lens.waitFor();
  const since = performance.now();
  await lens.click();
  for (;;) {
    for (const frame of page.frames()) {
      if (await frame.$('#panel h1').catch(() => null)) return performance.now() - since;
    }
    assert.ok(performance.now() - since < 60_000, 'the panel opens');
    await page.waitForTimeout(5);
  }
}

/** Closes the panel that a click on the lens opened. */
export async function closed({ page }: Workbench): Promise<void> {
  const files = page.locator('.monaco-editor');
  const tab = page.locator('.editor-group-container').filter({ hasNot: files }).locator('.tab').first();
  await tab.click({ button: 'middle' });
  await page.locator('iframe.webview').first().waitFor({ state: 'detached' });
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
