import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CLI, oomlint } from './oomlint';

const RUN =
  'base_model: NousResearch/Llama-3.2-1B\nadapter: lora\nlora_target_linear: true\nlora_r: 16\nmicro_batch_size: 1\nsequence_len: 2048\nmax_steps: 10\ndatasets:\n  - path: a\n    type: alpaca\n';
const WAITING = 'waiting for changes; Ctrl+C ends it.';

/** `oomlint check --watch` in a process of its own, report by report. */
class Watching {
  readonly #child: ChildProcessWithoutNullStreams;
  #out = '';
  #err = '';
  #reports = 0;

  constructor(folder: string, ...args: string[]) {
    const env = { ...process.env, NO_COLOR: '1', LC_ALL: 'C' };
    this.#child = spawn(process.execPath, [CLI, 'check', '--watch', ...args], { cwd: folder, env });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text;
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#err += text;
    });
  }

  /** What is printed up to the next time that it waits. */
  async report(): Promise<{ readonly out: string; readonly err: string }> {
    while (this.#err.split(WAITING).length - 1 <= this.#reports) {
      assert.equal(this.#child.exitCode, null, this.#err);
      await once(this.#child.stderr, 'data');
    }
    this.#reports++;
    const taken = { out: this.#out, err: this.#err.split(WAITING)[this.#reports - 1] ?? '' };
    this.#out = '';
    return taken;
  }

  async interrupted(): Promise<number | null> {
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGINT');
    const [code] = (await closed) as [number | null];
    return code;
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

describe('oomlint check --watch', function () {
  this.timeout(60_000);
  let folder = '';
  let watching: Watching | undefined;
  const put = (name: string, text: string) => writeFile(path.join(folder, name), text);

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-watch-'));
  });
  afterEach(async () => {
    watching?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('reports again what a change makes of the runs, and ends with the code of the last report', async () => {
    await put('run.yaml', RUN);
    watching = new Watching(folder, '--gpus', '1', '--gpu', 'A100-80GB');
    assert.match((await watching.report()).out, /1 config checked: 0 errors/);
    await put('run.yaml', RUN.replace('lora\n', 'qlora\nload_in_4bit: true\nload_in_8bit: true\n'));
    const second = await watching.report();
    assert.match(second.out, /run\.yaml.*\n?.*error/);
    assert.match(second.err, /run\.yaml changed\./);
    assert.equal(await watching.interrupted(), 1);
  });

  it('sees configs that come and go, and files that only take part', async () => {
    await put('oomlint.yaml', 'defaults:\n  gpu: A100-80GB\n  gpus: 1\n');
    await mkdir(path.join(folder, 'runs'));
    await put('runs/run.yaml', RUN);
    watching = new Watching(folder, 'runs', '--format', 'jsonl', '--require-verdict');
    assert.equal((await watching.report()).out.trim().split('\n').length, 1);
    await put('runs/other.yaml', RUN);
    assert.equal((await watching.report()).out.trim().split('\n').length, 2);
    await rm(path.join(folder, 'runs/other.yaml'));
    const third = await watching.report();
    assert.equal(third.out.trim().split('\n').length, 1);
    assert.match(third.out, /"verdict":"fits"/);
    // It lies beside the folder that is watched.
    await put('oomlint.yaml', 'defaults:\n  gpu: T4\n  gpus: 1\n');
    assert.match((await watching.report()).out, /"gpu":"T4"/);
    assert.equal(await watching.interrupted(), 0);
  });

  it('looks away from files of no run', async () => {
    await put('run.yaml', RUN);
    await put('train.log', 'step 1\n');
    watching = new Watching(folder, '--gpus', '1', '--gpu', 'A100-80GB');
    await watching.report();
    await put('train.log', 'step 1, step 2\n');
    await mkdir(path.join(folder, 'node_modules'));
    await put('node_modules/run.yaml', RUN);
    await put('run.yaml', `${RUN}bf16: true\n`);
    const { err } = await watching.report();
    assert.match(err, /: run\.yaml changed\./);
    assert.equal(await watching.interrupted(), 0);
  });

  it('reads no standard input again, and writes no baseline each time', async () => {
    const stdin = await oomlint(['check', '--watch', '--stdin', '--stdin-filename', 'run.yaml'], folder);
    assert.deepEqual([stdin.code, stdin.err], [2, 'oomlint: --watch and --stdin do not go together.\n']);
    const baseline = await oomlint(['check', '-w', '--baseline', 'b.json', '--update-baseline'], folder);
    assert.deepEqual(
      [baseline.code, baseline.err],
      [2, 'oomlint: --watch and --update-baseline do not go together.\n'],
    );
  });
});
