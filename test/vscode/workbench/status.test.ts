import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { type ServedVsCode, serveVsCode } from '../../../scripts/served-vscode.mjs';
import { launchBrowser, ROOT } from '../../page/panel-page';

const PATIENCE_MS = 30_000;
const STATUS = '.statusbar-item[id="oomlint.oomlint.oomlint.verdict"]';

/** A run whose band reaches over the limit of one card from below, and of another from above. */
const edge = (card: string) => `# oomlint: gpu=${card} gpus=1 allocator.expandableSegments=false
base_model: Qwen/Qwen2.5-3B
datasets: [{ path: a, type: alpaca }]
sequence_len: 2048
sample_packing: true
micro_batch_size: ${card === 'L40S' ? 4 : 8}
gradient_accumulation_steps: 1
gradient_checkpointing: true
optimizer: adamw_torch
bf16: true
`;

const zero2 = (micro: number) =>
  `{ "train_micro_batch_size_per_gpu": ${micro}, "bf16": { "enabled": true }, "zero_optimization": { "stage": 2 } }\n`;

/** What only a person in front of the workbench sees: the status bar and hints as drawn. */
describe('the verdict at a glance', function () {
  this.timeout(300_000);
  let browser: Browser;
  let server: ServedVsCode;
  let folder: string;
  let page: Page;

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'oomlint-workbench-'));
    await cp(path.join(ROOT, 'test', 'vscode', 'workspace'), folder, { recursive: true });
    const more = {
      'over.yaml': edge('A6000'),
      'under.yaml': edge('L40S'),
      // Four fit if activations are checkpointed, which no file states; sixty-four never do.
      'ds_perhaps.json': zero2(4),
      'ds_never.json': zero2(64),
    };
    for (const [name, text] of Object.entries(more)) await writeFile(path.join(folder, name), text);
    server = await serveVsCode();
    browser = await launchBrowser();
    page = await browser.newPage({ viewport: { width: 1300, height: 850 } });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(server.url(folder, ROOT));
    await page.waitForSelector('.monaco-workbench');
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  async function open(name: string): Promise<void> {
    await page.keyboard.press('Control+P');
    await page.locator('.quick-input-widget input').fill(name);
    await page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
    await page.locator('.tab.active', { hasText: name }).waitFor();
  }

  /** What comes of something, once something does. */
  async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
    for (const end = Date.now() + PATIENCE_MS; ; await page.waitForTimeout(100)) {
      const found = await look();
      if (found !== undefined) return found;
      assert.ok(Date.now() < end, 'nothing came');
    }
  }

  async function command(title: string): Promise<void> {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').fill(`>${title}`);
    await page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().click();
  }

  it('stands in the status bar with peak and GPU, and behind the keys', async () => {
    await open('ds_config.json');
    await page.locator(STATUS, { hasText: /[\d.]+ of [\d.]+ GiB · 8×H100/ }).waitFor();
    await page
      .locator('.view-line', { hasText: /model\s+states/ })
      .first()
      .waitFor();
  });

  it('stands in the language status with the verdict and what to do next', async () => {
    await page.locator('[id="status.languageStatus"]').hover();
    const status = page.locator('.hover-language-status', { hasText: /[\d.]+ of [\d.]+ GiB/ });
    await status.waitFor();
    assert.match(await status.innerText(), /fits · 8×H100-SXM5-80GB · DeepSpeed/);
    assert.match(await status.innerText(), /Show Breakdown/);
    await page.mouse.move(600, 300);
  });

  it('turns while a value is typed, before it is saved', async () => {
    const item = page.locator(STATUS);
    await page.locator('.view-line', { hasText: 'micro_batch' }).first().click();
    await page.locator('.view-line', { hasText: 'micro_batch' }).first().waitFor();
    const before = await item.innerText();
    await page.keyboard.press('Home');
    await page.keyboard.press('Control+F');
    await page.keyboard.type('_per_gpu": 1');
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.type('99');
    await page.locator(`${STATUS}.error-kind`).waitFor();
    assert.notEqual(await item.innerText(), before);
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await page.locator(`${STATUS}:not(.error-kind)`, { hasText: before.trim() }).waitFor();
  });

  for (const [file, words] of [
    ['over.yaml', 'May not fit'],
    ['under.yaml', 'Tight'],
  ] as const)
    it(`calls a run ${words.toLowerCase()} by whether its peak is over what there is, on every surface: ${file}`, async () => {
      await open(file);
      const lens = page.locator('.codelens-decoration a', { hasText: 'GiB' }).first();
      await lens.waitFor();
      const [, peak, capacity] =
        /^[^:]+: ([\d.]+) of ([\d.]+) GiB/.exec((await lens.innerText()).trim()) ?? assert.fail();
      assert.equal(Number(peak) > Number(capacity), file === 'over.yaml', `${peak} of ${capacity}`);
      assert.ok((await lens.innerText()).trim().startsWith(`${words}: `));
      const item = page.locator(`${STATUS}.warning-kind`, { hasText: `${peak} of ${capacity}` });
      await item.waitFor();
      const label = (await item.locator('a').first().getAttribute('aria-label')) ?? '';
      await item.locator('a').first().click();
      await page
        .locator('.tab', { hasText: `Memory: ${file}` })
        .first()
        .waitFor();
      const headline = await eventually(async () => {
        for (const frame of page.frames()) {
          const h1 = frame.locator('#panel h1', { hasText: peak });
          if (await h1.count().catch(() => 0)) return h1.innerText();
        }
        return undefined;
      });
      const other = words === 'Tight' ? /may not fit/i : /tight/i;
      for (const text of [label, headline]) {
        assert.match(text, new RegExp(words, 'i'));
        assert.doesNotMatch(text, other);
      }
      await command('View: Close All Editors');
      await page.locator('.tab', { hasText: file }).first().waitFor({ state: 'detached' });
    });

  it('is as red as the problem is bad: what decides the run may be another thing than is assumed', async () => {
    for (const [file, kind] of [
      ['ds_perhaps.json', 'warning'],
      ['ds_never.json', 'error'],
    ] as const) {
      await open(file);
      await page.locator('.codelens-decoration', { hasText: 'Does not fit' }).first().waitFor();
      await page.locator(`${STATUS}.${kind}-kind`).waitFor();
      await page.locator(`${STATUS} .codicon-${kind}`).waitFor();
      await command('Problems: Focus on Problems View');
      const row = page.locator('.markers-panel .monaco-list-row', { hasText: 'Does not fit' });
      await row.first().waitFor();
      assert.equal(await row.locator(`.codicon-marker-${kind}, .codicon-${kind}`).count(), 1, file);
      await command('View: Toggle Panel Visibility');
    }
    await open('ds_config.json');
  });

  it('goes ahead of the lens after a key, with the sign of it for as long as the lens has another figure', async () => {
    await page.locator('.view-line', { hasText: 'micro_batch' }).first().click();
    await page.keyboard.press('Control+F');
    await page.keyboard.type('_per_gpu": 1');
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowRight');
    await page.evaluate((selector) => {
      const figure = (text: string) => /([\d.,]+) of [\d.,]+ GiB/.exec(text)?.[1];
      const seen = { apart: 0, longest: 0, ahead: 0, figures: new Set<string>() };
      Object.assign(window, { seen });
      const look = () => {
        const lens = figure(document.querySelector('.codelens-decoration')?.textContent ?? '');
        const item = document.querySelector(selector);
        const status = figure(item?.textContent ?? '');
        const isAhead = item?.querySelector('.codicon-arrow-right') != null;
        if (lens !== undefined) seen.figures.add(lens);
        const isOther = lens !== undefined && status !== undefined && lens !== status;
        seen.apart = lens !== undefined && status !== undefined && isOther !== isAhead ? seen.apart + 1 : 0;
        seen.longest = Math.max(seen.longest, seen.apart);
        if (isOther && isAhead) seen.ahead++;
        requestAnimationFrame(look);
      };
      look();
    }, STATUS);
    for (const key of ['2', 'Backspace', '6', 'Backspace']) {
      const before = await page.locator(STATUS).innerText();
      await page.keyboard.press(key);
      await page.locator(STATUS).filter({ hasNotText: before.trim() }).waitFor();
      // Both are at rest before the next key.
      await page.locator(`${STATUS} .codicon-arrow-right`).waitFor({ state: 'detached' });
    }
    const { longest, ahead, figures } = await page.evaluate(() => {
      const { seen } = window as unknown as {
        seen: { longest: number; ahead: number; figures: Set<string> };
      };
      return { longest: seen.longest, ahead: seen.ahead, figures: [...seen.figures] };
    });
    assert.ok(figures.length >= 3, figures.join(', '));
    assert.ok(ahead > 0, 'the status waits for no lens');
    // The window draws both as their messages come, which may fall into frames side by side.
    assert.ok(longest <= 4, `another figure without the sign, or the sign alone, for ${longest} frames`);
  });

  it('leads to the panel', async () => {
    await page.locator(`${STATUS} a`).click();
    await page.locator('.tab', { hasText: 'Memory' }).first().waitFor();
  });

  it('is absent beside files that are no configs', async () => {
    await open('tasks.json');
    await page.locator(STATUS).waitFor({ state: 'hidden' });
  });

  it('the walkthrough shows its steps', async () => {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').fill('>Oomlint: Get Started');
    await page
      .locator('.quick-input-list .monaco-list-row', { hasText: 'Oomlint: Get Started' })
      .first()
      .click();
    await page.locator('.getting-started-step', { hasText: 'Choose your GPU' }).waitFor();
    assert.equal(await page.locator('.getting-started-step').count(), 7);
    // Ticked by what came of it: the GPU is known and a config was opened, a fix was not shown.
    const ticked = (title: string) =>
      page
        .locator('.getting-started-step', { hasText: title })
        .locator('.codicon-getting-started-step-checked');
    await ticked('Choose your GPU').waitFor();
    await ticked('Open a training config').waitFor();
    assert.equal(await ticked('Take a fix').count(), 0);
    assert.equal(await ticked('Search what fits').count(), 0);
  });

  it('the walkthrough opens the breakdown of the config that was looked at last', async () => {
    await page.locator('.getting-started-step', { hasText: 'Try a change' }).click();
    await page
      .locator('.getting-started-step.expanded .monaco-button', { hasText: 'Open the Breakdown' })
      .click();
    await page.locator('.tab', { hasText: 'Memory: ds_config.json' }).first().waitFor();
    assert.equal(await page.locator('.quick-input-widget').isVisible(), false);
  });

  it('choosing a run is answered where no editor is open, too', async () => {
    await page.keyboard.press('Control+K');
    await page.keyboard.press('Control+W');
    await page.locator('.editor-group-container .tab').first().waitFor({ state: 'detached' });
    await command('Oomlint: Choose Run');
    // This host shows messages in their list alone.
    await command('Notifications: Show Notifications');
    await page
      .locator('.notifications-center .notification-list-item', {
        hasText: /Open a training config first|No other file of this workspace/,
      })
      .first()
      .waitFor();
    await page.keyboard.press('Escape');
  });
});
