import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { longConfig } from '../../bench/samples';
import { openWorkbench, type Workbench } from './workbench';

const TIMES = 10;

/** A person types a value, and reads the answer without waiting for it. */
describe('typing in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;

  before(async () => {
    workbench = await openWorkbench((folder) => writeFile(path.join(folder, 'ds_long.json'), longConfig()));
    ({ page } = workbench);
  });
  after(() => workbench?.stop());

  /**
   * Milliseconds from the key's event in the page to the first frame with another text of the lens, and of the hint
   * behind the micro batch. Both are watched in the page itself, so that the driver's own way there and back counts
   * for nothing.
   */
  async function changesAfter(key: string): Promise<{ lens: number; hint: number }> {
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
      };
      const seen: { pressed?: number; lens?: number; hint?: number } = {};
      Object.assign(window, { seen });
      const before = { lens: read.lens(), hint: read.hint() };
      const look = () => {
        for (const what of ['lens', 'hint'] as const) {
          const now = read[what]();
          if (seen.pressed !== undefined && now.includes('GiB') && now !== before[what])
            seen[what] ??= performance.now() - seen.pressed;
        }
        if (seen.lens === undefined || seen.hint === undefined) requestAnimationFrame(look);
      };
      window.addEventListener('keydown', () => (seen.pressed = performance.now()), {
        capture: true,
        once: true,
      });
      requestAnimationFrame(look);
    });
    await page.keyboard.press(key);
    const seen = await page.waitForFunction(() => {
      const { seen } = window as unknown as { seen: { lens?: number; hint?: number } };
      return seen.lens !== undefined && seen.hint !== undefined
        ? { lens: seen.lens, hint: seen.hint }
        : undefined;
    });
    const found = await seen.jsonValue();
    assert.ok(found);
    return found;
  }

  const FILES = [
    { file: 'ds_config.json', what: 'a short config' },
    { file: 'ds_long.json', what: 'a config of 1,000 lines' },
  ];
  for (const { file, what } of FILES) {
    it(`changes the lens and the hint of ${what} with every value, soon`, async () => {
      await workbench.openFile(file);
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
      const times = { lens: [] as number[], hint: [] as number[] };
      const texts = new Set([await lens.innerText()]);
      for (let i = 0; i < TIMES; i++) {
        // In turn 1, 12, 1, 13, ...: each is another run.
        const change = await changesAfter(i % 2 === 0 ? String(2 + i / 2) : 'Backspace');
        times.lens.push(change.lens);
        times.hint.push(change.hint);
        texts.add(await lens.innerText());
        await page.waitForTimeout(300);
      }
      assert.equal(texts.size, 1 + TIMES / 2, [...texts].join('\n'));
      // How long a machine takes depends on what else it does: printed, not asserted. Of the lens's time, two pauses are the
      // editor's own: before it asks for lenses and before it resolves them, 250 ms each, and 375 ms beside an extension
      // under development.
      console.log(
        `      keystroke to visible text, median of ${TIMES}, ${what}: lens ${median(times.lens)} ms, hint ${median(times.hint)} ms`,
      );
      await workbench.pictures(`hint-after-typing-${path.parse(file).name}`);
      await page.keyboard.press('Control+S');
    });
  }
});

function median(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return (((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2).toFixed(0);
}
