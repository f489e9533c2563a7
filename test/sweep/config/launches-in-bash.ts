import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const BASH = ['/bin/bash', '/usr/bin/bash'].find((each) => existsSync(each));
/** Bytes that a script may print. */
const MOST_PRINTED = 64 * 2 ** 20;

/** A folder for the tests of a suite, which skips, and prints why, where there is no bash; for use inside of `describe`. */
export function bashFolder(): () => string {
  let folder = '';
  before(function () {
    if (BASH) {
      folder = mkdtempSync(path.join(tmpdir(), 'oomlint-bash-'));
      mkdirSync(path.join(folder, 'empty'));
    } else {
      console.log('      bash is not here: what scripts expand to is not held to it');
      this.skip();
    }
  });
  after(() => {
    if (folder !== '') rmSync(folder, { recursive: true });
  });
  return () => folder;
}

interface Printed {
  /** What stands behind `\0` and `\x1e\0` on the third stream: the words of each launch. */
  readonly launches: string[][];
  readonly stderr: string;
  readonly error?: Error;
}

/**
 * Runs a script in a folder of its own, where no pattern finds it; from a file, whose end a shell reads otherwise than that of a text behind
 * `-c`.
 */
export function runInBash(
  script: string,
  folder: string,
  { env, timeout }: { readonly env: Readonly<Record<string, string>>; readonly timeout: number },
): Printed {
  const [place, file] = [path.join(folder, 'empty'), path.join(folder, 'script.sh')];
  writeFileSync(file, script);
  const { stderr, error, output } = spawnSync(BASH ?? 'bash', ['--norc', '--noprofile', file], {
    cwd: place,
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    timeout,
    killSignal: 'SIGKILL',
    maxBuffer: MOST_PRINTED,
  });
  const launches = String(output[3] ?? '')
    .split('\x1e\0')
    .slice(0, -1)
    .map((launch) => launch.split('\0').slice(0, -1));
  return { launches, stderr: String(stderr), ...(error ? { error } : {}) };
}
