import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { getHeapCodeStatistics } from 'node:v8';
import { Script } from 'node:vm';

/** A program that is still running after this has shown all that it needs to start. */
const STARTED_MS = 3000;
/** Code of versions that has not been written for this long is thrown away. */
const FORGOTTEN_MS = 30 * 24 * 3600 * 1000;
/** So many are left, the last written: a version has one for each command, and whoever builds Oomlint has many versions. */
const MOST_KEPT = 24;
/** A start that compiles so much beyond what was kept, as a share of that, keeps it all: the first start may have had little to do. */
const MORE = 0.1;
/** Bytes behind the code: how much V8 had compiled when it was kept, as a double. */
const NOTE_BYTES = 8;
/** Exit code of a program that did not understand what it was asked: it shows little of what a start needs. */
const COULD_NOT_RUN = 2;

/**
 * Where V8's compiled code is kept: a folder of the person alone, as V8 runs what lies there. Undefined where there is none, or
 * where Node is asked to keep nothing (https://nodejs.org/api/module.html#module-compile-cache).
 */
export function keptCodeFolder(
  environment: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
): string | undefined {
  const { NODE_DISABLE_COMPILE_CACHE, NODE_COMPILE_CACHE, XDG_CACHE_HOME, LOCALAPPDATA, HOME } = environment;
  if (NODE_DISABLE_COMPILE_CACHE) return undefined;
  const home = HOME && path.join(HOME, platform === 'darwin' ? path.join('Library', 'Caches') : '.cache');
  const caches = NODE_COMPILE_CACHE || XDG_CACHE_HOME || (platform === 'win32' ? LOCALAPPDATA : home);
  return caches && path.isAbsolute(caches) ? path.join(caches, 'oomlint', 'code') : undefined;
}

interface Kept {
  readonly code: Buffer;
  /** What V8 had compiled of the program by then. Bytes. */
  readonly compiled: number;
}

/** What was kept; undefined where there is nothing, or where it is somebody else's. */
function kept(file: string): Kept | undefined {
  try {
    const { uid } = statSync(file);
    if (process.getuid !== undefined && uid !== process.getuid()) return undefined;
    const whole = readFileSync(file);
    const end = whole.length - NOTE_BYTES;
    return { code: whole.subarray(0, end), compiled: whole.readDoubleLE(end) };
  } catch {
    return undefined;
  }
}

/** What V8 has compiled of the program so far, bytes. */
const compiledNow = () => getHeapCodeStatistics().bytecode_and_metadata_size;

/** Code as it is kept. */
function noted(code: Buffer): Buffer {
  const note = Buffer.alloc(NOTE_BYTES);
  note.writeDoubleLE(compiledNow());
  return Buffer.concat([code, note]);
}

/** Writes the file whole or not at all, and removes what has not been written for long. Where that is not possible, the next start is slower. */
function keep(file: string, code: Buffer): void {
  const folder = path.dirname(file);
  const unfinished = `${file}.${process.pid}`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(unfinished, code, { mode: 0o600 });
    renameSync(unfinished, file);
    const others = readdirSync(folder).map((name) => {
      const other = path.join(folder, name);
      return { other, written: statSync(other).mtimeMs };
    });
    others.sort((a, b) => b.written - a.written);
    for (const [index, { other, written }] of others.entries())
      if (index >= MOST_KEPT || Date.now() - written > FORGOTTEN_MS) unlinkSync(other);
  } catch {
    try {
      unlinkSync(unfinished);
    } catch {
      // It was renamed, or never there.
    }
  }
}

/**
 * Runs a bundle, a function of what CommonJS modules see, and answers what it exports. V8 compiles what runs; that is kept in `folder`, under `name`, for the next
 * start, which then only runs it: Node itself does so from 22.8 on, for each of the modules. A start that has much more to compile keeps that, too. Code of another V8, or of V8 with other
 * flags, is not taken, and is replaced; `name` has to tell one bundle from another, as V8 compares the length of the source alone.
 */
export function runKept(
  bundle: string,
  name: string,
  folder: string | undefined,
  load: NodeJS.Require,
): unknown {
  // Bundles are ASCII (esbuild escapes the rest), and V8 reads one byte a character twice as fast as UTF-8.
  const source = readFileSync(bundle, 'latin1');
  const file =
    folder === undefined ? undefined : path.join(folder, `${name}-${process.version}-${process.arch}`);
  const known = file === undefined ? undefined : kept(file);
  const script = new Script(source, { filename: bundle, cachedData: known?.code });
  const module = { exports: {} };
  script.runInThisContext().call(module.exports, module.exports, load, module, bundle, path.dirname(bundle));
  if (file) {
    const isLittle = () =>
      known === undefined || script.cachedDataRejected || compiledNow() > known.compiled * (1 + MORE);
    const finish = (exitCode?: number) => {
      process.off('exit', finish);
      clearTimeout(timer);
      if (exitCode !== COULD_NOT_RUN && isLittle()) keep(file, noted(script.createCachedData()));
    };
    const timer = setTimeout(() => finish(), STARTED_MS).unref();
    process.on('exit', finish);
  }
  return module.exports;
}
