import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { type PackedNpm, packedNpm } from '../packages/packed-npm';
import { gitIn } from '../unit/cli/oomlint';

const ROOT = process.cwd();
const recipe = (length: number) =>
  `model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: a\ntemplate: llama3\ncutoff_len: ${length}\noutput_dir: out\nper_device_train_batch_size: 4\nmax_steps: 100\nbf16: true\n`;

interface Ended {
  readonly code: number;
  readonly out: string;
}

/** Runs a program of the action as a job does: with the environment alone, away from this repository. */
function job(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<Ended> {
  const { PATH = '', HOME = '' } = process.env;
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env: { PATH, HOME, ...env } }, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out: `${out}${err}` });
    });
  });
}

/** What of GitHub's API comments take, on this machine. */
class Comments {
  readonly bodies = new Map<number, string>();
  readonly asked: string[] = [];
  /** Answers that come before the right ones. */
  readonly failures: number[] = [];
  #server: Server | undefined;
  #next = 1;

  async start(): Promise<string> {
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (data) => {
        text += data;
      });
      request.on('end', () => {
        this.asked.push(`${request.method} ${request.url}`);
        const failure = this.failures.shift();
        response.writeHead(failure ?? 200, { 'content-type': 'application/json' });
        response.end(
          failure ? '{}' : JSON.stringify(this.#answer(request.method ?? '', request.url ?? '', text)),
        );
      });
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  #answer(method: string, url: string, text: string): unknown {
    if (method === 'GET') {
      const page = Number(/[?&]page=(\d+)/.exec(url)?.[1]);
      return [...this.bodies].map(([id, body]) => ({ id, body })).slice((page - 1) * 100, page * 100);
    }
    const id = method === 'POST' ? this.#next++ : Number(/\d+$/.exec(url)?.[0]);
    this.bodies.set(id, JSON.parse(text).body);
    return { id };
  }
}

describe('the GitHub action', function () {
  this.timeout(120_000);
  let packed: PackedNpm;
  let folder = '';
  const api = new Comments();
  let address = '';
  const commits: string[] = [];
  const temp = () => path.join(folder, 'temp');
  const diff = (more: Record<string, string> = {}) =>
    job('bash', [path.join(ROOT, 'action/diff.sh')], path.join(folder, 'work'), {
      OOMLINT: `node ${packed.bin('oomlint')}`,
      OOMLINT_BASE: commits[0] ?? '',
      OOMLINT_HEAD: commits[1] ?? '',
      OOMLINT_ARGUMENTS: '--gpu\nRTX 4090\n--gpus\n1',
      OOMLINT_VERSION: '0.1.0',
      RUNNER_TEMP: temp(),
      GITHUB_OUTPUT: path.join(temp(), 'output'),
      GITHUB_STEP_SUMMARY: path.join(temp(), 'summary'),
      ...more,
    });
  const comment = (more: Record<string, string> = {}) =>
    job(process.execPath, [path.join(ROOT, 'action/comment.mjs')], folder, {
      GITHUB_TOKEN: 'secret',
      GITHUB_API_URL: address,
      GITHUB_REPOSITORY: 'team/configs',
      OOMLINT_PULL_REQUEST: '7',
      OOMLINT_REPORT: path.join(temp(), 'oomlint-diff.md'),
      OOMLINT_PAUSE: '5',
      ...more,
    });

  before(async () => {
    packed = await packedNpm();
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-action-'));
    address = await api.start();
    const origin = path.join(folder, 'origin');
    gitIn(folder, 'init', '-q', '-b', 'main', origin);
    gitIn(folder, 'init', '-q', temp());
    for (const length of [256, 16384]) {
      await writeFile(path.join(origin, 'sft.yaml'), recipe(length));
      gitIn(origin, 'add', '.');
      gitIn(origin, 'commit', '-qm', String(length));
      commits.push(gitIn(origin, 'rev-parse', 'HEAD').trim());
    }
    // As a job checks it out: the last commit alone.
    gitIn(folder, 'clone', '-q', '--depth=1', `file://${origin}`, path.join(folder, 'work'));
  });
  after(async () => {
    api.stop();
    await packed?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  it('compares base and head of a shallow checkout, for the summary and for what follows', async () => {
    const { code, out } = await diff();
    assert.equal(code, 0, out);
    assert.match(
      await readFile(path.join(temp(), 'output'), 'utf8'),
      /^report=.*oomlint-diff\.md\nworse=true\n$/,
    );
    const summary = await readFile(path.join(temp(), 'summary'), 'utf8');
    assert.match(summary, /\| ❌ fits → does not fit \| sft\.yaml \|/);
  });

  it('takes nothing for a commit or a version that is none', async () => {
    assert.equal((await diff({ OOMLINT_BASE: '$(touch evil)' })).code, 2);
    assert.equal((await diff({ OOMLINT_HEAD: '--upload-pack=x' })).code, 2);
    assert.equal((await diff({ OOMLINT_VERSION: '1; touch evil' })).code, 2);
  });

  it('writes one comment, leaves it alone where nothing changed, and brings it up to date', async () => {
    api.bodies.set(100, 'somebody else');
    assert.equal((await comment()).out, 'oomlint: comment written\n');
    assert.equal(api.bodies.size, 2);
    assert.equal((await comment()).out, 'oomlint: comment unchanged\n');
    const report = path.join(temp(), 'oomlint-diff.md');
    const text = await readFile(report, 'utf8');
    await writeFile(report, `${text}\nMore.\n`);
    api.failures.push(502, 429);
    assert.equal((await comment()).out, 'oomlint: comment updated\n');
    assert.match(api.bodies.get(1) ?? '', /\nMore\.\n$/);
    assert.equal(api.bodies.size, 2);
    await writeFile(report, text.replace(/valid-at=\d{4}/, 'valid-at=1999'));
    assert.equal((await comment()).out, 'oomlint: comment older\n');
    await writeFile(report, text.replace('tag=default', 'tag=other'));
    assert.equal((await comment()).out, 'oomlint: comment written\n');
    await writeFile(report, text);
  });

  it('finds its comment behind a hundred others', async () => {
    api.bodies.clear();
    for (let id = 1000; id < 1150; id++) api.bodies.set(id, 'talk');
    api.bodies.set(2000, '[//]: <> (oomlint-diff, tag=default, valid-at=1999)\n');
    assert.equal((await comment()).out, 'oomlint: comment updated\n');
    assert.equal(api.bodies.size, 151);
  });

  it('does without a comment where a fork may not write, and never shows the token', async () => {
    api.failures.push(403);
    const { code, out } = await comment();
    assert.equal(code, 0);
    assert.match(out, /^::notice::oomlint: no comment: GET .*403\n$/);
    assert.ok(!out.includes('secret'));
    assert.equal((await comment({ OOMLINT_PULL_REQUEST: '' })).code, 1);
  });

  it('writes nothing of an event into a script', async () => {
    const action = parse(await readFile('action/action.yml', 'utf8'));
    assert.equal(action.runs.using, 'composite');
    for (const { run } of action.runs.steps) assert.doesNotMatch(run, /\$\{\{/);
  });
});
