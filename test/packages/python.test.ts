import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { builtWheel, pythonEnvironment } from '../../scripts/python-environment.mjs';
import { noted } from './noted';

const run = promisify(execFile);

/** What `pip install oomlint` gets: built, installed into a clean environment without a network, and used from a clean folder. */
describe('the Python package', function () {
  this.timeout(600_000);
  let folder = '';

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-python-'));
    await run(process.execPath, ['scripts/python-package.mjs']);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('passes its tests where nothing else is installed', async function () {
    const made = await pythonEnvironment(path.join(folder, 'venv'), 'pytest', await builtWheel());
    if (made.missing !== undefined) {
      noted(`The Python package was built and not tried: ${made.missing}.`);
      this.skip();
    }
    const tests = path.resolve('python', 'tests');
    const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--rootdir', folder, tests];
    await run(path.join(made.programs, 'python'), args, {
      cwd: folder,
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    }).catch(({ stdout, stderr }: { stdout: string; stderr: string }) => {
      throw new Error(`${stdout}${stderr}`);
    });
  });
});
