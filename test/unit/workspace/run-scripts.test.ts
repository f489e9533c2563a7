import assert from 'node:assert/strict';
import { sourcesOf } from '../../../server/src/advice/run-sources';
import { writeChanges } from '../../../server/src/advice/write/write';
import { ROOT, smallWorkspace } from './small-workspace';

const D = '$';
const TARGET = { 'oomlint.yaml': 'targets: {gpu: A100-SXM4-80GB}\n' };

/** A launch of transformers with three words that variables hold. */
const TRAIN = `torchrun --nproc_per_node 4 run_clm.py \\
  --model_name_or_path "${D}MODEL" --per_device_train_batch_size ${D}BATCH --block_size ${D}{LENGTH:-512} \\
  --bf16 --do_train --learning_rate 1e-5 --output_dir o`;
const INNER = `MODEL=${D}{1:-gpt2}\nBATCH=${D}{2:-2}\nshift 2\n${TRAIN} "${D}@"\n`;

type Texts = Readonly<Record<string, string>>;

const world = (files: Texts) => smallWorkspace({ ...TARGET, ...files });

const look = (files: Texts, path = 'run.sh') => world(files).workspace.analyze(`${ROOT}/${path}`);

/** Model, samples and tokens of a run; undefined where the file is none. */
async function valuesOf(files: Texts, path = 'run.sh') {
  const analysis = await look(files, path);
  const {
    'model.id': model,
    'batch.micro': batch,
    'batch.sequence': length,
  } = analysis?.resolved.values ?? {};
  return analysis && [model, batch, length];
}

describe('a script that runs another script of the shell', () => {
  it('starts what that one starts with these arguments', async () => {
    for (const run of [
      'bash scripts/train.sh gpt2-xl 8',
      './scripts/train.sh gpt2-xl 8',
      'bash -ex ./scripts/train.sh "gpt2-xl" 8',
      `SIZE=xl\nBATCH=8\nbash scripts/train.sh gpt2-${D}SIZE ${D}BATCH`,
      `DIR="${D}(cd "${D}(dirname "${D}{BASH_SOURCE[0]}")" && pwd)"\nbash "${D}DIR/scripts/train.sh" gpt2-xl 8`,
      `cd "${D}(dirname "${D}0")/scripts"\nbash train.sh gpt2-xl 8`,
      'cd scripts && bash train.sh gpt2-xl 8',
      'nohup bash scripts/train.sh gpt2-xl 8 > log.txt 2>&1 &',
      'srun -N 1 bash scripts/train.sh gpt2-xl 8',
      'for batch in 8 16; do bash scripts/train.sh gpt2-xl $batch; done',
      `ROOT=${D}{PROJECT_ROOT:-/workspace/project}\nbash ${D}ROOT/scripts/train.sh gpt2-xl 8`,
      'bash /home/somebody/project/scripts/train.sh gpt2-xl 8',
      'set -- gpt2-xl 8\nbash scripts/train.sh "$@"',
    ])
      assert.deepEqual(
        await valuesOf({ 'run.sh': `${run}\n`, 'scripts/train.sh': INNER }),
        ['gpt2-xl', 8, 512],
        run,
      );
  });

  it('gives it the variables that it exports, and no others', async () => {
    const train = `MODEL=${D}{MODEL:-gpt2-large}\nBATCH=${D}{BATCH:-2}\n${TRAIN}\n`;
    for (const [run, expected] of [
      ['BATCH=8 LENGTH=256 bash train.sh', ['gpt2-large', 8, 256]],
      ['export BATCH=8\nexport LENGTH=256\nbash train.sh', ['gpt2-large', 8, 256]],
      ['env BATCH=8 bash train.sh', ['gpt2-large', 8, 512]],
      ['sbatch --export=ALL,BATCH=4,MODEL=gpt2-xl train.sh', ['gpt2-xl', 4, 512]],
      ['export BATCH=8\nsbatch --export=LENGTH=128 train.sh', ['gpt2-large', 2, 128]],
      ['BATCH=8\nLENGTH=256 bash train.sh', ['gpt2-large', 2, 256]],
    ] as const)
      assert.deepEqual(await valuesOf({ 'run.sh': `${run}\n`, 'train.sh': train }), expected, run);
  });

  it('gives it words that its loop over options reads', async () => {
    const loop = `while [[ ${D}# -gt 0 ]]; do case "${D}1" in --model) MODEL="${D}2"; shift 2;; --batch) BATCH="${D}2"; shift 2;; *) echo unknown; exit 1;; esac; done`;
    const options = `while getopts "m:b:v" opt; do case ${D}opt in m) MODEL=${D}OPTARG;; b) BATCH=${D}OPTARG;; v) set -x;; esac; done`;
    for (const [read, words] of [
      [loop, '--model gpt2-xl --batch 8'],
      [loop, '--batch 8 --model gpt2-xl "$@"'],
      [options, '-m gpt2-xl -b 8'],
      [options, '-v -b8 -mgpt2-xl'],
      [options, '-vb 8 -m gpt2-xl'],
    ] as const)
      assert.deepEqual(
        await valuesOf({
          'run.sh': `bash train.sh ${words}\n`,
          'train.sh': `MODEL=gpt2\nBATCH=2\n${read}\n${TRAIN}\n`,
        }),
        ['gpt2-xl', 8, 512],
        words,
      );
  });

  it('hands words on to the launch', async () => {
    for (const run of [
      'bash train.sh gpt2-xl 8 --gradient_checkpointing --block_size 128',
      'bash train.sh gpt2-xl 8 --gradient_checkpointing --block_size 128 "$@"',
    ]) {
      const analysis = await look({ 'run.sh': `${run}\n`, 'train.sh': INNER });
      assert.deepEqual(await valuesOf({ 'run.sh': `${run}\n`, 'train.sh': INNER }), ['gpt2-xl', 8, 128], run);
      assert.equal(analysis?.resolved.values['activations.checkpointing'], 'full', run);
      const { location, kind } = analysis?.resolved.origins['batch.sequence'] ?? {};
      assert.deepEqual([kind, location?.uri, location?.range.start.line], ['file', `${ROOT}/run.sh`, 0]);
    }
  });

  it('is followed through four scripts, and never in a circle', async () => {
    const through = (next: string) => `bash ${next} "${D}@"\n`;
    const files = {
      'run.sh': 'bash b.sh gpt2-xl 8\n',
      'b.sh': through('c.sh'),
      'c.sh': through('d.sh'),
      'd.sh': through('train.sh'),
      'train.sh': INNER,
    };
    assert.deepEqual(await valuesOf(files), ['gpt2-xl', 8, 512]);
    assert.equal(await look({ ...files, 'd.sh': through('e.sh'), 'e.sh': through('train.sh') }), undefined);
    assert.equal(
      await look({ 'run.sh': 'bash b.sh 1 a.sh\n', 'b.sh': 'bash run.sh 2\nbash b.sh\n' }),
      undefined,
    );
  });

  it('leaves what it does not know unknown', async () => {
    const files = { 'run.sh': `bash train.sh ${D}MODEL ${D}(nvidia-smi | wc -l)\n`, 'train.sh': INNER };
    assert.equal(await look(files), undefined);
    const analysis = await look({ ...files, 'run.sh': `bash train.sh gpt2-xl "${D}(cat batch.txt)"\n` });
    assert.equal(analysis?.resolved.values['model.id'], 'gpt2-xl');
    assert.equal(analysis?.resolved.values['batch.micro'], undefined);
    assert.equal(analysis?.estimate, undefined);
    const many = await look({ ...files, 'run.sh': `bash train.sh gpt2-xl 8 ${D}EXTRA_ARGS\n` });
    assert.deepEqual(
      many?.unread?.map(({ kind, text }) => [kind, text]),
      [['words', '$EXTRA_ARGS']],
    );
  });

  it('stays as it is where the other one is not here, or a condition decides which it is', async () => {
    const files = { 'scripts/train.sh': INNER, 'b/scripts/train.sh': INNER, 'b/run.sh': '' };
    for (const run of [
      'bash missing.sh gpt2-xl 8',
      `bash ${D}ROOT/train.sh gpt2-xl 8`,
      `cd ${D}WORK\nbash train.sh gpt2-xl 8`,
      `bash /elsewhere/train.sh gpt2-xl 8`,
      `ssh host "bash scripts/train.sh gpt2-xl 8"`,
      `if [ -n "${D}BIG" ]; then S=scripts/train.sh; else S=scripts/eval.sh; fi\nbash ${D}S gpt2-xl 8`,
    ])
      assert.equal(await look({ ...files, 'run.sh': `${run}\n` }), undefined, run);
    // Two scripts end so.
    assert.equal(
      await look({ ...files, 'b/run.sh': 'bash /somewhere/scripts/train.sh gpt2-xl 8\n' }, 'b/run.sh'),
      undefined,
    );
  });

  it('is none where that one trains nothing', async () => {
    const setup = 'pip install torch\npython -m pip install x\nwget -O model.bin https://example.org\n';
    assert.equal(await look({ 'run.sh': 'bash setup.sh 3.11\n', 'setup.sh': setup }), undefined);
    const run = `bash setup.sh\nMODEL=gpt2\nBATCH=8\n${TRAIN}\n`;
    assert.deepEqual(await valuesOf({ 'run.sh': run, 'setup.sh': setup }), ['gpt2', 8, 512]);
  });

  it('is none of its own where it starts what that one starts by itself', async () => {
    for (const run of ['bash train.sh', 'bash train.sh "$@"', 'export WANDB_PROJECT=x\nbash train.sh gpt2 2'])
      assert.equal(await look({ 'run.sh': `${run}\n`, 'train.sh': INNER }), undefined, run);
    // The others are looked at.
    const both = 'bash train.sh\nbash train.sh gpt2-xl 8\n';
    assert.deepEqual(await valuesOf({ 'run.sh': both, 'train.sh': INNER }), ['gpt2-xl', 8, 512]);
    assert.deepEqual(await valuesOf({ 'run.sh': both, 'train.sh': INNER }, 'train.sh'), ['gpt2', 2, 512]);
  });
});

describe('what is reported of a script that runs another', () => {
  const big = 'bash train.sh gpt2-xl 512 --block_size 1024\n';

  it('stands in its own text', async () => {
    const analysis = await look({ 'run.sh': `# a\n${big}`, 'train.sh': `#\n#\n#\n#\n${INNER}` });
    assert.equal(analysis?.estimate?.verdict, 'exceeds');
    for (const { range, code } of analysis.problems) {
      assert.equal(range.uri, undefined, code);
      assert.equal(range.start.line, 1, code);
    }
    assert.deepEqual(analysis.files.slice(0, 2), [`${ROOT}/run.sh`, `${ROOT}/train.sh`]);
  });

  it('has each of several runs on the line of its own', async () => {
    const analysis = await look({ 'run.sh': `bash train.sh gpt2-xl 4\n${big}`, 'train.sh': INNER });
    assert.equal(analysis?.resolved.values['batch.micro'], 4);
    assert.deepEqual(
      analysis.problems.map(({ code, range }) => [code, range.start.line]),
      [['another-launch', 1]],
    );
  });

  it('changes with that one', async () => {
    const { host, workspace } = world({ 'run.sh': 'bash train.sh gpt2-xl 8\n', 'train.sh': INNER });
    const lengthOf = async () =>
      (await workspace.analyze(`${ROOT}/run.sh`))?.resolved.values['batch.sequence'];
    assert.equal(await lengthOf(), 512);
    host.write(`${ROOT}/train.sh`, INNER.replace('512', '128'));
    workspace.invalidate(`${ROOT}/train.sh`);
    assert.equal(await lengthOf(), 128);
  });

  it('leaves the verdict open where a condition in that one decides it', async () => {
    const train = `MODEL=${D}1\nBATCH=${D}2\nif [ "${D}MODE" = long ]; then LENGTH=1024; else LENGTH=64; fi\n${TRAIN}\n`;
    const open = await look({ 'run.sh': 'bash train.sh gpt2-xl 64\n', 'train.sh': train });
    assert.equal(open?.estimate?.verdict, 'unknown');
    const [unread] = open?.unread ?? [];
    assert.deepEqual([unread?.kind, unread?.location.uri], ['branch', `${ROOT}/train.sh`]);
    const settled = await look({ 'run.sh': 'MODE=long bash train.sh gpt2-xl 64\n', 'train.sh': train });
    assert.equal(settled?.estimate?.verdict, 'exceeds');
  });

  it('takes the options of Slurm from the script that is submitted', async () => {
    const job = (gpus: number) =>
      `#!/bin/bash\n#SBATCH --gres=gpu:${gpus}\nMODEL=${D}1\nBATCH=${D}2\n${TRAIN.replace('--nproc_per_node 4', `--nproc_per_node ${D}SLURM_GPUS_ON_NODE`)}\n`;
    const files = { 'a.slurm': job(2), 'b.slurm': job(8) };
    const gpusOf = async (run: string) =>
      (await look({ ...files, 'run.sh': run }))?.resolved.values['hardware.gpus'];
    assert.equal(await gpusOf('sbatch a.slurm gpt2-xl 8\nsbatch b.slurm gpt2-xl 8\n'), 2);
    assert.equal(await gpusOf('sbatch b.slurm gpt2-xl 8\nsbatch a.slurm gpt2-xl 8\n'), 8);
    assert.equal(await gpusOf('sbatch --gres=gpu:4 a.slurm gpt2-xl 8\n'), 4);
  });
});

describe('changes of a run that two scripts make', () => {
  const files = { 'run.sh': 'bash train.sh gpt2-xl 8\n', 'train.sh': `#\n#\n${INNER}` };

  async function written(changes: {
    'batch.micro'?: number;
    'batch.sequence'?: number;
    'activations.checkpointing'?: 'full';
  }) {
    const { workspace, analyze } = world(files);
    const analysis = await analyze('run.sh');
    const { run, origins } = analysis.resolved;
    assert.ok(run);
    return writeChanges({
      files: await sourcesOf(analysis, workspace),
      run,
      origins,
      changes,
      fields: Object.keys(changes) as (keyof typeof changes)[],
    })?.map(({ uri, before, after }) => [uri.slice(ROOT.length + 1), changed(before, after)]);
  }

  const changed = (before: string, after: string) => {
    const old = before.split('\n');
    return after.split('\n').filter((line, at) => line !== old[at]);
  };

  it('stand in the file that has the value', async () => {
    assert.deepEqual(await written({ 'batch.micro': 4 }), [['run.sh', ['bash train.sh gpt2-xl 4']]]);
    const length = await written({ 'batch.sequence': 128 });
    assert.deepEqual(
      length?.map(([file]) => file),
      ['train.sh'],
    );
    assert.match(String(length?.[0]?.[1]), /LENGTH:-128/);
  });

  it('are none where neither has words for them', async () => {
    assert.equal(await written({ 'activations.checkpointing': 'full' }), undefined);
  });
});

describe('a script with its arguments', () => {
  it('is what it is with these in their places', async () => {
    for (const [model, batch, length] of [
      ['gpt2', 2, 64],
      ['gpt2-xl', 8, 1024],
      ['Qwen/Qwen2.5-0.5B', 1, 4096],
      ['Qwen/Qwen2.5-7B', 16, 256],
    ] as const) {
      const put = INNER.replace(`${D}{1:-gpt2}`, model)
        .replace(`${D}{2:-2}`, String(batch))
        .replace('shift 2\n', '')
        .replace(`${D}{LENGTH:-512}`, String(length))
        .replace(` "${D}@"`, '');
      const alone = await look({ 'run.sh': put });
      const outer = await look({
        'run.sh': `LENGTH=${length} bash train.sh ${model} ${batch}\n`,
        'train.sh': INNER,
      });
      assert.deepEqual(outer?.resolved.values, alone?.resolved.values);
      assert.deepEqual(outer?.estimate?.peak, alone?.estimate?.peak);
      assert.equal(outer?.estimate?.verdict, alone?.estimate?.verdict);
    }
  });
});
