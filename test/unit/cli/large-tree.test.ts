import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { processorMs } from '../processor-time';
import { smallWorkspace } from '../workspace/small-workspace';

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

  it('asks nobody who starts a script that nobody knows and that names no config', async () => {
    const files: Record<string, string> = {};
    for (let i = 0; i < 1000; i++)
      files[`file:///w/d${i % 10}/f${i}.sh`] = `set -e\npython tools/t${i}.py --a 1\n`;
    const memory = new MemoryHost(files, { folders: ['file:///w'] });
    const listed: string[] = [];
    const host = {
      folders: memory.folders,
      environment: {},
      readText: (uri: string) => memory.readText(uri),
      exists: (uri: string) => memory.exists(uri),
      list: async (uri: string) => {
        listed.push(uri);
        return memory.list(uri);
      },
    };
    const workspace = new Workspace(host);
    const started = Date.now();
    const took = await processorMs(async () => {
      for (const uri of Object.keys(files)) assert.equal(await workspace.analyze(uri), undefined);
    });
    // Vocabularies may lie in the folders themselves, which are looked at again after two seconds (`file-cache.ts`, `FRESH`).
    const looks = 1 + Math.ceil((Date.now() - started) / 2000);
    assert.ok(listed.length >= 11 && listed.length <= 11 * looks, listed.join());
    assert.ok(took < 3000, `${took} ms`);
  });

  it('asks a disk that stands still once for each file, however long it takes', async () => {
    const names = [0, 1, 2, 3, 4];
    const files = Object.fromEntries([
      ...names.map((name) => [
        `file:///w/${name}.yaml`,
        'base_model: gpt2\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: []\n',
      ]),
      ['file:///w/run.sh', 'python other.py\n'],
    ]);
    const now = Date.now;
    for (const isStill of [true, false]) {
      const memory = new MemoryHost(files, { folders: ['file:///w'] });
      let reads = 0;
      const host = {
        folders: memory.folders,
        environment: {},
        isStill,
        readText: (uri: string) => {
          if (uri.endsWith('/run.sh')) reads++;
          return memory.readText(uri);
        },
        exists: (uri: string) => memory.exists(uri),
        list: (uri: string) => memory.list(uri),
      };
      const workspace = new Workspace(host);
      try {
        for (const name of names) {
          Date.now = () => now() + name * 60_000;
          await workspace.analyze(`file:///w/${name}.yaml`);
        }
      } finally {
        Date.now = now;
      }
      assert.equal(reads, isStill ? 1 : names.length);
    }
  });

  it('but a script that names one is part of its run', async () => {
    const { analyze } = smallWorkspace({
      'run.sh': 'python tools/own.py --config a.yaml\n',
      'a.yaml': 'base_model: gpt2\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: []\n',
    });
    assert.equal((await analyze('run.sh')).resolved.values['batch.micro'], 1);
  });
});
