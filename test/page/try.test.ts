import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { RUSSIAN } from '../../server/src/wording/russian';
import { speak } from '../../server/src/wording/say';
import { layoutFaults } from './layout';
import { openPanel, type PanelPage, suiteBrowser } from './panel-page';
import { EXCEEDS, FITS, FIXES, PLANNED, TRIED } from './sample';

afterEach(() => speak('en', undefined));

describe('knobs of the panel', () => {
  let panel: PanelPage;
  const browser = suiteBrowser(() => panel);

  /** Each knob turns alone, as for a person who switched off that the others keep the global batch. */
  async function shown(state: object = {}): Promise<Page> {
    panel = await openPanel(browser(), { state: { keepsBatch: false, ...state } });
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });
    return panel.page;
  }

  /** What the page asked to be tried last; requests are sent with the next frame. */
  async function lastTry() {
    await panel.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))));
    return (await panel.messages()).flatMap((message) => (message.type === 'try' ? [message] : [])).at(-1);
  }
  const asked = async (): Promise<unknown> => (await lastTry())?.turned;

  it('stand where the run stands, each with a label', async () => {
    const page = await shown();
    assert.deepEqual(await page.locator('.knob label').allTextContents(), [
      'Micro batch',
      'Gradient accumulation',
      'Sequence length',
      'Activation checkpointing',
      'Optimizer',
      'Method',
      'LoRA rank',
      'Precision',
      'Sharding',
      'Offload',
      'Number of GPUs',
      'GPU',
    ]);
    assert.equal(await page.inputValue('[data-key=knob-micro-batch]'), '2');
    assert.equal(await page.inputValue('[data-key=knob-sharding]'), 'zero-3');
    assert.equal(await page.getAttribute('[data-key=knob-sequence-slider]', 'aria-valuetext'), '4,096');
  });

  it('are turned by the keyboard: a slider by its steps, a box by what is typed', async () => {
    const page = await shown();
    await page.focus('[data-key=knob-micro-batch-slider]');
    await page.keyboard.press('ArrowRight');
    assert.deepEqual(await asked(), { 'micro-batch': 4 });
    assert.equal(await page.inputValue('[data-key=knob-micro-batch]'), '4');
    await page.focus('[data-key=knob-sequence]');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('6000');
    assert.deepEqual(await asked(), { 'micro-batch': 4, sequence: 6000 });
    assert.equal(await page.inputValue('[data-key=knob-sequence]'), '6000');
    // The slider stands at the step below.
    assert.equal(await page.inputValue('[data-key=knob-sequence-slider]'), '2');
  });

  it('are joined by what is assumed: the other answer is tried from the headline', async () => {
    panel = await openPanel(browser(), {});
    const { page } = panel;
    const sentence = 'Assumed activation checkpointing: none. With full it would need 63.0 GiB.';
    const otherwise = { changes: { 'activations.checkpointing': 'full' as const }, words: 'full' };
    const open = [{ field: 'activations.checkpointing' as const, reason: sentence, sentence, otherwise }];
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: { ...FITS, open } });
    const tryIt = page.locator('.headline [data-key=try-deciding-0]');
    assert.equal(await tryIt.textContent(), 'Try');
    assert.equal(await tryIt.getAttribute('aria-label'), 'Try: full');
    await tryIt.focus();
    await page.keyboard.press('Enter');
    await page.locator('.trying', { hasText: 'full' }).waitFor();
    assert.deepEqual((await lastTry())?.values, otherwise.changes);
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-key')), 'reset');
    assert.deepEqual(await layoutFaults(page), []);
    await page.keyboard.press('Enter');
    await page.locator('.trying', { hasText: 'full' }).waitFor({ state: 'detached' });
  });

  for (const knob of FITS.knobs ?? []) {
    it(`${knob.id}: pointer and keyboard turn it, and back to where it stood turns nothing`, async () => {
      const page = await shown();
      const needs = knob.kind === 'number' ? knob.needs : undefined;
      if (needs) await page.selectOption(`[data-key=knob-${needs.knob}]`, 'lora');
      const others = needs ? { [needs.knob]: 'lora' } : {};
      if (knob.kind === 'choice') {
        const to = knob.options.find(({ id }) => id !== knob.value)?.id ?? '';
        await page.selectOption(`[data-key=knob-${knob.id}]`, to);
        assert.deepEqual(await asked(), { ...others, [knob.id]: to });
        await page.focus(`[data-key=knob-${knob.id}]`);
        await page.keyboard.type(knob.value);
        assert.deepEqual(await asked(), others);
        return;
      }
      const slider = page.locator(`[data-key=knob-${knob.id}-slider]`);
      await slider.scrollIntoViewIfNeeded();
      const box = await slider.boundingBox();
      assert.ok(box);
      await page.mouse.click(box.x + box.width - 3, box.y + box.height / 2);
      assert.deepEqual(await asked(), { ...others, [knob.id]: knob.steps.at(-1) });
      await slider.press('Home');
      assert.deepEqual(await asked(), { ...others, [knob.id]: knob.steps[0] });
      await page.fill(`[data-key=knob-${knob.id}]`, String(knob.value));
      assert.deepEqual(await asked(), others);
    });
  }

  it('send one request a frame, however fast a slider is dragged', async () => {
    const page = await shown();
    const sent = await page.evaluate(async () => {
      const slider = document.querySelector<HTMLInputElement>('[data-key=knob-micro-batch-slider]');
      for (const step of ['0', '2', '3', '4']) {
        if (slider) slider.value = step;
        slider?.dispatchEvent(new Event('input'));
      }
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
      return Reflect.get(window, 'fakeEditor').messages.filter(
        ({ type }: { type: string }) => type === 'try',
      );
    });
    assert.deepEqual(sent, [{ type: 'try', turned: { 'micro-batch': 16 } }]);
  });

  it('read numbers as people write them, and count by the arrow keys', async () => {
    const page = await shown();
    const box = '[data-key=knob-sequence]';
    for (const [typed, meant] of [
      ['8,192', 8192],
      ['16 384', 16_384],
      ['32\u00a0768', 32_768],
      ['6_000', 6000],
      ['1.024', 1024],
    ] as const) {
      await page.fill(box, typed);
      assert.deepEqual(await asked(), { sequence: meant }, typed);
      assert.equal(await page.getAttribute(box, 'aria-invalid'), 'false', typed);
      assert.equal(await page.inputValue(box), typed, 'as it was typed');
    }
    assert.equal(await page.getAttribute(box, 'aria-valuetext'), '1,024');
    await page.press(box, 'ArrowUp');
    assert.deepEqual(await asked(), { sequence: 1025 });
    await page.press(box, 'ArrowDown');
    await page.press(box, 'ArrowDown');
    assert.deepEqual(await asked(), { sequence: 1023 });
    assert.equal(await page.inputValue(box), '1023');
    await page.fill(box, '1');
    await page.press(box, 'ArrowDown');
    assert.deepEqual(await asked(), { sequence: 1 }, 'nothing below one');
  });

  it('refuse what is no whole number, and say so to everybody', async () => {
    const page = await shown();
    for (const text of ['0', '', '1.5', '1,5', '4,09', '1e3', '-2', 'two', '99,999,999,999']) {
      await page.fill('[data-key=knob-micro-batch]', text);
      assert.equal(await page.getAttribute('[data-key=knob-micro-batch]', 'aria-invalid'), 'true', text);
    }
    assert.equal(await asked(), undefined);
    await page.keyboard.press('Tab');
    assert.equal(await page.inputValue('[data-key=knob-micro-batch]'), '2');
    assert.equal(await page.getAttribute('[data-key=knob-micro-batch]', 'aria-invalid'), 'false');
  });

  it('need what they belong to: a rank without an adapter is none', async () => {
    const page = await shown();
    assert.ok(await page.isDisabled('[data-key=knob-rank]'));
    assert.ok(await page.isHidden('[data-key=knob-rank]'), 'nothing greyed stands in the way');
    await page.selectOption('[data-key=knob-method]', 'lora');
    assert.ok(await page.isEnabled('[data-key=knob-rank]'));
    assert.ok(await page.isVisible('[data-key=knob-rank]'));
  });

  it('name the bar of the run as it is, also where it is the longer one', async () => {
    const page = await shown();
    const parts = FITS.parts.map((part) => ({ ...part, bytes: 4 * part.bytes }));
    for (const before of [FITS, { ...FITS, parts }]) {
      await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: before });
      await page.fill('[data-key=knob-micro-batch]', '4');
      await panel.post({ type: 'tried', tried: TRIED });
      const label = page.locator('.earlier-label');
      await label.waitFor();
      const [word, bar] = [await label.boundingBox(), await page.locator('.component-bar').boundingBox()];
      assert.ok(word && bar && word.width > 20);
      assert.ok(word.x >= bar.x && word.x + word.width <= bar.x + bar.width, 'inside of the picture');
      assert.deepEqual(await layoutFaults(page), [], 'on no bar and no other word');
      await page.click('[data-key=reset]');
    }
  });

  it('show what changes, beside the run as it is', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    assert.equal(await page.textContent('h1'), 'Fits: 59.9 of 79.2 GiB');
    assert.equal(
      await page.textContent('.trying p'),
      'Trying Micro batch 2 → 4. Fits: 59.9 of 79.2 GiB. In the file – fits: 44.2 of 79.2 GiB',
    );
    await page.locator('.earlier').first().waitFor({ state: 'attached' });
    assert.equal(await page.locator('.earlier').count(), FITS.parts.length);
    const rows = page.locator('.changes .data tbody tr');
    assert.deepEqual(await rows.allInnerTexts(), [
      'Verdict\tfits\tfits\t',
      'Peak\t44.2 GiB\t59.9 GiB\t+15.7 GiB',
      'Logits and loss\t15.7 GiB\t31.3 GiB\t+15.7 GiB',
    ]);
    assert.equal(
      await page.textContent('[aria-live=polite]'),
      'Trying Micro batch 2 → 4. Fits: 59.9 of 79.2 GiB',
    );
    // The box that is typed in keeps its focus.
    assert.equal(
      await page.evaluate(() => (document.activeElement as HTMLElement).dataset.key),
      'knob-micro-batch',
    );
  });

  it('apply to the file, and say what came of it', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    assert.ok(await page.isDisabled('[data-key=apply]'));
    await panel.post({ type: 'tried', tried: TRIED });
    // Nothing is written that was not shown before.
    assert.ok(await page.isDisabled('[data-key=apply]'));
    await page.waitForFunction(() =>
      (Reflect.get(window, 'fakeEditor') as { messages: { type: string }[] }).messages.some(
        ({ type }) => type === 'plan',
      ),
    );
    assert.deepEqual((await panel.messages()).at(-1), { type: 'plan', values: { 'batch.micro': 4 } });
    await panel.post({ type: 'planned', planned: PLANNED });
    assert.equal(await page.textContent('.trying summary'), 'Writes ds_config.json');
    await page.click('.trying summary');
    assert.deepEqual(await page.locator('.trying pre > *').allTextContents(), [
      '-   "train_micro_batch_size_per_gpu": 2,\n',
      '+   "train_micro_batch_size_per_gpu": 4,\n',
    ]);
    await page.focus('[data-key=apply]');
    await page.keyboard.press('Enter');
    assert.deepEqual((await panel.messages()).at(-1), { type: 'apply', values: { 'batch.micro': 4 } });
    await panel.post({ type: 'applied', left: [] });
    assert.equal(await page.textContent('.trying p'), 'Applied.');
    assert.equal(await page.locator('.knob.turned').count(), 0);
    assert.equal(await page.inputValue('[data-key=knob-micro-batch]'), '2');
    await panel.post({ type: 'applied', left: ['ds.json has no word for optimizer lion'] });
    assert.match((await page.textContent('.trying')) ?? '', /Not written: ds\.json has no word/);
    await page.click('[data-key=close-outcome]');
    assert.equal(await page.textContent('.trying'), '');
  });

  it('take a press that began before an answer drew the button anew, and none that ends elsewhere', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    await panel.post({ type: 'planned', planned: PLANNED });
    const applied = async () => (await panel.messages()).filter(({ type }) => type === 'apply').length;
    /** Presses Apply, lets an answer come, and releases over that button. */
    const released = async (over: string) => {
      const began = await page.locator('[data-key=apply]').elementHandle();
      await page.hover('[data-key=apply]');
      await page.mouse.down();
      await panel.post({ type: 'fixes', fixes: FIXES });
      assert.equal(await began?.evaluate((button) => button.isConnected), false);
      await page.hover(over);
      await page.mouse.up();
    };
    await released('[data-key=reset]');
    assert.equal(await applied(), 0);
    assert.match((await page.textContent('.trying')) ?? '', /Micro batch 2 → 4/);
    await released('[data-key=apply]');
    assert.equal(await applied(), 1);
    // A press of which nothing came between counts once.
    await page.click('[data-key=apply]');
    assert.equal(await applied(), 2);
  });

  for (const [where, size] of [
    ['at 200 %', { width: 800, height: 900, zoom: 2 }],
    ['in a narrow column', { width: 300, height: 500 }],
  ] as const)
    it(`keep what applies them in view ${where} in Russian, however much is written and done by hand`, async () => {
      speak('ru', RUSSIAN);
      panel = await openPanel(browser(), size);
      const { page } = panel;
      const more = { uri: FITS.file, language: 'ru', bundle: RUSSIAN };
      await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS }, more);
      await page.fill('[data-key=knob-micro-batch]', '4');
      await panel.post({ type: 'tried', tried: TRIED });
      const [, checkpointing] = FIXES;
      const reason = 'в ds.json нет слова для оптимизатора lion';
      const left = (['optimizer.name', 'kernels.liger', 'loss.implementation'] as const).map((field) => ({
        field,
        reason,
      }));
      const byHand = checkpointing?.byHand ?? assert.fail();
      await panel.post({ type: 'planned', planned: { ...PLANNED, left, byHand: [...byHand, ...byHand] } });
      for (const scrolled of [0, 1]) {
        await page.evaluate((part) => window.scrollTo(0, part * document.body.scrollHeight), scrolled);
        for (const key of ['apply', 'reset']) {
          const isShown = await page.locator(`[data-key=${key}]`).evaluate((button) => {
            const { left, right, top, bottom } = button.getBoundingClientRect();
            const corners = [
              [left + 3, top + 3],
              [right - 3, bottom - 3],
            ] as const;
            return corners.every(([x, y]) => button.contains(document.elementFromPoint(x, y)));
          });
          // The strip begins below the headline: before it is scrolled to, it need not be in view.
          if (scrolled === 1 || size.height === 900) assert.ok(isShown, `${key}, scrolled ${scrolled}`);
        }
      }
      assert.deepEqual(await layoutFaults(page), []);
    });

  it('are what-if alone where no file can say them, and tell what is done by hand where one is noted', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    const left = [{ field: 'optimizer.name', reason: 'ds.json has no word for optimizer lion' }] as const;
    await panel.post({ type: 'planned', planned: { ...PLANNED, files: [], left } });
    assert.match(
      (await page.textContent('.trying')) ?? '',
      /What-if only.*Not written: ds\.json has no word/,
    );
    assert.ok(await page.isDisabled('[data-key=apply]'));
    const [, checkpointing] = FIXES;
    assert.ok(checkpointing);
    const { files, byHand } = checkpointing;
    await panel.post({ type: 'planned', planned: { ...PLANNED, files, byHand } });
    assert.equal(await page.textContent('[data-key=apply]'), 'Note in oomlint.yaml');
    assert.equal(await page.textContent('.trying .by-hand code >> nth=0'), '--gradient_checkpointing True');
    await panel.post({ type: 'applied', left: [], byHand });
    assert.match((await page.textContent('.trying')) ?? '', /Noted\. The training changes when you do this/);
  });

  it('do not take a plan of what is no longer tried', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    await panel.post({ type: 'planned', planned: { ...PLANNED, values: { 'batch.micro': 8 } } });
    assert.ok(await page.isDisabled('[data-key=apply]'));
  });

  it('keep what is tried where it cannot be applied', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    await panel.post({ type: 'applied', error: 'The editor refused the change.' });
    assert.match((await page.textContent('.trying')) ?? '', /could not be applied: The editor refused/);
    assert.equal(await page.inputValue('[data-key=knob-micro-batch]'), '4');
  });

  it('say why values make no run, and show the run as it is', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-gpus]', '3');
    const tried = { turned: { gpus: 3 }, values: {}, problem: 'Three GPUs do not divide.' };
    await panel.post({ type: 'tried', tried });
    assert.match((await page.textContent('.problem')) ?? '', /Three GPUs do not divide/);
    assert.equal(await page.textContent('h1'), 'Fits: 44.2 of 79.2 GiB');
    assert.ok(await page.isDisabled('[data-key=apply]'));
  });

  it('go back with Reset, and drop an answer that comes late', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    await page.click('[data-key=reset]');
    await panel.post({ type: 'tried', tried: TRIED });
    assert.equal(await page.textContent('h1'), 'Fits: 44.2 of 79.2 GiB');
    assert.equal(await page.inputValue('[data-key=knob-micro-batch]'), '2');
    assert.deepEqual(await asked(), {});
  });

  it('go back and forth between what was tried, in the strip that tells how it comes out', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    assert.match((await page.textContent('.trying .tried-verdict')) ?? '', /^Fits: 59\.9 of 79\.2 GiB\. $/);
    await page.selectOption('[data-key=knob-optimizer]', 'sgd');
    assert.deepEqual(await asked(), { 'micro-batch': 4, optimizer: 'sgd' });
    await page.click('[data-key=undo]');
    assert.deepEqual(await asked(), { 'micro-batch': 4 });
    assert.equal(await page.inputValue('[data-key=knob-optimizer]'), 'adamw');
    await page.click('[data-key=undo]');
    assert.deepEqual(await asked(), {});
    await page.click('[data-key=redo]');
    await page.click('[data-key=redo]');
    assert.deepEqual(await asked(), { 'micro-batch': 4, optimizer: 'sgd' });
    assert.equal(await page.locator('[data-key=redo]').count(), 0);
  });

  it('leave no strip on other views once nothing is tried', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    await page.click('[data-key=tab-timeline]');
    assert.equal(await page.locator('.trying [data-key=reset]').count(), 1);
    await page.click('[data-key=reset]');
    await page.click('[data-key=tab-overview]');
    assert.equal(await page.locator('.trying [data-key=undo]').count(), 1);
    await page.click('[data-key=tab-timeline]');
    assert.equal(await page.locator('.trying [data-key=undo]').count(), 0);
  });

  it('keep the global batch until a person switches that off, which outlives a reload', async () => {
    panel = await openPanel(browser());
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });
    const { page } = panel;
    await page.fill('[data-key=knob-micro-batch]', '1');
    assert.deepEqual(await asked(), { 'micro-batch': 1, accumulation: 8 });
    assert.equal(await page.inputValue('[data-key=knob-accumulation]'), '8');
    await page.uncheck('[data-key=keep-batch]');
    await page.fill('[data-key=knob-gpus]', '4');
    assert.deepEqual(await asked(), { 'micro-batch': 1, accumulation: 8, gpus: 4 });
    const kept = await panel.state();
    panel = await openPanel(browser(), { state: kept });
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });
    assert.equal(await panel.page.isChecked('[data-key=keep-batch]'), false);
  });

  it('stand for the fastest and the cheapest run that fits, as a search finds it', async () => {
    const page = await shown();
    await page.click('[data-key=preset-fastest]');
    assert.deepEqual((await panel.messages()).at(-1), { type: 'preset', which: 'fastest' });
    assert.equal(await page.textContent('.searching'), 'Searching what fits');
    const found = {
      name: 'micro batch 4 × 2',
      values: { 'batch.micro': 4, 'batch.accumulation': 2 },
    } as const;
    await panel.post({ type: 'preset', found });
    assert.equal(await page.textContent('.searching'), '');
    assert.match((await page.textContent('.trying')) ?? '', /^Trying micro batch 4 × 2/);
    assert.deepEqual(await lastTry(), { type: 'try', turned: {}, values: found.values });
    await panel.post({ type: 'tried', tried: { ...TRIED, turned: {}, values: found.values } });
    await panel.post({ type: 'planned', planned: { ...PLANNED, values: found.values } });
    await page.click('[data-key=apply]');
    assert.deepEqual((await panel.messages()).at(-1), { type: 'apply', values: found.values });
    await page.click('[data-key=preset-cheapest]');
    await panel.post({ type: 'preset', error: 'None of 12 runs fits.' });
    assert.equal(await page.textContent('.searching'), 'None of 12 runs fits.');
  });

  it('open the figures of what is tried', async () => {
    const page = await shown();
    await page.fill('[data-key=knob-micro-batch]', '4');
    await panel.post({ type: 'tried', tried: TRIED });
    await page.click('tr.figure-row >> nth=0');
    // Beside other questions, which go out in their own time.
    const sent = (await panel.messages()).filter(({ type }) => type === 'open-figures');
    assert.deepEqual(sent, [{ type: 'open-figures', turned: { 'micro-batch': 4 } }]);
  });

  it('survive a reload, and an edit of the same file, but not another file', async () => {
    const kept = {
      uri: 'file:///project/ds_config.json',
      tab: 'overview',
      turned: { 'micro-batch': 4 },
      locked: true,
    };
    const page = await shown(kept);
    assert.deepEqual(await asked(), { 'micro-batch': 4 });
    assert.equal(await page.inputValue('[data-key=knob-micro-batch]'), '4');
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: { ...FITS, version: 5 } });
    assert.equal(await page.inputValue('[data-key=knob-micro-batch]'), '4');
    await panel.show({
      kind: 'breakdown',
      file: 'other.json',
      breakdown: { ...FITS, file: '/project/other.json' },
    });
    assert.equal(await page.inputValue('[data-key=knob-micro-batch]'), '2');
  });
});

describe('what makes a run fit', () => {
  let panel: PanelPage;
  const browser = suiteBrowser(() => panel);

  async function shown(): Promise<Page> {
    panel = await openPanel(browser(), { width: 800, height: 900 });
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: EXCEEDS });
    return panel.page;
  }

  it('is looked for, and shown as cards under the verdict: peak, speed, files', async () => {
    const page = await shown();
    assert.match((await page.textContent('.fixes')) ?? '', /Looking for changes/);
    await panel.post({ type: 'fixes', fixes: FIXES });
    const cards = page.locator('.fix');
    assert.equal(await cards.count(), FIXES.length);
    assert.equal(await cards.nth(0).locator('h3').textContent(), 'Micro batch 1, 8 accumulation steps');
    assert.equal(
      await cards.nth(0).locator('.fix-figures').textContent(),
      '44.2 GiB → 21.4 GiB · 1.13× slower',
    );
    assert.equal(await cards.nth(0).locator('summary').textContent(), 'Writes ds_config.json');
    assert.match((await cards.nth(1).textContent()) ?? '', /By hand: --gradient_checkpointing TrueNote It/);
    await panel.post({ type: 'fixes', fixes: [] });
    assert.match((await page.textContent('.fixes')) ?? '', /No change of these files was found/);
  });

  it('stands on the first screen beside the verdict and the largest parts with their figures', async () => {
    const page = await shown();
    await panel.post({ type: 'fixes', fixes: FIXES });
    const within = async (selector: string) => {
      const box = await page.locator(selector).first().boundingBox();
      assert.ok(box && box.y >= 0 && box.y + box.height <= 900, `${selector}: ${JSON.stringify(box)}`);
    };
    await within('h1');
    await within('.fix');
    await within('[data-key=apply-fix-0]');
    await within('.component-bar');
    for (const row of [0, 1, 2]) await within(`.sized-legend li >> nth=${row}`);
    assert.deepEqual(await page.locator('.sized-legend li').first().locator('span').allTextContents(), [
      'Logits and loss',
      '15.7 GiB',
      '35 %',
    ]);
  });

  it('is tried and applied from its card, and outdated by an edit', async () => {
    const page = await shown();
    await panel.post({ type: 'fixes', fixes: FIXES });
    await page.click('[data-key=try-fix-0]');
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))));
    const values = { 'batch.micro': 1 };
    assert.deepEqual((await panel.messages()).at(-1), { type: 'try', turned: {}, values });
    await panel.post({ type: 'tried', tried: { ...TRIED, turned: {}, values } });
    assert.match((await page.textContent('.trying')) ?? '', /Trying Micro batch 1, 8 accumulation steps/);
    assert.equal(await page.getAttribute('[data-key=try-fix-0]', 'aria-pressed'), 'true');
    await panel.post({ type: 'planned', planned: { ...PLANNED, values } });
    await page.click('[data-key=apply]');
    const id = FIXES[0]?.id;
    assert.deepEqual((await panel.messages()).at(-1), { type: 'apply', values, fix: id });
    await page.click('[data-key=reset]');
    await page.click('[data-key=apply-fix-0]');
    assert.deepEqual((await panel.messages()).at(-1), { type: 'apply', values, fix: id });
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: { ...EXCEEDS, version: 9 } });
    assert.ok(await page.isDisabled('[data-key=apply-fix-0]'));
    await panel.post({ type: 'fixes', fixes: FIXES });
    assert.ok(await page.isEnabled('[data-key=apply-fix-0]'));
  });

  it('is nothing where the run fits', async () => {
    const page = await shown();
    await panel.post({ type: 'fixes', fixes: FIXES });
    await panel.show({ kind: 'breakdown', file: 'ds_config.json', breakdown: FITS });
    assert.equal(await page.locator('.fix').count(), 0);
  });
});
