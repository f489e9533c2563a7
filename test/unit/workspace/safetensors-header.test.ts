import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { DiskHost } from '../../../server/src/workspace/disk-host';

const HEADER = JSON.stringify({ 'a.weight': { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] } });

function file(header: string, length = BigInt(Buffer.byteLength(header)), weights = 24): Buffer {
  const start = Buffer.alloc(8);
  start.writeBigUInt64LE(length);
  return Buffer.concat([start, Buffer.from(header), Buffer.alloc(weights, 0xff)]);
}

describe('a file of safetensors on the disk', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'safetensors-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const text = async (content: Buffer | string, name = 'model.safetensors') => {
    const at = path.join(folder, name);
    await writeFile(at, content);
    return new DiskHost([]).readText(pathToFileURL(at).href);
  };

  it('is read as its header, however large the weights are', async () => {
    assert.equal(await text(file(HEADER)), HEADER);
    assert.equal(await text(file(HEADER, undefined, 5 * 2 ** 20)), HEADER);
  });

  it('is read through the link that a cache of models has in its place', async () => {
    await writeFile(path.join(folder, 'blob'), file(HEADER));
    const link = path.join(folder, 'linked.safetensors');
    await symlink(path.join(folder, 'blob'), link);
    assert.equal(await new DiskHost([]).readText(pathToFileURL(link).href), HEADER);
  });

  it('is nothing where it holds no header', async () => {
    assert.equal(await text('version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n'), undefined);
    assert.equal(await text('short'), undefined);
    assert.equal(await text(''), undefined);
    assert.equal(await text(file(HEADER, BigInt(2 ** 40))), undefined);
    assert.equal(await text(file(HEADER, 500n, 0)), undefined);
    assert.equal(
      await new DiskHost([]).readText(pathToFileURL(`${folder}/none.safetensors`).href),
      undefined,
    );
  });
});
