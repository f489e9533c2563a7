import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { GitObjects } from '../../../server/src/cli/git-objects';
import { gitIn } from './oomlint';

describe('objects of a repository', () => {
  const texts = ['', 'a', '\ufeffé\n\n', '1 blob 3\nabc', 'x'.repeat(300_000), 'y\n'.repeat(100_000)];
  const missing = '0'.repeat(40);
  let folder = '';
  let ids: string[] = [];
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-objects-'));
    gitIn(folder, 'init', '-q');
    for (const [index, text] of texts.entries()) await writeFile(path.join(folder, `f${index}`), text);
    ids = texts.map((_, index) => gitIn(folder, 'hash-object', '-w', `f${index}`).trim());
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('are read whole, in any order and number, without the mark of UTF-8', async () => {
    const objects = new GitObjects(folder);
    try {
      const wanted = texts.map((text) => text.replace(/^\ufeff/, ''));
      assert.deepEqual(await Promise.all(ids.map((id) => objects.read(id))), wanted);
      const backward = new GitObjects(folder);
      const read: string[] = [];
      for (const id of ids.toReversed()) read.push(await backward.read(id));
      backward.close();
      assert.deepEqual(read.toReversed(), wanted);
    } finally {
      objects.close();
    }
  });

  it('come once, with those that are asked for next', async () => {
    const objects = new GitObjects(folder);
    try {
      const [first = '', ...next] = ids;
      await objects.read(first, () => [missing, ...next]);
      // The last of them: the others came before it.
      await objects.read(ids.at(-1) ?? '');
      gitIn(folder, 'prune', '--expire=now');
      assert.equal(await objects.read(next[0] ?? ''), 'a');
      // Git would not find it any more.
      const anew = new GitObjects(folder);
      await assert.rejects(anew.read(next[0] ?? ''), /no such object/);
      anew.close();
    } finally {
      objects.close();
    }
  });

  it('are refused where they are not there, and the others are read all the same', async () => {
    const objects = new GitObjects(folder);
    const id = gitIn(folder, 'hash-object', '-w', 'f1').trim();
    try {
      const found = await Promise.allSettled([missing, id, missing].map((name) => objects.read(name)));
      assert.deepEqual(
        found.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message)),
        ['no such object', 'a', 'no such object'],
      );
    } finally {
      objects.close();
    }
    const nowhere = new GitObjects(path.join(folder, 'nowhere'));
    await assert.rejects(nowhere.read(id), /git cat-file ended/);
  });
});
