import assert from 'node:assert/strict';
import { listedConfigs } from '../../../server/src/workspace/listed-configs';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'vscode-vfs://github/team/repo';

describe('configs of a place that is on no disk', () => {
  it('are found at any depth, without what tools keep, in order', async () => {
    const files = [
      'b/deep/er/run.yaml',
      'a.json',
      'read.md',
      'node_modules/x/tsconfig.json',
      'b/mit leer.toml',
    ];
    const host = new MemoryHost(Object.fromEntries(files.map((name) => [`${ROOT}/${name}`, ''])));
    assert.deepEqual(await listedConfigs(ROOT, host), [
      `${ROOT}/a.json`,
      `${ROOT}/b/deep/er/run.yaml`,
      `${ROOT}/b/mit%20leer.toml`,
    ]);
  });

  it('are looked for once at each depth, and not without end', async () => {
    let asked = 0;
    const endless = {
      list: async () => ['run.yaml'],
      listFolders: async () => {
        asked += 1;
        return ['a', 'b'];
      },
    };
    assert.equal((await listedConfigs(ROOT, endless)).length, 1000);
    assert.equal(asked, 1000);
  });
});
