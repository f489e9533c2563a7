import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { oomlint } from './oomlint';

const RECIPE = `# oomlint: gpu=H100 gpus=8
model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 64
max_length: 8192
bf16: true
dataset_name: d
learning_rate: 1.0e-5
output_dir: o
deepspeed: ../out/ds.json
`;
const ZERO =
  '{"zero_optimization": {"stage": 0}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 64}\n';

describe('a fix in the terminal that changes a file outside of the folder', function () {
  this.timeout(60_000);
  let root = '';

  beforeEach(async () => {
    root = await realpath(await mkdtemp(path.join(tmpdir(), 'oomlint-outside-')));
    for (const folder of ['in', 'out']) await mkdir(path.join(root, folder));
    await writeFile(path.join(root, 'in', 'sft.yaml'), RECIPE);
    await writeFile(path.join(root, 'out', 'ds.json'), ZERO);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const files = async () => [
    await readFile(path.join(root, 'in', 'sft.yaml'), 'utf8'),
    await readFile(path.join(root, 'out', 'ds.json'), 'utf8'),
  ];

  /** Number of the first fix that changes the file outside, from 1. */
  async function outside(cwd: string): Promise<number> {
    const { out } = await oomlint(['fix', path.join(root, 'in', 'sft.yaml'), '--json'], cwd);
    const fixes = JSON.parse(out).fixes as readonly { edits: readonly { file: string }[] }[];
    const index = fixes.findIndex(({ edits }) => edits.some(({ file }) => file.endsWith('ds.json')));
    assert.ok(index >= 0);
    return index + 1;
  }

  it('names the file, and writes nothing', async () => {
    const cwd = path.join(root, 'in');
    const other = path.join(root, 'out', 'ds.json');
    const listed = await oomlint(['fix', 'sft.yaml'], cwd);
    assert.ok(listed.out.includes(`${other}, outside of ${cwd}`), listed.out);
    const { code, out, err } = await oomlint(['fix', 'sft.yaml', '--take', String(await outside(cwd))], cwd);
    assert.deepEqual([code, out], [2, '']);
    assert.ok(err.includes(other) && err.includes(cwd), err);
    assert.deepEqual(await files(), [RECIPE, ZERO]);
    // A fix of the file alone is written from there, too.
    const own = await oomlint(['fix', 'sft.yaml', '--json'], cwd);
    const fixes = JSON.parse(own.out).fixes as readonly { edits: readonly { file: string }[] }[];
    const alone = fixes.findIndex(({ edits }) => edits.every(({ file }) => file === 'sft.yaml'));
    if (alone >= 0)
      assert.equal((await oomlint(['fix', 'sft.yaml', '--take', String(alone + 1)], cwd)).code, 0);
  });

  it('is written from a folder that holds both, and within one repository', async () => {
    const listed = await oomlint(['fix', 'in/sft.yaml'], root);
    assert.doesNotMatch(listed.out, /outside of/);
    await mkdir(path.join(root, '.git'));
    const cwd = path.join(root, 'in');
    assert.doesNotMatch((await oomlint(['fix', 'sft.yaml'], cwd)).out, /outside of/);
    assert.equal((await oomlint(['fix', 'sft.yaml', '--take', String(await outside(cwd))], cwd)).code, 0);
    assert.notEqual((await files())[1], ZERO);
  });
});
