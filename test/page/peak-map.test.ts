import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { accessibilityViolations } from './accessibility';
import { openPanel, type PanelPage, ROOT, suiteBrowser } from './panel-page';
import { FITS, OPENED } from './sample';
import { THEME_KINDS } from './themes';

const GIB = 2 ** 30;
/** Optimizer states of two blocks. */
const PARTED: typeof OPENED = {
  ...OPENED,
  memory: {
    ...OPENED.memory,
    children: OPENED.memory.children?.map((node) =>
      node.id === 'optimizer-states'
        ? {
            ...node,
            children: [
              { name: 'MLP', value: 5 * GIB, unit: 'bytes' as const },
              { name: 'attention', value: node.value - 5 * GIB, unit: 'bytes' as const },
            ],
          }
        : node,
    ),
  },
};

/** Where the peak lies, as areas. */
describe('the map of the peak', () => {
  let panel: PanelPage;
  const browser = suiteBrowser(() => panel);

  async function unfolded(options: Parameters<typeof openPanel>[1] = {}): Promise<Page> {
    panel = await openPanel(browser(), { height: 1600, ...options });
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });
    await panel.page.locator('[data-key=peak-map] > summary').click();
    await panel.page.locator('svg.peak-map').waitFor();
    return panel.page;
  }
  const areas = (page: Page) =>
    page.locator('svg.peak-map .segment').evaluateAll((all) =>
      all.map((one) => {
        const rectangle = one.querySelector('.fill');
        const side = (name: string) => Number(rectangle?.getAttribute(name));
        return {
          name: one.querySelector('title')?.textContent ?? '',
          pixels: side('width') * side('height'),
        };
      }),
    );

  it('is folded at first, and asks for nothing', async () => {
    panel = await openPanel(browser());
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });
    assert.equal(await panel.page.locator('svg.peak-map').count(), 0);
    assert.ok((await panel.messages()).every(({ type }) => type !== 'open-figures'));
  });

  it('has areas as large as what they hold, and opens each component one level when its figures come', async () => {
    const page = await unfolded();
    assert.ok((await panel.messages()).some(({ type }) => type === 'open-figures'));
    const before = await areas(page);
    assert.equal(before.length, FITS.parts.length);
    const whole = FITS.parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const drawn = before.reduce((sum, { pixels }) => sum + pixels, 0);
    const logits = before.find(({ name }) => name.startsWith('Logits and loss'));
    const share = (FITS.parts.find(({ category }) => category === 'logits-and-loss')?.bytes ?? 0) / whole;
    assert.ok(
      Math.abs((logits?.pixels ?? 0) / drawn - share) < 0.02,
      `${logits?.pixels} of ${drawn}, ${share}`,
    );
    await panel.answer({ opened: PARTED });
    await page.locator('svg.peak-map title', { hasText: ' › ' }).first().waitFor({ state: 'attached' });
    const after = await areas(page);
    assert.deepEqual(
      after.filter(({ name }) => name.startsWith('Optimizer states')).map(({ name }) => name),
      ['Optimizer states › MLP: 5.0 GiB', 'Optimizer states › attention: 2.5 GiB'],
    );
    assert.equal(after.length, before.length + 1);
    // Every component has an MLP: its name alone would be of none.
    const labels = await page
      .locator('svg.peak-map .segment', { has: page.locator('title', { hasText: 'Optimizer states › MLP' }) })
      .locator('text')
      .allTextContents();
    assert.deepEqual(labels, ['Optimizer states', 'MLP', '5.0 GiB']);
  });

  it('is walked by arrow keys, and leads to the component in the table', async () => {
    const page = await unfolded();
    await page.focus('[data-key=peak-map-chart]');
    await page.keyboard.press('ArrowRight');
    const detail = page.locator('[data-key=peak-map] .chart-detail');
    assert.match((await detail.textContent()) ?? '', /^Logits and loss: 15\.7 GiB, 35\.\d %$/);
    await page.keyboard.press('Enter');
    const row = page.locator('tr[data-key="peak/Logits and loss"]');
    assert.equal(await row.getAttribute('aria-expanded'), 'true');
    assert.ok(await row.evaluate((element) => element === document.activeElement));
  });

  it('reports why there are no figures', async () => {
    const page = await unfolded();
    await panel.answer({ error: 'The language server did not answer within 15 s.' });
    await page.locator('[data-key=peak-map] > p', { hasText: 'did not answer' }).waitFor();
  });

  for (const theme of THEME_KINDS)
    it(`has no fault that axe knows in ${theme}, wide and narrow`, async () => {
      for (const width of [900, 320]) {
        if (width === 320) await panel.page.context().close();
        const page = await unfolded({ theme, width });
        await panel.answer({ opened: PARTED });
        assert.deepEqual(await accessibilityViolations(page), []);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
        assert.ok(!wide, `${width} px`);
        if (process.env.OOMLINT_PICTURES) {
          await mkdir(path.join(ROOT, 'out', 'pictures'), { recursive: true });
          const map = page.locator('[data-key=peak-map]');
          await map.screenshot({
            path: path.join(ROOT, 'out', 'pictures', `peak-map-${theme}-${width}.png`),
          });
        }
      }
    });
});
