import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeEdited } from '../../../server/src/cli/write-edited';

describe('files that are changed on disk', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'oomlint-write-'));
  });
  after(() => rmSync(folder, { recursive: true }));
  const file = () => path.join(folder, 'a.yaml');

  it('keep every byte that no edit is about', async () => {
    // A comment in Latin-1 and one in GBK, far from the change.
    const head = Buffer.concat([Buffer.from('# caf'), Buffer.from([0xe9, 0x20, 0xd6, 0xd0, 0x0a])]);
    const tail = Buffer.concat([Buffer.from('b: 2 # '), Buffer.from([0xd6, 0xd0, 0x0d, 0x0a])]);
    writeFileSync(file(), Buffer.concat([head, Buffer.from('a: 1 # ä\n'), tail]));
    const before = readFileSync(file(), 'utf8');
    await writeEdited(file(), before, before.replace('a: 1', 'a: 16\nc: 3'));
    assert.deepEqual(readFileSync(file()), Buffer.concat([head, Buffer.from('a: 16\nc: 3 # ä\n'), tail]));
  });

  it('are left alone where the line to be changed is in another encoding', async () => {
    const bytes = Buffer.concat([Buffer.from('a: 1 # '), Buffer.from([0xd6, 0xd0, 0x0a])]);
    writeFileSync(file(), bytes);
    const before = readFileSync(file(), 'utf8');
    await assert.rejects(writeEdited(file(), before, before.replace('1', '2')), /line 1 is not UTF-8/);
    assert.deepEqual(readFileSync(file()), bytes);
    assert.deepEqual(readdirSync(folder), ['a.yaml']);
  });

  it('keep their byte order mark, their mode, and the link that leads to them', async () => {
    writeFileSync(file(), '\ufeffa: 1\n');
    chmodSync(file(), 0o640);
    const link = path.join(folder, 'link.yaml');
    if (process.platform !== 'win32') symlinkSync(file(), link);
    else return;
    await writeEdited(link, 'a: 1\n', 'a: 2\n');
    assert.equal(readFileSync(file(), 'utf8'), '\ufeffa: 2\n');
    assert.equal(statSync(file()).mode & 0o777, 0o640);
    rmSync(link);
  });
});
