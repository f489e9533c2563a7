import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { version } from '../../package.json';
import { gitIn } from '../unit/cli/oomlint';
import { LONG } from '../unit/long';
import { noted } from './noted';
import { type PackedNpm, packedNpm } from './packed-npm';

const run = promisify(execFile);

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}
interface Workflow {
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly Step[]; readonly env?: Readonly<Record<string, string>> }>
  >;
}
interface Ended {
  readonly code: number;
  readonly out: string;
}

/** Programs that reach the world: here they write down what they were asked. */
const STAND_INS = ['gh', 'npx', 'npm', 'pipx', 'xvfb-run'];
/** Steps of a release that other tests run: what they make is what this suite installs and looks at. */
const RUN_ELSEWHERE =
  /^(?:npm ci|npm run package|npm run package:(?:npm|python)|npm run package -- \$FLAG|xvfb-run .*)$/;

/** The scripts of the workflow that releases, each run as a runner does, with stand-ins for what is not of this machine. */
describe('what a release does', function () {
  this.timeout(120_000);
  let folder = '';
  let packed: PackedNpm;
  let workflow: Workflow;
  const ran = new Set<string>();

  before(async function () {
    if (process.platform === 'win32') this.skip();
    packed = await packedNpm();
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-release-'));
    await mkdir(path.join(folder, 'bin'));
    for (const name of STAND_INS)
      await writeFile(
        path.join(folder, 'bin', name),
        `#!/bin/sh\nprintf '%s\\n' "${name} $*" >> '${path.join(folder, 'asked')}'\n`,
        { mode: 0o755 },
      );
    workflow = parse(await readFile('.github/workflows/release.yml', 'utf8'));
  });
  after(async () => {
    await packed?.remove();
    if (folder) await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => rm(path.join(folder, 'asked'), { force: true }));

  const scriptOf = (job: string, matching: RegExp) => {
    const step = workflow.jobs[job]?.steps.find(({ run: script = '' }) => matching.test(script));
    assert.ok(step?.run, `${job}: ${matching}`);
    ran.add(step.run);
    return step.run;
  };
  /** As GitHub starts a script (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstepsshell). */
  const runs = async (
    script: string,
    cwd: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Ended> => {
    const file = path.join(folder, 'step.sh');
    await writeFile(file, script);
    const PATH = [path.join(folder, 'bin'), path.dirname(process.execPath), process.env.PATH].join(':');
    const surroundings = { PATH, HOME: folder, GITHUB_REF_NAME: `v${version}`, RUNNER_TEMP: folder, ...env };
    return run('bash', ['--noprofile', '--norc', '-eo', 'pipefail', file], { cwd, env: surroundings }).then(
      ({ stdout, stderr }) => ({ code: 0, out: stdout + stderr }),
      ({ code, stdout, stderr }) => ({ code, out: stdout + stderr }),
    );
  };
  const asked = async () => (await readFile(path.join(folder, 'asked'), 'utf8')).trimEnd().split('\n');

  it('stops where the tag is not the version', async () => {
    const script = scriptOf('package', /GITHUB_REF_NAME/);
    assert.equal((await runs(script, process.cwd())).code, 0);
    assert.equal((await runs(script, process.cwd(), { GITHUB_REF_NAME: 'v9.9.9' })).code, 1);
  });

  it('marks versions with an odd minor as pre-releases, and no others', async () => {
    const script = scriptOf('package', /minor/);
    const marked = async (of: string) => {
      const place = await mkdtemp(path.join(folder, 'version-'));
      await writeFile(path.join(place, 'package.json'), JSON.stringify({ version: of }));
      const output = path.join(place, 'output');
      await writeFile(output, '');
      const { code, out } = await runs(script, place, { GITHUB_OUTPUT: output });
      assert.equal(code, 0, out);
      return readFile(output, 'utf8');
    };
    assert.equal(await marked('0.1.0'), 'flag=--pre-release\n');
    assert.equal(await marked('1.2.3'), '');
  });

  it('publishes what was packed, each file where it belongs', async () => {
    const place = path.join(folder, 'publish');
    // As they come back from the job before: paths below the common folder of what was uploaded.
    const tarball = path.basename(packed.tarball);
    const files = [
      'oomlint.vsix',
      'oomlint.cdx.json',
      `npm/${tarball}`,
      `python/oomlint-${version}-py3-none-any.whl`,
    ];
    for (const name of files) {
      await mkdir(path.dirname(path.join(place, 'out', name)), { recursive: true });
      await writeFile(path.join(place, 'out', name), '');
    }
    await writeFile(path.join(place, 'CHANGELOG.md'), '');
    const matching = [/gh release/, /vsce publish/, /ovsx/, /npm publish/];
    for (const pattern of matching) {
      const { code, out } = await runs(scriptOf('publish', pattern), place);
      assert.equal(code, 0, out);
    }
    assert.equal((await runs(scriptOf('pypi', /uv publish/), place)).code, 0);
    const lines = await asked();
    assert.equal(lines.length, 5, lines.join('\n'));
    for (const name of files)
      assert.ok(
        lines.some((line) => line.includes(`out/${name}`)),
        `${name}: ${lines.join('\n')}`,
      );
    assert.ok(!lines.some((line) => line.includes('*')), 'every pattern found its file');
    // The token comes by the environment of whoever publishes, and stands in no file.
    const npmrc = await readFile(path.join(folder, '.npmrc'), 'utf8');
    assert.equal(npmrc, '//registry.npmjs.org/:_authToken=$' + '{NODE_AUTH_TOKEN}\n');
  });

  it('puts the hooks into a repository of their own, with the tag', async () => {
    const script = scriptOf('hooks', /pre-commit\.git/);
    const bare = path.join(folder, 'hooks.git');
    gitIn(folder, 'init', '-q', '--bare', '-b', 'main', bare);
    const seed = path.join(folder, 'seed');
    gitIn(folder, 'init', '-q', '-b', 'main', seed);
    await writeFile(path.join(seed, 'old'), '');
    gitIn(seed, 'add', '-A');
    gitIn(seed, 'commit', '-qm', 'old');
    gitIn(seed, 'push', '-q', bare, 'main');
    const place = path.join(folder, 'checkout');
    await mkdir(place);
    await cp('pre-commit', path.join(place, 'pre-commit'), { recursive: true });
    const { code, out } = await runs(script, place, {
      HOOKS_KEY: 'key',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `url.${bare}.insteadOf`,
      GIT_CONFIG_VALUE_0: 'git@github.com:oomlint/pre-commit.git',
    });
    assert.equal(code, 0, out);
    const listed = gitIn(bare, 'ls-tree', '-r', '--name-only', `v${version}`).trim().split('\n');
    assert.deepEqual(listed.sort(), [...(await readdir('pre-commit')), 'old'].sort());
    assert.equal(gitIn(bare, 'rev-parse', 'main'), gitIn(bare, 'rev-parse', `v${version}`));
    await access(path.join(folder, 'key'));
  });

  it('has no script that is run by no test', () => {
    const scripts = Object.values(workflow.jobs).flatMap(({ steps }) =>
      steps.flatMap((step) => step.run ?? []),
    );
    assert.ok(scripts.length > 8);
    assert.deepEqual(
      scripts.filter((script) => !ran.has(script) && !RUN_ELSEWHERE.test(script)),
      [],
    );
  });
});

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** Instructions of a Dockerfile, lines that end in a backslash joined (https://docs.docker.com/reference/dockerfile/). */
function instructions(text: string): Instruction[] {
  const lines = text.replace(/^\s*#.*\n/gm, '').replace(/\\\n\s*/g, '');
  return [...lines.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, name = '', rest = '']) => ({ name, rest }));
}

/** What builds an image of this folder and runs it, without asking a registry. */
interface Builder {
  /** What the image's own command prints, run on a folder. */
  checked(tag: string, folder: string): Promise<string>;
}

/** The first program here that builds images and has this one to begin with. */
async function builderWith(base: string): Promise<Builder | undefined> {
  const output = async (program: string, ...args: readonly string[]) =>
    (await run(program, args, { maxBuffer: 2 ** 26 })).stdout;
  const has = (program: string, ...args: readonly string[]) =>
    output(program, ...args).then(
      () => true,
      () => false,
    );
  for (const program of ['docker', 'podman'])
    if (await has(program, 'image', 'inspect', base))
      return {
        checked: async (tag, folder) => {
          await output(program, 'build', '--tag', tag, '.');
          return output(program, 'run', '--rm', '--volume', `${folder}:/work`, tag);
        },
      };
  if (!(await has('buildah', 'inspect', '--type', 'image', base))) return undefined;
  return {
    checked: async (tag, folder) => {
      await output('buildah', 'build', '--pull-never', '--tag', tag, '.');
      const container = (await output('buildah', 'from', '--pull-never', `localhost/${tag}`)).trim();
      try {
        const { OCIv1 } = JSON.parse(await output('buildah', 'inspect', container));
        const { Entrypoint, Cmd } = OCIv1.config;
        return await output(
          'buildah',
          'run',
          '--volume',
          `${folder}:/work`,
          container,
          '--',
          ...Entrypoint,
          ...Cmd,
        );
      } finally {
        await output('buildah', 'rm', container);
      }
    },
  };
}

/** What needs no container of the image: its stages, and its steps in clean folders. */
describe('the image', function () {
  this.timeout(120_000);

  it('installs the package that its first stage packs, and checks the folder that is mounted', async function () {
    if (process.platform === 'win32') this.skip();
    const steps = instructions(await readFile('Dockerfile', 'utf8'));
    const stages = steps.filter(({ name }) => name === 'FROM').map(({ rest }) => rest);
    assert.match(stages[0] ?? '', /^node:(\d+)[\w.-]* AS build$/);
    assert.equal(stages.length, 2);
    const [made = '', , install = ''] = steps.filter(({ name }) => name === 'RUN').map(({ rest }) => rest);
    // The first stage makes what the tests of npm install: the same command, from the same folder.
    assert.equal(made, 'npm ci && npm run package:npm');
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8'));
    assert.equal(scripts['package:npm'], 'node scripts/npm-package.mjs');
    const [, from = '', mounted = '', command = ''] =
      /^--mount=type=bind,from=build,source=(\S+),target=(\S+) (.*)$/.exec(install) ?? assert.fail(install);
    const workdir = steps.find(({ name }) => name === 'WORKDIR')?.rest ?? '';
    assert.equal(from, `${workdir}/out/npm`);
    const packed = await packedNpm();
    const root = await mkdtemp(path.join(tmpdir(), 'oomlint-image-'));
    try {
      const target = path.join(root, mounted);
      await mkdir(target);
      await cp(packed.tarball, path.join(target, path.basename(packed.tarball)));
      const env = {
        ...process.env,
        npm_config_prefix: path.join(root, 'usr'),
        PATH: `${path.join(root, 'usr', 'bin')}:${process.env.PATH}`,
      };
      await run('sh', ['-c', command.replaceAll(mounted, target)], { cwd: root, env });
      const words = (name: string): string[] =>
        JSON.parse(steps.findLast((step) => step.name === name)?.rest ?? '[]');
      const [program = '', ...rest] = [...words('ENTRYPOINT'), ...words('CMD')];
      const work = path.join(root, 'work');
      await mkdir(work);
      await cp('examples/zero3-llama-8b.json', path.join(work, 'ds.json'));
      const { stdout } = await run(program, rest, { cwd: work, env });
      assert.match(stdout, /1 config checked/s);
    } finally {
      await packed.remove();
      await rm(root, { recursive: true, force: true });
    }
  });

  it('runs as nobody special, in the folder that the documentation mounts', async () => {
    const steps = instructions(await readFile('Dockerfile', 'utf8'));
    const last = (name: string) => steps.findLast((step) => step.name === name)?.rest;
    assert.equal(last('USER'), 'node');
    assert.ok((await readFile('README.md', 'utf8')).includes(`-v "$PWD:${last('WORKDIR')}"`));
    for (const { name } of steps)
      assert.ok(['FROM', 'WORKDIR', 'COPY', 'ENV', 'RUN', 'USER', 'ENTRYPOINT', 'CMD'].includes(name), name);
  });

  // Part of the long run: a builder takes minutes.
  if (LONG)
    it('is built as it stands and checks the folder that is mounted, where a builder has its base', async function () {
      this.timeout(1_800_000);
      const base = instructions(await readFile('Dockerfile', 'utf8'))[0]?.rest.split(' ')[0] ?? '';
      const builder = await builderWith(`docker.io/library/${base}`);
      if (!builder) {
        noted(`The image was not built: no docker, podman or buildah here has ${base}.`);
        this.skip();
      }
      const folder = await mkdtemp(path.join(tmpdir(), 'oomlint-image-'));
      try {
        await cp('examples/zero3-llama-8b.json', path.join(folder, 'ds.json'));
        await chmod(folder, 0o755);
        assert.match(await builder.checked('oomlint-test', folder), /ds\.json.*1 config checked/s);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
});
