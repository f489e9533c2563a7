import assert from 'node:assert/strict';
import {
  allowedVersions,
  assumedRelease,
  VERSIONED_PACKAGES,
} from '../../../server/src/environment/versions';
import { Workspace } from '../../../server/src/workspace/analyze';
import { assumptionsOf } from '../../../server/src/workspace/assumptions';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const RECIPE =
  'model_name_or_path: Qwen/Qwen2.5-7B\nlearning_rate: 1.0e-5\nmax_length: 1024\nuse_peft: true\nper_device_train_batch_size: 1\n';
const AXOLOTL = 'base_model: Qwen/Qwen2.5-7B\nsequence_len: 1024\nmicro_batch_size: 1\ndatasets: []\n';

async function versions(files: Record<string, string>, of = 'file:///w/recipes/sft.yaml') {
  const workspace = new Workspace(new MemoryHost(files, { folders: ['file:///w'] }));
  const analysis = await workspace.analyze(of);
  assert.ok(analysis);
  const { values, origins } = analysis.resolved;
  const shown = (field: 'version.transformers' | 'version.torch' | 'version.trl') =>
    `${values[field]} (${origins[field]?.kind}: ${origins[field]?.note})`;
  return { shown, analysis, workspace };
}

describe('versions of the software around a config', () => {
  it('come from the nearest folder that names the package, what is locked before what is asked for', async () => {
    const { shown, analysis } = await versions({
      'file:///w/recipes/sft.yaml': RECIPE,
      'file:///w/pyproject.toml': '[project]\ndependencies = ["transformers>=4.40", "trl==0.9.6"]\n',
      'file:///w/uv.lock': '[[package]]\nname = "transformers"\nversion = "4.45.2"\n',
      'file:///w/.venv/lib/python3.11/site-packages/torch-2.5.1.dist-info/METADATA': '',
    });
    assert.equal(shown('version.transformers'), '4.45.2 (environment: transformers 4.45.2 in uv.lock)');
    assert.equal(shown('version.trl'), '0.9.6 (environment: trl 0.9.6 in pyproject.toml)');
    assert.match(shown('version.torch'), /^2\.5\.1 \(environment: torch 2\.5\.1 in \.venv/);
    assert.deepEqual(analysis.resolved.origins['version.transformers']?.location, {
      uri: 'file:///w/uv.lock',
      range: { start: { line: 2, character: 0 }, end: { line: 2, character: 18 } },
    });
  });

  it('are those that a package which is installed beside requires', async () => {
    const found = async (requirements: string) => {
      const files = { 'file:///w/recipes/sft.yaml': RECIPE, 'file:///w/requirements.txt': requirements };
      return (await versions(files)).shown;
    };
    const torch = async (requirements: string) => (await found(requirements))('version.torch');
    assert.equal(
      await torch('trl==0.17.0\nvllm==0.8.4\n'),
      '2.6.0 (environment: vllm 0.8.4 in requirements.txt requires torch ==2.6.0)',
    );
    assert.match(await torch('torch>=2.4\nvllm==0.8.5\n'), /^2\.6\.0 /);
    assert.match(await torch('xformers==0.0.28.post3\n'), /^2\.5\.1 .*xformers 0\.0\.28\.post3/);
    // What is named itself goes before, and a range of the other states nothing.
    assert.match(await torch('torch==2.7.1\nvllm==0.8.4\n'), /^2\.7\.1 .*torch 2\.7\.1 in/);
    assert.ok(!/vllm/.test(await torch('vllm>=0.8\n')));
    const unsloth = await found('unsloth==2025.5.4\ntrl\n');
    assert.match(unsloth('version.transformers'), /^4\.51\.3 .*unsloth 2025\.5\.4 in requirements\.txt/);
    assert.match(unsloth('version.trl'), /^0\.15\.2 /);
  });

  it('are any that lists for several uses name, unless the list for all names one', async () => {
    const trl = async (more: Record<string, string> = {}) =>
      (
        await versions({
          'file:///w/recipes/sft.yaml': RECIPE,
          'file:///w/requirements-factory.txt': 'trl>=0.8.6,<=0.9.6\n',
          'file:///w/requirements-trl.txt': 'trl==1.2.0\n',
          ...more,
        })
      ).analysis;
    const open = await trl();
    assert.equal(open.resolved.values['version.trl'], '1.2.0');
    assert.match(
      `${open.resolved.origins['version.trl']?.note} ${open.resolved.origins['version.trl']?.orElse}`,
      /^requirements-factory\.txt, requirements-trl\.txt ask for different releases of trl 0\.8\.6$/,
    );
    const named = await trl({ 'file:///w/requirements.txt': 'trl==0.19.1\n' });
    assert.equal(named.resolved.values['version.trl'], '0.19.1');
    assert.equal(named.resolved.origins['version.trl']?.orElse, undefined);
  });

  it('are open where a list of packages and an environment of conda pin different ones', async () => {
    const { analysis } = await versions({
      'file:///w/recipes/sft.yaml': RECIPE,
      'file:///w/requirements.txt': 'trl==0.9.6\n',
      'file:///w/environment.yml': 'dependencies:\n  - trl=1.2.0\n',
    });
    assert.equal(analysis.resolved.values['version.trl'], '1.2.0');
    assert.equal(analysis.resolved.origins['version.trl']?.orElse, '0.9.6');
  });

  it('are what conda pins, also where a later patch of that release is known', async () => {
    const { analysis } = await versions({
      'file:///w/recipes/sft.yaml': RECIPE,
      'file:///w/environment.yml': 'dependencies:\n  - transformers=4.44.1\n',
    });
    assert.equal(analysis.resolved.values['version.transformers'], '4.44.1');
  });

  it('are the newest that a range allows', async () => {
    const { shown } = await versions({
      'file:///w/recipes/sft.yaml': RECIPE,
      'file:///w/recipes/requirements.txt': 'transformers>=4.40,<4.46\n',
    });
    assert.equal(
      shown('version.transformers'),
      '4.45.2 (environment: transformers >=4.40,<4.46 in recipes/requirements.txt: the newest that it allows)',
    );
  });

  it('go up to the release that is assumed where none is named, whatever is newer', async () => {
    const { shown } = await versions({
      'file:///w/recipes/sft.yaml': RECIPE,
      'file:///w/requirements.txt': 'torch>=2.4\n',
    });
    assert.equal(
      shown('version.torch'),
      '2.15.0 (environment: torch >=2.4 in requirements.txt: it allows the release that is assumed where none is named)',
    );
    for (const name of VERSIONED_PACKAGES) {
      const assumed = assumedRelease(name);
      assert.equal(allowedVersions(name, { specifier: '>=0.1' })?.newest.startsWith(assumed), true, name);
    }
    // Nor is it called the newest where none was newer on the day that releases were read: one may be by now.
    for (const name of VERSIONED_PACKAGES) {
      const open = [`>=0.1`, `>=0.1,<99`, `>=${assumedRelease(name)}`];
      for (const specifier of open)
        assert.equal(allowedVersions(name, { specifier })?.endsAtAssumed, true, name + specifier);
      const closed = [`~=${assumedRelease(name)}.0`, `>=0.1,<=${assumedRelease(name)}.0`];
      for (const specifier of closed)
        assert.equal(allowedVersions(name, { specifier })?.endsAtAssumed, undefined, name + specifier);
    }
    // What allows newer ones alone has its way.
    assert.equal(allowedVersions('torch', { specifier: '>=2.14' })?.newest.startsWith('2.1'), true);
  });

  it('follow from an extra only as far as it goes, and not at all where the file itself installs the newest', async () => {
    const project = '[project]\nname = "x"\n[project.optional-dependencies]\nfast = ["trl==0.20.0"]\n';
    const of = 'file:///w/train.ipynb';
    const notebook = (install: string) =>
      JSON.stringify({
        cells: [
          { cell_type: 'code', metadata: {}, outputs: [], source: [install] },
          {
            cell_type: 'code',
            metadata: {},
            outputs: [],
            source: [
              'from trl import SFTConfig, SFTTrainer\nSFTTrainer(model="Qwen/Qwen2.5-7B", args=SFTConfig(max_length=64)).train()',
            ],
          },
        ],
        metadata: {},
        nbformat: 4,
        nbformat_minor: 5,
      });
    const trl = async (install: string, pyproject = project) =>
      (await versions({ [of]: notebook(install), 'file:///w/pyproject.toml': pyproject }, of)).shown(
        'version.trl',
      );
    const extra = '0.20.0 (default: trl ==0.20.0 in pyproject.toml, for an extra)';
    assert.equal((await trl('!pip install trl')).replace('trl 0.20.0 in', 'trl ==0.20.0 in'), extra);
    for (const install of [
      '!pip install -U trl',
      '!pip install -qU "trl[peft]" datasets',
      '%pip install --upgrade trl',
    ])
      assert.match(
        await trl(install),
        /^1\.16 \(default: the newest trl is installed: 1\.16 is assumed\)/,
        install,
      );
    const required = '[project]\nname = "x"\ndependencies = ["trl==0.20.0"]\n';
    assert.match(await trl('!pip install -U trl', required), /^1\.16 /);
    // The environment of the project has the one, a notebook that is opened elsewhere gets the newest.
    assert.equal(
      await trl('!pip install trl', required),
      '1.16 (environment: trl 0.20.0 in pyproject.toml, but the notebook installs it and names no release)',
    );
    assert.match(await trl('!pip install datasets', required), /^0\.20\.0 \(environment/);
    assert.match(await trl('!pip install trl==0.19.1', required), /^0\.19\.1 \(file/);
    // What only the one refuses the notebook need not meet.
    const old = '[project]\nname = "x"\ndependencies = ["trl==0.12.1"]\n';
    const refused = async (install: string) => {
      const files = { [of]: notebook(install), 'file:///w/pyproject.toml': old };
      const { problems = [] } = (await versions(files, of)).analysis;
      return problems.map(({ code }) => code).includes('argument-release');
    };
    assert.deepEqual(
      [await refused('!pip install datasets'), await refused('!pip install trl')],
      [true, false],
    );
    const poetry = '[tool.poetry.dependencies]\ntrl = { version = "0.20.0", optional = true }\n';
    assert.match(await trl('!pip install x', poetry), /^0\.20\.0 \(default/);
  });

  it('are what the release of a framework requires that is taken, whatever tells it', async () => {
    const of = 'file:///w/train.py';
    const script = (more: string) =>
      `from trl import GRPOConfig, GRPOTrainer\nGRPOTrainer(model="Qwen/Qwen2.5-7B", args=GRPOConfig(max_completion_length=64${more})).train()\n`;
    const dropped = await versions({ [of]: script(', max_prompt_length=64') }, of);
    assert.match(dropped.shown('version.trl'), /^0\.27\.2 /);
    assert.match(dropped.shown('version.transformers'), /trl 0\.27\.2 requires transformers/);
    const assumed = await versions({ [of]: script('') }, of);
    assert.match(assumed.shown('version.transformers'), /trl 1\.16 requires transformers/);
    const cell = await versions({ [of]: `# %%\n!pip install trl==0.19.1\n# %%\n${script('')}` }, of);
    assert.match(cell.shown('version.transformers'), /^5\.0\.0 .*: the newest that trl 0\.19\.1 takes/);
    // Of releases that are older than those that were looked at nothing is known.
    const older = await versions({ [of]: script(''), 'file:///w/requirements.txt': 'trl==0.15.2\n' }, of);
    assert.doesNotMatch(older.shown('version.transformers'), /requires/);
  });

  it('are left open by a wildcard that no known release fulfils', async () => {
    for (const specifier of ['==4.998.*', '>=4.998.*', '~=4.998.x', '==4.998.*,!=4.998.2']) {
      const { analysis } = await versions({
        'file:///w/recipes/sft.yaml': RECIPE,
        'file:///w/requirements.txt': `transformers${specifier}\n`,
      });
      assert.deepEqual(
        analysis.problems.filter(({ code }) => code === 'internal-error'),
        [],
        specifier,
      );
    }
  });

  it('are what the release of a framework requires, where nothing else names them', async () => {
    const newest = await versions({ 'file:///w/recipes/sft.yaml': AXOLOTL });
    assert.match(newest.shown('version.transformers'), /^5\.16\.1 \(default: axolotl 0\.19\.0 requires/);
    const pinned = await versions({
      'file:///w/recipes/sft.yaml': AXOLOTL,
      'file:///w/requirements.txt': 'axolotl==0.9.2\n',
    });
    assert.match(pinned.shown('version.transformers'), /axolotl 0\.9\.2 requires transformers ==4\.51/);
  });

  it('are what is assumed where a framework states a bound below alone, which is no reason for a release', async () => {
    const loop = `from accelerate import Accelerator
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2")
accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), loader)
for batch in loader:
    loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
`;
    const { shown } = await versions({ 'file:///w/train.py': loop }, 'file:///w/train.py');
    assert.match(
      shown('version.torch'),
      /default: accelerate \d+\.\d+ requires torch >=2\.0\.0: it allows the release that is assumed/,
    );
  });

  it('are those of the release that wrote the record of a run, whatever is installed beside it', async () => {
    const record = JSON.stringify({
      ...{ model: 'Qwen/Qwen2.5-7B', tuner_type: 'lora', dataset: ['x'], max_length: 1024, rank: 0 },
      ...{ global_world_size: 2, local_world_size: 2, swift_version: '3.1.1', model_dir: 'm' },
    });
    const { shown, analysis } = await versions(
      { 'file:///w/out/args.json': record, 'file:///w/requirements.txt': 'ms-swift==4.6.0\n' },
      'file:///w/out/args.json',
    );
    assert.match(shown('version.transformers'), /ms-swift 3\.1\.1 requires transformers <4\.49/);
    assert.equal(analysis.dialect.id, 'ms-swift');
    const unstated = await versions(
      { 'file:///w/out/args.json': record.replace('"swift_version":"3.1.1",', '') },
      'file:///w/out/args.json',
    );
    assert.match(unstated.shown('version.transformers'), /ms-swift 4\.6\.0 requires/);
  });

  it("are those of the container that Accelerate's config starts a job of SageMaker in, unless the run pins others", async () => {
    const job = (more: string) =>
      `compute_environment: AMAZON_SAGEMAKER\ndistributed_type: DATA_PARALLEL\nec2_instance_type: ml.p3.16xlarge\niam_role_name: r\nnum_machines: 1\n${more}`;
    const of = async (more: string, others: Record<string, string> = {}) => {
      const uri = 'file:///w/accelerate.yaml';
      const { shown } = await versions({ [uri]: job(more), ...others }, uri);
      return [shown('version.torch'), shown('version.transformers')];
    };
    const stated = 'pytorch_version: 1.13.1\ntransformers_version: 4.26.0\n';
    const torch = '1.13.1 (environment: torch 1.13.1 in accelerate.yaml)';
    assert.deepEqual(await of(stated), [
      torch,
      '4.26.0 (environment: transformers 4.26.0 in accelerate.yaml)',
    ]);
    // What is left out, and an image of one's own.
    assert.match((await of('')).join(), /^1\.10\.2 .*,4\.17\.0 /);
    assert.doesNotMatch((await of(`${stated}image_uri: me/mine:1\n`)).join(), /accelerate\.yaml/);
    // A job installs over the image what is pinned; what allows it changes nothing.
    assert.deepEqual(
      await of(stated, { 'file:///w/requirements.txt': 'torch>=1.10\ntransformers==4.36.0\n' }),
      [torch, '4.36.0 (environment: transformers 4.36.0 in requirements.txt)'],
    );
  });

  it('are those of Unsloth that a cell installs: its loss is that of the release', async () => {
    const script = (install: string) =>
      JSON.stringify({
        cells: [
          { cell_type: 'code', metadata: {}, outputs: [], source: [install] },
          {
            cell_type: 'code',
            metadata: {},
            outputs: [],
            source: [
              'from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Meta-Llama-3.1-8B", max_seq_length=2048)\nmodel = FastLanguageModel.get_peft_model(model, r=8)\nSFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=2)).train()',
            ],
          },
        ],
        metadata: {},
        nbformat: 4,
        nbformat_minor: 5,
      });
    const lossWith = async (install: string, more: Record<string, string> = {}) => {
      const of = 'file:///w/train.ipynb';
      const { analysis } = await versions({ [of]: script(install), ...more }, of);
      return analysis.resolved.values['loss.implementation'];
    };
    assert.equal(await lossWith('!pip install unsloth'), 'fused-chunks');
    assert.equal(await lossWith('!pip install unsloth==2026.10.8'), 'budgeted-chunks');
    assert.equal(await lossWith('!pip install unsloth==2024.11.7'), 'in-place');
    assert.equal(await lossWith('!pip install unsloth==2024.11.8'), 'cut');
    assert.equal(await lossWith('!pip install "unsloth==2025.8.4"'), 'cut');
    assert.equal(await lossWith('!pip install unsloth==2025.8.5'), 'budgeted-chunks');
    const locked = { 'file:///w/requirements.txt': 'unsloth==2024.8\n' };
    assert.equal(await lossWith('!pip install trl', locked), 'in-place');
    // What a cell installs is newer than what lies around.
    assert.equal(await lossWith('!pip install unsloth==2025.9.1', locked), 'free-chunks');
    assert.equal(await lossWith('!pip install unsloth==2026.6.9'), 'free-chunks');
    assert.equal(await lossWith('!pip install unsloth==2026.7.1'), 'half-free-chunks');
    assert.equal(await lossWith('!pip install unsloth==2026.9.4'), 'budgeted-chunks');
  });

  it('are not asked of folders above the workspace, nor of what only developers install', async () => {
    const { shown } = await versions({
      'file:///w/recipes/sft.yaml': RECIPE,
      'file:///requirements.txt': 'transformers==4.30.0\n',
      'file:///w/requirements-dev.txt': 'transformers==4.31.0\n',
    });
    assert.match(shown('version.transformers'), /default/);
  });

  it('follow a change of the file that names them', async () => {
    const host = new MemoryHost(
      { 'file:///w/recipes/sft.yaml': RECIPE, 'file:///w/requirements.txt': 'transformers==4.44.0\n' },
      { folders: ['file:///w'] },
    );
    const workspace = new Workspace(host);
    const version = async () =>
      (await workspace.analyze('file:///w/recipes/sft.yaml'))?.resolved.values['version.transformers'];
    assert.equal(await version(), '4.44.0');
    host.write('file:///w/requirements.txt', 'transformers==4.48.3\n');
    workspace.invalidate('file:///w/requirements.txt');
    assert.equal(await version(), '4.48.3');
  });
});

describe('packages that a launch script installs', () => {
  it('are there when it starts the run, but for those that a branch installs', async () => {
    const train =
      'torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --output_dir o --per_device_train_batch_size 1';
    const trl = async (lines: string) => {
      const files = {
        'file:///w/run.sh': `${lines}\n${train}\n`,
        'file:///w/requirements.txt': 'transformers==4.44.0\n',
      };
      const { shown } = await versions(files, 'file:///w/run.sh');
      return shown('version.transformers');
    };
    assert.match(await trl('pip install transformers==4.52.4'), /^4\.52\.4 \(environment/);
    assert.match(await trl('# pip install transformers==4.52.4'), /^4\.44\.0 /);
    assert.match(await trl('if [ -n "$OLD" ]; then\n  pip install transformers==4.52.4\nfi'), /^4\.44\.0 /);
  });
});

describe('images that a launch script starts', () => {
  const train =
    'torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --output_dir o --per_device_train_batch_size 1';
  const torch = async (script: string, more: Record<string, string> = {}) => {
    const { shown } = await versions({ 'file:///w/run.sh': script, ...more }, 'file:///w/run.sh');
    return shown('version.torch');
  };

  it('say which PyTorch runs', async () => {
    assert.match(
      await torch(`docker run --gpus all pytorch/pytorch:2.4.0-cuda12.1-cudnn9-devel \\\n  ${train}\n`),
      /^2\.4\.0 \(environment/,
    );
    assert.match(
      await torch(`#SBATCH --container-image=nvcr.io#nvidia/pytorch:24.05-py3\nsrun ${train}\n`),
      /^2\.4\.\d \(environment/,
    );
    assert.match(
      await torch(`IMAGE=nvcr.io/nvidia/pytorch:23.12-py3\nsrun --container-image=$IMAGE ${train}\n`),
      /^2\.2\.\d \(environment/,
    );
    assert.match(
      await torch(`apptainer exec --nv docker://pytorch/pytorch:2.1.2-cuda11.8 ${train}\n`),
      /^2\.1\.2 \(environment/,
    );
  });

  it('say it of ROCm, as do indices of PyTorch that newer releases are not built for', async () => {
    const rocm = 'rocm/pytorch:rocm6.4.1_ubuntu24.04_py3.12_pytorch_release_2.6.0';
    assert.match(await torch(`docker run ${rocm} ${train}\n`), /^2\.6\.0 \(environment/);
    const index = (name: string) => `--index-url https://download.pytorch.org/whl/${name}`;
    for (const [path, text, release] of [
      ['requirements.txt', `${index('cu118')}\ntorch\ntransformers\n`, /^2\.7\./],
      ['Dockerfile', `FROM ubuntu\nRUN pip install torch ${index('rocm6.2')}\n`, /^2\.5\./],
      ['README.md', `\`\`\`bash\npip install torch ${index('rocm6.3')}\nbash run.sh\n\`\`\`\n`, /^2\.9\./],
      ['requirements.txt', `--extra-index-url https://download.pytorch.org/whl/cu118\ntorch\n`, /default/],
      // Another index that is asked, too, may have the newest, and a comment asks none.
      [
        'requirements.txt',
        `${index('cu118')}\n--extra-index-url https://pypi.org/simple\ntorch\n`,
        /default/,
      ],
      ['requirements.txt', `# pip install -r requirements.txt ${index('cu118')}\ntorch\n`, /default/],
      [
        'Dockerfile',
        `FROM ubuntu\nRUN pip install torch ${index('cu118')} \\\n  --extra-index-url https://pypi.org/simple\n`,
        /default/,
      ],
      ['Dockerfile', `FROM ubuntu\n# RUN pip install torch ${index('cu118')}\n`, /default/],
      // uv stops at the first index that has the package.
      ['Dockerfile', `FROM ubuntu\nRUN uv pip install torch --extra-${index('cu118').slice(2)}\n`, /^2\.7\./],
      [
        'README.md',
        `\`\`\`bash\npip install torch ${index('cu118')} --extra-index-url https://pypi.org/simple\nbash run.sh\n\`\`\`\n`,
        /default/,
      ],
      // Wherever the command names it, by a variable of the file, and beside a range.
      ['Dockerfile', `FROM ubuntu\nARG CU=cu118\nRUN pip install torch ${index('$CU')}\n`, /^2\.7\./],
      ['Dockerfile', `FROM ubuntu\nENV CU cu118\nRUN pip install torch ${index('$CU')}\n`, /^2\.7\./],
      ['Dockerfile', `FROM ubuntu\nENV CU=cu118\nRUN pip install torch ${index('${CU}')}\n`, /^2\.7\./],
      ['Dockerfile', `FROM ubuntu\nARG CU\nRUN pip install torch ${index('$CU')}\n`, /default/],
      ['Dockerfile', `FROM ubuntu\nRUN pip install ${index('cu118')} \\\n  torch torchvision\n`, /^2\.7\./],
      ['Dockerfile', `FROM ubuntu\nRUN pip install 'torch>=2.4' ${index('cu118')}\n`, /^2\.7\./],
      ['Dockerfile', `FROM ubuntu\nRUN pip install torch==2.4.0 ${index('cu118')}\n`, /^2\.4\.0/],
      ['Dockerfile', `FROM ubuntu\nRUN pip install x ${index('cu118')} && pip install torch\n`, /default/],
      ['environment.yml', `dependencies:\n  - pip:\n    - ${index('cu118')}\n    - torch\n`, /^2\.7\./],
      [
        'environment.yml',
        `dependencies:\n  - pip:\n    - --extra-index-url https://download.pytorch.org/whl/cu118\n    - torch>=2.4\n`,
        /assumed/,
      ],
      [
        'README.md',
        `\`\`\`bash\nCU=cu118\npip install torch ${index('$CU')}\nbash run.sh\n\`\`\`\n`,
        /^2\.7\./,
      ],
      [
        'README.md',
        `\`\`\`bash\nCU=cu118 # or\nCU=cu126\npip install torch ${index('$CU')}\nbash run.sh\n\`\`\`\n`,
        /default/,
      ],
      // The note names no bound that the file lacks.
      [
        'Dockerfile',
        `FROM ubuntu\nRUN pip install torch ${index('cu118')}\n`,
        /^2\.7\.1 \(environment: PyTorch is built for cu118 up to this release, of which Dockerfile installs it\)/,
      ],
    ] as const)
      assert.match(await torch(`${train}\n`, { [`file:///w/${path}`]: text }), release, path);
  });

  it('say nothing in a comment, or where a lock file names the package', async () => {
    assert.match(await torch(`# docker run pytorch/pytorch:2.4.0\ndocker ps\n${train}\n`), /\(default/);
    const locked = { 'file:///w/uv.lock': '[[package]]\nname = "torch"\nversion = "2.5.1"\n' };
    assert.match(await torch(`docker run pytorch/pytorch:2.4.0 ${train}\n`, locked), /^2\.5\.1/);
  });
});

describe('packages of kernels around a config', () => {
  async function kernels(files: Record<string, string>) {
    const { analysis } = await versions({ 'file:///w/recipes/sft.yaml': RECIPE, ...files });
    const { values, origins } = analysis.resolved;
    return `${values['kernels.states']} ${origins['kernels.states']?.kind}`;
  }

  it('are those that a list or a lock names, with or without a version; others may be there all the same', async () => {
    assert.equal(await kernels({}), 'unknown default');
    assert.equal(
      await kernels({ 'file:///w/requirements.txt': 'torch==2.9.0\ncausal-conv1d\nmamba_ssm>=2.2\n' }),
      'causal-conv1d,mamba-ssm,unknown environment',
    );
    assert.equal(
      await kernels({ 'file:///w/uv.lock': '[[package]]\nname = "fla-core"\nversion = "0.5.2"\n' }),
      'flash-linear-attention,unknown environment',
    );
  });

  it('come with a framework that requires them, since it does', async () => {
    const axolotl = (more: Record<string, string>) =>
      kernels({ 'file:///w/recipes/sft.yaml': AXOLOTL, ...more });
    assert.equal(await axolotl({}), 'flash-linear-attention,unknown default');
    assert.equal(await axolotl({ 'file:///w/requirements.txt': 'axolotl==0.10.0\n' }), 'unknown default');
  });

  it('are assumed of models alone that have such layers', async () => {
    const isAssumed = async (recipe: string, list: string) => {
      const { analysis } = await versions({
        'file:///w/recipes/sft.yaml': recipe,
        'file:///w/requirements.txt': list,
      });
      return assumptionsOf(analysis).some(({ field }) => field === 'kernels.states');
    };
    const hybrid = RECIPE.replace('Qwen/Qwen2.5-7B', 'Qwen/Qwen3.5-4B');
    assert.equal(await isAssumed(RECIPE, 'causal-conv1d\n'), false);
    assert.equal(await isAssumed(hybrid, 'causal-conv1d\n'), true);
    assert.equal(await isAssumed(hybrid, ''), false, 'that none is named is a question');
  });

  it('are not known of a commit, and the newest of what is taken from a repository as it is', async () => {
    const at = (ref: string) =>
      versions({
        'file:///w/recipes/sft.yaml': RECIPE,
        'file:///w/recipes/requirements.txt': `peft==0.4.0\ngit+https://github.com/huggingface/transformers.git${ref}\n`,
        'file:///w/requirements.txt': 'transformers==4.30.0\n',
      });
    const commit = await at('@2ab75add4b30c2fc44a8bf575156d448d9ed87a7');
    assert.match(
      commit.shown('version.transformers'),
      /^\S+ \(environment: transformers of recipes\/requirements\.txt is a commit, .* is not known\)$/,
    );
    // Older ones have no class of the model.
    assert.match(commit.analysis.resolved.origins['version.transformers']?.orElse ?? '', /^4\.37/);
    const head = await at('');
    assert.match(
      head.shown('version.transformers'),
      /^(\S+) .* is taken from its repository: \1 is assumed\)$/,
    );
    assert.equal(head.analysis.resolved.origins['version.transformers']?.orElse, undefined);
    assert.match((await at('@v4.45.2')).shown('version.transformers'), /^4\.45\.2 /);
  });

  it('refuse nothing where they are the newest of a repository, which nobody names', async () => {
    const run = async (...requirements: readonly string[]) => {
      const uri = 'file:///w/run.sh';
      const files = {
        [uri]: `# oomlint: gpu=H100 gpus=1
torchrun examples/pytorch/language-modeling/run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --evaluation_strategy no --output_dir o\n`,
        'file:///w/requirements.txt': requirements.join('\n'),
      };
      const { analysis } = await versions(files, uri);
      const refused = analysis.problems.flatMap(({ code, severity }) =>
        code === 'argument-release' ? [severity] : [],
      );
      return [analysis.resolved.values['version.transformers'], ...refused];
    };
    const commit =
      'transformers @ git+https://github.com/huggingface/transformers@c612628045822f909020f7eb6784c79700813eda';
    const trl = 'trl @ git+https://github.com/huggingface/trl.git';
    assert.deepEqual(await run(commit), ['4.50.3']);
    assert.deepEqual(await run(commit, trl), ['4.50.3']);
    assert.deepEqual(await run('git+https://github.com/huggingface/transformers'), ['4.50.3']);
    assert.deepEqual(await run('transformers==4.51.3'), ['4.51.3', 'error']);
  });

  it('are those that a cell installs from a repository, and a later one before an earlier one', async () => {
    const uri = 'file:///w/train.py';
    const text = (installs: string) =>
      `# %%\n${installs}\n# %%\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()
`;
    const shown = async (installs: string) =>
      (
        await versions({ [uri]: text(installs), 'file:///w/requirements.txt': 'transformers==4.52.4\n' }, uri)
      ).shown('version.transformers');
    const git = '!pip install git+https://github.com/huggingface/transformers.git';
    assert.match(await shown(''), /^4\.52\.4 \(environment/);
    assert.match(await shown(git), /^(\S+) .*the newest transformers is installed: \1 is assumed\)$/);
    assert.match(
      await shown(`!pip install transformers==4.40.0\n${git}@main`),
      /newest transformers is installed/,
    );
    assert.match(await shown(`${git}\n!pip install transformers==4.40.0`), /^4\.40\.0 \(file/);
    assert.match(await shown(`${git}@v4.49.0`), /^4\.49\.0 \(file/);
    assert.match(await shown(`${git}@2ab75add`), /which release that is, is not known\)$/);
  });

  it('are those of a checkout that is installed from its folder, of an archive, and of either in a shell or an image', async () => {
    const uri = 'file:///w/train.py';
    const code = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()
`;
    const cell = async (installs: string) =>
      (await versions({ [uri]: `# %%\n${installs}\n# %%\n${code}` }, uri)).shown('version.transformers');
    const clone = (more = '') => `git clone ${more}https://github.com/huggingface/transformers`;
    for (const tagged of [
      `!${clone('-b v4.49.0 ')} && cd transformers && pip install -e .`,
      `!${clone('--depth 1 --branch v4.49.0 ')}.git\n%cd transformers\n!pip install .[torch]`,
      `!${clone()} tf\n!cd tf && git checkout v4.49.0 && pip install -e .`,
      `%%bash\n${clone()}\ncd transformers\ngit checkout v4.49.0\npip install -q ./`,
      `!${clone('-b v4.49.0 ')} && pip install ./transformers`,
      '!pip install https://github.com/huggingface/transformers/archive/refs/tags/v4.49.0.zip',
      '!pip install git+ssh://git@github.com/huggingface/transformers.git@v4.49.0',
      '!apt-get update && pip install transformers==4.49.0',
    ])
      assert.match(await cell(tagged), /^4\.49\.0 \(file/, tagged);
    const head = `${clone()} && cd transformers && pip install -e .`;
    assert.match(await cell(`!${head}`), /newest transformers is installed/);
    const unknown = /which release that is, is not known\)$/;
    assert.match(await cell(`!${head.replace('pip', 'git checkout 2ab75add && pip')}`), unknown);
    assert.match(await cell(`!${head.replace('huggingface', 'someone')}`), unknown);
    // What is installed is another folder.
    for (const other of [
      `!${clone('-b v4.49.0 ')}\n!pip install -e .`,
      `!${clone('-b v4.49.0 ')} && cd transformers && cd .. && pip install -e .`,
      `!${clone('-b v4.49.0 ')}\n!pip install ./own`,
    ])
      assert.match(await cell(other), /\(default/, other);
    const around = async (path: string, text: string, run = uri) =>
      (await versions({ [uri]: code, [`file:///w/${path}`]: text }, run)).shown('version.transformers');
    const start = 'python train.py\n';
    const script = 'file:///w/run.sh';
    assert.match(
      await around('run.sh', `${clone('-b v4.49.0 ')} && pip install ./transformers\n${start}`, script),
      /^4\.49\.0/,
    );
    assert.match(await around('run.sh', `${head}\ncd ..\n${start}`, script), /assumed/);
    assert.match(
      await around('Dockerfile', `FROM ubuntu\nRUN ${head.replace('clone', 'clone -b v4.49.0')}\n`),
      /^4\.49\.0/,
    );
    assert.match(await around('Dockerfile', `FROM ubuntu\nRUN ${head}\n`), /is taken from its repository/);
    const readme = (lines: string) => around('README.md', `\`\`\`bash\n${lines}${start}\`\`\`\n`);
    assert.match(
      await readme(`${clone()}\ncd transformers\ngit checkout v4.49.0\npip install -e .\n`),
      /^4\.49\.0/,
    );
  });
});
