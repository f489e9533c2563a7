import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseProjectFile } from '../../../server/src/workspace/project-file';
import { ALPACA } from '../workspace/alpaca';
import { oomlint } from './oomlint';

const LOG = `[2026-03-01 10:00:00,000] [INFO] [axolotl.utils.data.utils] [PID:1] [RANK:0] min_input_len: 31
[2026-03-01 10:00:00,001] [INFO] [axolotl.utils.data.utils] [PID:1] [RANK:0] max_input_len: 1187
Torch: 2.6.0+cu124. CUDA: 8.0
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of 79.14 GiB of which 1.02 GiB is free. Process 4711 has 12.50 GiB memory in use. Including non-PyTorch memory, this process has 65.60 GiB memory in use. Of the allocated memory 62.10 GiB is allocated by PyTorch, and 2.25 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
`;

describe('oomlint measured --learn', () => {
  let folder: string;
  const before = process.cwd();
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'oomlint-learn-'));
    await mkdir(path.join(folder, 'runs'));
    await writeFile(path.join(folder, 'train.yaml'), ALPACA);
    await writeFile(path.join(folder, 'runs', 'train.log'), LOG);
    await writeFile(
      path.join(folder, 'oomlint.yaml'),
      '# ours\ntargets:\n  gpu: A100-SXM4-80GB\n  gpus: 1\n',
    );
    process.chdir(folder);
  });
  afterEach(async () => {
    process.chdir(before);
    await rm(folder, { recursive: true });
  });

  const run = (...args: string[]) => oomlint(args, folder);
  const project = () => readFile('oomlint.yaml', 'utf8');

  it('writes what stands in the log, with what it holds for', async () => {
    const { code, out, err } = await run('measured', 'runs/train.log', 'train.yaml', '--learn');
    assert.equal(code, 0, err);
    assert.match(out, /^longest sample: 1187 tokens \(Axolotl, line 2\)$/m);
    const text = await project();
    assert.match(text, /^# ours\ntargets:\n {2}gpu: A100-SXM4-80GB\n {2}gpus: 1\nmeasured:\n/);
    const { measured, problems } = parseProjectFile('file:///x/oomlint.yaml', text);
    assert.deepEqual(problems, [], text);
    assert.deepEqual(
      measured.map(({ source, match, when, facts }) => [
        source,
        match,
        Object.keys(when),
        facts.map(({ field, value }) => [field, value]),
      ]),
      [
        [
          'runs/train.log',
          ['/train.yaml'],
          ['batch.sequence', 'model.id'],
          [
            ['batch.varied', true],
            ['batch.longestSequence', 1187],
          ],
        ],
        [
          'runs/train.log',
          ['/train.yaml'],
          ['hardware.gpu'],
          [
            ['hardware.gpuMemory', Math.round(79.14 * 2 ** 30)],
            ['hardware.otherProcesses', 12.5 * 2 ** 30],
          ],
        ],
        [
          'runs/train.log',
          ['/train.yaml'],
          [
            'hardware.gpu',
            'hardware.gpus',
            'hardware.nodes',
            'parallel.data',
            'parallel.tensor',
            'parallel.pipeline',
            'parallel.context',
            'parallel.expert',
          ],
          [['hardware.outsideAllocator', Math.round(1.25 * 2 ** 30)]],
        ],
        ['runs/train.log', ['/train.yaml'], [], [['version.torch', '2.6.0']]],
      ].map(([source, match, when, facts]) => [
        source,
        match,
        (when as string[]).sort((a, b) => text.indexOf(` ${a}:`) - text.indexOf(` ${b}:`)),
        facts,
      ]),
      text,
    );
    assert.deepEqual(
      [...(measured[0]?.keys ?? [])],
      [['datasets', '[{"path":"tatsu-lab/alpaca","type":"alpaca"}]']],
    );
  });

  it('changes the estimate of that run', async () => {
    const peak = async () =>
      JSON.parse((await run('check', 'train.yaml', '--format', 'json')).out).files[0].runs[0];
    const first = await peak();
    await run('measured', 'runs/train.log', 'train.yaml', '--learn');
    const second = await peak();
    assert.ok(second.peak.allocatedBytes < first.peak.allocatedBytes);
  });

  it('writes the same once, and only what was chosen', async () => {
    await run('measured', 'runs/train.log', 'train.yaml', '--learn', 'version.torch');
    const once = await project();
    assert.equal(once.match(/- source/g)?.length, 1);
    await run('measured', 'runs/train.log', 'train.yaml', '--learn', 'version.torch');
    assert.equal(await project(), once);
    await run('measured', 'runs/train.log', 'train.yaml', '--learn');
    const all = await project();
    assert.equal(all.match(/- source/g)?.length, 4, all);
    await run('measured', 'runs/train.log', 'train.yaml', '--learn');
    assert.equal(await project(), all);
  });

  it('refuses what was not measured, and a place that is not safe', async () => {
    const { code, err } = await run(
      'measured',
      'runs/train.log',
      'train.yaml',
      '--learn',
      'batch.meanSequence',
    );
    assert.equal(code, 2);
    assert.match(err, /did not measure batch\.meanSequence/);
    await writeFile('oomlint.yaml', `${await project()}measured: []\n`);
    const unsafe = await run('measured', 'runs/train.log', 'train.yaml', '--learn');
    assert.equal(unsafe.code, 2);
    assert.match(unsafe.err, /nothing was written/);
  });

  it('learns no lengths of batches that are padded whole, nor what the config states', async () => {
    await writeFile('train.yaml', `${ALPACA}pad_to_sequence_len: true\n`);
    const { out } = await run('measured', 'runs/train.log', 'train.yaml', '--learn');
    assert.doesNotMatch(out, /sample/);
    await writeFile('oomlint.yaml', 'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 1\n');
    await writeFile('train.yaml', `# oomlint: version.torch=2.5\n${ALPACA}`);
    assert.doesNotMatch((await run('measured', 'runs/train.log', 'train.yaml', '--learn')).out, /torch/);
  });
});
