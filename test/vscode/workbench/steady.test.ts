import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Frame, Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

/** Nobody states whether activations are recomputed: as assumed it does not fit, otherwise it does. */
const ZERO2 = `{
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 8,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 2, "overlap_comm": true }
}
`;

/** In YAML a key whose value is gone is still whole: it states nothing. */
const LORA = `base_model: meta-llama/Llama-3.1-8B
adapter: lora
lora_r: 16
lora_target_linear: true
micro_batch_size: 4
gradient_accumulation_steps: 2
sequence_len: 4096
bf16: true
optimizer: adamw_torch
datasets:
  - path: ./data.jsonl
    type: alpaca
`;

/** What a person sees of the panel while a value is replaced, and what they take from it: pages and pictures. */
describe('the panel while a value is replaced, and what is saved of it, in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;
  let frame: Frame;

  before(async () => {
    workbench = await openWorkbench(async (folder) => {
      await writeFile(path.join(folder, 'ds_zero2.json'), ZERO2);
      await writeFile(path.join(folder, 'lora.yaml'), LORA);
    });
    ({ page } = workbench);
    await workbench.openFile('ds_zero2.json');
    await page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
    await workbench.command('Oomlint: Estimate Memory');
    frame = await workbench.panel('ds_zero2.json');
  });
  after(() => workbench?.stop());

  const word = (key: string) => page.locator('.view-line span', { hasText: new RegExp(`^"${key}"$`) }).last();

  /** Notes parts and place of every frame from now on: whatever is there for a moment only is seen, too. */
  const watchFrames = () =>
    frame.evaluate(() => {
      const seen = { bars: [] as number[], tops: [] as number[] };
      Object.assign(window, { seen });
      const look = () => {
        if (Reflect.get(window, 'seen') !== seen) return;
        seen.bars.push(document.querySelectorAll('.component-bar .segment').length);
        seen.tops.push(window.scrollY);
        requestAnimationFrame(look);
      };
      look();
    });
  const stayed = async (top: number): Promise<void> => {
    const { bars, tops } = await frame.evaluate(
      () => Reflect.get(window, 'seen') as { readonly bars: number[]; readonly tops: number[] },
    );
    // A bar is drawn in the frame in which its place gets its size, after this is read: empty in two of them it would be seen.
    const painted = bars.filter((parts, at) => parts > 0 || bars[at - 1] === 0);
    assert.ok(Math.min(...painted) > 5, `${Math.min(...painted)} parts at the least`);
    assert.ok(Math.min(...tops) > top - 60, `scrolled to ${Math.min(...tops)} of ${top}`);
  };

  it('has in its headline what the verdict hangs on', async () => {
    const head = frame.locator('header, .headline').first();
    await head.locator('text=/none is assumed/').first().waitFor();
    const text = (await head.innerText()).replaceAll('\u00a0', ' ');
    assert.match(text, /Does not fit[\s\S]*checkpoints activations: none is assumed\. With [^.]* [\d.]+ GiB/);
    await workbench.pictures('panel-headline-assumed');
  });

  it('keeps figures, place and status while one digit is replaced by another', async () => {
    const status = page.locator('.statusbar-item', { hasText: 'GiB' }).first();
    await frame.evaluate(() => window.scrollTo(0, 400));
    await page.waitForTimeout(200);
    const top = await frame.evaluate(() => window.scrollY);
    assert.ok(top > 100, `${top}`);
    const shown = (await status.innerText()).trim();
    await watchFrames();
    // Beside a panel a line may be wider than its editor: the caret is put there by a search.
    await word('stage').click();
    await page.keyboard.press('Control+F');
    await page.keyboard.type('_per_gpu": 4');
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Backspace');
    await page.waitForTimeout(700);
    assert.equal((await status.innerText()).trim(), shown, 'the status stays');
    await workbench.picture('panel-digit-gone');
    await page.keyboard.type('2');
    await frame.waitForFunction(
      () => document.querySelector<HTMLInputElement>('[data-key=knob-micro-batch]')?.value === '2',
    );
    await stayed(top);
  });

  it('keeps parts and place while one digit of YAML is replaced by another', async () => {
    await workbench.openFile('lora.yaml');
    frame = await workbench.panel('lora.yaml');
    const micro = (value: string) =>
      frame.waitForFunction(
        (wanted) => document.querySelector<HTMLInputElement>('[data-key=knob-micro-batch]')?.value === wanted,
        value,
      );
    await micro('4');
    await frame.evaluate(() => window.scrollTo(0, 400));
    await page.waitForTimeout(200);
    const top = await frame.evaluate(() => window.scrollY);
    assert.ok(top > 100, `${top}`);
    await page
      .locator('.view-line span', { hasText: /^lora_r$/ })
      .first()
      .click();
    await page.keyboard.press('Control+F');
    await page.keyboard.type('micro_batch_size: 4');
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowRight');
    await watchFrames();
    await page.keyboard.press('Backspace');
    await page.waitForTimeout(1_500);
    await workbench.picture('panel-yaml-digit-gone');
    await page.keyboard.type('2');
    await micro('2');
    await stayed(top);
    await page.keyboard.press('Control+Z');
    await page.keyboard.press('Control+Z');
    await workbench.openFile('ds_zero2.json');
    frame = await workbench.panel('ds_zero2.json');
  });

  it('tears no name apart, and takes the width that there is', async () => {
    const size = page.viewportSize() ?? assert.fail('a window has a size');
    for (const width of [1300, 2400]) {
      await page.setViewportSize({ width, height: size.height });
      await page.waitForTimeout(400);
      const found = await frame.evaluate(() => {
        const torn: string[] = [];
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          for (const { 0: word, index } of (node.textContent ?? '').matchAll(/[A-Za-z]{2,}/g)) {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + word.length);
            const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
            if (lines.size > 1) torn.push(word);
          }
        }
        const bar = document.querySelector('.component-bar')?.getBoundingClientRect();
        return { torn, used: bar?.width ?? 0, there: document.documentElement.clientWidth };
      });
      await workbench.picture(`panel-${width}`);
      assert.deepEqual(found.torn, [], `${width} pixels`);
      assert.ok(found.used > 0.5 * found.there, `${found.used} of ${found.there} at ${width} pixels`);
    }
    await page.setViewportSize(size);
  });

  const saveAs = async (entry: string): Promise<void> => {
    await page.locator('.tab', { hasText: 'Memory:' }).first().click();
    await page.locator('.editor-actions .action-label[aria-label*="Save Breakdown As"]').first().click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: entry }).click();
    await page.locator('.quick-input-widget .monaco-button', { hasText: 'OK' }).click();
  };
  const written = async (name: string): Promise<Buffer> => {
    for (const end = Date.now() + 20_000; ; await page.waitForTimeout(100)) {
      const bytes = await readFile(path.join(workbench.folder, name)).catch(() => Buffer.alloc(0));
      if (bytes.length > 0) return bytes;
      assert.ok(Date.now() < end, `${name} was not written`);
    }
  };

  it('saves a page to print that is light, dated and whole, with a key at the cursor and in a dark theme', async () => {
    await word('stage').click();
    await frame.locator('.at-cursor', { hasText: 'stage' }).waitFor();
    await saveAs('Report (HTML)');
    const text = (await written('ds_zero2-memory.html')).toString('utf8');
    // What a person asked for is reported: this host shows messages in their list alone.
    await workbench.command('Notifications: Show Notifications');
    const saved = page.locator('.notifications-center .notification-list-item', {
      hasText: 'Saved ds_zero2-memory.html.',
    });
    await saved.first().waitFor();
    await page.keyboard.press('Escape');
    const alone = await (page.context().browser() ?? assert.fail('no browser')).newPage();
    await alone.setContent(text);
    const seen = await alone.evaluate(() => {
      const shades = [...document.querySelectorAll('.component-bar .segment, .components tr')].map((one) => {
        let shade = 1;
        for (let at: Element | null = one; at; at = at.parentElement)
          shade *= Number(getComputedStyle(at).opacity);
        return shade;
      });
      const dark = [...document.querySelectorAll('tr, td')].filter((cell) => {
        const { backgroundColor, color } = getComputedStyle(cell);
        return backgroundColor === color;
      });
      const { color, backgroundColor } = getComputedStyle(document.body);
      return { shades, dark: dark.length, colours: [color, backgroundColor] };
    });
    await alone.close();
    assert.deepEqual(seen.colours, ['rgb(0, 0, 0)', 'rgb(255, 255, 255)']);
    assert.equal(seen.dark, 0, 'no text in the colour of its ground');
    assert.ok(seen.shades.length > 5);
    for (const shade of seen.shades) assert.equal(shade, 1);
    assert.match(text, /Estimated by Oomlint, /);
    assert.doesNotMatch(text, /Where the bounds come from|<script/);
  });

  it('saves a picture with its title and legend, on white', async () => {
    await saveAs('Chart as PNG');
    const png = await written('ds_zero2-memory.png');
    assert.equal(png.subarray(1, 4).toString(), 'PNG');
    const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
    // Title and legend take more than the bar alone, which is some 40 pixels high.
    assert.ok(width > 400 && height > 200, `${width} x ${height}`);
    const alone = await (page.context().browser() ?? assert.fail('no browser')).newPage();
    await alone.setContent(`<img src="data:image/png;base64,${png.toString('base64')}">`);
    const corner = await alone.evaluate(async () => {
      const image = document.querySelector('img') as HTMLImageElement;
      await image.decode();
      const canvas = document.createElement('canvas');
      Object.assign(canvas, { width: image.naturalWidth, height: image.naturalHeight });
      const context = canvas.getContext('2d') as CanvasRenderingContext2D;
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
      let ink = 0;
      for (let at = 0; at < data.length; at += 4) if ((data[at] ?? 0) < 60 && (data[at + 1] ?? 0) < 60) ink++;
      return { colour: [...data.slice(0, 4)], ink };
    });
    await alone.close();
    assert.deepEqual(corner.colour, [255, 255, 255, 255]);
    assert.ok(corner.ink > 500, 'words are drawn on it');
  });
});
