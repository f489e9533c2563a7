import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

/** What only a person in front of the workbench sees: the page inside its frames, typing, a reload of the window. */
describe('the panel in the workbench', function () {
  this.timeout(600_000);
  let workbench: Workbench;
  let page: Page;
  let pick: Workbench['pick'];
  let panel: Workbench['panel'];
  let untilHeadline: Workbench['untilHeadline'];

  before(async () => {
    workbench = await openWorkbench();
    ({ page, pick, panel, untilHeadline } = workbench);
    await workbench.openFile('ds_config.json');
    await openFromLens();
  });
  after(() => workbench?.stop());

  /** VS Code draws the lens anew once its second part is known: a click at that very moment is lost, and made again. */
  async function openFromLens(): Promise<void> {
    const opened = page.locator('.tab', { hasText: 'Memory: ds_config.json' });
    for (let left = 3; ; left--) {
      await page.locator('.codelens-decoration a', { hasText: 'GiB' }).first().click();
      try {
        await opened.waitFor({ timeout: 5000 });
        return;
      } catch (error) {
        if (left === 0) throw error;
      }
    }
  }

  it('opens from the lens, in the colours of the theme', async () => {
    await untilHeadline(/^Fits: [\d.]+ of [\d.]+ GiB$/);
    const frame = await panel();
    const colors = await frame.$$eval('.component-bar .segment .fill', (fills) =>
      fills.map((fill) => getComputedStyle(fill).fill),
    );
    assert.ok(colors.length > 5);
    assert.equal(new Set(colors).size, colors.length);
    assert.ok(!colors.includes('rgb(0, 0, 0)'));
  });

  it('has a group of its own: what is opened from within it opens beside, and the status stays', async () => {
    const frame = await panel();
    await frame.locator('h1').click();
    await page.locator('.editor-group-container.active .tab.active', { hasText: 'Memory: ' }).waitFor();
    // What goes with the focus of the text goes within that time.
    await page.waitForTimeout(1_000);
    await page.locator('.statusbar-item', { hasText: /[\d.]+ of [\d.]+ GiB · 8×H100/ }).waitFor();
    await workbench.openFile('accelerate.yaml');
    const groups = page.locator('.editor-group-container');
    assert.equal(await groups.count(), 2);
    await groups.nth(0).locator('.tab.active[data-resource-name="accelerate.yaml"]').waitFor();
    await groups.nth(1).locator('.tab.active', { hasText: 'Memory: accelerate.yaml' }).waitFor();
    assert.equal(await groups.nth(1).locator('.tab').count(), 1);
    await workbench.openFile('ds_config.json');
    await groups.nth(1).locator('.tab.active', { hasText: 'Memory: ds_config.json' }).waitFor();
    await untilHeadline(/^Fits/);
  });

  it('dims nothing while a key has the cursor: what weighs most stays in its colour', async () => {
    const frame = await panel();
    await page
      .locator('.view-line span', { hasText: /^"stage"$/ })
      .last()
      .click();
    await frame.locator('.at-cursor', { hasText: 'zero_optimization.stage' }).waitFor();
    const shades = await frame.$$eval('.component-bar .segment', (segments) =>
      segments.map((segment) => {
        let shade = 1;
        for (let at: Element | null = segment; at; at = at.parentElement)
          shade *= Number(getComputedStyle(at).opacity);
        return shade;
      }),
    );
    assert.ok(shades.length > 5);
    for (const shade of shades) assert.ok(shade >= 0.7, `${shade}`);
    await workbench.pictures('panel-key-at-cursor');
  });

  it('draws the step as a ramp over its layers, with moments that do not collide', async () => {
    const frame = await panel();
    await frame.locator('[data-key=tab-timeline]').click();
    await frame.locator('.timeline').waitFor();
    const drawn = await frame.evaluate(() => {
      const svg = document.querySelector('.timeline');
      const chart = svg?.getBoundingClientRect();
      const names = [...(svg?.querySelectorAll('text') ?? [])]
        .filter((text) => getComputedStyle(text).visibility !== 'hidden' && text.textContent)
        .map((text) => text.getBoundingClientRect());
      const overlaps = names.filter((a, i) =>
        names.some(
          (b, j) =>
            j > i &&
            a.left < b.right - 1 &&
            b.left < a.right - 1 &&
            a.top < b.bottom - 1 &&
            b.top < a.bottom - 1,
        ),
      ).length;
      /** The steepest part of the outline, as a share of the chart's width that it takes to climb half of its height. */
      const [outline] = [...(svg?.querySelectorAll('path') ?? [])]
        .map((path) => path.getTotalLength() > 0 && path)
        .filter((path) => path !== false);
      return { width: chart?.width ?? 0, overlaps, paths: outline ? 1 : 0 };
    });
    assert.ok(drawn.width > 200);
    assert.equal(drawn.overlaps, 0, 'names of moments do not collide');
    // Layers that are alike are as wide as they are many: the climb of the forward is no cliff.
    const climb = await frame.$eval('.timeline', (svg) => {
      const points = [...svg.querySelectorAll<SVGGeometryElement>('path, polygon, polyline')].flatMap(
        (shape) => {
          const length = shape.getTotalLength();
          return Array.from({ length: 400 }, (_, i) => shape.getPointAtLength((length * i) / 400));
        },
      );
      const tops = new Map<number, number>();
      for (const { x, y } of points) {
        const column = Math.round(x / 4);
        tops.set(column, Math.min(tops.get(column) ?? Number.POSITIVE_INFINITY, y));
      }
      return new Set([...tops.values()].map((y) => Math.round(y / 4))).size;
    });
    assert.ok(climb > 8, `${climb} levels`);
    await workbench.pictures('panel-timeline');
    await frame.locator('[data-key=tab-overview]').click();
  });

  it('follows what is typed, before it is saved', async () => {
    await workbench.pressLine('micro_batch');
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.type('99');
    await untilHeadline(/^Does not fit: [\d.,]+ GiB over$/);
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await untilHeadline(/^Fits/);
    await page.keyboard.press('Control+S');
  });

  it('keeps its figures, greyed, while the syntax is broken, and takes new ones after', async () => {
    const frame = await panel();
    const headline = await frame.innerText('h1');
    await workbench.pressLine('bf16');
    await page.keyboard.press('End');
    await page.keyboard.press('Backspace');
    await frame.locator('.notice', { hasText: 'Fix the syntax first.' }).waitFor();
    assert.equal(await frame.innerText('h1'), headline);
    const opacity = await frame.locator('.outdated').evaluate((stage) => getComputedStyle(stage).opacity);
    assert.ok(Number(opacity) < 1, opacity);
    await workbench.pictures('panel-broken-syntax');
    await page.keyboard.type(',');
    await frame.locator('.outdated').waitFor({ state: 'detached' });
    assert.equal(await frame.innerText('h1'), headline);
    await page.keyboard.press('Control+S');
  });

  it('changes with a fact that is supplied to the project file', async () => {
    await workbench.pressLine('micro_batch');
    await workbench.command('Oomlint: Choose GPU');
    await page.locator('.quick-input-title', { hasText: 'GPU' }).waitFor();
    await pick('RTX 4090');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'oomlint.yaml' }).first().click();
    await untilHeadline(/^Does not fit/);
  });

  /** An action of the panel's title bar, by what it reads. */
  const action = (name: string) =>
    page.locator(`.editor-actions .action-label[aria-label*="${name}"]`).first();

  it('answers visibly, and to a screen reader, that it was copied', async () => {
    const frame = await panel();
    await page.locator('.tab', { hasText: 'Memory:' }).first().click();
    await action('Copy Breakdown as Markdown').click();
    await frame.locator('[aria-live]', { hasText: 'Copied' }).first().waitFor({ state: 'attached' });
    await page.locator('.statusbar-item', { hasText: 'Copied as Markdown.' }).waitFor();
  });

  it('is locked and saved from its title bar', async () => {
    const frame = await panel();
    await page.locator('.tab', { hasText: 'Memory:' }).first().click();
    await action('Lock Breakdown to Its File').click();
    await frame.locator('[data-key=locked]').waitFor();
    await page.locator('.tab', { hasText: '[Memory] ds_config.json' }).waitFor();
    await workbench.pictures('panel-title-bar');
    await action('Unlock Breakdown').click();
    await frame.locator('[data-key=locked]').waitFor({ state: 'detached' });
    await action('Save Breakdown As').click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Chart as PNG' }).waitFor();
    await pick('Chart as SVG');
    // With a key at the cursor: what is kept is light, titled, and not dimmed for it.
    await page.locator('.quick-input-widget input').waitFor();
    await page.locator('.quick-input-widget .monaco-button', { hasText: 'OK' }).click();
    let svg = '';
    for (const end = Date.now() + 20_000; svg === '' && Date.now() < end; await page.waitForTimeout(100))
      svg = await readFile(path.join(workbench.folder, 'ds_config-memory.svg'), 'utf8').catch(() => '');
    assert.match(svg, /<title[^>]*>ds_config\.json: Does not fit/);
    assert.match(svg, /fill="rgb\(255, 255, 255\)"/);
    for (const text of ['Activations', 'Optimizer states'])
      assert.match(svg, new RegExp(`<text[^>]*>${text}`));
  });

  it('survives a reload of the window, with what was tried and where the person was', async () => {
    let frame = await panel();
    await frame.locator('[data-key=knob-sequence]').fill('2048');
    await frame.locator('.trying', { hasText: 'Sequence length' }).waitFor();
    await frame.locator('.changes tbody tr', { hasText: 'Peak' }).waitFor();
    const tried = await frame.locator('h1').innerText();
    await workbench.command('Oomlint: Lock Breakdown to Its File');
    await frame.locator('[data-key=locked]').waitFor();
    await frame.locator('[data-key=tab-timeline]').click();
    await frame.locator('.timeline').waitFor();
    await frame
      .locator('summary:visible', { hasText: /^Figures$/ })
      .first()
      .click();
    await frame.evaluate(() => window.scrollTo(0, 150));
    await page.waitForTimeout(300);
    const top = await frame.evaluate(() => window.scrollY);
    assert.ok(top > 0);
    // The command writes down what is open first, which a reload of the browser's page does not wait for.
    const reloaded = page.waitForEvent('load');
    await workbench.command('Developer: Reload Window');
    await reloaded;
    await page.waitForSelector('.monaco-workbench');
    frame = await panel();
    await frame.locator('h1', { hasText: tried }).waitFor();
    await frame.locator('[data-key=tab-timeline][aria-selected=true]').waitFor();
    await frame.locator('.timeline').waitFor();
    await frame.locator('[data-key=locked]').waitFor();
    assert.equal(await frame.locator('[data-key=knob-sequence]').inputValue(), '2048');
    await frame.waitForFunction((y) => Math.abs(window.scrollY - y) < 1, top);
    await workbench.pictures('panel-after-reload');
  });
});
