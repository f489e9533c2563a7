// Programs from npm that are no dependencies of the project: installed once in a cache of this person.
import { spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

export const CACHE = path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'), 'oomlint');

/** Installs a package, or several, into a folder that holds nothing else. */
export async function npmInstall(folder, what, env) {
  // What an install that broke off left behind would be taken for installed.
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{ "private": true }\n');
  const output = [];
  const code = await new Promise((resolve, reject) => {
    const child = spawn('npm', ['install', ...[what].flat(), '--no-audit', '--no-fund'], {
      cwd: folder,
      env: { ...outerEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    });
    child.stdout.on('data', (data) => output.push(String(data)));
    child.stderr.on('data', (data) => output.push(String(data)));
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) {
    throw new Error(
      `npm install ${[what].flat().join(' ')} ended with ${code}.\n${output.join('').slice(-3000)}`,
    );
  }
}

/**
 * Under `npm test` the environment describes that npm and its Node, and installs that look at it take the wrong one.
 * How to reach a registry stays.
 */
function outerEnvironment() {
  const kept = /^npm_config_(registry|cache|userconfig|cafile|proxy|https_proxy|https-proxy|noproxy)$/i;
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || kept.test(name)),
  );
}
