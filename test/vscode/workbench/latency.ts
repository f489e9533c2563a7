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

interface Typed {
  readonly latencies: Latencies;
  /** Texts of the lens. */
  readonly texts: ReadonlySet<string>;
  /** Calls between window and extensions meanwhile, by the method. */
  readonly calls: ReadonlyMap<string, number>;
}

/** Types another micro batch so many times, in turn 1, 12, 1, 13, ...: each is another run. */
export async function typed(
  { page, openFile, calls }: Workbench,
  file: string,
  times: number,
): Promise<Typed> {
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
  const lens = page.locator('.codelens-decoration a', { hasText: 'GiB' }).first();
  const found: Record<Drawn, number[]> = { lens: [], hint: [], status: [] };
  const texts = new Set([await lens.innerText()]);
  const before = new Map(calls);
  for (let i = 0; i < times; i++) {
    const change = await changesAfter(page, i % 2 === 0 ? String(2 + i / 2) : 'Backspace');
    for (const what of DRAWN) found[what].push(change[what]);
    texts.add(await lens.innerText());
    await page.waitForTimeout(300);
  }
  const since = new Map([...calls].map(([method, times]) => [method, times - (before.get(method) ?? 0)]));
  return { latencies: found, texts, calls: since };
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

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
