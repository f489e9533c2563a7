import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const LLAMA_FACTORY = `model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: cls
do_train: true
finetuning_type: full
cutoff_len: 2048
per_device_train_batch_size: 1
`;
const FINETUNING_ARGS = `@dataclass
class FinetuningArguments:
    stage: Literal["pt", "sft", "rm", "ppo", "dpo", "kto", "cls"] = field(default="sft")
`;
const TORCHTITAN = `[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 2
seq_len = 2048
local_batch_sizes = 2

[parallelism]
data_parallel_shard_degree = 2
`;

async function codesOf(files: Readonly<Record<string, string>>, path: string) {
  const { problems } = await smallWorkspace(files).analyze(path);
  return problems.flatMap(({ code, severity }) =>
    severity === 'error' || severity === 'warning' ? [`${severity} ${code}`] : [],
  );
}

describe('a config in a changed copy of its framework', () => {
  it('takes the choices that the copy defines', async () => {
    const config = { 'configs/train.yaml': LLAMA_FACTORY };
    assert.deepEqual(await codesOf(config, 'configs/train.yaml'), ['warning wrong-type']);
    const path = 'src/llamafactory/hparams/finetuning_args.py';
    const copy = { ...config, [path]: FINETUNING_ARGS };
    assert.deepEqual(await codesOf(copy, 'configs/train.yaml'), []);
    const plain = { ...config, [path]: FINETUNING_ARGS.replace(', "cls"', '') };
    assert.deepEqual(await codesOf(plain, 'configs/train.yaml'), ['warning wrong-type']);
  });

  it('takes them of a package that the copy gives another name', async () => {
    const copy = { 'a/train.yaml': LLAMA_FACTORY, 'src/mine/hparams/finetuning_args.py': FINETUNING_ARGS };
    assert.deepEqual(await codesOf(copy, 'a/train.yaml'), []);
    const other = { 'a/train.yaml': LLAMA_FACTORY, 'src/mine/finetuning_args.py': FINETUNING_ARGS };
    assert.deepEqual(await codesOf(other, 'a/train.yaml'), ['warning wrong-type']);
  });

  it('is of the release that stands beside the package', async () => {
    const launch = {
      'run.sh':
        'deepspeed --module openrlhf.cli.train_sft --pretrain a/b --max_len 2048 --micro_train_batch_size 1 --train_batch_size 8 --bf16\n',
    };
    const note = async (files: Readonly<Record<string, string>>) => {
      const { resolved } = await smallWorkspace({ ...launch, ...files }).analyze('run.sh');
      return resolved.origins['version.transformers']?.note ?? '';
    };
    assert.match(await note({}), /^openrlhf 0\.11\.2 requires/);
    const copy = {
      'version.txt': '0.4.4\n',
      'requirements.txt': 'transformers\n',
      'openrlhf/__init__.py': '',
    };
    assert.match(await note(copy), /^openrlhf 0\.4\.4 requires/);
    assert.match(await note({ ...copy, 'version.txt': 'unreleased' }), /^openrlhf 0\.11\.2 requires/);
    assert.match(await note({ 'version.txt': '0.4.4\n' }), /^openrlhf 0\.11\.2 requires/);
  });

  it('takes them in a launch', async () => {
    const launch = LLAMA_FACTORY.trim()
      .replace(/^(\w+): /gm, '--$1 ')
      .replaceAll('\n', ' ');
    const script = { 'run.sh': `llamafactory-cli train ${launch}\n` };
    assert.deepEqual(await codesOf(script, 'run.sh'), ['warning wrong-type']);
    const copy = { ...script, 'src/llamafactory/hparams/finetuning_args.py': FINETUNING_ARGS };
    assert.deepEqual(await codesOf(copy, 'run.sh'), []);
  });

  it('takes texts where the copy names no choices, and those that it names beside code', async () => {
    const config = {
      'a/train.toml': `${TORCHTITAN.replace('local_batch_sizes = 2\n', '')}[optimizer]\nname = "adam_mini"\n`,
    };
    assert.deepEqual(await codesOf(config, 'a/train.toml'), ['warning wrong-type']);
    const argument = (more: string) =>
      `self.parser.add_argument(\n    "--optimizer.name", type=str, default="AdamW"${more}\n)\nself.parser.add_argument("--x", type=int)\n`;
    const path = 'a/torchtitan/config_manager.py';
    assert.deepEqual(await codesOf({ ...config, [path]: argument('') }, 'a/train.toml'), []);
    const few = argument(', choices=["Adam", "AdamW"]');
    assert.deepEqual(await codesOf({ ...config, [path]: few }, 'a/train.toml'), ['warning wrong-type']);
    const field = (type: string) => `@dataclass\nclass Optimizer:\n    name: ${type} = "AdamW"\n`;
    const dataclass = 'a/torchtitan/config/job_config.py';
    assert.deepEqual(await codesOf({ ...config, [dataclass]: field('str') }, 'a/train.toml'), []);
    const literal = field('Literal["Adam", "AdamW"]');
    assert.deepEqual(await codesOf({ ...config, [dataclass]: literal }, 'a/train.toml'), [
      'warning wrong-type',
    ]);
  });

  it('takes the keys that the copy defines', async () => {
    const config = { 'train.toml': TORCHTITAN };
    assert.deepEqual(await codesOf(config, 'train.toml'), ['warning unknown-key']);
    const copy = {
      ...config,
      'torchtitan/config/job_config.py': 'class Training:\n    local_batch_sizes: int = 2\n',
    };
    assert.deepEqual(await codesOf(copy, 'train.toml'), []);
    // An experiment extends what the framework itself defines.
    const experiment = {
      'torchtitan/config/job_config.py': 'class Training:\n    seq_len: int = 2048\n',
      'experiments/own/train_configs/train.toml': TORCHTITAN,
      'experiments/own/job_config.py': 'class Training:\n    local_batch_sizes: int = 2\n',
    };
    assert.deepEqual(await codesOf(experiment, 'experiments/own/train_configs/train.toml'), []);
  });
});

describe('the degrees of torchtitan over the GPUs of a launch', () => {
  const severity = async (script: string, more = '') => {
    const files = {
      'train.toml': TORCHTITAN.replace('local_batch_sizes = 2\n', ''),
      'run.sh': `torchrun --nproc_per_node 4 ${script} --job.config_file train.toml ${more}\n`,
    };
    const { problems } = await smallWorkspace(files).analyze('train.toml');
    return problems.find(({ code }) => code === 'parallel-sizes')?.severity;
  };

  it('are wrong for sure in its own trainer alone, with nothing that may say otherwise', async () => {
    assert.equal(await severity('train.py'), 'error');
    assert.equal(await severity('-m torchtitan.train'), 'error');
    assert.equal(await severity('train.py', '$OVERRIDES'), 'warning');
    assert.equal(await severity('train_other.py'), 'warning');
  });
});
