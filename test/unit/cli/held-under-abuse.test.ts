import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { oomlint } from './oomlint';

const CONFIG = 'base_model: gpt2\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: []\n';
const PIPELINE =
  'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 8 --bf16 --vocab-size 50000 --pipeline-model-parallel-size 8 --decoder-first-pipeline-num-layers 4\n';

describe('the command line under odd arguments and files', function () {
  this.timeout(60_000);
  let folder = '';

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-odd-'));
    await writeFile(path.join(folder, 'a.yaml'), CONFIG);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** One line that states what is wrong, no stack, and the code of what could not run. */
  async function refused(args: readonly string[]): Promise<void> {
    const { code, out, err } = await oomlint(args, folder);
    assert.deepEqual([code, out], [2, ''], `${args.join(' ')}: ${out}${err}`);
    assert.match(err, /^oomlint: [^\n]+\n$/, args.join(' '));
    assert.doesNotMatch(err, /\bat .+:\d+|undefined|\[object/);
  }

  it('refuse counts of GPUs that cannot be meant', async () => {
    for (const gpus of ['0', '-1', '1.5', 'NaN', '1e12', '1000000000000', '', 'eight'])
      await refused(['estimate', 'a.yaml', '--gpu', 'H100', `--gpus=${gpus}`]);
    for (const gpu of ['99999xH100', '0xH100', '-8xH100', 'H100:0', 'x', '8x'])
      await refused(['estimate', 'a.yaml', `--gpu=${gpu}`]);
  });

  it('refuse what --set does not understand', async () => {
    for (const set of [
      'nonsense',
      '=',
      'a=b',
      'batch.micro=',
      'batch.micro=x',
      'batch.micro=-1',
      '__proto__=1',
    ])
      await refused(['estimate', 'a.yaml', '--set', set]);
  });

  it('refuse files that are missing, folders, and what is no text', async () => {
    await mkdir(path.join(folder, 'd'));
    await refused(['estimate', 'missing.yaml']);
    await refused(['estimate', 'd']);
    const odd: readonly (readonly [string, Buffer])[] = [
      ['nul.yaml', Buffer.from('a: \0b\n'.repeat(50))],
      ['utf16.yaml', Buffer.from(`\ufeff${CONFIG}`, 'utf16le')],
      ['bytes.yaml', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 197 + 13) % 256))],
    ];
    for (const [name, bytes] of odd) {
      await writeFile(path.join(folder, name), bytes);
      const { code, out, err } = await oomlint(['estimate', name, '--gpu', 'H100', '--gpus', '1'], folder);
      assert.ok(code === 2 || code === 3, `${name}: ${code} ${out}`);
      assert.doesNotMatch(out + err, /\bat .+\.ts:\d+/);
    }
  });

  it('number stages without layers as any other', async () => {
    await writeFile(path.join(folder, 'pipeline.sh'), PIPELINE);
    const { out } = await oomlint(['estimate', 'pipeline.sh', '--gpu', 'H100', '--format', 'json'], folder);
    const ranks = JSON.parse(out).runs[0].ranks as readonly { first: number; last: number }[];
    assert.deepEqual(
      ranks.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i)),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
  });
});
