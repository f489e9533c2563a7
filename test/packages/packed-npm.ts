import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What `npm install oomlint` brings. */
export interface PackedNpm {
  /** The package as a registry would have it. */
  readonly tarball: string;
  /** A clean folder that it is installed into. */
  readonly folder: string;
  /** A program of it, by its name. */
  bin(name: 'oomlint' | 'oomlint-language-server'): string;
  remove(): Promise<void>;
}

/** Packs the package and installs it into a clean folder, without a network. */
export async function packedNpm(): Promise<PackedNpm> {
  await run(process.execPath, ['scripts/npm-package.mjs']);
  const [packed = ''] = (await readdir('out/npm')).filter((name) => name.endsWith('.tgz'));
  const tarball = path.resolve('out/npm', packed);
  const folder = await mkdtemp(path.join(tmpdir(), 'oomlint-npm-'));
  await writeFile(path.join(folder, 'package.json'), '{"private": true}');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  await run(npm, ['install', '--offline', '--no-audit', tarball], {
    cwd: folder,
    shell: npm.endsWith('.cmd'),
  });
  return {
    tarball,
    folder,
    bin: (name) => path.join(folder, 'node_modules', 'oomlint', 'bin', `${name}.js`),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
