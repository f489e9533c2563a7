import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { serveVsCode } from '../../../scripts/served-vscode.mjs';
import { longConfig } from '../../bench/samples';
import { ROOT } from '../../page/panel-page';
import { DRAWN, type Latencies, median, opened, typed } from './latency';
import { openWorkbench, type Workbench } from './workbench';

const TIMES = 10;
/** Of the window for JSON: ours are two, of the server and of the cost against the last commit. */
const LENS_PROVIDERS = 3;
const FILES = [
  { file: 'ds_config.json', what: 'a short config' },
  { file: 'ds_long.json', what: 'a config of 1,000 lines' },
];
const EMPTY = path.join(ROOT, 'test', 'vscode', 'empty-extension');

const prepared = (folder: string) => writeFile(path.join(folder, 'ds_long.json'), longConfig());
const words = (latencies: Latencies) =>
  DRAWN.map((what) => `${what} ${median(latencies[what]).toFixed(0)}`).join(', ');

/** A person types a value, and reads the answer without waiting for it. */
describe('typing in the workbench', function () {
  this.timeout(300_000);
  const own = new Map<string, Latencies>();
  let workbench: Workbench | undefined;
  let panel = 0;
  afterEach(async () => {
    await workbench?.stop();
    workbench = undefined;
  });

  it('changes lens, hint and status with every value, soon, in a short config and in one of 1,000 lines, and is asked for the lens once each', async () => {
    workbench = await openWorkbench(prepared);
    for (const { file } of FILES) {
      const { latencies, texts, calls } = await typed(workbench, file, TIMES);
      assert.equal(texts.size, 1 + TIMES / 2, [...texts].join('\n'));
      // Each event would have VS Code wait from the start again before it asks for lenses or hints.
      assert.equal(calls.get('$emitCodeLensEvent') ?? 0, 0);
      assert.equal(calls.get('$emitInlayHintsEvent') ?? 0, 0);
      // The lens has the older verdict for as long as VS Code waits before it asks, and it waits once for each value.
      const asked = calls.get('$provideCodeLenses') ?? 0;
      assert.ok(asked >= TIMES && asked <= LENS_PROVIDERS * TIMES, `${asked} times for ${TIMES} values`);
      own.set(file, latencies);
      await workbench.pictures(`hint-after-typing-${path.parse(file).name}`);
      await workbench.page.keyboard.press('Control+S');
    }
    panel = await opened(workbench);
  });

  it('takes little beyond what VS Code itself takes beside an extension that works nothing out', async () => {
    workbench = await openWorkbench(prepared, undefined, async (folder) => {
      const server = await serveVsCode();
      return { address: server.url(folder, EMPTY), stop: () => server.stop() };
    });
    const load = os.loadavg()[0]?.toFixed(1);
    for (const { file, what } of FILES) {
      const { latencies } = await typed(workbench, file, TIMES);
      await workbench.page.keyboard.press('Control+S');
      const mine = own.get(file) ?? assert.fail('measured before');
      // How long a machine takes depends on what else it does: printed, not asserted.
      console.log(
        `      key to frame, medians of ${TIMES} in ms, ${what}: ${words(mine)}; an empty extension: ${words(latencies)} (load ${load} on ${os.cpus().length} cores)`,
      );
      for (const drawn of DRAWN) assert.equal(latencies[drawn].length, mine[drawn].length);
    }
    const empty = await opened(workbench);
    console.log(
      `      click to the page's headline in ms: ${panel.toFixed(0)}; an empty webview: ${empty.toFixed(0)}`,
    );
  });
});
