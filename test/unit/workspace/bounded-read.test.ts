import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Workspace } from '../../../server/src/workspace/analyze';
import { readFileText } from '../../../server/src/workspace/bounded-read';
import { findConfigs } from '../../../server/src/workspace/config-files';
import { DiskHost } from '../../../server/src/workspace/disk-host';
import { processorMs } from '../processor-time';

describe('files that never end', function () {
  this.timeout(20_000);
  let folder: string;
  before(function () {
    if (process.platform === 'win32') this.skip();
    folder = mkdtempSync(path.join(tmpdir(), 'oomlint-files-'));
  });
  after(() => folder !== undefined && rmSync(folder, { recursive: true }));
  const file = (name: string) => path.join(folder, name);

  it('reads what is there', async () => {
    for (const text of ['', 'a', 'ä'.repeat(100_000)]) {
      writeFileSync(file('text.json'), text);
      assert.equal(await readFileText(file('text.json'), 2 ** 20), text);
    }
    assert.equal(await readFileText(file('text.json'), 100), undefined);
    assert.equal(await readFileText(folder, 100), undefined);
    assert.equal(await readFileText(file('none'), 100), undefined);
  });

  it('refuses pipes, devices, and files of the kernel that go on for ever', async () => {
    execFileSync('mkfifo', [file('pipe.json')]);
    const odd = [file('pipe.json'), '/dev/zero', '/proc/self/pagemap', '/proc/kmsg'].filter(existsSync);
    assert.ok(odd.length > 1);
    // Whoever waits at the pipe waits until the test is ended.
    const took = await processorMs(async () => {
      for (const path of odd) assert.equal(await readFileText(path, 2 ** 20), undefined, path);
    });
    assert.ok(took < 2000, `${took} ms`);
  });

  it('answers about a config that names one', async () => {
    writeFileSync(
      file('train.yaml'),
      'base_model: gpt2\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: []\ndeepspeed: /proc/self/pagemap\n',
    );
    const workspace = new Workspace(new DiskHost([pathToFileURL(folder).href]));
    assert.ok(await workspace.analyze(pathToFileURL(file('train.yaml')).href));
  });

  it('walks a tree whose .gitignore is a pipe', async () => {
    execFileSync('mkfifo', [file('.gitignore')]);
    const found = await findConfigs(folder, () => undefined);
    assert.ok(found.includes(file('train.yaml')));
  });
});
