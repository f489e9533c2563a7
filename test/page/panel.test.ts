import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import type { Breakdown } from '../../server/src/features/protocol';
import type { FieldPath } from '../../server/src/run/fields';
import { accessibilityViolations } from './accessibility';
import { openPanel, type PanelPage, ROOT, suiteBrowser } from './panel-page';
import { EXCEEDS, FITS, measuredBeside, OPENED, UNKNOWN } from './sample';
import { contributedColors, THEME_KINDS } from './themes';

describe('breakdown panel page', () => {
  let panel: PanelPage;
  const browser = suiteBrowser(() => panel);

  async function shown(breakdown: Breakdown, options: Parameters<typeof openPanel>[1] = {}): Promise<Page> {
    panel = await openPanel(browser(), options);
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown });
    return panel.page;
  }

  it('asks for content when it is ready, and keeps the file for the next start', async () => {
    await shown(FITS);
    assert.deepEqual(await panel.messages(), [{ type: 'ready' }]);
    assert.deepEqual(await panel.state(), {
      uri: 'file:///project/ds_config.json',
      locked: false,
      tab: 'overview',
      turned: {},
    });
  });

  it('has the parts by size, their table directly after, and what can be tried beside them where there is room', async () => {
    const page = await shown(EXCEEDS, { width: 1400, height: 900 });
    const shares = await page.locator('.sized-legend li').evaluateAll((rows) =>
      rows
        .filter((row) => row.querySelector('svg.swatch'))
        .map((row) => {
          const size = row.querySelector('.legend-size')?.textContent ?? '';
          return Number.parseFloat(size) / (size.endsWith('MiB') ? 1024 : 1);
        }),
    );
    assert.ok(shares.length > 3);
    assert.deepEqual(
      shares,
      [...shares].sort((a, b) => b - a),
    );
    const follows = await page.evaluate(() => {
      const legend = document.querySelector('.sized-legend');
      const parts = document.querySelector('section.parts table');
      const other = document.querySelector('.timeline');
      const isBefore = (a: Element | null, b: Element | null) =>
        a && b ? (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0 : undefined;
      return [isBefore(legend, parts), other ? isBefore(parts, other) : true];
    });
    assert.deepEqual(follows, [true, true]);
    // The bar is drawn anew for another width: until then there is none.
    const boxOf = async (selector: string) => {
      const found = page.locator(`#panel-overview ${selector}`);
      await found.waitFor();
      return found.boundingBox();
    };
    const boxes = async () => ({ knobs: await boxOf('.try'), bar: await boxOf('.component-bar') });
    const wide = await boxes();
    assert.ok(wide.knobs && wide.bar && wide.knobs.x >= wide.bar.x + wide.bar.width, JSON.stringify(wide));
    await page.setViewportSize({ width: 800, height: 900 });
    const narrow = await boxes();
    assert.ok(
      narrow.knobs && narrow.bar && narrow.knobs.y >= narrow.bar.y + narrow.bar.height,
      JSON.stringify(narrow),
    );
  });

  it('comes as one document, and draws once what comes before it listens and again after', async () => {
    const page = await shown(FITS);
    assert.deepEqual(await page.evaluate(() => performance.getEntriesByType('resource')), []);
    const drawn = await page.$('h1');
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });
    assert.equal(await drawn?.evaluate((node) => node.isConnected), true);
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: EXCEEDS });
    assert.equal(await drawn?.evaluate((node) => node.isConnected), false);
  });

  it('opens with the verdict', async () => {
    const page = await shown(FITS);
    assert.equal(await page.textContent('h1'), 'Fits: 44.2 of 79.2 GiB');
    assert.match(
      (await page.textContent('.headline p')) ?? '',
      /in the loss \(cross-entropy\).*35\.0 GiB free/,
    );
  });

  it('is drawn in the colours of the verdict', async () => {
    const { defaults } =
      contributedColors(ROOT).find(({ id }) => id === 'oomlint.verdict.fits') ?? assert.fail();
    const page = await shown(FITS, { theme: 'light' });
    const fill = await page.$eval('.verdict-icon .disc', (disc) => getComputedStyle(disc).fill);
    const channels = [1, 3, 5].map((at) => Number.parseInt(defaults.light.slice(at, at + 2), 16));
    assert.equal(fill, `rgb(${channels.join(', ')})`);
  });

  it('shows a measured run beside the estimate, bar beside bar, in every kind of theme', async function () {
    this.timeout(180_000);
    assert.ok(FITS.peak);
    const measured = measuredBeside(FITS.peak);
    for (const theme of THEME_KINDS) {
      const page = await shown({ ...FITS, measured }, { theme });
      const section = page
        .locator('section', { has: page.locator('h2', { hasText: /^Measured beside estimated$/ }) })
        .last();
      assert.equal(await section.locator('.fill.undivided').count(), 2);
      const rows = await section.locator('.row-figure').allTextContents();
      assert.equal(rows.length, 4, rows.join('|'));
      await section.locator('summary').first().click();
      const chart = section.locator('[data-key="measured-timeline"]');
      assert.equal(await chart.locator('svg.timeline .layer').count(), 5);
      await chart.focus();
      await page.keyboard.press('ArrowRight');
      assert.equal(
        await section.locator('.chart-detail').last().textContent(),
        '10.0 GiB: from before the record 10.0 GiB',
      );
      await section.locator('[data-key="measured-calls"] summary').click();
      const calls = await section.locator('[data-key="measured-calls"] td').allTextContents();
      assert.ok(calls.includes('result of mlp.gate proj, result of mlp.up proj'), calls.join('|'));
      assert.ok(calls.includes('nothing of that size'), calls.join('|'));
      const cells = await section.locator('td').allTextContents();
      assert.ok(cells.includes('+35.0 %, outside the margin of the estimate'), cells.join('|'));
      assert.ok(cells.includes('−2.0 %, within the margin of the estimate'), cells.join('|'));
      assert.deepEqual(await accessibilityViolations(page), [], theme);
      if (process.env.OOMLINT_PICTURES) {
        await section.scrollIntoViewIfNeeded();
        await section.screenshot({ path: path.join(ROOT, 'out', 'pictures', `measured-${theme}.png`) });
      }
    }
    // Beside an editor: what is too long for one line stands in two, and nothing of it is left out.
    const narrow = await shown({ ...FITS, measured }, { width: 330 });
    const headings = await narrow.locator('svg.rows .row-heading').evaluateAll((texts) =>
      texts.map((text) => ({
        words: text.firstChild?.textContent ?? '',
        ends: (text as SVGGraphicsElement).getBBox().width,
      })),
    );
    assert.ok(headings.length > 2, JSON.stringify(headings));
    const words = headings.map((heading) => heading.words).join(' ');
    assert.doesNotMatch(words, /…/);
    assert.match(words, /: −2\.0 %, within the margin of the estimate /);
    assert.ok(
      headings.every(({ ends }) => ends <= 330),
      JSON.stringify(headings),
    );
    const before = await shown({ ...FITS, measured: { ...measured, changedSince: true } });
    assert.match((await before.textContent('body')) ?? '', /The config was changed after that run/);
    assert.equal(await (await shown(FITS)).locator('.fill.undivided').count(), 0);
  });

  it('reports how much is missing', async () => {
    const page = await shown(EXCEEDS);
    assert.equal(await page.textContent('h1'), 'Does not fit: 20.7 GiB over');
    assert.equal(await page.locator('.component-bar .excess').count(), 1);
  });

  it('reports at which length of samples, where shorter ones fit', async () => {
    const shorter = {
      field: 'batch.longestSequence' as const,
      reason: 'Only the data shows how long samples are.',
      sentence: 'Only the data shows how long samples are.',
      atTokens: 2048,
    };
    const page = await shown({ ...EXCEEDS, open: [shorter] });
    assert.equal(await page.textContent('h1'), 'Does not fit at 2,048 tokens: 20.7 GiB over');
  });

  it('reports what the run hangs on: the first in the headline, all of it with what was not understood below', async () => {
    const decision = (field: FieldPath, sentence: string) => ({ field, reason: sentence, sentence });
    const open = [
      decision(
        'activations.checkpointing',
        'Assumed activation checkpointing: none. With full it would need 63.0 GiB.',
      ),
      decision('method.kind', 'Assumed training method: full. With LoRA, rank 16 it would need 23.1 GiB.'),
      decision('kernels.liger', 'Assumed kernels of Liger: off. Switched on, it would need 90.0 GiB.'),
    ];
    const start = { line: 0, character: 0 };
    const location = { uri: 'file:///project/run.sh', range: { start, end: start } };
    const message = '`--extra` is a flag of the script itself: what it changes is not counted.';
    const notUnderstood = [{ kind: 'flag' as const, location, text: '--extra', message }];
    const page = await shown({ ...EXCEEDS, open, notUnderstood });
    const sentences = open.map(({ sentence }) => sentence);
    assert.deepEqual(await page.locator('.headline .deciding').allTextContents(), sentences.slice(0, 2));
    assert.equal(await page.locator('.headline .unread').textContent(), 'Not understood: `--extra`.');
    const listed = (title: string) =>
      page.locator('section', { has: page.getByRole('heading', { name: title, exact: true }) }).last();
    assert.deepEqual(await listed('Assumptions that decide').locator('li').allTextContents(), sentences);
    assert.deepEqual(await listed('Not understood in its files').locator('li').allTextContents(), [message]);
    assert.deepEqual(await accessibilityViolations(page), []);
    const bundle = JSON.parse(readFileSync(path.join(ROOT, 'l10n/bundle.l10n.ru.json'), 'utf8'));
    await panel.show(
      { kind: 'breakdown', file: 'ds_config.json', breakdown: { ...EXCEEDS, open, notUnderstood } },
      { language: 'ru', bundle },
    );
    assert.equal(await page.getByRole('heading', { name: 'Не понято в файлах', exact: true }).count(), 1);
    assert.equal(
      await page.getByRole('heading', { name: 'Допущения, от которых зависит итог', exact: true }).count(),
      1,
    );
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
      '2 × 4 B × 8.03B parameters / 8',
    ]);
  });

  it('draws the step with its moments and its peak', async () => {
    const page = await shown(FITS);
    await page.click('[data-key=tab-timeline]');
    await page.waitForSelector('.timeline');
    assert.deepEqual(
      new Set(await page.locator('.timeline .phase-name').allTextContents()),
      new Set(['Forward', 'Loss', 'Backward', 'Reduce', 'Optimizer']),
    );
    assert.equal(await page.textContent('.timeline .peak-label'), 'peak 38.8 GiB');
    await page.click('[data-key=timeline-table] summary');
    assert.equal(await page.locator('[data-key=timeline-table] tbody tr').count(), FITS.timeline.length);
  });

  it('draws layers that are alike as a ramp as wide as they are many, and the level where it is pointed at', async () => {
    const all = FITS.timeline;
    const ends = (moment: string) => {
      const those = all.filter((sample) => sample.moment === moment);
      return [those[0], { ...those.at(-1), skipped: those.length - 2 }] as typeof all;
    };
    const rest = all.filter(({ moment }) => moment !== 'forward' && moment !== 'backward');
    const timeline = [...ends('forward'), ...rest.slice(0, 1), ...ends('backward'), ...rest.slice(1)];
    const page = await shown({ ...FITS, timeline });
    await page.click('[data-key=tab-timeline]');
    const box = await page.locator('.timeline').boundingBox();
    assert.ok(box);
    // The checkpoints grow over the forward pass: their upper edge climbs, and does not jump at its end.
    const path = await page.$$eval('.timeline .layer .fill', (fills) =>
      fills.map((fill) => fill.getAttribute('d') ?? ''),
    );
    const points = (d: string) =>
      [...d.matchAll(/([\d.]+),([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const);
    const climbs = path.some((d) => {
      const upper = points(d);
      return upper.some(([x, y], i) => {
        const next = upper[i + 1];
        return next !== undefined && next[0] - x > box.width / 4 && y - next[1] > 2;
      });
    });
    assert.ok(climbs, path.join('\n'));
    const reported = async (share: number) => {
      await page.mouse.move(box.x + 40 + (box.width - 40) * share, box.y + 100);
      return (await page.textContent('[data-key=timeline] + .chart-detail')) ?? '';
    };
    assert.match(await reported(0.1), /^Layer 0 forward/);
    assert.match(await reported(0.4), /^Layer 31 forward/);
    const level = page.locator('.timeline .level');
    assert.equal(await level.getAttribute('visibility'), 'visible');
    if (process.env.OOMLINT_PICTURES)
      await page.screenshot({ path: `${ROOT}/out/pictures/timeline-ramp.png` });
    assert.deepEqual(await accessibilityViolations(page), []);
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
    await page.click('[data-key=tab-timeline]');
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
    await page.click('[data-key=other-figures] summary');
    await page.focus('[data-key=components]');
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: EXCEEDS });
    assert.equal(
      await page.evaluate(() => (document.activeElement as HTMLElement).dataset.key),
      'components',
    );
    assert.equal(await page.locator('details[open]').count(), 1);
  });

  const figure = (page: Page, name: string) =>
    page.locator('tr.figure-row', { has: page.getByText(name, { exact: true }) });

  it('opens a component down to its tensors, once somebody asks', async () => {
    const page = await shown(FITS);
    await figure(page, 'Activations').click();
    assert.deepEqual((await panel.messages()).at(-1), { type: 'open-figures' });
    assert.equal(await page.textContent('.facts-row[aria-busy=true] p'), 'Opening');
    await panel.answer({ opened: OPENED });
    assert.equal(await page.locator('.facts-row[aria-busy=true]').count(), 0);
    await figure(page, 'layers 0-31').click();
    await figure(page, 'act_fn').click();
    const facts = page.locator('.facts-row').last();
    assert.deepEqual(await facts.locator('p').allTextContents(), [
      'Kept for backward of gated_product',
      '2 B × 1 sample × 4096 tokens × 14336 = 112 MiB × 32',
      `32 × bf16 [1, 4096, 14336], ${(4_627_827_261 - 1024).toLocaleString('en-US')} B · derivatives.yaml, mul`,
    ]);
    assert.match((await facts.locator('a').getAttribute('href')) ?? '', /derivatives\.yaml#L1217$/);
    assert.equal((await panel.messages()).filter(({ type }) => type === 'open-figures').length, 1);
  });

  it('walks the tree with the keyboard alone', async () => {
    const page = await shown(FITS);
    const focused = () =>
      page.evaluate(() => document.activeElement?.querySelector('.figure-name')?.textContent);
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    // Largest first: logits, states, activations.
    await figure(page, 'Logits and loss').focus();
    await press('ArrowDown', 'ArrowDown', 'ArrowRight');
    await panel.answer({ opened: OPENED });
    assert.equal(await focused(), 'Activations');
    assert.equal(await figure(page, 'Activations').getAttribute('aria-expanded'), 'true');
    await press('ArrowRight');
    assert.equal(await focused(), 'layers 0-31');
    assert.equal(await figure(page, 'layers 0-31').getAttribute('aria-level'), '2');
    await press('Enter', 'ArrowRight');
    assert.equal(await focused(), 'act_fn');
    await press('ArrowLeft');
    assert.equal(await focused(), 'layers 0-31');
    await press('ArrowLeft', 'ArrowLeft', 'ArrowLeft');
    assert.equal(await focused(), 'Activations');
    assert.equal(await figure(page, 'layers 0-31').count(), 0);
    await press('End');
    assert.equal(await focused(), 'CUDA context');
    await press('Home');
    assert.equal(await focused(), 'Logits and loss');
    assert.equal(await page.locator('.components tr[tabindex="0"]').count(), 1);
  });

  it('keeps rows open, and their focus, when an edit brings new figures', async () => {
    const page = await shown(FITS);
    await figure(page, 'Activations').click();
    await panel.answer({ opened: OPENED });
    await figure(page, 'layers 0-31').focus();
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: EXCEEDS });
    assert.equal(await figure(page, 'layers 0-31').count(), 1);
    assert.equal((await panel.messages()).filter(({ type }) => type === 'open-figures').length, 2);
    assert.equal(
      await page.evaluate(() => document.activeElement?.querySelector('.figure-name')?.textContent),
      'layers 0-31',
    );
  });

  it('reports why figures cannot be opened', async () => {
    const page = await shown(FITS);
    await figure(page, 'Weights').click();
    await panel.answer({ error: 'The language server did not answer within 15 s.' });
    assert.match((await page.textContent('.facts-row')) ?? '', /did not answer/);
  });

  it('goes from a fact of the run to its formula', async () => {
    const page = await shown(FITS);
    await page.click('[data-key=tab-compute]');
    await page.click('[data-key="fact-parameters"]');
    await panel.answer({ opened: OPENED });
    const row = figure(page, 'Parameters');
    assert.equal(await row.getAttribute('aria-expanded'), 'true');
    assert.match((await row.textContent()) ?? '', /8\.03B.*embedding \+ layers \+ head/);
    await page.click('[data-key=bounds]');
    assert.equal(await figure(page, 'Upper bound').getAttribute('aria-expanded'), 'true');
  });

  it('opens a sample of the step', async () => {
    const page = await shown(FITS);
    await page.click('[data-key=tab-timeline]');
    await page.focus('[data-key=timeline]');
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    assert.match((await page.textContent('.chosen-sample h3')) ?? '', /^Layer 0 forward/);
    await page.locator('.chosen-sample tr.figure-row').first().click();
    assert.deepEqual((await panel.messages()).at(-1), { type: 'open-figures', sample: 0 });
    await page.click('[data-key=close-sample]');
    assert.equal(await page.locator('.chosen-sample tr').count(), 0);
  });

  it('makes links of https addresses only', async () => {
    const page = await shown(FITS);
    const links = page.locator('.assumptions td a');
    assert.deepEqual(await links.allTextContents(), ['DeepSpeed 0.19 default']);
    assert.equal(await links.first().getAttribute('href'), 'https://www.deepspeed.ai/docs/config-json/');
  });

  it('shows file names, labels and values as text, never as markup', async () => {
    const hostile = '<img src=x onerror=alert(1)>';
    const page = await shown({
      ...FITS,
      notes: [hostile],
      assumptions: [{ field: hostile, value: hostile, source: hostile, kind: 'file' }],
    });
    assert.equal(await page.locator('img').count(), 0);
    assert.equal(await page.textContent('.behind li'), hostile);
  });

  it('keeps the figures of the last text while the syntax is broken or a value is replaced', async () => {
    const page = await shown(FITS);
    const empty = { ...FITS, verdict: 'unknown' as const, peak: undefined, parts: [], timeline: [] };
    const syntax = {
      code: 'syntax' as const,
      severity: 'error' as const,
      message: 'Expected comma',
      range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } },
    };
    const edited = (breakdown: Breakdown) =>
      panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown });
    await edited({ ...empty, version: 4, diagnostics: [syntax] });
    assert.match((await page.textContent('.notice')) ?? '', /Fix the syntax first/);
    assert.equal(await page.textContent('h1'), 'Fits: 44.2 of 79.2 GiB');
    assert.equal(await page.locator('.outdated').count(), 1);
    await edited({ ...empty, version: 5, unknown: [{ field: 'batch.micro', reason: 'Nobody says it.' }] });
    assert.equal(await page.textContent('h1'), 'Fits: 44.2 of 79.2 GiB');
    assert.equal(await page.textContent('.notice'), '');
    // Who leaves it out for longer than it takes to type another means it.
    await page.waitForFunction(() => /needs/.test(document.querySelector('h1')?.textContent ?? ''));
    await edited({ ...FITS, version: 6 });
    assert.equal(await page.locator('.outdated').count(), 0);
    assert.equal(await page.textContent('h1'), 'Fits: 44.2 of 79.2 GiB');
    await panel.show({
      kind: 'breakdown',
      file: 'other.json',
      breakdown: { ...empty, file: '/project/other.json', diagnostics: [syntax] },
    });
    assert.equal(await page.textContent('h1'), 'Fix the syntax first');
  });

  it('writes small parts of the legend in the unit of the large ones, and none as nothing', async () => {
    panel = await openPanel(browser());
    const parts = FITS.parts.map((part, at) =>
      at < 2 ? { ...part, bytes: at === 0 ? 1011 * 2 ** 20 : 2 ** 20 } : part,
    );
    await panel.show({ kind: 'breakdown', file: 'ds.json', breakdown: { ...FITS, parts } });
    const sizes = await panel.page.locator('.sized-legend .legend-size').allTextContents();
    const shares = await panel.page.locator('.sized-legend .legend-share').allTextContents();
    assert.ok(sizes.includes('1.0 GiB'), sizes.join());
    assert.ok(shares.includes('< 1 %') && !shares.includes('0 %'), shares.join());
  });

  it('lists what is missing and asks the editor to supply it', async () => {
    const page = await shown(UNKNOWN);
    assert.equal(await page.textContent('h1'), 'No estimate yet: needs model and GPU');
    await page.click('[data-key=supply]');
    assert.deepEqual((await panel.messages()).at(-1), {
      type: 'supply',
      fields: ['model.id', 'hardware.gpu'],
    });
  });

  it('reports what to do while there is nothing to show', async () => {
    panel = await openPanel(browser());
    await panel.show({ kind: 'empty' });
    assert.equal(await panel.page.textContent('h1'), 'No training config is open');
    const configs = [
      { uri: 'file:///project/a.yaml', name: 'a.yaml', text: '55.1 of 79.1 GiB, fits' },
      { uri: 'file:///project/<b>.json', name: '<b>.json', text: 'needs GPU' },
    ];
    await panel.show({ kind: 'empty', file: 'notes.json', configs });
    assert.equal(await panel.page.textContent('h1'), 'notes.json is not a training config');
    assert.deepEqual(await panel.page.locator('.state li').allTextContents(), [
      'a.yaml 55.1 of 79.1 GiB, fits',
      '<b>.json needs GPU',
    ]);
    assert.deepEqual(await accessibilityViolations(panel.page), []);
    await panel.page.keyboard.press('Tab');
    await panel.page.keyboard.press('Tab');
    await panel.page.keyboard.press('Enter');
    assert.deepEqual((await panel.messages()).at(-1), { type: 'show-config', uri: configs[1]?.uri });
  });

  it('offers to try again after a failure', async () => {
    panel = await openPanel(browser());
    await panel.show({ kind: 'error', file: 'a.yaml', message: 'The language server is not running.' });
    assert.match((await panel.page.textContent('[role=alert]')) ?? '', /not running/);
    await panel.page.click('[data-key=retry]');
    await panel.page.click('[data-key=output]');
    assert.deepEqual((await panel.messages()).slice(1), [{ type: 'retry' }, { type: 'show-output' }]);
  });

  it('listens to the editor alone', async () => {
    panel = await openPanel(browser());
    const file = 'a.yaml';
    await panel.show({ kind: 'error', file, message: 'Of the editor.' });
    await panel.page.evaluate(async (name) => {
      const data = { type: 'show', content: { kind: 'error', file: name, message: 'Of another page.' } };
      window.dispatchEvent(new MessageEvent('message', { data, origin: 'https://example.org' }));
      window.dispatchEvent(new MessageEvent('message', { data, origin: 'null' }));
      await new Promise((done) => setTimeout(done, 50));
    }, file);
    assert.equal(
      await panel.page.textContent('[role=alert]').then((text) => /another/.test(text ?? '')),
      false,
    );
    assert.match((await panel.page.textContent('[role=alert]')) ?? '', /Of the editor/);
  });

  it('shows progress only when an answer takes its time', async () => {
    panel = await openPanel(browser());
    // Looked at in the same breath, so that no slow machine can be late.
    const atOnce = await panel.page.evaluate(() => {
      const data = { type: 'show', content: { kind: 'loading', file: 'a.yaml' } };
      window.dispatchEvent(new MessageEvent('message', { data, origin: window.origin }));
      return document.querySelectorAll('[role=progressbar]').length;
    });
    assert.equal(atOnce, 0);
    await panel.page.waitForSelector('[role=progressbar]');
    assert.deepEqual(await accessibilityViolations(panel.page), []);
  });

  for (const width of [280, 400, 1600]) {
    it(`needs no sideways scrolling at ${width} pixels`, async () => {
      const page = await shown(EXCEEDS, { width });
      await figure(page, 'Activations').click();
      await panel.answer({ opened: OPENED });
      await figure(page, 'layers 0-31').click();
      await figure(page, 'act_fn').click();
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(overflow, 0);
      const bar = await page.locator('.component-bar').boundingBox();
      assert.ok(bar && bar.width <= width && bar.width > 200);
    });
  }

  for (const width of [220, 333, 400]) {
    it(`tears no word, no figure and no unit apart at ${width} pixels, in Russian`, async () => {
      panel = await openPanel(browser(), { width });
      const bundle = JSON.parse(readFileSync(path.join(ROOT, 'l10n', 'bundle.l10n.ru.json'), 'utf8'));
      await panel.show(
        { kind: 'breakdown', file: 'ds.json', breakdown: EXCEEDS },
        { language: 'ru', bundle },
      );
      const torn = await panel.page.evaluate(() => {
        const lines = (range: Range): number =>
          new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
        const found: string[] = [];
        for (const element of document.querySelectorAll(
          '.figure-name, .legend-name, .legend-size, .figures .number, h1, h2',
        )) {
          const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const whole =
              /name/.test(element.className) || element.tagName.startsWith('H') ? /[\p{L}\d.,]+/gu : /.+/gu;
            for (const { 0: word, index } of (node.textContent ?? '').matchAll(whole)) {
              const range = document.createRange();
              range.setStart(node, index);
              range.setEnd(node, index + word.length);
              if (lines(range) > 1) found.push(word);
            }
          }
        }
        for (const unit of document.querySelectorAll('.figure-unit'))
          if (unit.getClientRects().length > 1) found.push(unit.textContent ?? '');
        for (const item of document.querySelectorAll('.sized-legend li')) {
          const [name, size] = ['.legend-name', '.legend-size'].map((one) =>
            item.querySelector(one)?.getBoundingClientRect(),
          );
          if (name && size && name.right > size.left - 4) found.push(`beside: ${item.textContent}`);
        }
        return found;
      });
      assert.deepEqual(torn, []);
      assert.ok((await panel.page.locator('h1 .figure-unit').count()) > 0);
      const overflow = await panel.page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(overflow, 0);
    });
  }

  it('moves nothing away from under the pointer when it marks what is pointed at', async () => {
    const page = await shown(FITS, { width: 300, height: 2000 });
    const rows = page.locator('tr.figure-row');
    const top = async () => (await rows.first().boundingBox())?.y;
    const before = await top();
    const hint = await page.textContent('.chart-detail');
    for (const index of [0, 1, 2]) {
      await rows.nth(index).hover();
      assert.notEqual(await page.textContent('.chart-detail'), hint);
      assert.equal(await top(), before);
    }
  });

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
      await figure(page, 'Activations').click();
      await panel.answer({ opened: OPENED });
      await figure(page, 'layers 0-31').click();
      await page.click('[data-key=bounds]');
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
