import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { processorMs } from '../processor-time';

describe('a tree of files that are no configs', function () {
  this.timeout(60_000);

  it('is looked through in a time that grows as it does, and nothing of it is kept', async () => {
    const files: Record<string, string> = {};
    for (let i = 0; i < 8000; i++) files[`file:///w/d${i % 50}/f${i}.yaml`] = 'a: 1\nb: 2\nc: x\n';
    let reads = 0;
    const memory = new MemoryHost(files, { folders: ['file:///w'] });
    const host = {
      folders: memory.folders,
      environment: {},
      readText: (uri: string) => {
        reads++;
        return memory.readText(uri);
      },
      exists: (uri: string) => memory.exists(uri),
      list: async () => [],
    };
    const workspace = new Workspace(host);
    const looked = await processorMs(async () => {
      for (const uri of Object.keys(files)) assert.equal(await workspace.isWorthChecking(uri), false);
    });
    assert.equal(reads, 8000);
    // Whoever analyses them all the same pays for each of them once, too.
    const analysed = await processorMs(async () => {
      for (const uri of Object.keys(files)) assert.equal(await workspace.analyze(uri), undefined);
    });
    assert.ok(looked < 3000, `${looked} ms`);
    assert.ok(looked + analysed < 8000, `${looked + analysed} ms`);
  });
});
