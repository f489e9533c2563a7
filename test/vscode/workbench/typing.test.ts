import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { serveVsCode } from '../../../scripts/served-vscode.mjs';
import { longConfig } from '../../bench/samples';
import { ROOT } from '../../page/panel-page';
import { atMicroBatch, closed, DRAWN, type Latencies, median, opened, stretch, typedInTurn } from './latency';
import { openWorkbench, type Workbench } from './workbench';

const TIMES = 12;
/** Of the window for JSON: ours are two, of the server and of the cost against the last commit. */
const LENS_PROVIDERS = 3;
/** Beyond an empty extension, on cores of one's own (docs/speed.md). */
const BUDGET_MS = 100;
const PANEL_BUDGET_MS = 500;
const OPENED = 5;
/**
 * A machine that others use is slow at times: so often it is measured until once it is within the budget. Where it never is, the
 * budget is stretched as the last round's work was.
 */
const ROUNDS = 4;
const FILES = [
  { file: 'ds_config.json', what: 'a short config' },
  { file: 'ds_long.json', what: 'a config of 1,000 lines' },
];
const EMPTY = path.join(ROOT, 'test', 'vscode', 'empty-extension');

const prepared = (folder: string) => writeFile(path.join(folder, 'ds_long.json'), longConfig());
const words = (latencies: Latencies) =>
  DRAWN.map((what) => `${what} ${median(latencies[what]).toFixed(0)}`).join(', ');
const load = (factor: number) =>
  `load ${os.loadavg()[0]?.toFixed(1)} on ${os.cpus().length} cores, work takes ${factor.toFixed(1)} times as long`;

/** Milliseconds beyond the empty extension, the median of pairs that were measured one right after the other. */
const beyond = (own: readonly number[], other: readonly number[]) =>
  median(own.map((ms, at) => ms - (other[at] ?? ms)));

/** A person types a value, and reads the answer without waiting for it; beside it, in a window whose extension works nothing out. */
describe('typing in the workbench', function () {
  this.timeout(600_000);
  let own: Workbench;
  let empty: Workbench;
  before(async () => {
    own = await openWorkbench(prepared);
    empty = await openWorkbench(prepared, undefined, async (folder) => {
      const server = await serveVsCode();
      return { address: server.url(folder, EMPTY), stop: () => server.stop() };
    });
  });
  after(async () => {
    await own?.stop();
    await empty?.stop();
  });

  for (const { file, what } of FILES)
    it(`changes lens, hint and status with every value, within ${BUDGET_MS} ms beyond an empty extension, in ${what}, and is asked for the lens once each`, async () => {
      for (const workbench of [own, empty]) await atMicroBatch(workbench, file);
      for (let left = ROUNDS - 1; ; left--) {
        const before = new Map(own.calls);
        const called = (method: string) => (own.calls.get(method) ?? 0) - (before.get(method) ?? 0);
        const idle = await stretch();
        const latencies = await typedInTurn(own, empty, TIMES);
        const factor = (idle + (await stretch())) / 2;
        const { texts } = latencies;
        assert.equal(texts.size, 1 + TIMES / 2, [...texts].join('\n'));
        // Each event would have VS Code wait from the start again before it asks for lenses or hints.
        assert.equal(called('$emitCodeLensEvent'), 0);
        assert.equal(called('$emitInlayHintsEvent'), 0);
        // The lens has the older verdict for as long as VS Code waits before it asks, and it waits once for each value.
        const asked = called('$provideCodeLenses');
        assert.ok(asked >= TIMES && asked <= LENS_PROVIDERS * TIMES, `${asked} times for ${TIMES} values`);
        const more = DRAWN.map((drawn) => beyond(latencies.own[drawn], latencies.other[drawn]));
        const figures = `key to frame, medians of ${TIMES} in ms, ${what}: ${words(latencies.own)}; an empty extension: ${words(latencies.other)}; beyond it, by pairs: ${more.map((ms) => ms.toFixed(0)).join(', ')} (${load(factor)})`;
        console.log(`      ${figures}`);
        if (more.every((ms) => ms <= BUDGET_MS)) break;
        if (left > 0) continue;
        assert.ok(
          more.every((ms) => ms <= BUDGET_MS * factor),
          figures,
        );
        break;
      }
      await own.pictures(`hint-after-typing-${path.parse(file).name}`);
      for (const { page } of [own, empty]) await page.keyboard.press('Control+S');
    });

  it(`opens the panel within ${PANEL_BUDGET_MS} ms beyond an empty webview`, async () => {
    for (const { openFile } of [own, empty]) await openFile('ds_config.json');
    for (let left = ROUNDS - 1; ; left--) {
      const took: { own: number[]; empty: number[] } = { own: [], empty: [] };
      const idle = await stretch();
      for (let i = 0; i < OPENED; i++) {
        took.own.push(await opened(own));
        await closed(own);
        took.empty.push(await opened(empty));
        await closed(empty);
      }
      const factor = (idle + (await stretch())) / 2;
      const more = beyond(took.own, took.empty);
      const figures = `click to the page's headline, medians of ${OPENED} in ms: ${median(took.own).toFixed(0)}; an empty webview: ${median(took.empty).toFixed(0)}; beyond it: ${more.toFixed(0)} (${load(factor)})`;
      console.log(`      ${figures}`);
      if (more <= PANEL_BUDGET_MS) break;
      if (left > 0) continue;
      assert.ok(more <= PANEL_BUDGET_MS * factor, figures);
      break;
    }
  });
});
