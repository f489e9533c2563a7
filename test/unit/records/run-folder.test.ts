import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readRunRecord } from '../../../server/src/records/run-folder';

const GIB = 2 ** 30;

describe('run folders', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'oomlint-run-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, text: string | Uint8Array) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const figures = async () =>
    (await readRunRecord(folder)).series.map(({ source, kind, peak, highest }) =>
      `${source} ${kind}${peak ? ' peak' : ''} ${(highest.quantity.bytes / GIB).toFixed(2)} ${highest.step ?? ''}`.trim(),
    );

  it('of Weights & Biases: the summary, the output, and the card', async () => {
    write(
      'wandb/run-1/files/wandb-summary.json',
      '{"_step": 7, "memory/max_allocated (GiB)": 30.5, "train/loss": 1.2}',
    );
    write('wandb/run-1/files/output.log', "{'loss': 1.5, 'memory/max_allocated (GiB)': 29.5}\n");
    write(
      'wandb/run-1/files/wandb-metadata.json',
      '{"gpu_nvidia": [{"name": "NVIDIA L4", "memoryTotal": "24152899584", "architecture": "Ada"}]}',
    );
    assert.deepEqual(await figures(), ['metrics allocated peak 30.50']);
    const { facts } = await readRunRecord(folder);
    assert.deepEqual(facts, { gpu: 'NVIDIA L4', capacityBytes: 24_152_899_584 });
  });

  it('of Weights & Biases: the command, where one card tells how many processes there were', async () => {
    const metadata = (count: number) =>
      JSON.stringify({
        program: '/repo/train.py',
        args: ['--model_name_or_path', 'meta-llama/Llama-3.2-1B', '--run_name', "it's 1"],
        gpu_count: count,
      });
    write('files/wandb-metadata.json', metadata(1));
    assert.deepEqual(
      (await readRunRecord(folder)).log.commands.map(({ text }) => text),
      ["python /repo/train.py --model_name_or_path meta-llama/Llama-3.2-1B --run_name 'it'\\''s 1'"],
    );
    write('files/wandb-metadata.json', metadata(8));
    assert.deepEqual((await readRunRecord(folder)).log.commands, []);
  });

  it('of the Trainer: its state and its results', async () => {
    write(
      'checkpoint-10/trainer_state.json',
      JSON.stringify(
        {
          log_history: [
            { 'memory/device_reserved (GiB)': 20.25, step: 5 },
            { loss: 1, step: 6 },
          ],
        },
        null,
        2,
      ),
    );
    write(
      'all_results.json',
      JSON.stringify(
        {
          before_init_mem_gpu: 0,
          init_mem_gpu_alloc_delta: GIB,
          train_mem_gpu_alloc_delta: 2 * GIB,
          train_mem_gpu_peaked_delta: 4 * GIB,
        },
        null,
        2,
      ),
    );
    assert.deepEqual(await figures(), ['metrics reserved peak 20.25', 'Trainer allocated peak 7.00']);
  });

  it('of TensorBoard, whose other tags are passed over', async () => {
    const text = (words: string) => [...new TextEncoder().encode(words)];
    const field = (number: number, bytes: readonly number[]) => [number * 8 + 2, bytes.length, ...bytes];
    const float = (value: number) => [...new Uint8Array(Float32Array.of(value).buffer)];
    const event = (tag: string, value: number) => {
      const data = [16, 9, ...field(5, field(1, [...field(1, text(tag)), 21, ...float(value)]))];
      return [
        ...new Uint8Array(BigUint64Array.of(BigInt(data.length)).buffer),
        0,
        0,
        0,
        0,
        ...data,
        0,
        0,
        0,
        0,
      ];
    };
    write(
      'tb/events.out.tfevents.1700000000.host.1.0',
      Uint8Array.from([...event('loss', 2), ...event('memory/max_reserved(GiB)', 61.5)]),
    );
    assert.deepEqual(await figures(), ['metrics reserved peak 61.50 9']);
  });

  it('say which of their files cannot be read, and read the others', async () => {
    write('snapshot.pickle', Uint8Array.of(0x80, 4, 0x95));
    write('wandb-metadata.json', '{');
    write('train.log', 'Peak reserved memory = 10.949 GB.\n');
    const { unread, series } = await readRunRecord(folder);
    assert.deepEqual(unread.map(({ file }) => path.basename(file)).sort(), [
      'snapshot.pickle',
      'wandb-metadata.json',
    ]);
    assert.equal(series.length, 1);
  });

  it('keep the messages of what ran out', async () => {
    write(
      'rank3.err',
      '[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 23.64 GiB of which 1.00 GiB is free.\n',
    );
    const { log } = await readRunRecord(folder);
    assert.deepEqual(
      log.found.map(({ rank, kind }) => [rank, kind]),
      [[3, 'torch']],
    );
  });

  it('pass over snapshots where nobody asked for them, and stop where they are cancelled', async () => {
    write('train.log', "{'memory/max_reserved(GiB)': 4.0}\n");
    write('data.pkl', new Uint8Array([0x80, 4, 0x2e]));
    const all = await readRunRecord(folder);
    assert.deepEqual(
      all.unread.map(({ file }) => path.basename(file)),
      ['data.pkl'],
    );
    const some = await readRunRecord(folder, { snapshots: false });
    assert.deepEqual(some.unread, []);
    assert.equal(some.series.length, 1);
    const reported: number[] = [];
    const stopped = new AbortController();
    stopped.abort();
    await assert.rejects(
      readRunRecord(folder, { signal: stopped.signal, progress: (bytes) => reported.push(bytes) }),
    );
    assert.deepEqual(reported, []);
  });

  it('leave the thread free while a snapshot is read, tell how far it is, and let it be ended', async function () {
    this.timeout(120_000);
    const file = write('snapshot.json', '');
    const event = JSON.stringify({ action: 'alloc', addr: 1, size: 512, stream: 0, frames: [] });
    const events = `${event},`.repeat(20_000);
    appendFileSync(file, '{"segments":[],"device_traces":[[');
    for (let i = 0; i < 12; i++) appendFileSync(file, events);
    appendFileSync(file, `${event}]]}`);
    let ticks = 0;
    const clock = setInterval(() => ticks++, 10);
    const reported: number[] = [];
    try {
      const { snapshots, unread } = await readRunRecord(file, { progress: (bytes) => reported.push(bytes) });
      assert.deepEqual(unread, []);
      assert.equal(snapshots[0]?.events, 12 * 20_000 + 1);
      assert.ok(reported.length >= 4, `${reported.length}`);
      assert.ok(ticks > 3, `${ticks} ticks while it was read`);
      const aborted = new AbortController();
      const read: number[] = [];
      const stopped = readRunRecord(file, {
        progress: (bytes) => {
          read.push(bytes);
          if (bytes > 0) aborted.abort();
        },
        signal: aborted.signal,
      });
      await assert.rejects(stopped, { name: 'AbortError' });
      assert.ok(read.length < reported.length, `${read.length} of ${reported.length} pieces were read`);
    } finally {
      clearInterval(clock);
    }
  });

  it('take a snapshot for one whatever its name is, where it is named itself', async () => {
    const file = write('step3.json', readFileSync('test/fixtures/snapshots/step.json', 'utf8'));
    const { snapshots, unread } = await readRunRecord(file);
    assert.deepEqual(unread, []);
    assert.equal(snapshots.length, 1);
  });

  it('say why a snapshot is none, in words that came from its thread', async () => {
    const file = write('other.pickle', Uint8Array.of(0x80, 4, 0x4b, 1, 0x2e));
    const { unread } = await readRunRecord(file);
    assert.match(unread[0]?.reason ?? '', /no memory snapshot/);
  });
});
