import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keptCodeFolder } from '../../server/src/start/kept-code';
import { CLI } from '../unit/cli/oomlint';

const CONFIG = path.resolve('examples/zero3-llama-8b.json');

describe('compiled code that is kept', function () {
  this.timeout(60_000);
  let caches = '';
  const folder = () => path.join(caches, 'oomlint', 'code');
  const names = () => readdir(folder()).catch((): string[] => []);
  const started = (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '', NODE_COMPILE_CACHE: caches, ...more };
    const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], { encoding: 'utf8', env });
    return { status, stdout, stderr };
  };
  const check = (more?: Readonly<Record<string, string>>) => started(['check', CONFIG], more);

  beforeEach(async () => {
    caches = await mkdtemp(path.join(tmpdir(), 'oomlint-caches-'));
  });
  afterEach(() => rm(caches, { recursive: true, force: true }));

  it('is written by the first start, taken by the next, and changes no answer', async () => {
    const first = check();
    assert.equal(first.status, 0, first.stderr);
    assert.match(first.stdout, /1 config checked/);
    const [name = '', ...others] = await names();
    assert.deepEqual(others, []);
    assert.match(name, new RegExp(`^[0-9a-f]{16}-cli-check-${process.version}-${process.arch}$`));
    const { mtimeMs, mode } = await stat(path.join(folder(), name));
    if (process.platform !== 'win32') assert.equal(mode & 0o077, 0, 'nobody else reads or writes it');
    assert.deepEqual(check(), first);
    assert.equal((await stat(path.join(folder(), name))).mtimeMs, mtimeMs, 'and it is not written again');
  });

  it('grows where the first start had little to do', async () => {
    const plain = path.join(caches, 'plain.json');
    await writeFile(plain, '{}');
    started(['check', plain]);
    const [name = ''] = await names();
    const { size } = await stat(path.join(folder(), name));
    check();
    const grown = await stat(path.join(folder(), name));
    assert.ok(grown.size > size * 1.2, `${size} bytes became ${grown.size}`);
    check();
    started(['check', plain]);
    assert.equal(
      (await stat(path.join(folder(), name))).mtimeMs,
      grown.mtimeMs,
      'and it is not written again',
    );
  });

  it('is of each command by itself, and of none that could not run', async () => {
    started(['rule', 'tight']);
    started(['--version']);
    assert.equal(started(['estmate', CONFIG]).status, 2);
    assert.deepEqual((await names()).map((name) => name.split('-')[2]).sort(), ['other', 'rule']);
  });

  it('is replaced where it is not what V8 wrote', async () => {
    const first = check();
    const [name = ''] = await names();
    const file = path.join(folder(), name);
    const whole = await readFile(file);
    for (const broken of [Buffer.from('nonsense'), whole.subarray(0, whole.length / 2), Buffer.alloc(0)]) {
      await writeFile(file, broken);
      assert.deepEqual(check(), first);
      assert.ok((await stat(file)).size > 100_000, 'it is written anew');
    }
  });

  it('is thrown away when nobody has started that version for long', async () => {
    check();
    const [name = ''] = await names();
    const old = path.join(folder(), `0123456789abcdef-cli-check-v20.19.0-${process.arch}`);
    await writeFile(old, '');
    await utimes(old, 0, 0);
    started(['rule', 'tight']);
    const left = await names();
    assert.ok(left.includes(name));
    assert.ok(!left.includes(path.basename(old)), left.join());
  });

  it('takes no more room however many versions are built', async () => {
    check();
    const [name = ''] = await names();
    for (let build = 0; build < 40; build += 1) {
      const other = path.join(folder(), `${String(build).padStart(16, '0')}-cli-check-v20.19.0-x64`);
      await writeFile(other, '');
      await utimes(other, Date.now() / 1000 - 3600 - build, Date.now() / 1000 - 3600 - build);
    }
    started(['rule', 'tight']);
    const left = await names();
    assert.equal(left.length, 24);
    assert.ok(left.includes(name), 'the last written stay');
    assert.ok(!left.some((one) => one.startsWith('0000000000000039')), 'the oldest go');
  });

  it('is not written where Node is asked to keep nothing, or where nothing can be', async () => {
    const first = check({ NODE_DISABLE_COMPILE_CACHE: '1' });
    assert.deepEqual(await names(), []);
    await writeFile(path.join(caches, 'file'), '');
    assert.deepEqual(check({ NODE_COMPILE_CACHE: path.join(caches, 'file') }), first);
  });

  it('lies where the system keeps what can be made again', () => {
    const at = (environment: Readonly<Record<string, string>>, platform: NodeJS.Platform) =>
      keptCodeFolder(environment, platform)?.replaceAll('\\', '/');
    assert.equal(at({ HOME: '/home/a' }, 'linux'), '/home/a/.cache/oomlint/code');
    assert.equal(at({ HOME: '/Users/a' }, 'darwin'), '/Users/a/Library/Caches/oomlint/code');
    assert.equal(at({ HOME: '/home/a', XDG_CACHE_HOME: '/c' }, 'linux'), '/c/oomlint/code');
    assert.equal(at({ XDG_CACHE_HOME: 'relative' }, 'linux'), undefined);
    assert.equal(at({}, 'linux'), undefined);
  });
});
