import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { provide } from '../../scripts/requirements.mjs';
import { processorMs } from './processor-time';

interface Bare {
  readonly onPath?: readonly string[];
  readonly root?: boolean;
  readonly carries?: boolean;
  /** What can be got: of the four ways, those that work here. */
  readonly works?: readonly string[];
}

/** A machine with Node and nothing else, and what was done to it. */
function bareMachine({ onPath = [], root = false, carries = true, works = [] }: Bare) {
  const done: string[] = [];
  const has = { browser: false, vscode: false, packages: false };
  const way = (name: string, gets: keyof typeof has) => async () => {
    done.push(name);
    if (!works.includes(name)) throw new Error(`no ${name}`);
    has[gets] = true;
  };
  const machine = {
    isOnPath: (program: string) => has.packages || onPath.includes(program),
    hasLibrary: () => has.packages,
    findBrowser: () => (has.browser ? '/a/browser' : undefined),
    carriesBrowser: () => carries,
    vsCodeIsInstalled: () => has.vscode,
    mayInstallPackages: () => root,
    downloadBrowser: way('download', 'browser'),
    installPackages: async (names: readonly string[]) => {
      await way('packages', 'packages')();
      if (names.includes('chromium')) has.browser = true;
    },
    unpackBrowser: way('npm', 'browser'),
    installVsCode: way('vscode', 'vscode'),
  };
  return { machine, done };
}

describe('what tests need', () => {
  const all = { browser: true, vscode: true };
  let lines: string[];
  const { log } = console;
  beforeEach(() => {
    lines = [];
    console.log = (line: string) => lines.push(line);
  });
  afterEach(() => {
    console.log = log;
  });

  it('is named at once, with the command, where a person has to install it; nothing is begun', async () => {
    const { machine, done } = bareMachine({ onPath: ['apt-get', 'python3', 'make'], carries: false });
    const took = await processorMs(() =>
      assert.rejects(provide(all, machine), ({ message }: Error) => {
        assert.match(
          message,
          /^ {2}sudo apt-get install -y --no-install-recommends g\+\+ pkg-config libkrb5-dev libx11-dev libxkbfile-dev libsecret-1-dev chromium$/m,
        );
        assert.match(message, /npm run test:unit/);
        return true;
      }),
    );
    assert.ok(took < 1000, `${took} ms`);
    assert.deepEqual([done, lines], [[], []]);
  });

  it('has a line of its own where there is no apt', async () => {
    const { machine } = bareMachine({});
    await assert.rejects(
      provide(all, machine),
      /your system's package manager on what Debian calls python3, make, /,
    );
  });

  it('is got where it can be: browser, packages, VS Code, each with a line before and after', async () => {
    const { machine, done } = bareMachine({
      onPath: ['apt-get'],
      root: true,
      works: ['download', 'packages', 'vscode'],
    });
    await provide(all, machine);
    assert.deepEqual(done, ['download', 'packages', 'vscode']);
    assert.equal(lines.length, 6);
    assert.match(
      lines[0] ?? '',
      /^No browser: downloading Chromium by Playwright, .* a minute or two \.\.\.$/,
    );
    assert.match(lines[1] ?? '', /^ {2}done after \d+ s$/);
  });

  it('is taken from the next source where the first has none', async () => {
    const ofApt = bareMachine({ onPath: ['apt-get'], root: true, works: ['packages'] });
    await provide({ browser: true }, ofApt.machine);
    assert.deepEqual(ofApt.done, ['download', 'packages']);
    assert.match(lines[1] ?? '', /^ {2}not possible after \d+ s: no download$/);
    const ofNpm = bareMachine({ works: ['npm'] });
    await provide({ browser: true }, ofNpm.machine);
    assert.deepEqual(ofNpm.done, ['download', 'npm']);
    const none = bareMachine({});
    await assert.rejects(provide({ browser: true }, none.machine), /Missing on this machine: chromium\./);
    assert.deepEqual(none.done, ['download', 'npm']);
  });

  it('is looked for within a second, without loading what drives a browser', async () => {
    const empty = await mkdtemp(path.join(tmpdir(), 'oomlint-bare-'));
    const look = `Promise.all(['vscode-host', 'vsix', 'browser'].map((name) => import('./scripts/' + name + '.mjs')))
      .then(([, , { findBrowser }]) => {
        findBrowser();
        const { user, system } = process.cpuUsage();
        const loaded = Object.keys(require.cache).filter((file) => /playwright-core/.test(file));
        console.log(JSON.stringify({ loaded, milliseconds: (user + system) / 1000 }));
      })`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', look], {
      encoding: 'utf8',
      env: { ...process.env, HOME: empty, XDG_CACHE_HOME: empty, LOCALAPPDATA: empty },
    });
    await rmdir(empty);
    assert.ok(stdout, stderr);
    const { loaded, milliseconds } = JSON.parse(stdout) as { loaded: string[]; milliseconds: number };
    assert.deepEqual(loaded, []);
    assert.ok(milliseconds < 1000, `${milliseconds} ms of CPU`);
  });

  it('is not looked for where a suite needs none of it', async () => {
    const { machine, done } = bareMachine({});
    await provide({}, machine);
    assert.deepEqual(done, []);
  });
});
