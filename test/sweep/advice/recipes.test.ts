import assert from 'node:assert/strict';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { fixesFor } from '../../../server/src/advice/fixes';
import { PRICES } from '../../../server/src/advice/moves';
import { checkFile } from '../../../server/src/cli/check-file';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { PUBLISHED_RECIPES } from '../../unit/advice/published-recipes';

const FOLDER = 'file:///p';

/** What `oomlint check` reports of each file of the folder, whatever its severity. */
async function checked(workspace: Workspace, uris: Iterable<string>): Promise<Set<string>> {
  const found = new Set<string>();
  for (const uri of uris) {
    if (!(await workspace.isWorthChecking(uri))) continue;
    const file = await checkFile(uri, [{ workspace }], '/p');
    for (const { code, severity, message } of file?.problems ?? [])
      found.add([file?.path, severity, code, message].join(': '));
  }
  return found;
}

/*
 * "X on Y GPUs" as it was published, each from the config that a person starts with: plain, as large as it comes. A change that fits on
 * the hardware of the recipe is found, one of the kind that was published among those that are offered, and `check` reports nothing of
 * any file that it did not report before.
 */
describe('published recipes', () => {
  for (const { name, files, published } of PUBLISHED_RECIPES) {
    it(`${name}: found from the plain config, and written without a new problem`, async () => {
      const texts = Object.fromEntries(
        Object.entries(files).map(([file, text]) => [`${FOLDER}/${file}`, text]),
      );
      const host = new MemoryHost(texts, { folders: [FOLDER] });
      const workspace = new Workspace(host);
      const [uri = ''] = Object.keys(texts);
      const analysis = await workspace.analyze(uri);
      assert.ok(analysis && isEstimated(analysis), JSON.stringify(analysis?.resolved.unknown));
      assert.equal(analysis.estimate.verdict, 'exceeds', 'the plain config is too large');
      const before = await checked(workspace, Object.keys(texts));
      const fixes = await fixesFor(analysis, workspace);
      const titles = fixes.map(({ title, kind }) => `${kind}: ${title}`).join('\n');
      assert.ok(
        fixes.some(({ moves }) => moves.every(({ price }) => price <= PRICES.rounding)),
        titles || 'none',
      );
      assert.ok(
        fixes.some(({ kind }) => published.every((one) => kind.split('+').includes(one))),
        `${published.join(', ')}, and not
${titles}`,
      );
      for (const fix of fixes) {
        for (const { uri: written, after } of fix.files) host.write(written, after);
        workspace.invalidateAll();
        const after = await checked(
          workspace,
          new Set([...Object.keys(texts), ...fix.files.map((file) => file.uri)]),
        );
        assert.deepEqual(
          [...after].filter((line) => !before.has(line)),
          [],
          fix.title,
        );
        assert.equal((await workspace.analyze(uri))?.estimate?.verdict, 'fits', fix.title);
        for (const { uri: written, before: text, create } of fix.files) {
          if (create) host.remove(written);
          else host.write(written, text);
        }
        workspace.invalidateAll();
      }
    });
  }
});
