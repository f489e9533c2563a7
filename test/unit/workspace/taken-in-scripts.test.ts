import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const D = '$';
const TRAIN = `torchrun --nproc_per_node ${D}{GPUS:-4} run_clm.py \\
  --model_name_or_path "${D}MODEL" --per_device_train_batch_size ${D}BATCH --block_size ${D}{LENGTH:-512} \\
  --bf16 --do_train --learning_rate 1e-5 --output_dir o\n`;
const SETTINGS = 'MODEL=gpt2-xl\nexport BATCH=8\n';

type Texts = Readonly<Record<string, string>>;

async function valuesOf(files: Texts, path = 'run.sh') {
  const { workspace } = smallWorkspace({ 'oomlint.yaml': 'targets: {gpu: A100-SXM4-80GB}\n', ...files });
  const analysis = await workspace.analyze(`file:///repo/${path}`);
  const values = analysis?.resolved.values ?? {};
  return (['model.id', 'batch.micro', 'batch.sequence', 'hardware.gpus'] as const).map(
    (field) => values[field],
  );
}

describe('a file that a script takes in', () => {
  it('sets what the script goes on with', async () => {
    for (const line of [
      'source settings.sh',
      '. ./settings.sh',
      `source "${D}(dirname "${D}0")/settings.sh"`,
      `DIR="${D}(cd "${D}(dirname "${D}{BASH_SOURCE[0]}")" && pwd)"\n. "${D}DIR/settings.sh"`,
      'if [ -f settings.sh ]; then source settings.sh; fi',
      'BATCH=1\nset -a\nsource settings.sh\nset +a',
      'load() { source settings.sh; }\nload',
    ])
      assert.deepEqual(
        await valuesOf({ 'run.sh': `${line}\n${TRAIN}`, 'settings.sh': SETTINGS }),
        ['gpt2-xl', 8, 512, 4],
        line,
      );
  });

  it('may take in others, and ends with a return, not the script', async () => {
    const files = {
      'run.sh': `source env/all.sh\n${TRAIN}`,
      'env/all.sh': 'source env/settings.sh\nreturn 0\nMODEL=gpt2\n',
      'env/settings.sh': SETTINGS,
    };
    assert.deepEqual(await valuesOf(files), ['gpt2-xl', 8, 512, 4]);
  });

  it('takes in others from the folder where the shell works, before its own', async () => {
    for (const path of ['settings.sh', './settings.sh']) {
      const files = {
        'run.sh': `source env/all.sh\n${TRAIN}`,
        'env/all.sh': `source ${path}\n`,
        'settings.sh': SETTINGS,
      };
      assert.deepEqual(await valuesOf(files), ['gpt2-xl', 8, 512, 4], path);
      const both = { ...files, 'env/settings.sh': 'MODEL=gpt2\nBATCH=1\n' };
      assert.deepEqual(await valuesOf(both), ['gpt2-xl', 8, 512, 4], path);
      const { 'settings.sh': _, ...beside } = both;
      assert.deepEqual(await valuesOf(beside), ['gpt2', 1, 512, 4], path);
    }
  });

  it('leaves what it starts by itself to it, as does one that is run', async () => {
    for (const line of ['source train.sh', 'bash train.sh']) {
      const { workspace } = smallWorkspace({
        'run.sh': `${line}\n`,
        'train.sh': `MODEL=gpt2\nBATCH=1\n${TRAIN}`,
      });
      assert.equal((await workspace.analyze('file:///repo/run.sh'))?.resolved, undefined, line);
      assert.ok((await workspace.analyze('file:///repo/train.sh'))?.resolved, line);
    }
  });

  it('gets arguments of its own, or those of the script', async () => {
    const settings = `MODEL=${D}1\nBATCH=${D}2\n`;
    const own = `source settings.sh gpt2-xl 8\nLENGTH=${D}{1:-256}\n${TRAIN}`;
    assert.deepEqual(await valuesOf({ 'run.sh': own, 'settings.sh': settings }), ['gpt2-xl', 8, 256, 4]);
    const given = `set -- gpt2-xl 8\nsource settings.sh\n${TRAIN}`;
    assert.deepEqual(await valuesOf({ 'run.sh': given, 'settings.sh': settings }), ['gpt2-xl', 8, 512, 4]);
  });

  it('holds functions for the script, which are called with arguments', async () => {
    const library = `train() { MODEL=${D}1; BATCH=${D}2; ${TRAIN.trimEnd()}; }\nunused() { MODEL=gpt2; BATCH=1; ${TRAIN.trimEnd()}; }\n`;
    const files = { 'run.sh': 'source library.sh\ntrain gpt2-xl 8\n', 'library.sh': library };
    assert.deepEqual(await valuesOf(files), ['gpt2-xl', 8, 512, 4]);
  });

  it('is taken in by a script that is run, too', async () => {
    const files = {
      'run.sh': 'export GPUS=2\nbash scripts/train.sh\n',
      'scripts/train.sh': `source "${D}(dirname "${D}0")/settings.sh"\n${TRAIN}`,
      'scripts/settings.sh': SETTINGS,
    };
    assert.deepEqual(await valuesOf(files), ['gpt2-xl', 8, 512, 2]);
  });

  it('leaves open what it may have set where it is not here, or takes itself in', async () => {
    const [, batch] = await valuesOf({ 'run.sh': `source settings.sh\n${TRAIN}` });
    assert.equal(batch, undefined);
    const loop = {
      'run.sh': `source settings.sh\n${TRAIN}`,
      'settings.sh': `${SETTINGS}source settings.sh\n`,
    };
    assert.deepEqual(await valuesOf(loop), ['gpt2-xl', 8, 512, 4]);
  });
});
