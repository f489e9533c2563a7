// Pictures of the walkthrough's steps in the real editor, light and dark, in media/walkthrough/.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from './browser.mjs';
import { serveVsCode } from './served-vscode.mjs';
import { smallWebp } from './small-webp.mjs';
import {
  copyExamples,
  frameWith,
  lens,
  openFile,
  PATIENCE_MS,
  runCommand,
  setTheme,
  settle,
} from './workbench.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const pictures = path.join(root, 'media', 'walkthrough');
const THEMES = { dark: 'Default Dark Modern', light: 'Default Light Modern' };
/** Walkthroughs show pictures this wide or narrower. */
const SIZE = { width: 820, height: 420 };
/** Close to what a step is about, and nothing beside it that takes bytes. */
const CLOSE = { 'workbench.activityBar.location': 'hidden' };
/** Colours of a picture that is packed: an editor's texts and their edges need no more. */
const COLOURS = 24;
const VOCABULARY = `id: our-trainer
name: Our trainer

detect:
  markers: [our_batch, our_mode]
  atLeast: 1

keys:
  our_batch: { type: integer, sets: batch.micro }
  our_length: { type: integer, sets: batch.sequence }
  our_mode:
    values: [plain, sharded]
    sets:
      parallel.data: { plain: ddp, sharded: zero }
      zero.stage: { sharded: 3 }
`;
const OUR_RUN = 'our_batch: 2\nour_length: 4096\nour_mode: sharded\n';

const { examples, remove } = await copyExamples(root);
await writeFile(path.join(examples, 'oomlint-flags.yaml'), VOCABULARY);
await writeFile(path.join(examples, 'our-run.yaml'), OUR_RUN);
await mkdir(pictures, { recursive: true });
const browser = await launchBrowser();
const server = await serveVsCode();
try {
  for (const [kind, theme] of Object.entries(THEMES)) {
    await setTheme(examples, theme, CLOSE);
    const page = await browser.newPage({ viewport: SIZE });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(server.url(examples, root));
    await page.waitForSelector('.monaco-workbench');
    const shoot = async (name) => {
      await settle(page);
      const picture = await smallWebp(await page.screenshot(), COLOURS);
      await writeFile(path.join(pictures, `${name}-${kind}.webp`), picture);
      console.log(`media/walkthrough/${name}-${kind}.webp, ${Math.round(picture.length / 1000)} kB`);
    };
    await steps(page, shoot);
    await page.close();
  }
} catch (error) {
  const [page] = browser.contexts().flatMap((context) => context.pages());
  await mkdir(path.join(root, 'out'), { recursive: true });
  await page?.screenshot({ path: path.join(root, 'out', 'walkthrough-failed.png') });
  throw error;
} finally {
  await server.stop();
  await browser.close();
  await remove();
}

async function steps(page, shoot) {
  await page.keyboard.press('Control+B');
  await openFile(page, 'zero3-llama-8b.json');
  await lens(page);
  await restMouse(page);
  await shoot('open-config');

  await runCommand(page, 'Oomlint: Choose GPU...');
  await page.locator('.quick-input-title', { hasText: 'GPU' }).waitFor();
  await page.locator('.quick-input-widget input').fill('H100');
  await shoot('choose-gpu');
  await page.keyboard.press('Escape');

  await page
    .locator('.view-line span > span', { hasText: /^"stage"$/ })
    .first()
    .hover();
  await page.waitForSelector('.monaco-hover:not(.hidden) .hover-contents');
  await shoot('read-hint');
  await restMouse(page);
  await page.keyboard.press('Escape');

  await openFile(page, 'does-not-fit.json');
  await lens(page);
  await page.locator('.squiggly-error').first().waitFor();
  await runCommand(page, 'Go to Next Problem in Files');
  // Its peek shows the message; the fixes are asked for once it is gone.
  await page.locator('.marker-widget').first().waitFor();
  await page.keyboard.press('Escape');
  await settle(page);
  await page.keyboard.press('Control+.');
  await page.locator('.action-widget .monaco-list-row', { hasText: 'GiB' }).first().waitFor();
  await shoot('take-fix');
  await page.keyboard.press('Escape');

  await runCommand(page, 'Oomlint: What Fits?');
  await page.locator('.quick-input-list .monaco-list-row', { hasText: 'GPUs of this run' }).click();
  await page.locator('.quick-input-title', { hasText: 'What fits:' }).waitFor();
  await shoot('what-fits');
  await page.keyboard.press('Escape');

  await runCommand(page, 'Oomlint: Estimate Memory');
  const panel = await frameWith(page, '.knobs');
  await panel.locator('[data-key=knob-micro-batch-slider]').press('ArrowLeft');
  await panel.locator('.changes tbody tr').first().waitFor();
  await shoot('try-change');

  await runCommand(page, 'View: Close All Editors');
  await openFile(page, 'oomlint-flags.yaml');
  await runCommand(page, 'View: Split Editor Right');
  await openFile(page, 'our-run.yaml');
  await lens(page);
  await shoot('teach-flags');
}

/** Where nothing lies under it that would light up. */
function restMouse(page) {
  return page.mouse.move(SIZE.width / 2, SIZE.height - 60);
}
