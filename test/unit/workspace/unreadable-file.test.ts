import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///w';
const NAMED = `${ROOT}/ds.json`;

/** A world with one file that is there and that the disk gives no text of: too large, or none of its own, as those of the kernel. */
class WithoutText extends MemoryHost {
  override async readText(uri: string): Promise<string | undefined> {
    return uri === NAMED ? undefined : super.readText(uri);
  }
}

const UTF_16 = Buffer.from('\uFEFF{"zero_optimization": {"stage": 3}}', 'utf16le').toString('utf8');

/** What may stand at the place of a named file, and what is stated of it. */
const KINDS: Readonly<Record<string, readonly [files: Readonly<Record<string, string>>, words: RegExp]>> = {
  empty: [{ 'ds.json': '' }, /"ds\.json" is empty/],
  blank: [{ 'ds.json': ' \n\n' }, /"ds\.json" is empty/],
  null: [{ 'ds.json': 'null\n' }, /"ds\.json" holds no keys at its top/],
  'a list': [{ 'ds.json': '[{"zero_optimization": {"stage": 3}}]' }, /"ds\.json" holds no keys at its top/],
  'a folder': [{ 'ds.json/zero3.json': '{}' }, /"ds\.json" is a folder/],
  'UTF-16': [{ 'ds.json': UTF_16 }, /"ds\.json" is no text in UTF-8/],
  'too large': [{ 'ds.json': '{}' }, /"ds\.json" cannot be read: it is too large/],
  'broken syntax': [
    { 'ds.json': '{"zero_optimization": {"stage": 3' },
    /"ds\.json" has errors in its syntax/,
  ],
};

const FLAGS = '--per_device_train_batch_size 1 --max_length 2048 --bf16 True';
const LAUNCHED = `train.py --model_name_or_path huggyllama/llama-13b ${FLAGS}`;
const ACCELERATE = `compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
num_machines: 1
num_processes: 8
deepspeed_config: {deepspeed_config_file: ds.json}
`;

/** A run of each family that names `ds.json`: its files, the one that is looked at first. */
const FAMILIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Axolotl: {
    'a.yaml': `base_model: huggyllama/llama-13b
datasets: [{path: tatsu-lab/alpaca, type: alpaca}]
sequence_len: 2048
micro_batch_size: 1
gradient_accumulation_steps: 1
optimizer: adamw_torch
bf16: true
deepspeed: ds.json
`,
  },
  'LLaMA-Factory': {
    'a.yaml': `model_name_or_path: huggyllama/llama-13b
stage: sft
do_train: true
finetuning_type: full
template: llama2
dataset: alpaca
cutoff_len: 2048
per_device_train_batch_size: 1
bf16: true
deepspeed: ds.json
`,
  },
  'ms-swift': {
    'a.sh': `NPROC_PER_NODE=8 swift sft --model huggyllama/llama-13b --train_type full --max_length 2048 --per_device_train_batch_size 1 --torch_dtype bfloat16 --deepspeed ds.json\n`,
  },
  'Trainer script': { 'a.sh': `torchrun --nproc_per_node 8 ${LAUNCHED} --deepspeed ds.json\n` },
  'accelerate launch': {
    'a.sh': `accelerate launch --config_file ds.json --num_processes 8 ${LAUNCHED}\n`,
  },
  'Accelerate that names DeepSpeed': {
    'acc.yaml': ACCELERATE,
    'a.sh': `accelerate launch --config_file acc.yaml ${LAUNCHED}\n`,
  },
  'a launch of Accelerate that names DeepSpeed': {
    'a.sh': `accelerate launch --config_file acc.yaml ${LAUNCHED}\n`,
    'acc.yaml': ACCELERATE,
  },
};

async function looked(
  run: Readonly<Record<string, string>>,
  named: Readonly<Record<string, string>>,
  withText = true,
) {
  const files = { ...run, ...named, 'oomlint.yaml': 'targets: {gpu: A100-SXM4-80GB, gpus: 8}\n' };
  const texts = Object.fromEntries(Object.entries(files).map(([name, text]) => [`${ROOT}/${name}`, text]));
  const Host = withText ? MemoryHost : WithoutText;
  const [start = ''] = Object.keys(run);
  const analysis = await new Workspace(new Host(texts, { folders: [ROOT] })).analyze(`${ROOT}/${start}`);
  assert.ok(analysis, start);
  return analysis;
}

describe('a file that is named, is there and cannot be read', () => {
  for (const [family, run] of Object.entries(FAMILIES)) {
    it(`${family}: gives no verdict that it may change by what it shards, and states what is wrong with it`, async () => {
      for (const [kind, [named, words]] of Object.entries(KINDS)) {
        const { estimate, problems } = await looked(run, named, kind !== 'too large');
        assert.match(estimate?.verdict ?? 'unknown', /^unknown$/, kind);
        assert.deepEqual(
          problems.filter(({ code, severity }) => severity === 'error' || /not-fit|tight/.test(code)),
          [],
          kind,
        );
        const stated = problems.filter(({ code }) => code === 'missing-file');
        assert.equal(stated.length, 1, kind);
        assert.match(stated[0]?.message ?? '', words, kind);
        const judged = problems.find(({ code }) => code === 'feature-not-modelled');
        if (kind !== 'broken syntax')
          assert.match(judged?.message ?? '', /at most about .*`ds\.json` cannot be read/, kind);
      }
    });
  }

  it('is none where the file has keys, or none that count', async () => {
    for (const [family, run] of Object.entries(FAMILIES)) {
      const { estimate, problems } = await looked(run, { 'ds.json': '{}' });
      assert.equal(
        problems.find(({ code }) => code === 'missing-file'),
        undefined,
        family,
      );
      assert.equal(estimate?.verdict, 'exceeds', family);
    }
  });

  it('keeps the verdict of a run that fits without it', async () => {
    const small = Object.fromEntries(
      Object.entries(FAMILIES.Axolotl ?? {}).map(([name, text]) => [
        name,
        text.replace('huggyllama/llama-13b', 'gpt2').replace('2048', '512'),
      ]),
    );
    assert.equal((await looked(small, { 'ds.json': '' })).estimate?.verdict, 'fits');
  });

  it('keeps a verdict back where a file that is missing is named by a file that is named', async () => {
    const run = FAMILIES['a launch of Accelerate that names DeepSpeed'] ?? {};
    const { estimate, problems } = await looked(run, {});
    assert.equal(estimate?.verdict, 'unknown');
    assert.match(problems.find(({ code }) => code === 'missing-file')?.message ?? '', /acc\.yaml/);
  });
});
