import assert from 'node:assert/strict';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { fixesFor } from '../../../server/src/advice/fixes';
import { PRICES } from '../../../server/src/advice/moves';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { PUBLISHED_RECIPES } from '../../unit/advice/published-recipes';
import { LONG } from '../../unit/long';

/*
 * "X on Y GPUs" as it was published, each from the config that a person starts with: plain, as large as it comes. A change that fits on
 * the hardware of the recipe is found, and no file that it writes has a problem that was not there.
 */
describe('published recipes', () => {
  for (const { name, files } of PUBLISHED_RECIPES) {
    it(`${name}: found from the plain config, and written without a new problem`, async () => {
      const texts = Object.fromEntries(
        Object.entries(files).map(([file, text]) => [`file:///p/${file}`, text]),
      );
      const host = new MemoryHost(texts, { folders: ['file:///p'] });
      const workspace = new Workspace(host);
      const [uri = ''] = Object.keys(texts);
      const analysis = await workspace.analyze(uri);
      assert.ok(analysis && isEstimated(analysis), JSON.stringify(analysis?.resolved.unknown));
      assert.equal(analysis.estimate.verdict, 'exceeds', 'the plain config is too large');
      const before = new Set<string>();
      for (const at of Object.keys(texts))
        for (const { message } of (await workspace.analyze(at))?.problems ?? [])
          before.add(`${at} ${message}`);
      const fixes = await fixesFor(analysis, workspace);
      const fits = fixes.filter(({ moves }) => moves.every(({ price }) => price <= PRICES.rounding));
      assert.ok(fits.length > 0, fixes.map(({ title }) => title).join('\n') || 'none');
      for (const fix of LONG ? fits : fits.slice(0, 1)) {
        for (const { uri: written, after } of fix.files) host.write(written, after);
        workspace.invalidateAll();
        const fixed = await workspace.analyze(uri);
        for (const at of new Set([...Object.keys(texts), ...fix.files.map((file) => file.uri)])) {
          const fresh = (await workspace.analyze(at))?.problems.filter(
            ({ message, severity }) =>
              severity !== 'hint' && severity !== 'information' && !before.has(`${at} ${message}`),
          );
          assert.deepEqual(fresh ?? [], [], `${fix.title}: ${at}`);
        }
        assert.equal(fixed?.estimate?.verdict, 'fits', fix.title);
        for (const { uri: written, before: text, create } of fix.files) {
          if (create) host.remove(written);
          else host.write(written, text);
        }
        workspace.invalidateAll();
      }
    });
  }
});
