import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import type { SaveFormat } from '../../client/webview/messages';
import type { Breakdown } from '../../server/src/features/protocol';
import { accessibilityViolations } from './accessibility';
import { openPanel, type PanelPage, ROOT, suiteBrowser } from './panel-page';
import {
  COMPARED,
  COMPARED_RANKS,
  EXCEEDS,
  FITS,
  FIXES,
  OPENED,
  PLANNED,
  RANKS,
  TRIED,
  TRIED_RANKS,
} from './sample';

import { THEME_KINDS } from './themes';

/** A picture for whoever looks at what is saved. */
async function keepPicture(name: string, png: Buffer): Promise<void> {
  const folder = path.join(ROOT, 'out', 'pictures');
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, `${name}.png`), png);
}

/** What a run hangs on and nobody states. */
const ASSUMED = {
  sentence: 'Assumes no activation checkpointing; full would be 21.0 GiB.',
} as unknown as NonNullable<Breakdown['open']>[number];

const TABS = ['overview', 'timeline', 'compute', 'compare'] as const;

describe('views of the panel', () => {
  let panel: PanelPage;
  const browser = suiteBrowser(() => panel);

  async function shown(
    breakdown: Breakdown = FITS,
    options: Parameters<typeof openPanel>[1] = {},
  ): Promise<Page> {
    panel = await openPanel(browser(), options);
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown });
    return panel.page;
  }
  const last = async () => (await panel.messages()).at(-1);

  it('are tabs with one tab stop, walked with the arrow keys, kept over a reload', async () => {
    const page = await shown();
    await page.focus('[data-key=tab-overview]');
    for (const tab of ['timeline', 'compute', 'compare', 'overview']) {
      await page.keyboard.press('ArrowRight');
      assert.equal(await page.getAttribute(`[data-key=tab-${tab}]`, 'aria-selected'), 'true');
      assert.ok(await page.isVisible(`#panel-${tab}`));
      assert.equal(await page.locator('[role=tabpanel]:visible').count(), 1);
    }
    await page.keyboard.press('End');
    assert.equal(await page.locator('[role=tab][tabindex="0"]').textContent(), 'Compare');
    assert.equal(((await panel.state()) as { tab: string }).tab, 'compare');
    await panel.page.context().close();
    await shown(FITS, { state: { tab: 'compare', uri: 'file:///project/ds_config.json' } });
    assert.ok(await panel.page.isVisible('#panel-compare'));
  });

  it('every control can be reached and used by keyboard alone', async () => {
    const page = await shown();
    const reached = new Set<string>();
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab');
      reached.add(
        await page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset.key ?? ''),
      );
    }
    const expected = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('#panel-overview, header, .tabs')]
        .flatMap((part) => [...part.querySelectorAll<HTMLElement>('button, select, input, .canvas')])
        .filter((element) => element.offsetParent !== null && element.tabIndex >= 0)
        .filter((element) => !(element as HTMLInputElement).disabled)
        .map(({ dataset }) => dataset.key ?? 'no key'),
    );
    assert.ok(expected.length > 17);
    assert.deepEqual(
      expected.filter((key) => !reached.has(key)),
      [],
    );
  });

  it('fixes and what is tried are taken by keyboard alone', async () => {
    const page = await shown(EXCEEDS);
    await panel.post({ type: 'fixes', fixes: FIXES });
    /** Tab until a control has the focus. */
    const reach = async (key: string) => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press('Tab');
        const at = await page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset.key);
        if (at === key) return;
      }
      assert.fail(`${key} is not reached`);
    };
    await reach('try-fix-0');
    await page.keyboard.press('Space');
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))));
    const values = FIXES[0]?.values ?? {};
    assert.deepEqual(await last(), { type: 'try', turned: {}, values });
    await panel.post({ type: 'tried', tried: { ...TRIED, turned: {}, values } });
    await panel.post({ type: 'planned', planned: { ...PLANNED, values } });
    assert.equal(
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset.key),
      'try-fix-0',
      'the focus stays where it was',
    );
    await reach('apply');
    await page.keyboard.press('Enter');
    assert.deepEqual(await last(), { type: 'apply', values, fix: FIXES[0]?.id });
    await reach('reset');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('[data-key=reset]').locator('visible=true').count(), 0);
    await reach('apply-fix-0');
    await page.keyboard.press('Enter');
    assert.deepEqual(await last(), { type: 'apply', values, fix: FIXES[0]?.id });
  });

  it('shows every pipeline stage where the GPUs differ', async () => {
    const page = await shown({ ...FITS, ranks: RANKS });
    await page.waitForSelector('[data-key=ranks] .rows');
    assert.deepEqual(await page.locator('[data-key=ranks] .row-figure').allTextContents(), [
      '44.2 GiB',
      '39.9 GiB',
    ]);
    await page.focus('[data-key=ranks]');
    await page.keyboard.press('ArrowRight');
    assert.equal(
      await page.textContent('[aria-live=polite]'),
      'GPU 0–3: 44.2 GiB, the fullest, layer 0 backward, most of it logits and loss 15.7 GiB',
    );
    await page.click('[data-key=ranks-table] summary');
    assert.deepEqual(await page.locator('[data-key=ranks-table] tbody tr').allInnerTexts(), [
      'GPU 0–3\tlayer 0 backward\t44.2 GiB',
      'GPU 4–7\tcross-entropy\t39.9 GiB',
    ]);
    assert.match((await page.textContent('.headline p')) ?? '', /of GPU 0, the fullest/);
  });

  it('opens a stage to its components, and keeps it open while knobs are turned', async () => {
    const page = await shown({ ...FITS, ranks: RANKS });
    await page.focus('[data-key=ranks]');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    const chosen = page.locator('#panel-overview .chosen-sample');
    assert.match((await chosen.locator('h3').textContent()) ?? '', /^GPU 4–7, cross-entropy/);
    assert.deepEqual((await chosen.locator('tbody tr').allInnerTexts())[0], 'Weights\t1.87\t4.7 %');
    assert.equal(await chosen.locator('tbody tr', { hasText: 'Activations' }).count(), 0);
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED_RANKS });
    assert.match((await chosen.locator('h3').textContent()) ?? '', /^GPU 4–7/);
    await page.click('[data-key=ranks-close]');
    assert.equal(await chosen.locator('table').count(), 0);
  });

  it('lets every stage follow the knobs, and reports what each gained', async () => {
    const page = await shown({ ...FITS, ranks: RANKS });
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED_RANKS });
    await page.click('[data-key=ranks-table] summary');
    const rows = () => page.locator('[data-key=ranks-table] tbody tr').allInnerTexts();
    assert.deepEqual(await rows(), [
      'GPU 0–3\tlayer 0 backward\t59.9 GiB\t+15.7 GiB',
      'GPU 4–7\tcross-entropy\t39.9 GiB\t±0',
    ]);
    // Without a pipeline the same GPUs are one stage, and a person sees that too.
    await panel.post({ type: 'tried', tried: TRIED });
    assert.equal(await page.locator('[data-key=ranks]').count(), 0);
    assert.match((await page.textContent('#panel-overview')) ?? '', /All 8 GPUs hold the same\./);
    await page.click('[data-key=reset]');
    await page.click('[data-key=ranks-table] summary');
    assert.equal((await rows())[0], 'GPU 0–3\tlayer 0 backward\t44.2 GiB');
  });

  it('shows the stages of both runs that are compared, on one scale', async () => {
    const page = await shown();
    await panel.post({
      type: 'compared',
      before: 'HEAD',
      after: 'ds_config.json',
      comparison: COMPARED_RANKS,
    });
    await page.click('[data-key=tab-compare]');
    const chart = page.locator('[data-key=ranks-compared]');
    await chart.locator('.rows').waitFor();
    assert.deepEqual(await chart.locator('.row-heading > title').allTextContents(), [
      'HEAD',
      'ds_config.json',
    ]);
    assert.deepEqual(await chart.locator('.row-label > title').allTextContents(), [
      'GPU 0–3',
      'GPU 4–7',
      'GPU 0–7',
    ]);
    await chart.focus();
    await page.keyboard.press('End');
    assert.match(
      (await page.textContent('[aria-live=polite]')) ?? '',
      /^ds_config\.json, GPU 0–7: 44\.2 GiB, cross-entropy/,
    );
    await page.click('[data-key=ranks-compared-table] summary');
    assert.deepEqual(await page.locator('[data-key=ranks-compared-table] tbody tr').allInnerTexts(), [
      'GPU 0–3\tHEAD\tlayer 0 backward\t44.2 GiB',
      'GPU 4–7\tHEAD\tcross-entropy\t39.9 GiB',
      'GPU 0–7\tds_config.json\tcross-entropy\t44.2 GiB',
    ]);
  });

  it('reports that all GPUs hold the same where they do', async () => {
    const page = await shown();
    assert.match((await page.textContent('#panel-overview')) ?? '', /All 8 GPUs hold the same\./);
  });

  it('shows host memory by part', async () => {
    const page = await shown();
    assert.deepEqual(await page.locator('[data-key=host] .row-label').allTextContents(), [
      'pinned bufferspinned buffers',
    ]);
    assert.equal(
      await page.textContent('[data-key=host] + .chart-detail'),
      '12.5 GiB per node while it trains.',
    );
  });

  it('names the tensors that are alive where the timeline is pointed at, by pointer and keyboard', async () => {
    const page = await shown();
    await page.click('[data-key=tab-timeline]');
    const chart = await page.locator('.timeline').boundingBox();
    assert.ok(chart);
    await page.mouse.move(chart.x + chart.width / 2, chart.y + 80);
    await page.waitForFunction(() =>
      Reflect.get(window, 'fakeEditor').messages.some(
        ({ type }: { type: string }) => type === 'open-figures',
      ),
    );
    const asked = await last();
    assert.ok(asked?.type === 'open-figures' && asked.sample !== undefined);
    const bytes = FITS.timeline[asked.sample]?.bytes ?? 0;
    const opened = { ...OPENED, memory: { ...OPENED.memory, value: bytes } };
    await panel.answer({ sample: asked.sample, opened });
    assert.match(
      (await page.textContent('[data-key=timeline] + .chart-detail')) ?? '',
      /\nAlive:\n(• .*\n)*• activations › layers 0-31 › act_fn \[1, 4096, 14336\] 4\.3 GiB\n(• .*\n)*• 7 others, [\d.]+ GiB together$/,
    );
    await page.mouse.move(5, 5);
    await page.focus('[data-key=timeline]');
    await page.keyboard.press('Home');
    await page.waitForTimeout(200);
    assert.deepEqual(await last(), { type: 'open-figures', sample: 0 });
    const first = { ...OPENED, memory: { ...OPENED.memory, value: FITS.timeline[0]?.bytes ?? 0 } };
    await panel.answer({ sample: 0, opened: first });
    assert.match((await page.textContent('[aria-live=polite]')) ?? '', /^Layer 0 forward.*Alive: /);
  });

  it('shows the work of a step by kind, and down to operators when somebody asks', async () => {
    const page = await shown();
    await page.click('[data-key=tab-compute]');
    await page.waitForSelector('[data-key=work] .rows');
    assert.deepEqual(await page.locator('[data-key=work] .row-figure').allTextContents(), [
      '1.1 PFLOP (25 %)',
      '3.2 PFLOP (75 %)',
    ]);
    await page.click('[data-key=operators] summary');
    await page.waitForFunction(
      () => Reflect.get(window, 'fakeEditor').messages.at(-1).type === 'open-figures',
    );
    const flops = {
      id: 'FLOPs per step',
      name: 'FLOPs per step',
      value: 4e15,
      unit: 'FLOP' as const,
      children: [{ name: 'forward', value: 1e15, unit: 'FLOP' as const, formula: 'one pass' }],
    };
    await panel.answer({ opened: { ...OPENED, figures: [...OPENED.figures, flops] } });
    const row = page.locator('[data-key=operators] tbody tr');
    assert.deepEqual(await row.locator('.figure-name, td').allTextContents(), [
      'forward',
      '1.0 PFLOP',
      '25.0 %',
      'one pass',
    ]);
  });

  it('leads from a part to the key that causes it, and names the keys under the part', async () => {
    const page = await shown();
    await page.focus('[data-key=components]');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    assert.ok((await panel.messages()).some((message) => message.type === 'reveal' && message.key === 0));
    await panel.answer({ opened: OPENED });
    assert.equal(await page.textContent('.set-by'), 'Set by zero_optimization.stage');
    await page.click('.set-by button');
    assert.deepEqual(await last(), { type: 'reveal', key: 0 });
  });

  it('makes the parts stand out that the key at the cursor shapes', async () => {
    const page = await shown();
    await panel.post({ type: 'cursor', key: 'train_micro_batch_size_per_gpu', categories: ['activations'] });
    assert.equal(
      await page.textContent('.at-cursor'),
      'Key at cursor affects: train_micro_batch_size_per_gpu → activations',
    );
    assert.equal(await page.locator('.component-bar .segment.chosen').count(), 1);
    assert.equal(await page.locator('.segment.faded').count(), 0, 'what weighs most is not dimmed');
    assert.equal(await page.textContent('.components tr.chosen .component-name'), 'Activations');
    await panel.post({ type: 'cursor' });
    assert.equal(await page.locator('.segment.chosen, .segment.faded').count(), 0);
    assert.ok(await page.isHidden('.at-cursor'));
  });

  it('compares with git or another config, and reports what makes the difference', async () => {
    const page = await shown();
    await page.click('[data-key=tab-compare]');
    await page.focus('[data-key=compare-git]');
    await page.keyboard.press('Enter');
    assert.deepEqual(await last(), { type: 'compare', with: 'git' });
    await page.click('[data-key=compare-file]');
    assert.deepEqual(await last(), { type: 'compare', with: 'file' });
    await panel.post({
      type: 'compared',
      before: 'HEAD',
      after: 'ds_config.json',
      comparison: COMPARED,
    });
    const view = page.locator('#panel-compare');
    assert.equal(await view.locator('h2').first().textContent(), 'ds_config.json compared with HEAD');
    assert.deepEqual(await view.locator('table').first().locator('tbody tr').allInnerTexts(), [
      'ZeRO stage\t2\t3\t−13.1 GiB\t+400 ms',
    ]);
    assert.match(
      (await view.textContent()) ?? '',
      /Without effect on the figures: overlap of ZeRO reduction/,
    );
    for (const [i, heads] of [
      ['What differs', 'HEAD', 'ds_config.json', 'Peak', 'Time per step'],
      ['Figure', 'HEAD', 'ds_config.json', 'Change'],
    ].entries())
      assert.deepEqual(await view.locator('table').nth(i).locator('thead th').allInnerTexts(), heads);
    await page.click('[data-key=compare-stop]');
    assert.equal(await view.locator('table').count(), 0);
  });

  it('zooms the timeline by a drag, by keys and by the wheel, and shows all again', async () => {
    const page = await shown();
    await page.click('[data-key=tab-timeline]');
    const phases = () => page.locator('.timeline .phase-name').allTextContents();
    const path = () => page.locator('.timeline .layer .fill').first().getAttribute('d');
    const [all, whole] = [await phases(), await path()];
    const chart = await page.locator('.timeline').boundingBox();
    assert.ok(chart);
    const y = chart.y + 80;
    await page.mouse.move(chart.x + chart.width * 0.3, y);
    await page.mouse.down();
    await page.mouse.move(chart.x + chart.width * 0.4, y, { steps: 5 });
    assert.equal(await page.locator('.timeline .picked').getAttribute('visibility'), 'visible');
    await page.mouse.up();
    assert.notEqual(await path(), whole);
    assert.ok((await phases()).length <= all.length);
    assert.equal(await page.locator('.chosen-sample h3').count(), 0, 'a drag opens nothing');
    await page.click('[data-key=timeline-all]');
    assert.equal(await path(), whole);
    assert.ok(await page.isHidden('[data-key=timeline-all]'));
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-key')), 'timeline');
    await page.keyboard.press('+');
    const near = await path();
    assert.notEqual(near, whole);
    await page.keyboard.press('Home');
    assert.notEqual(await path(), near, 'what is chosen comes into view');
    await page.keyboard.press('0');
    assert.equal(await path(), whole);
    await page.mouse.move(chart.x + chart.width / 2, y);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -100);
    await page.keyboard.up('Control');
    await page.waitForSelector('[data-key=timeline-all]:not([hidden])');
  });

  it('keeps what is in view of the timeline when an edit brings new figures, but not for another file', async () => {
    const page = await shown();
    await page.click('[data-key=tab-timeline]');
    await page.focus('[data-key=timeline]');
    await page.keyboard.press('+');
    const path = () => page.locator('.timeline .layer .fill').first().getAttribute('d');
    const near = await path();
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });
    assert.ok(await page.isVisible('[data-key=timeline-all]'));
    assert.equal(await path(), near);
    const other = { ...FITS, file: 'other.json' };
    await panel.show({ kind: 'breakdown', file: 'other.json', breakdown: other });
    assert.ok(await page.isHidden('[data-key=timeline-all]'));
  });

  it('reports at the timeline what the peak counts beside it', async () => {
    const page = await shown();
    await page.click('[data-key=tab-timeline]');
    const { processBytes = 0, allocatedBytes = 0 } = FITS.peak ?? {};
    const above = ((processBytes - allocatedBytes) / 2 ** 30).toFixed(1);
    assert.ok(Number(above) > 0);
    assert.match(
      (await page.textContent('#panel-timeline')) ?? '',
      new RegExp(`on top: ${above} GiB at the peak`),
    );
  });

  it('has the heads of columns where their cells are', async () => {
    const page = await shown();
    await panel.post({ type: 'compared', before: 'HEAD', after: 'a.json', comparison: COMPARED });
    for (const tab of ['overview', 'timeline', 'compute', 'compare']) {
      await page.click(`[data-key=tab-${tab}]`);
      const apart = await page.evaluate(() => {
        const edges = (cell: Element) => {
          const style = getComputedStyle(cell);
          const { left, right } = cell.getBoundingClientRect();
          return style.textAlign === 'right'
            ? right - Number.parseFloat(style.paddingRight)
            : left + Number.parseFloat(style.paddingLeft);
        };
        for (const details of document.querySelectorAll('details')) details.open = true;
        return [...document.querySelectorAll('table')]
          .filter((table) => table.checkVisibility())
          .flatMap((table) => {
            const heads = [...table.querySelectorAll('thead th')];
            const cells = [...(table.querySelector('tbody tr')?.children ?? [])];
            return heads.flatMap((head, i) => {
              const cell = cells[i];
              return cell && Math.abs(edges(head) - edges(cell)) > 1 ? [head.textContent] : [];
            });
          });
      });
      assert.deepEqual(apart, [], tab);
    }
  });

  it('compares again when the file changes, while somebody looks, and forgets nothing where nothing is picked', async () => {
    const page = await shown();
    await page.click('[data-key=tab-compare]');
    const compared = { type: 'compared', before: 'HEAD', after: 'a.json', comparison: COMPARED } as const;
    await panel.post({ ...compared, other: { with: 'git' } });
    const asked = async () => (await panel.messages()).filter(({ type }) => type === 'compare');
    assert.deepEqual(await asked(), []);
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: { ...FITS, version: 4 } });
    assert.deepEqual(await asked(), [{ type: 'compare', with: 'git' }]);
    await panel.post({ ...compared, other: { with: 'git' } });
    await page.click('[data-key=tab-overview]');
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: { ...FITS, version: 5 } });
    assert.equal((await asked()).length, 1, 'nobody looks');
    await page.click('[data-key=tab-compare]');
    assert.equal((await asked()).length, 2);
    await panel.post({ type: 'compared' });
    assert.ok(await page.isVisible('#panel-compare table'), 'nothing was picked');
    await page.click('[data-key=compare-stop]');
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: { ...FITS, version: 6 } });
    assert.equal((await asked()).length, 2);
  });

  it('keeps over a reload what is open, and with what is compared', async () => {
    const page = await shown();
    await page.locator('.components tr.figure-row', { hasText: 'Activations' }).click();
    await page.click('[data-key=other-figures] summary');
    await page.click('[data-key=tab-timeline]');
    await page.focus('[data-key=timeline]');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    const sample = await page.textContent('.chosen-sample h3');
    const other = { with: 'file', uri: 'file:///project/b.json' } as const;
    await panel.post({ type: 'compared', other, before: 'b.json', after: 'a.json', comparison: COMPARED });
    await page.click('[data-key=tab-compare]');
    await page.waitForTimeout(50);
    const kept = await panel.state();
    await panel.page.context().close();

    panel = await openPanel(browser(), { state: kept });
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });
    assert.deepEqual(
      (await panel.messages()).filter(({ type }) => type === 'compare'),
      [{ type: 'compare', ...other }],
    );
    await panel.page.click('[data-key=tab-overview]');
    const row = panel.page.locator('.components tr.figure-row', { hasText: 'Activations' });
    assert.equal(await row.getAttribute('aria-expanded'), 'true');
    assert.equal(await panel.page.getAttribute('[data-key=other-figures]', 'open'), '');
    await panel.page.click('[data-key=tab-timeline]');
    assert.equal(await panel.page.textContent('.chosen-sample h3'), sample);
    // Another file than the one before the reload has nothing of it.
    await panel.page.context().close();
    panel = await openPanel(browser(), { state: kept });
    await panel.show(
      { kind: 'breakdown', file: 'b.json', breakdown: FITS },
      { uri: 'file:///project/b.json' },
    );
    assert.ok(!(await panel.messages()).some(({ type }) => type === 'compare'));
    assert.equal(await panel.page.locator('tr[aria-expanded=true]').count(), 0);
  });

  it('keeps over a reload how far it is scrolled, until a person goes elsewhere', async () => {
    const page = await shown();
    await page.setViewportSize({ width: 500, height: 400 });
    await page.locator('.components tr.figure-row', { hasText: 'Activations' }).click();
    await page.evaluate(() => window.scrollTo(0, 700));
    await page.waitForTimeout(300);
    const kept = await panel.state();
    const { scroll } = kept as { readonly scroll?: number };
    assert.ok(scroll !== undefined && scroll === (await page.evaluate(() => Math.round(window.scrollY))));
    assert.ok(scroll >= 700);
    const top = () => panel.page.evaluate(() => window.scrollY);
    const again = async () => {
      await panel.page.context().close();
      panel = await openPanel(browser(), { state: kept, width: 500, height: 400 });
      // While the answer is on its way there is nothing to scroll.
      await panel.show({ kind: 'loading', file: 'ds_config.json' });
      await panel.page.waitForTimeout(300);
      assert.equal(await top(), 0);
      assert.deepEqual(await panel.state(), kept, 'and nothing is forgotten');
    };
    const arrive = () => panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });

    await again();
    await arrive();
    await panel.page.waitForFunction((top) => Math.abs(window.scrollY - top) < 1, scroll);

    await again();
    await panel.page.mouse.wheel(0, 10);
    await arrive();
    await panel.page.waitForTimeout(100);
    assert.equal(await top(), 0);

    await again();
    await panel.show(
      { kind: 'breakdown', file: 'b.json', breakdown: FITS },
      { uri: 'file:///project/b.json' },
    );
    await panel.page.waitForTimeout(100);
    assert.equal(await top(), 0, 'another file');
  });

  it('reports why there is nothing to compare with', async () => {
    const page = await shown();
    await page.click('[data-key=tab-compare]');
    await panel.post({ type: 'compared', error: 'Git has no committed version of this file.' });
    assert.match((await page.textContent('#panel-compare [role=alert]')) ?? '', /no committed version/);
  });

  it('reports that it is locked to its file, and leaves what is done with it to the title bar', async () => {
    const page = await shown();
    assert.equal(await page.locator('[data-key=locked]').count(), 0);
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS }, { locked: true });
    assert.equal(await page.textContent('[data-key=locked]'), 'Locked to this file');
    assert.equal(((await panel.state()) as { locked: boolean }).locked, true);
    for (const name of [/^Lock$/, /^Copy/, /^Save/])
      assert.equal(await page.getByRole('button', { name }).count(), 0, String(name));
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS }, { locked: false });
    assert.equal(await page.locator('[data-key=locked]').count(), 0);
  });

  it('copies as Markdown', async () => {
    const page = await shown({ ...FITS, open: [ASSUMED] });
    await panel.post({ type: 'asked', action: { kind: 'copy' } });
    const copied = await last();
    assert.ok(copied?.type === 'copy');
    const lines = copied.text.split('\n');
    assert.match(
      copied.text,
      /\n- Micro batch: 2 · Gradient accumulation: 4 · Sequence length: 4,096 · .* · Sharding: zero-3 · /,
    );
    assert.doesNotMatch(copied.text, /LoRA rank/, 'what the run has not');
    assert.equal(lines[0], '## ds\\_config.json: Fits: 44.2 of 79.2 GiB');
    assert.ok(lines.includes('| Optimizer states | 7.48 | 16.9 % |'));
    assert.ok(lines.includes('| **Total** | **44.21** | 100 % |'));
    assert.ok(lines.includes('- Hardware: 8 × H100-SXM5-80GB (one node, 79.2 GiB usable per GPU)'));
    assert.ok(lines.includes(`- ${ASSUMED.sentence}`), copied.text);
    assert.match(copied.text, /\n\nEstimated by Oomlint, [A-Z][a-z]+ \d+, \d{4}\n$/);
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    await panel.post({ type: 'asked', action: { kind: 'copy' } });
    const tried = await last();
    assert.match(
      tried?.type === 'copy' ? tried.text : '',
      /\n- Micro batch: 4 · Gradient accumulation: 2 · /,
    );
  });

  it('copies the comparison where that is in view', async () => {
    const page = await shown();
    await page.click('[data-key=tab-compare]');
    await panel.post({ type: 'compared', before: 'HEAD', after: 'ds_config.json', comparison: COMPARED });
    await panel.post({ type: 'asked', action: { kind: 'copy' } });
    const copied = await last();
    assert.ok(copied?.type === 'copy');
    const lines = copied.text.split('\n');
    assert.equal(lines[0], '## ds\\_config.json compared with HEAD');
    assert.ok(lines.includes('- ds\\_config.json: Fits: 44.2 of 79.2 GiB'));
    assert.ok(lines.includes('| ZeRO stage | 2 | 3 | −13.1 GiB | +400 ms |'), copied.text);
    assert.ok(lines.includes('| Verdict | does not fit | fits |  |'), copied.text);
    assert.match(copied.text, /\n\nEstimated by Oomlint, [A-Z][a-z]+ \d+, \d{4}\n$/);
  });

  it('saves the figures as JSON, the chart as SVG and PNG', async () => {
    const run = { ...FITS, open: [ASSUMED] };
    const page = await shown(run, { theme: 'dark' });
    const saved = async (format: SaveFormat) => {
      const before = (await panel.messages()).length;
      await panel.post({ type: 'asked', action: { kind: 'save', format } });
      await page.waitForFunction(
        (count) => Reflect.get(window, 'fakeEditor').messages.length > count,
        before,
      );
      const message = await last();
      assert.ok(message?.type === 'save' && message.format === format);
      return message.data;
    };
    assert.deepEqual(JSON.parse(await saved('json')), JSON.parse(JSON.stringify(run)));
    const svg = await saved('svg');
    assert.match(svg, /<title[^>]*>ds_config\.json: Fits: 44\.2 of 79\.2 GiB<\/title>/);
    for (const text of ['ds_config.json: Fits: 44.2 of 79.2 GiB', 'Activations', 'Optimizer states'])
      assert.match(svg, new RegExp(`<text[^>]*>${text}`), `${text} is drawn`);
    assert.match(svg, /<text[^>]*>Estimated by Oomlint, [A-Z][a-z]+ \d+, \d{4}<\/text>/);
    assert.match(svg, /fill="rgb\(255, 255, 255\)"/, 'white paper in a dark theme');
    assert.equal(
      await page.evaluate(() => document.body.className),
      'vscode-dark',
      'the page stays as it is',
    );
    const drawn = svg.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
    assert.ok(drawn.includes(ASSUMED.sentence), drawn);
    assert.match(svg, /<text[^>]*>Activations[^<]*GiB/, 'the legend has sizes');
    assert.ok(!/var\(|class="component-bar"/.test(svg), 'colours are resolved');
    const png = Buffer.from(await saved('png'), 'base64');
    assert.equal(png.subarray(1, 4).toString(), 'PNG');
    const width = (await page.locator('.component-bar').boundingBox())?.width ?? 0;
    assert.equal(png.readUInt32BE(16), 2 * (width + 24));
    if (process.env.OOMLINT_PICTURES !== undefined) await keepPicture('exported', png);
  });

  it('saves a page to print: all views, no controls, no scripts, readable by itself', async () => {
    const page = await shown(FITS, { theme: 'dark' });
    await panel.post({ type: 'asked', action: { kind: 'save', format: 'html' } });
    await page.waitForFunction(() => Reflect.get(window, 'fakeEditor').messages.at(-1)?.type === 'save');
    const message = await last();
    assert.ok(message?.type === 'save');
    const { data } = message;
    assert.ok(!/<script|<select|<input|data-key="apply"/.test(data));
    const alone = await browser().newPage({ viewport: { width: 900, height: 900 } });
    await alone.setContent(data);
    const [ink, paper] = await alone.evaluate(() => {
      const { color, backgroundColor } = getComputedStyle(document.body);
      return [color, backgroundColor];
    });
    assert.deepEqual([ink, paper], ['rgb(0, 0, 0)', 'rgb(255, 255, 255)']);
    assert.ok(await alone.isVisible('text=Estimated by Oomlint, '), 'when it was made');
    assert.equal(
      await alone.locator('text=Where the bounds come from').count(),
      0,
      'no link that leads nowhere',
    );
    for (const details of await alone.locator('details[data-key=defaults]').all())
      assert.notEqual(await details.getAttribute('open'), null);
    if (process.env.OOMLINT_PICTURES !== undefined)
      await keepPicture('exported-page', await alone.screenshot({ fullPage: true }));
    for (const text of ['At the peak', 'Over one step', 'FLOPs per step']) {
      assert.ok(await alone.isVisible(`text=${text}`), text);
    }
    assert.equal(await alone.locator('.component-bar .segment').count(), FITS.parts.length);
    assert.equal(await alone.locator('.timeline').count(), 1);
    await alone.close();
  });

  it('prints every view in dark ink on white paper, without controls', async () => {
    const page = await shown(FITS, { theme: 'dark' });
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await page.emulateMedia({ media: 'print' });
    for (const tab of ['overview', 'timeline', 'compute']) assert.ok(await page.isVisible(`#panel-${tab}`));
    assert.ok(await page.isVisible('.timeline'));
    for (const control of ['.tabs', '.knobs']) assert.ok(await page.isHidden(control));
    const colors = await page.evaluate(() => {
      const { color, backgroundColor } = getComputedStyle(document.body);
      return [color, backgroundColor];
    });
    assert.deepEqual(colors, ['rgb(0, 0, 0)', 'rgb(255, 255, 255)']);
  });

  it('speaks the display language', async () => {
    panel = await openPanel(browser());
    await panel.show(
      { kind: 'breakdown', file: 'ds_config.json', breakdown: FITS },
      { language: 'ru', bundle: { Overview: 'Обзор', weights: 'веса', 'Micro batch': 'Микробатч' } },
    );
    const { page } = panel;
    assert.equal(await page.textContent('[data-key=tab-overview]'), 'Обзор');
    assert.match((await page.textContent('.components')) ?? '', /Веса/);
    assert.equal(await page.textContent('.knob label'), 'Микробатч');
    assert.equal(await page.getAttribute('html', 'lang'), 'ru');
  });

  for (const [name, size] of [
    ['narrow', { width: 300, height: 800 }],
    ['at 200 % zoom', { width: 450, height: 450 }],
  ] as const) {
    for (const tab of TABS) {
      it(`${tab} needs no sideways scrolling, ${name}`, async () => {
        const page = await shown({ ...FITS, ranks: RANKS }, size);
        await panel.post({ type: 'compared', before: 'HEAD', after: 'a.json', comparison: COMPARED_RANKS });
        await page.fill('[data-key=knob-micro-batch]', '4');
        await panel.post({ type: 'tried', tried: TRIED });
        await page.click(`[data-key=tab-${tab}]`);
        await page.waitForTimeout(50);
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.equal(overflow, 0);
      });
    }
  }

  it('has no accessibility violations in a comparison, narrow', async () => {
    const page = await shown(FITS, { width: 320 });
    const model = {
      fields: ['model.id' as const],
      before: 'Qwen/Qwen2.5-7B',
      after: 'meta-llama/Llama-3.1-8B',
    };
    const differences = [...COMPARED.differences, { ...model, bytes: -3_400_000_000, seconds: 0.18 }];
    await panel.post({
      type: 'compared',
      before: 'accelerate-fsdp2.yaml',
      after: 'zero3-llama-8b.json',
      comparison: { ...COMPARED, differences },
    });
    await page.click('[data-key=tab-compare]');
    assert.deepEqual(await accessibilityViolations(page), []);
    const hidden = await page.evaluate(
      () =>
        [...document.querySelectorAll('.wide')].filter(
          ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
        ).length,
    );
    assert.equal(hidden, 0);
  });

  for (const theme of THEME_KINDS) {
    it(`has no accessibility violations in any view of a ${theme} theme`, async () => {
      const page = await shown({ ...FITS, ranks: RANKS }, { theme });
      await panel.post({ type: 'compared', before: 'HEAD', after: 'a.json', comparison: COMPARED_RANKS });
      await panel.post({ type: 'cursor', key: 'stage', categories: ['weights'] });
      for (const tab of TABS) {
        await page.click(`[data-key=tab-${tab}]`);
        for (const summary of await page.locator('.tab-panel:visible summary:visible').all()) {
          await summary.click();
        }
        assert.deepEqual(await accessibilityViolations(page), [], tab);
      }
      await page.click('[data-key=tab-overview]');
      await page.fill('[data-key=knob-micro-batch]', '4');
      await panel.post({ type: 'tried', tried: TRIED });
      assert.deepEqual(await accessibilityViolations(page), [], 'trying');
    });
  }
});
