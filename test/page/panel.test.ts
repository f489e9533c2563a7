import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { Breakdown } from '../../server/src/features/protocol';
import { launchBrowser, openPanel, type PanelPage, ROOT } from './panel-page';
import { EXCEEDS, FITS, UNKNOWN } from './sample';
import { THEME_KINDS } from './themes';

const AXE = readFileSync(path.join(ROOT, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

async function accessibilityViolations(page: Page): Promise<string[]> {
  // Evaluated by the browser's debugger, so the page's own policy stays as strict as it ships.
  await page.evaluate(AXE);
  const violations = await page.evaluate(
    () => Reflect.get(window, 'axe').run() as Promise<{ violations: Violation[] }>,
  );
  return violations.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
  );
}

describe('breakdown panel page', () => {
  let browser: Browser;
  let panel: PanelPage;

  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());
  afterEach(async () => {
    assert.deepEqual(panel.faults, []);
    await panel.page.context().close();
  });

  async function shown(breakdown: Breakdown, options: Parameters<typeof openPanel>[1] = {}): Promise<Page> {
    panel = await openPanel(browser, options);
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown });
    return panel.page;
  }

  it('asks for content when it is ready, and keeps the file for the next start', async () => {
    await shown(FITS);
    assert.deepEqual(await panel.messages(), [{ type: 'ready' }]);
    assert.deepEqual(await panel.state(), { uri: 'file:///project/ds_config.json' });
  });

  it('opens with the verdict', async () => {
    const page = await shown(FITS);
    assert.equal(await page.textContent('h1'), 'Fits: 44.2 of 79.2 GiB');
    assert.match(
      (await page.textContent('.headline p')) ?? '',
      /in the loss \(cross-entropy\).*35\.0 GiB free/,
    );
  });

  it('says how much is missing', async () => {
    const page = await shown(EXCEEDS);
    assert.equal(await page.textContent('h1'), 'Does not fit: 20.7 GiB missing');
    assert.equal(await page.locator('.component-bar .excess').count(), 1);
  });

  it('draws one segment and one row for each component, and the limit', async () => {
    const page = await shown(FITS);
    assert.equal(await page.locator('.component-bar .segment').count(), FITS.parts.length);
    assert.equal(await page.locator('.components tbody tr').count(), FITS.parts.length);
    assert.equal(await page.textContent('.component-bar .limit-label'), '79.2 GiB usable');
    const row = page.locator('.components tbody tr', { hasText: 'Optimizer states' });
    assert.deepEqual(await row.locator('.component-name, td').allTextContents(), [
      'Optimizer states',
      '7.48',
      '16.9 %',
      '2 x 4 B x 8.03 G parameters / 8',
    ]);
  });

  it('draws the step with its moments and its peak', async () => {
    const page = await shown(FITS);
    assert.deepEqual(await page.locator('.timeline .phase-name').allTextContents(), ['Forward', 'Backward']);
    assert.equal(await page.locator('.timeline .peak').count(), 1);
    await page.click('summary');
    assert.equal(await page.locator('details tbody tr').count(), FITS.timeline.length);
  });

  it('moves through the components with the arrow keys and speaks the one in focus only', async () => {
    const page = await shown(FITS);
    await page.focus('[data-key=components]');
    await page.keyboard.press('ArrowRight');
    const spoken = page.locator('[aria-live=polite]');
    assert.equal(await spoken.textContent(), 'Weights: 1.87 GiB, 4.2 %');
    await page.keyboard.press('ArrowRight');
    assert.equal(await spoken.textContent(), 'Master weights: 3.74 GiB, 8.5 %');
    assert.equal(await page.textContent('.components tr.chosen .component-name'), 'Master weights');
    await page.keyboard.press('End');
    assert.match((await spoken.textContent()) ?? '', /^CUDA context/);
    await page.keyboard.press('ArrowRight');
    assert.match((await spoken.textContent()) ?? '', /^CUDA context/);
    await page.keyboard.press('Home');
    assert.match((await spoken.textContent()) ?? '', /^Weights/);
  });

  it('moves through the step by sample and by moment', async () => {
    const page = await shown(FITS);
    await page.focus('[data-key=timeline]');
    await page.keyboard.press('Home');
    const spoken = page.locator('[aria-live=polite]');
    assert.match(
      (await spoken.textContent()) ?? '',
      /^Layer 0 forward: 22\.0 GiB, most of it optimizer states 7\.5 GiB/,
    );
    await page.keyboard.press('PageDown');
    assert.match((await spoken.textContent()) ?? '', /^Cross-entropy/);
    await page.keyboard.press('PageDown');
    assert.match((await spoken.textContent()) ?? '', /^Layer 31 backward/);
  });

  it('keeps focus and open tables when an edit brings new figures', async () => {
    const page = await shown(FITS);
    await page.click('summary');
    await page.focus('[data-key=components]');
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: EXCEEDS });
    assert.equal(
      await page.evaluate(() => (document.activeElement as HTMLElement).dataset.key),
      'components',
    );
    assert.equal(await page.locator('details[open]').count(), 1);
  });

  it('makes links of https addresses only', async () => {
    const page = await shown(FITS);
    const links = page.locator('.assumptions a');
    assert.deepEqual(await links.allTextContents(), ['DeepSpeed 0.19 default']);
    assert.equal(await links.first().getAttribute('href'), 'https://www.deepspeed.ai/docs/config-json/');
  });

  it('shows file names, labels and values as text, never as markup', async () => {
    const hostile = '<img src=x onerror=alert(1)>';
    const page = await shown({
      ...FITS,
      notes: [hostile],
      assumptions: [{ field: hostile, value: hostile, source: hostile }],
    });
    assert.equal(await page.locator('img').count(), 0);
    assert.equal(await page.textContent('section li'), hostile);
  });

  it('lists what is missing and asks the editor to supply it', async () => {
    const page = await shown(UNKNOWN);
    assert.equal(await page.textContent('h1'), 'Not known yet: needs model and GPU');
    await page.click('[data-key=supply]');
    assert.deepEqual((await panel.messages()).at(-1), {
      type: 'supply',
      fields: ['model.id', 'hardware.gpu'],
    });
  });

  it('says what to do while there is nothing to show', async () => {
    panel = await openPanel(browser);
    await panel.show({ kind: 'empty' });
    assert.equal(await panel.page.textContent('h1'), 'No training config is open');
  });

  it('offers to try again after a failure', async () => {
    panel = await openPanel(browser);
    await panel.show({ kind: 'error', file: 'a.yaml', message: 'The language server is not running.' });
    assert.match((await panel.page.textContent('[role=alert]')) ?? '', /not running/);
    await panel.page.click('[data-key=retry]');
    await panel.page.click('[data-key=output]');
    assert.deepEqual((await panel.messages()).slice(1), [{ type: 'retry' }, { type: 'show-output' }]);
  });

  it('shows progress only when an answer takes its time', async () => {
    panel = await openPanel(browser);
    // Looked at in the same breath, so that no slow machine can be late.
    const atOnce = await panel.page.evaluate(() => {
      const data = { type: 'show', content: { kind: 'loading', file: 'a.yaml' } };
      window.dispatchEvent(new MessageEvent('message', { data }));
      return document.querySelectorAll('[role=progressbar]').length;
    });
    assert.equal(atOnce, 0);
    await panel.page.waitForSelector('[role=progressbar]');
    assert.deepEqual(await accessibilityViolations(panel.page), []);
  });

  for (const width of [280, 400, 1600]) {
    it(`needs no sideways scrolling at ${width} pixels`, async () => {
      const page = await shown(EXCEEDS, { width });
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(overflow, 0);
      const bar = await page.locator('.component-bar').boundingBox();
      assert.ok(bar && bar.width <= width && bar.width > 200);
    });
  }

  it('draws the charts anew when the column is resized', async () => {
    const page = await shown(FITS, { width: 900 });
    await page.setViewportSize({ width: 450, height: 900 });
    await page.waitForFunction(() => (document.querySelector('.component-bar')?.clientWidth ?? 999) < 450);
  });

  it('stands still where motion is unwanted', async () => {
    const page = await shown(FITS);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    const durations = await page.evaluate(() =>
      [...document.querySelectorAll('.segment')].map(
        (element) => getComputedStyle(element).transitionDuration,
      ),
    );
    assert.deepEqual([...new Set(durations)], ['0s']);
  });

  for (const kind of THEME_KINDS) {
    it(`has no accessibility violations in a ${kind} theme`, async () => {
      const page = await shown(EXCEEDS, { theme: kind });
      await page.click('summary');
      assert.deepEqual(await accessibilityViolations(page), []);
    });

    it(`gives components ${kind.startsWith('high') ? 'a texture beside their colour' : 'plain colours'} in a ${kind} theme`, async () => {
      const page = await shown(FITS, { theme: kind });
      const looks = await page.evaluate(() =>
        [...document.querySelectorAll('.component-bar .segment')].map((segment) => {
          const [fill, texture] = segment.querySelectorAll('rect');
          return {
            color: fill ? getComputedStyle(fill).fill : '',
            texture: texture ? getComputedStyle(texture).visibility : '',
          };
        }),
      );
      assert.equal(new Set(looks.map(({ color }) => color)).size, FITS.parts.length);
      assert.deepEqual(
        [...new Set(looks.map(({ texture }) => texture))],
        [kind.startsWith('high') ? 'visible' : 'hidden'],
      );
    });
  }

  for (const [name, breakdown] of [
    ['missing facts', UNKNOWN],
    ['a run that fits', FITS],
  ] as const) {
    it(`has no accessibility violations with ${name}, narrow`, async () => {
      const page = await shown(breakdown, { width: 360 });
      assert.deepEqual(await accessibilityViolations(page), []);
    });
  }
});
