import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findConfigs } from '../../../server/src/workspace/config-files';

describe('walking a tree', () => {
  let root = '';
  const write = async (name: string, text = '{}') => {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  };
  const walk = async (from = '') => {
    const found = await findConfigs(path.join(root, from), (folder) => assert.fail(folder));
    return found.map((file) => path.relative(root, file).split(path.sep).join('/'));
  };

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'oomlint-walk-'));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it('finds JSON and YAML in order, and nothing else', async () => {
    for (const name of ['b.yaml', 'a.json', 'sub/c.yml', 'readme.md', 'x.jsonl', 'D.JSON']) {
      await write(name);
    }
    assert.deepEqual(await walk(), ['D.JSON', 'a.json', 'b.yaml', 'sub/c.yml']);
  });

  it('honours nested .gitignore files and their exceptions', async () => {
    await write('.git/HEAD');
    await write('.gitignore', 'out/\n*.local.json\n/top.json\n');
    await write('sub/.gitignore', '!keep.local.json\nsecret.yaml\n');
    const names = [
      'a.json',
      'out/b.json',
      'top.json',
      'x.local.json',
      'sub/top.json',
      'sub/keep.local.json',
      'sub/secret.yaml',
      'sub/out/c.json',
      'secret.yaml',
    ];
    for (const name of names) {
      await write(name);
    }
    assert.deepEqual(await walk(), ['a.json', 'secret.yaml', 'sub/keep.local.json', 'sub/top.json']);
    assert.deepEqual(await walk('sub'), ['sub/keep.local.json', 'sub/top.json']);
  });

  it('finds what git keeps although .gitignore names it', async () => {
    const git = (...words: string[]) => execFileSync('git', ['-C', root, ...words], { stdio: 'pipe' });
    await write('.gitignore', '*.json\nout/\n');
    for (const name of ['kept/a.json', 'kept/b.json', 'out/kept.yaml', 'out/left.yaml', 'c.yaml']) {
      await write(name);
    }
    git('init', '--quiet');
    git('add', '--force', 'kept/a.json', 'out/kept.yaml');
    assert.deepEqual(await walk(), ['c.yaml', 'kept/a.json', 'out/kept.yaml']);
    assert.deepEqual(await walk('kept'), ['kept/a.json']);
    // An entry that is to be added later has more flags (version 3 of the index).
    git('add', '--force', '--intent-to-add', 'kept/b.json');
    assert.deepEqual(await walk('kept'), ['kept/a.json', 'kept/b.json']);
    await write('.git/index', 'DIRC');
    assert.deepEqual(await walk(), ['c.yaml']);
  });

  it('skips folders of tools and does not follow links to folders', async () => {
    for (const name of [
      'node_modules/x.json',
      '.git/config.json',
      '.venv/y.yaml',
      'a/b.json',
      '.github/c.yml',
    ]) {
      await write(name);
    }
    await symlink(root, path.join(root, 'a', 'loop'), 'dir').catch(() => undefined);
    assert.deepEqual(await walk(), ['.github/c.yml', 'a/b.json']);
  });

  it('names folders that cannot be read', async () => {
    const unreadable: string[] = [];
    assert.deepEqual(await findConfigs(path.join(root, 'gone'), (folder) => unreadable.push(folder)), []);
    assert.equal(unreadable.length, 1);
  });
});
