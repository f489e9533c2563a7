import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { oomlint } from './oomlint';

/** Names its DeepSpeed file as seen from the root of the repository, three folders up. */
const LAUNCH =
  'deepspeed --num_gpus 8 train.py --deepspeed configs/zero3.json --model_name_or_path NousResearch/Llama-3.2-1B --per_device_train_batch_size 1 --model_max_length 2048 --bf16 True --output_dir out\n';
const SCRIPT = 'examples/chat/scripts/train.sh';
const zero = (stage: number) =>
  JSON.stringify({ zero_optimization: { stage }, train_micro_batch_size_per_gpu: 'auto' });

describe('projects of a command', function () {
  this.timeout(60_000);
  let folder = '';
  const put = async (name: string, text: string) => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  };
  const project = async (name: string, { config = true, git = true } = {}) => {
    await put(`${name}/${SCRIPT}`, LAUNCH);
    if (config) await put(`${name}/configs/zero3.json`, zero(3));
    if (git) await put(`${name}/.git/HEAD`, 'ref: refs/heads/main\n');
  };
  const check = async (cwd: string, ...paths: string[]) => {
    await mkdir(path.join(folder, cwd), { recursive: true });
    const { out } = await oomlint(['check', '--format', 'concise', ...paths], path.join(folder, cwd));
    return out.split('\n').filter((line) => line.includes('missing-file'));
  };

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-projects-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('finds what a script names from the root of its repository, wherever the command is started', async () => {
    await project('a');
    await put('empty/.keep', '');
    assert.deepEqual(await check('empty', '../a'), []);
    assert.deepEqual(await check('empty', `../a/${SCRIPT}`), []);
    assert.deepEqual(await check('a/examples/chat', '.'), []);
    assert.deepEqual(await check('a/examples', 'chat/scripts/train.sh'), []);
  });

  it('takes a folder without a repository for a project where it is named', async () => {
    await project('a', { git: false });
    assert.deepEqual(await check('empty', '../a'), []);
  });

  it('looks for what one project names in no other, but in the one that the command is started in', async () => {
    await project('a');
    await project('b', { config: false });
    await put('b/configs/zero2.json', zero(2));
    assert.equal((await check('empty', '../a', '../b')).length, 1);
    assert.deepEqual(await check('a', '.', '../b'), []);
  });
});
