import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { RUSSIAN } from '../../server/src/wording/russian';
import { speak } from '../../server/src/wording/say';
import { accessibilityViolations } from './accessibility';
import { layoutFaults } from './layout';
import { openPanel, type PanelPage, ROOT, suiteBrowser } from './panel-page';
import { PANEL_RUNS } from './runs';
import type { ThemeKind } from './themes';

/** What a person does to see more of a state: the name of what is seen then, and how they get there. */
const PLACES: Readonly<Record<string, readonly [string, (page: Page) => Promise<void>][]>> = {
  fits: [
    ['overview', async () => undefined],
    ['tensors', (page) => openFirst(page)],
    ['map', (page) => page.locator('[data-key=peak-map] > summary').click()],
    [
      'timeline',
      async (page) => {
        await page.click('[data-key=tab-timeline]');
        await page.locator('[data-key=timeline]').focus();
        for (let step = 0; step < 3; step++) await page.keyboard.press('ArrowRight');
      },
    ],
    ['compute', (page) => page.click('[data-key=tab-compute]')],
    ['comparing with nothing yet', (page) => page.click('[data-key=tab-compare]')],
  ],
};
const AS_SHOWN = [['', async () => undefined]] as const;

/** Opens the first component, and the first of its parts. */
async function openFirst(page: Page): Promise<void> {
  await page.locator('tr.figure-row').first().click();
  await page.locator('tr.figure-row[aria-level="2"]').first().click();
}

const BESIDE = { width: 800, height: 900 };
const NARROW = { width: 300, height: 800 };
const COLUMN = { width: 400, height: 900 };
const WIDE = { width: 1400, height: 900 };
const ZOOMED = { width: 800, height: 900, zoom: 2 };
type Look = readonly [ThemeKind, language: 'en' | 'ru', size: typeof BESIDE & { readonly zoom?: number }];

/** Each theme, language and width, each language in each width, and 200 %. Pictures are taken of each theme in the width that is usual, too. */
const LOOKS: readonly Look[] = [
  ['dark', 'en', BESIDE],
  ['light', 'ru', NARROW],
  ['highContrast', 'en', WIDE],
  ['highContrastLight', 'ru', BESIDE],
  ['highContrast', 'ru', COLUMN],
  ['dark', 'ru', ZOOMED],
  ...(process.env.OOMLINT_PICTURES === undefined
    ? []
    : (['light', 'highContrast', 'highContrastLight'] as const).map((theme): Look => [theme, 'en', BESIDE])),
];

/** Each state of the panel as it is met: themes of all kinds, columns of all widths, both languages. */
describe('the panel in all its states', function () {
  this.timeout(180_000);
  let panel: PanelPage;
  const browser = suiteBrowser(() => panel);
  afterEach(() => speak('en', undefined));

  for (const [state, run] of Object.entries(PANEL_RUNS)) {
    for (const [theme, language, size] of LOOKS) {
      it(`${state}: nothing is cut off, overlaps or is a fault for axe, ${theme}, ${language}, ${size.width} pixels at ${100 * (size.zoom ?? 1)} %`, async () => {
        const bundle = language === 'ru' ? RUSSIAN : undefined;
        speak(language, bundle);
        const { file, breakdown, more, kept } = await run();
        panel = await openPanel(browser(), { ...size, theme, state: kept });
        await panel.show({ kind: 'breakdown', file, breakdown }, { uri: breakdown.file, language, bundle });
        for (const message of more) await panel.post(message);
        const { page } = panel;
        for (const [place, go] of PLACES[state] ?? AS_SHOWN) {
          await go(page);
          await page.waitForTimeout(60);
          await picture(
            page,
            [state, place, size.width, size.zoom === undefined ? '' : `${100 * size.zoom}%`, language, theme]
              .filter((word) => word !== '')
              .join('-'),
          );
          assert.deepEqual(await layoutFaults(page), [], place);
          assert.deepEqual(await accessibilityViolations(page), [], place);
        }
      });
    }
  }
});

/** The whole page, where pictures are asked for. */
async function picture(page: Page, name: string): Promise<void> {
  if (process.env.OOMLINT_PICTURES === undefined) return;
  const folder = path.join(ROOT, 'out', 'pictures', 'panel');
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name.replaceAll(' ', '-')}.png`), fullPage: true });
}
