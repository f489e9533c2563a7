import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { version } from '../../package.json';
import { type PythonEnvironment, pythonEnvironment } from '../../scripts/python-environment.mjs';
import { gitIn } from '../unit/cli/oomlint';
import { noted } from './noted';

const run = promisify(execFile);
const config = (gpus: number) =>
  `{\n  // oomlint: model=Qwen/Qwen2.5-7B gpu=RTX-4090 gpus=${gpus} sequence=1024\n  "bf16": { "enabled": true },\n  "zero_optimization": { "stage": 3 },\n  "train_micro_batch_size_per_gpu": 1\n}\n`;

/** A registry of npm on loopback that has one package: the one that was packed. */
async function registryOf(packed: string): Promise<Server> {
  const tarball = await readFile(packed);
  const server = createServer((request, response) => {
    if (request.url?.endsWith('.tgz')) {
      response.end(tarball);
      return;
    }
    if (request.url !== '/oomlint') {
      response.writeHead(404).end('{}');
      return;
    }
    const { port } = server.address() as AddressInfo;
    const dist = {
      tarball: `http://127.0.0.1:${port}/oomlint-${version}.tgz`,
      integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
    };
    const bin = { oomlint: './bin/oomlint.js' };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        name: 'oomlint',
        'dist-tags': { latest: version },
        versions: { [version]: { name: 'oomlint', version, bin, dist } },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** The hooks as people have them: pre-commit itself, on a local git repository, with packages that were built here. */
describe('hooks of pre-commit', function () {
  this.timeout(600_000);
  let folder = '';
  let python: PythonEnvironment;
  let registry: Server | undefined;

  before(async function () {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-hooks-'));
    await run(process.execPath, ['scripts/npm-package.mjs']);
    await run(process.execPath, ['scripts/python-package.mjs']);
    const made = await pythonEnvironment(path.join(folder, 'venv'), 'pre-commit');
    if (made.missing !== undefined) {
      noted(`Hooks of pre-commit were not run: ${made.missing}.`);
      this.skip();
    }
    python = made;
    const [packed = ''] = (await readdir('out/npm')).filter((name) => name.endsWith('.tgz'));
    registry = await registryOf(path.resolve('out/npm', packed));
    const hooks = path.join(folder, 'hooks');
    await cp('pre-commit', hooks, { recursive: true });
    gitIn(folder, 'init', '-q', hooks);
    gitIn(hooks, 'add', '-A');
    gitIn(hooks, 'commit', '-q', '-m', 'hooks');
    gitIn(hooks, 'tag', `v${version}`);
  });
  after(async () => {
    registry?.close();
    await rm(folder, { recursive: true, force: true });
  });

  for (const id of ['oomlint', 'oomlint-node'])
    it(`${id} lets a commit pass that fits, and stops one that does not`, async () => {
      const repository = path.join(folder, id);
      await mkdir(repository);
      gitIn(repository, 'init', '-q');
      const hooks = path.join(folder, 'hooks');
      await writeFile(
        path.join(repository, '.pre-commit-config.yaml'),
        `repos:\n  - repo: ${hooks}\n    rev: v${version}\n    hooks:\n      - id: ${id}\n`,
      );
      await writeFile(path.join(repository, 'other.json'), '{"a": 1}\n');
      assert.ok(registry);
      const { port } = registry.address() as AddressInfo;
      const env = {
        ...process.env,
        ...python.env,
        PRE_COMMIT_HOME: path.join(folder, 'cache'),
        npm_config_registry: `http://127.0.0.1:${port}/`,
        npm_config_cache: path.join(folder, 'npm-cache'),
        npm_config_audit: 'false',
        npm_config_update_notifier: 'false',
        PATH: `${python.programs}${path.delimiter}${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`,
      };
      const commit = async (gpus: number) => {
        await writeFile(path.join(repository, 'ds.json'), config(gpus));
        gitIn(repository, 'add', '-A');
        return run('pre-commit', ['run', '--color', 'never'], { cwd: repository, env }).then(
          ({ stdout }) => ({ code: 0, stdout }),
          ({ code, stdout, stderr }) => ({ code, stdout: `${stdout}${stderr}` }),
        );
      };
      const fits = await commit(16);
      assert.equal(fits.code, 0, fits.stdout);
      assert.match(fits.stdout, /Passed/);
      const fails = await commit(1);
      assert.equal(fails.code, 1, fails.stdout);
      assert.match(fails.stdout, /ds\.json[\s\S]*does-not-fit/);
    });
});

describe('the folder of the hooks', () => {
  it('installs the version that this is', async () => {
    const hooks = parse(await readFile('pre-commit/.pre-commit-hooks.yaml', 'utf8'));
    assert.deepEqual(hooks[1].additional_dependencies, [`oomlint@${version}`]);
    assert.equal(JSON.parse(await readFile('pre-commit/package.json', 'utf8')).version, version);
    const project = await readFile('pre-commit/pyproject.toml', 'utf8');
    assert.ok(project.includes(`"oomlint==${version}"`) && project.includes(`version = "${version}"`));
    assert.ok((await readFile('pre-commit/README.md', 'utf8')).includes(`rev: v${version}`));
    const known = await readFile('docs/continuous-integration.md', 'utf8');
    assert.ok(known.includes(`rev: v${version}`), 'docs');
  });
});
