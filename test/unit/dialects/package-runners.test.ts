import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { launchesOf } from '../../../server/src/dialects/launch/launch';
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
