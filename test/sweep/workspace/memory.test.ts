import assert from 'node:assert/strict';
import v8 from 'node:v8';
import { runInNewContext } from 'node:vm';
import { checkFile } from '../../../server/src/cli/check-file';
import { Lines } from '../../../server/src/config/lines';
import { readYaml } from '../../../server/src/config/yaml';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

v8.setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** MB that the heap has grown by. */
async function growth(work: () => unknown): Promise<number> {
  collect();
  const before = process.memoryUsage().heapUsed;
  await work();
  // Whatever was put off until the next turn is done.
  await new Promise((resolve) => setTimeout(resolve, 10));
  collect();
  return (process.memoryUsage().heapUsed - before) / 1e6;
}

describe('memory is given back', function () {
  this.timeout(120_000);

  it('by edits of a large file: no version of it is kept', async () => {
    const rest = Array.from({ length: 4000 }, (_, i) => `key_${i}: some value of some length ${i}\n`).join(
      '',
    );
    const edit = (i: number) => readYaml(new Lines(`edited: ${i}\n${rest}`), 'a.yaml');
    for (let i = 0; i < 20; i++) edit(i);
    const grown = await growth(() => {
      for (let i = 0; i < 120; i++) edit(1000 + i);
    });
    // 120 versions of 180 KB would be 21 MB.
    assert.ok(grown < 6, `${grown} MB`);
  });

  it('by files that were checked: what was found in each is kept, not how it came about', async () => {
    const uri = (i: number) => `file:///w/d${i}/run.yaml`;
    const files = Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [
        uri(i),
        `# oomlint: gpu=H100 gpus=1\nbase_model: meta-llama/Llama-3.1-8B\nsequence_len: ${512 + i}\nmicro_batch_size: 1\ndatasets: []\n`,
      ]),
    );
    const targets = [{ workspace: new Workspace(new MemoryHost(files, { folders: ['file:///w'] })) }];
    const found: unknown[] = [];
    const check = async (from: number, to: number) => {
      for (let i = from; i < to; i++) found.push(await checkFile(uri(i), targets, '/w'));
    };
    // Caches fill first.
    await check(0, 280);
    const grown = await growth(() => check(280, 400));
    assert.ok(grown < 4, `${grown} MB`);
  });

  it('by files that are closed', async () => {
    const files: Record<string, string> = {};
    const uri = (i: number) => `file:///w/d${i}/run.yaml`;
    for (let i = 0; i < 180; i++)
      files[uri(i)] =
        `base_model: meta-llama/Llama-3.1-8B\nsequence_len: ${512 + i}\nmicro_batch_size: 1\ndatasets: []\n# oomlint: gpu=H100 gpus=8\n${'# a comment\n'.repeat(2000)}`;
    const open = new Set<string>();
    const workspace = new Workspace(new MemoryHost(files, { folders: ['file:///w'] }), {
      isOpen: (file) => open.has(file),
    });
    const visit = async (from: number, to: number) => {
      for (let i = from; i < to; i++) {
        open.add(uri(i));
        assert.ok((await workspace.analyze(uri(i)))?.estimate);
        open.delete(uri(i));
        workspace.invalidate(uri(i));
      }
    };
    await visit(0, 60);
    const grown = await growth(() => visit(60, 180));
    assert.ok(grown < 16, `${grown} MB`);
  });

  it('but what an editor shows is kept', async () => {
    const files: Record<string, string> = {};
    const uri = (i: number) => `file:///w/d${i}/run.json`;
    for (let i = 0; i < 80; i++)
      files[uri(i)] = `{"zero_optimization": {"stage": 2}, "train_batch_size": ${i}}`;
    const workspace = new Workspace(new MemoryHost(files), { isOpen: () => true });
    const first = await workspace.analyze(uri(0));
    for (let i = 1; i < 80; i++) await workspace.analyze(uri(i));
    assert.equal(await workspace.analyze(uri(0)), first);
  });
});
