import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { launchesOf } from '../../../server/src/dialects/launch/launch';
import { launcherOf } from '../../../server/src/dialects/launch/launcher';
import { launchScript } from '../../../server/src/dialects/launch-script';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const launchOf = (command: string) => {
  const { root } = parseConfig('file:///w/run.sh', `${command}\n`);
  const [launch] = launchesOf(root).filter(({ program }) => program[0] !== 'cd');
  assert.ok(root && launch, command);
  return { launch, score: launchScript.detect(root, 'file:///w/run.sh') };
};

/** What starts a script with words before it: as many ways as there are to say the same. */
const BEFORE = `uv run
uv run --script
uv run --with trl==0.12.0 --with "peft>=0.14,<0.15" --python 3.12
uv run --no-sync --extra train --group dev --
uv run python
uv run --with trl python
hf jobs uv run --flavor a100-large --timeout 2h --secrets HF_TOKEN
hf jobs run --flavor a100-large pytorch/pytorch:2.6.0 python
pipx run
pdm run
pdm run python
hatch run
hatch run python
poetry run python
pixi run python
conda run -n env --no-capture-output python
micromamba run -n env python
pipenv run python
rye run python
singularity exec --nv image.sif python
apptainer exec --nv image.sif python
docker run --gpus all -v $PWD:/w image python
enroot start image python
srun --container-image=image python
nsys profile -o out -t cuda python
numactl --cpunodebind=0 python
env A=b python
time python
nohup python
stdbuf -oL python
xvfb-run -a python
catchsegv python
taskset -c 0-3 python`.split('\n');

describe('what runs a script in an environment of its own', () => {
  it('starts what stands behind it', () => {
    for (const before of BEFORE) {
      const { launch, score } = launchOf(`${before} train.py --a 1 b`);
      assert.deepEqual(
        [launch.program, launch.script, launch.arguments.entries.map(({ key }) => key)],
        [['python'], 'train.py', ['a']],
        before,
      );
      assert.ok(score > 0, before);
      const { markers } = launchScript;
      assert.ok(markers.test(`${before} train.py --a 1 b\n`), before);
    }
    const { launch } = launchOf('uv run -m package.train --a 1');
    assert.deepEqual([launch.program, launch.script], [['python'], 'package.train']);
    for (const before of ['uv run', 'uv run --with x', 'poetry run', 'pdm run']) {
      const { launch } = launchOf(`${before} torchrun --nproc_per_node 4 train.py`);
      assert.deepEqual([launch.program, launch.launcher.entries.length], [['torchrun'], 1], before);
      const accelerated = launchOf(`${before} accelerate launch --num_processes 4 train.py`).launch;
      assert.deepEqual(accelerated.program, ['accelerate', 'launch'], before);
    }
    assert.deepEqual(launchOf('uvx --from trl trl sft --model_name_or_path x').launch.program, [
      'trl',
      'sft',
    ]);
    assert.deepEqual(launchOf('uvx --from axolotl==0.12.0 axolotl train a.yaml').launch.program, [
      'axolotl',
      'train',
      'a.yaml',
    ]);
    assert.deepEqual(launchOf('uv sync').launch.program, ['uv', 'sync']);
  });

  it('is looked through where it runs the script in its own process', () => {
    const HOSTS = `coverage run
coverage run --parallel-mode --source=src,tests/a.py
coverage run --data-file out/.coverage -p --omit a.py
python -m coverage run --data-file=x --source=/w --parallel-mode
python3 -X dev -m coverage run -a
uv run coverage run -p
uv run python -m pdb
uv run -m pdb
python -m pdb -c continue
python -m ipdb
ipdb3
python -m pudb
python -m debugpy --listen 0.0.0.0:5678 --wait-for-client
debugpy --listen 5678 --configure-subProcess false
scalene --cpu --gpu --outfile a.py
scalene run --cpu-only ---
python -m scalene
kernprof -l -v -o a.py
python -m line_profiler -l
viztracer -o r.json --
python -m viztracer --tracer_entries 100000
memray run --native -o m.bin
python -m memray run -f
python -m cProfile -s cumtime -o a.prof
python -m trace --count -C out
pyinstrument -r html
python -m pyinstrument -o a.html
python -m memory_profiler
mprof run --interval 1
mprof run -C python
fil-profile run
python -m filprofiler run
python -m torch.utils.bottleneck
py-spy record -o p.svg -- python
python -m coverage run -m pdb -c c
ipython --
python -m coverage run $COVERAGE_ARGS`.split('\n');
    for (const before of HOSTS) {
      const { launch, score } = launchOf(`${before} train.py --a 1 b`);
      const [python] = launch.program;
      assert.ok(python === 'python' || python === 'python3', before);
      assert.deepEqual(
        [launch.script, launch.words, launch.arguments.entries.map(({ key }) => key)],
        ['train.py', [], ['a']],
        before,
      );
      assert.ok(score > 0, before);
      assert.ok(launchScript.markers.test(`${before} train.py --a 1 b\n`), before);
    }
    for (const host of ['-m coverage run --parallel-mode', '-m pdb -c continue', '-m debugpy --listen 1'])
      for (const [before, program] of [
        ['torchrun --nproc_per_node 4', 'torchrun'],
        ['python -m torch.distributed.run --nproc_per_node 4', 'python'],
        ['accelerate launch --num_processes 4', 'accelerate'],
      ] as const)
        for (const [target, script] of [
          ['a/train.py', 'a/train.py'],
          ['-m a.train', 'a.train'],
        ] as const) {
          const { launch } = launchOf(`${before} ${host} ${target} --a 1`);
          const counts = launch.launcher.entries.filter(({ key }) => /^n/.test(key));
          assert.deepEqual([launch.program[0], launch.script, counts.length], [program, script, 1], host);
          assert.equal(launcherOf(launch), program === 'python' ? 'torchrun' : program, `${before} ${host}`);
        }
    for (const command of [
      '$(which torchrun) --nproc_per_node 4 train.py --a 1',
      '"$(command -v torchrun)" --nproc_per_node 4 train.py --a 1',
      'python `which torchrun` --nproc_per_node 4 train.py --a 1',
      'python3 -u /usr/local/bin/torchrun --nproc_per_node 4 train.py --a 1',
      'RUN=$(which torchrun)\npython -m debugpy --listen 1 $RUN --nproc_per_node 4 train.py --a 1',
      'coverage run $(which torchrun) --nproc_per_node 4 train.py --a 1',
    ]) {
      const { launch } = launchOf(command);
      const flags = [launch.launcher, launch.arguments].map(({ entries }) => entries.map(({ key }) => key));
      assert.deepEqual(
        [launch.program, launch.script, flags],
        [['torchrun'], 'train.py', [['nproc_per_node'], ['a']]],
        command,
      );
    }
    assert.deepEqual(launchOf('python $(which accelerate) launch train.py').launch.program, [
      'accelerate',
      'launch',
    ]);
    assert.equal(launchOf('python -m deepspeed train.py').launch.program[0], 'python');
    // What is called like one is none: a module of one's own, a word of a script, text of Python.
    assert.equal(launchOf('python -m trace.train --a 1').launch.script, 'trace.train');
    assert.deepEqual(
      launchOf('python train.py --mode coverage run').launch.arguments.entries.map(({ key }) => key),
      ['mode'],
    );
    assert.equal(launchOf('python -m coverage run $SCRIPT --a 1').launch.script, undefined);
    assert.equal(launchOf('python -m debugpy -c "import x" --a 1').launch.script, 'debugpy');
  });

  it('counts no GPUs where it takes numbers of its own', async () => {
    const gpus = async (before: string) => {
      const command = `${before} python train.py --model_name_or_path gpt2 --per_device_train_batch_size 1`;
      const files = { 'file:///w/train.py': METADATA + SCRIPT, 'file:///w/run.sh': `${command}\n` };
      const host = new MemoryHost(files, { folders: ['file:///w'] });
      const values = (await new Workspace(host).analyze('file:///w/run.sh'))?.resolved.values;
      return [values?.['hardware.gpus'], values?.['hardware.nodes']];
    };
    for (const before of [
      'nice -n 10',
      'ionice -c 2 -n 7',
      'numactl -N 2 -m 2',
      'perf stat -n 3',
      'xvfb-run -n 99',
      'conda run -n 4',
      'stdbuf -oL nice -n 5',
    ])
      assert.deepEqual(await gpus(before), [1, 1], before);
    assert.deepEqual(await gpus('srun -N 2 -n 4 nice -n 10'), [4, 2]);
    assert.deepEqual(await gpus('nice -n 10 srun -N 2 -n 4'), [4, 2]);
    assert.deepEqual(await gpus('mpirun -N 2 -n 4'), [4, 1]);
  });

  const SCRIPT = `from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer
SFTTrainer("gpt2", args=SFTConfig(per_device_train_batch_size=1, max_length=512)).train()
`;
  const METADATA = '# /// script\n# dependencies = ["trl==0.23.0"]\n# ///\n';

  const releaseOf = async (command: string | undefined, file = 'train.py') => {
    const files = {
      'file:///w/train.py': METADATA + SCRIPT,
      'file:///w/requirements.txt': 'trl==0.21.0\n',
      ...(command === undefined ? {} : { 'file:///w/run.sh': `${command}\n` }),
    };
    const host = new MemoryHost(files, { folders: ['file:///w'] });
    const analysis = await new Workspace(host).analyze(`file:///w/${file}`);
    return analysis?.resolved.values['version.trl'];
  };

  it('has the packages that the metadata of the script name, and `python` those that are there', async () => {
    assert.equal(await releaseOf(undefined), '0.23.0');
    for (const [command, release] of [
      ['uv run train.py', '0.23.0'],
      ['uv run --script train.py', '0.23.0'],
      ['hf jobs uv run train.py', '0.23.0'],
      ['pipx run train.py', '0.23.0'],
      ['python train.py', '0.21.0'],
      ['uv run python train.py', '0.21.0'],
      ['torchrun --nproc_per_node 2 train.py', '0.21.0'],
      ['uv run torchrun --nproc_per_node 2 train.py', '0.21.0'],
      ['accelerate launch --num_processes 2 train.py', '0.21.0'],
    ] as const) {
      assert.equal(await releaseOf(command, 'run.sh'), release, command);
      assert.equal(await releaseOf(command), release, `${command}, the script`);
    }
  });

  it('brings packages that the command names', async () => {
    for (const command of [
      'uv run --with trl==0.22.0 python train.py',
      "uv run --with 'trl==0.22.0' accelerate launch --num_processes 2 train.py",
      'uv run --with=trl==0.22.0 torchrun --nproc_per_node 2 train.py --with trl==0.1.0',
    ])
      assert.equal(await releaseOf(command, 'run.sh'), '0.22.0', command);
  });
});
