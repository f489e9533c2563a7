import assert from 'node:assert/strict';
import { hover } from '../../../server/src/features/hover';
import type { RunOption } from '../../../server/src/workspace/analysis';
import { Workspace, type WorkspaceOptions } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { smallWorkspace } from './small-workspace';

const ROOT = 'file:///repo';
const ZERO = `{
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "train_batch_size": "auto",
  "gradient_clipping": "auto",
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 3},
  "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": "auto", "warmup_num_steps": "auto", "warmup_min_lr": "auto"}}
}`;
const RECIPE = `model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 1.0e-5
max_grad_norm: 0.5
max_steps: 1000
warmup_steps: 0
bf16: true
gradient_checkpointing: true
max_length: 4096
output_dir: out
deepspeed: ../ds/zero3.json
`;
const PROJECT = 'targets: {gpu: H100}\n';

function world(files: Record<string, string>, options: WorkspaceOptions = {}, root = ROOT) {
  const texts = Object.entries(files).map(([path, text]) => [`${root}/${path}`, text]);
  const host = new MemoryHost(Object.fromEntries(texts), { folders: [root] });
  const workspace = new Workspace(host, options);
  const analyze = async (path: string) => {
    const analysis = await workspace.analyze(`${root}/${path}`);
    assert.ok(analysis, `no analysis of ${path}`);
    return analysis;
  };
  return { host, workspace, analyze };
}
type Found = Awaited<ReturnType<ReturnType<typeof world>['analyze']>>;
const problems = (analysis: Found, code: string) => analysis.problems.filter((found) => found.code === code);
const at = (text: string, word: string) => {
  const line = text.split('\n').findIndex((candidate) => candidate.includes(word));
  assert.ok(line >= 0, word);
  return line;
};

/** A script that starts TRL's SFT with a recipe and flags of its own. */
const launch = (flags = '') =>
  `#!/bin/bash\naccelerate launch --num_processes 8 --multi_gpu scripts/sft.py --config recipes/sft.yaml ${flags}\n`;
const PLAIN = RECIPE.replace(/deepspeed.*\n/, '');

describe('runs of a config on CPUs', () => {
  it('are shown after those that take GPU memory', async () => {
    const { analyze } = world({
      'recipes/sft.yaml': PLAIN,
      'oomlint.yaml': PROJECT,
      'scripts/a.sh': 'accelerate launch --cpu scripts/sft.py --config recipes/sft.yaml\n',
      'scripts/b.sh': launch(),
    });
    const { runs = [], estimate } = await analyze('recipes/sft.yaml');
    assert.deepEqual(
      runs.map(({ name, verdict }) => [name.replace(/:.*/, ''), verdict === 'unknown']),
      [
        ['scripts/b.sh', false],
        ['scripts/a.sh', true],
      ],
    );
    assert.ok(estimate);
  });
});

describe('folders beside a config that may hold what starts its run', () => {
  const recipe = { 'recipes/sft.yaml': PLAIN, 'oomlint.yaml': PROJECT, 'data/rows.json': '[]' };

  it('are asked for what they hold only where they are', async () => {
    const { host, analyze } = world(recipe);
    const asked: string[] = [];
    const list = host.list.bind(host);
    host.list = (uri) => {
      asked.push(uri.slice(ROOT.length));
      return list(uri);
    };
    await analyze('recipes/sft.yaml');
    assert.ok(asked.includes('/recipes'), asked.join());
    assert.deepEqual(
      asked.filter((folder) => /^\/(scripts|slurm|jobs|conf)$/.test(folder)),
      [],
    );
  });

  it('are looked into once they come', async () => {
    const { host, workspace, analyze } = world(recipe);
    await analyze('recipes/sft.yaml');
    const script = `${ROOT}/scripts/run.sh`;
    host.write(script, launch());
    workspace.invalidate(script);
    const { files } = await analyze('recipes/sft.yaml');
    assert.ok(files.includes(script), files.join());
  });
});

describe('a config that files of a folder beside its own use', () => {
  it('is in all of their runs, whichever files were looked at before', async () => {
    const files = {
      'configs/deepspeed/zero3.json': ZERO,
      'configs/factory/sft.yaml': RECIPE.replace('../ds/', 'configs/deepspeed/'),
      'scripts/run.sh': launch('--deepspeed configs/deepspeed/zero3.json'),
      'recipes/sft.yaml': PLAIN,
      'oomlint.yaml': PROJECT,
    };
    const { analyze } = world(files);
    const cold = await analyze('configs/deepspeed/zero3.json');
    const names = (found: Found) => (found.runs ?? []).map(({ name }) => name).sort();
    assert.deepEqual(names(cold), ['configs/factory/sft.yaml', 'scripts/run.sh']);
    const warm = world(files);
    for (const path of Object.keys(files)) if (path !== 'oomlint.yaml') await warm.analyze(path);
    assert.deepEqual(names(await warm.analyze('configs/deepspeed/zero3.json')), names(cold));
  });
});

describe('a recipe and the script that starts it', () => {
  const files = { 'recipes/sft.yaml': PLAIN, 'scripts/run.sh': launch(), 'oomlint.yaml': PROJECT };

  it('makes one run, whichever of the two is open', async () => {
    const { analyze } = world(files);
    const [script, recipe] = [await analyze('scripts/run.sh'), await analyze('recipes/sft.yaml')];
    assert.ok(script.estimate && recipe.estimate);
    assert.equal(script.estimate.peak.processBytes, recipe.estimate.peak.processBytes);
    assert.deepEqual(script.resolved.values, recipe.resolved.values);
    assert.equal(recipe.resolved.values['hardware.gpus'], 8);
    const origin = recipe.resolved.origins['hardware.gpus'];
    assert.equal(origin?.location?.uri, `${ROOT}/scripts/run.sh`);
    assert.equal(origin?.location?.range.start.line, 1);
    assert.equal(script.resolved.origins['batch.accumulation']?.location?.uri, `${ROOT}/recipes/sft.yaml`);
  });

  it('lets flags of the script override the recipe, and reports it at the value with a link to the flag', async () => {
    const script = launch('--per_device_train_batch_size 4');
    const { analyze } = world({ ...files, 'scripts/run.sh': script });
    for (const path of ['scripts/run.sh', 'recipes/sft.yaml']) {
      assert.equal((await analyze(path)).resolved.values['batch.micro'], 4, path);
    }
    const recipe = await analyze('recipes/sft.yaml');
    const [found, more] = problems(recipe, 'overridden-value');
    assert.equal(more, undefined);
    assert.equal(found?.severity, 'information');
    assert.match(
      found?.message ?? '',
      /^run\.sh starts this run with per_device_train_batch_size = 4, .*in the place of 2\.$/,
    );
    assert.equal(found?.range.start.line, at(PLAIN, 'per_device'));
    assert.equal(found?.related?.[0]?.uri, `${ROOT}/scripts/run.sh`);
    assert.deepEqual(found?.related?.[0]?.range.start, {
      line: 1,
      character: script.split('\n')[1]?.indexOf('4', 60),
    });
    assert.deepEqual(problems(recipe, 'cross-file-conflict'), []);
    assert.deepEqual(problems(await analyze('scripts/run.sh'), 'cross-file-conflict'), []);
  });

  it('takes the type that weights are loaded in for none that mixed precision contradicts', async () => {
    const { analyze } = smallWorkspace({
      'zero.yaml':
        'compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 3}\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n',
      'run.sh': 'accelerate launch --config_file zero.yaml train.py\n',
      'train.py': `import torch
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.float32)
SFTTrainer(model=model, args=SFTConfig(output_dir="o", bf16=True)).train()
`,
    });
    for (const file of ['zero.yaml', 'train.py']) {
      const { problems } = await analyze(file);
      assert.deepEqual(
        problems.filter(({ code }) => code === 'cross-file-conflict'),
        [],
        file,
      );
    }
  });

  it('takes the DeepSpeed file of a recipe for none that a launcher of replicas contradicts', async () => {
    const { analyze } = smallWorkspace({
      'ddp.yaml':
        'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n',
      'zero.json': ZERO,
      'train.py': `import torch
from transformers import AutoModelForCausalLM, HfArgumentParser
from trl import SFTConfig, SFTTrainer
(args,) = HfArgumentParser((SFTConfig,)).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.float32)
SFTTrainer(model=model, args=args).train()
`,
      'run.sh':
        'accelerate launch --config_file ddp.yaml train.py --output_dir o --bf16 True --deepspeed zero.json\n',
    });
    assert.equal((await analyze('run.sh')).resolved.values['parallel.data'], 'zero');
    for (const file of ['ddp.yaml', 'zero.json', 'run.sh']) {
      const { problems } = await analyze(file);
      assert.deepEqual(
        problems.filter(({ code }) => code === 'cross-file-conflict'),
        [],
        file,
      );
    }
  });

  it('finds scripts of Slurm, and the script above a DeepSpeed file that the recipe names', async () => {
    const slurm = `#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:8\nsrun torchrun --nnodes 2 --nproc_per_node 8 scripts/sft.py --config recipes/sft.yaml\n`;
    const { analyze } = world({
      'ds/zero3.json': ZERO,
      'recipes/sft.yaml': RECIPE,
      'slurm/job.slurm': slurm,
      'oomlint.yaml': PROJECT,
    });
    const zero = await analyze('ds/zero3.json');
    assert.equal(zero.resolved.values['hardware.gpus'], 16);
    assert.equal(zero.resolved.values['model.id'], 'meta-llama/Llama-3.1-8B');
    assert.deepEqual(zero.files.slice(0, 3).sort(), [
      `${ROOT}/ds/zero3.json`,
      `${ROOT}/recipes/sft.yaml`,
      `${ROOT}/slurm/job.slurm`,
    ]);
    assert.equal(zero.runs?.[0]?.name, 'slurm/job.slurm');
    const script = await analyze('slurm/job.slurm');
    assert.equal(script.estimate?.peak.processBytes, zero.estimate?.peak.processBytes);
    assert.ok(zero.estimate);
  });

  it('reports a missing recipe at the word that names it', async () => {
    const { analyze } = world({
      'scripts/run.sh': launch(),
      'recipes/other.txt': '',
      'oomlint.yaml': PROJECT,
    });
    const [found] = problems(await analyze('scripts/run.sh'), 'missing-file');
    assert.equal(found?.severity, 'warning');
    assert.equal(found?.range.start.character, launch().split('\n')[1]?.indexOf('recipes/'));
  });
});

describe('a file that several runs use', () => {
  const recipe = (micro: number) =>
    RECIPE.replace('batch_size: 2', `batch_size: ${micro}`).replace('4096', '2048');
  const files = {
    'ds/zero3.json': ZERO,
    'recipes/a.yaml': recipe(1),
    'recipes/b.yaml': recipe(64),
    'recipes/c.yaml': recipe(4),
    'oomlint.yaml': 'targets: {gpu: H100, gpus: 8}\n',
  };

  it('shows the worst of them first and names the others', async () => {
    const { analyze } = world(files);
    const zero = await analyze('ds/zero3.json');
    assert.deepEqual(
      zero.runs?.map(({ name }) => name),
      ['recipes/b.yaml', 'recipes/c.yaml', 'recipes/a.yaml'],
    );
    assert.equal(zero.run, `${ROOT}/recipes/b.yaml`);
    assert.equal(zero.resolved.values['batch.micro'], 64);
    const peaks = zero.runs?.map(({ peakBytes = 0 }) => peakBytes) ?? [];
    assert.deepEqual(
      peaks,
      [...peaks].sort((a, b) => b - a),
    );
    for (const name of ['a', 'b', 'c']) {
      const alone = await analyze(`recipes/${name}.yaml`);
      const option: RunOption | undefined = zero.runs?.find((run) => run.name === `recipes/${name}.yaml`);
      assert.equal(alone.estimate?.peak.processBytes, option?.peakBytes);
      assert.equal(alone.estimate?.verdict, option?.verdict);
    }
    assert.deepEqual(
      zero.usedBy?.map(({ uri, range }) => [uri, range.start.line]),
      ['a', 'b', 'c'].map((name) => [`${ROOT}/recipes/${name}.yaml`, at(RECIPE, 'deepspeed')]),
    );
  });

  it('shows the one that the user chose', async () => {
    const chosenRun = () => `${ROOT}/recipes/a.yaml`;
    const zero = await world(files, { chosenRun }).analyze('ds/zero3.json');
    assert.equal(zero.run, `${ROOT}/recipes/a.yaml`);
    assert.equal(zero.resolved.values['batch.micro'], 1);
    const gone = await world(files, { chosenRun: () => `${ROOT}/recipes/gone.yaml` }).analyze(
      'ds/zero3.json',
    );
    assert.equal(gone.run, `${ROOT}/recipes/b.yaml`);
  });

  it('is not walked through without an end', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [`recipes/${i}.yaml`, recipe(1 + (i % 4))]),
    );
    const zero = await world({ ...many, 'ds/zero3.json': ZERO, 'oomlint.yaml': PROJECT }).analyze(
      'ds/zero3.json',
    );
    assert.equal(zero.runs?.length, 12);
    // Every user is known all the same: a save brings them up to date.
    assert.equal(zero.usedBy?.length, 60);
  });

  it('has no runs where nobody names it', async () => {
    const zero = await world({ 'ds/zero3.json': ZERO, 'oomlint.yaml': PROJECT }).analyze('ds/zero3.json');
    assert.equal(zero.runs, undefined);
    assert.equal(zero.usedBy, undefined);
  });
});

describe('values that the Trainer compares', () => {
  const pair = (recipe: string, zero: string) =>
    world({ 'ds/zero3.json': zero, 'recipes/sft.yaml': recipe, 'oomlint.yaml': PROJECT });

  it('are reported in both files, each with a link to the other', async () => {
    const zero = ZERO.replace(
      '"train_micro_batch_size_per_gpu": "auto"',
      '"train_micro_batch_size_per_gpu": 8',
    );
    const { analyze } = pair(RECIPE, zero);
    const [here] = problems(await analyze('ds/zero3.json'), 'cross-file-conflict');
    const [there] = problems(await analyze('recipes/sft.yaml'), 'cross-file-conflict');
    assert.equal(here?.severity, 'error');
    assert.match(
      here?.message ?? '',
      /train_micro_batch_size_per_gpu = 8 here, per_device_train_batch_size = 2 in sft\.yaml/,
    );
    assert.match(
      there?.message ?? '',
      /per_device_train_batch_size = 2 here, train_micro_batch_size_per_gpu = 8 in zero3\.json/,
    );
    assert.match(here?.source ?? '', /integrations\/deepspeed\.py$/);
    assert.equal(here?.related?.[0]?.uri, `${ROOT}/recipes/sft.yaml`);
    assert.equal(here?.related?.[0]?.range.start.line, at(RECIPE, 'per_device'));
    assert.equal(there?.related?.[0]?.uri, `${ROOT}/ds/zero3.json`);
    assert.equal(there?.related?.[0]?.range.start.line, 1);
  });

  it('differ where one is text: "2" is not 2', async () => {
    const zero = ZERO.replace(
      '"train_micro_batch_size_per_gpu": "auto"',
      '"train_micro_batch_size_per_gpu": "2"',
    );
    const found = problems(await pair(RECIPE, zero).analyze('recipes/sft.yaml'), 'cross-file-conflict');
    assert.equal(found.length, 1);
    assert.match(found[0]?.message ?? '', /"2".*not that number for Python/);
  });

  it('cover clipping, accumulation and precision; equal numbers and "auto" are fine', async () => {
    const zero = ZERO.replace('"gradient_clipping": "auto"', '"gradient_clipping": 1.0')
      .replace('"gradient_accumulation_steps": "auto"', '"gradient_accumulation_steps": 4')
      .replace('"bf16": {"enabled": true}', '"bf16": {"enabled": false}');
    const found = problems(await pair(RECIPE, zero).analyze('recipes/sft.yaml'), 'cross-file-conflict');
    assert.deepEqual(
      found.map(({ range }) => range.start.line),
      [at(RECIPE, 'max_grad_norm'), at(RECIPE, 'bf16')],
    );
    assert.deepEqual(
      problems(await pair(RECIPE, ZERO).analyze('recipes/sft.yaml'), 'cross-file-conflict'),
      [],
    );
  });

  it('fill "auto", each with the place that it comes from', async () => {
    const zero = await pair(RECIPE, ZERO).analyze('ds/zero3.json');
    const filled = Object.fromEntries((zero.filled ?? []).map(({ key, value }) => [key, value]));
    assert.deepEqual(filled, {
      train_micro_batch_size_per_gpu: '2',
      gradient_accumulation_steps: '4',
      gradient_clipping: '0.5',
      'scheduler.params.total_num_steps': '1000',
      // At least one step: `max(1, warmup_steps)`.
      'scheduler.params.warmup_num_steps': '1',
      'scheduler.params.warmup_min_lr': '0',
    });
    const clipping = zero.filled?.find(({ key }) => key === 'gradient_clipping');
    assert.equal(clipping?.location?.uri, `${ROOT}/recipes/sft.yaml`);
    assert.equal(clipping?.location?.range.start.line, at(RECIPE, 'max_grad_norm'));
    assert.equal(zero.resolved.values['schedule.steps'], 1000);
  });

  it('are explained where "auto" stands, and files that use this one at its first key', async () => {
    const zero = await pair(RECIPE, ZERO).analyze('ds/zero3.json');
    const text = (word: string) => {
      const line = at(ZERO, word);
      const character = (ZERO.split('\n')[line]?.indexOf(word) ?? 0) + 2;
      return hover(zero, { line, character })?.markdown ?? '';
    };
    assert.match(
      text('gradient_clipping'),
      /- `auto` → `0\.5` \(`max_grad_norm`\) — \[sft\.yaml:5\]\(file:\/\/\/repo\/recipes\/sft\.yaml#L5\)/,
    );
    assert.match(
      text('train_micro'),
      /\*\*Used by\*\* \[sft\.yaml:12\]\(file:\/\/\/repo\/recipes\/sft\.yaml#L12\)/,
    );
    assert.doesNotMatch(text('gradient_clipping'), /Used by/);
  });

  it('leave the optimizer to DeepSpeed where its file builds one', async () => {
    const zero = ZERO.replace('{', '{"optimizer": {"type": "Lion", "params": {}},');
    const recipe = `${RECIPE}optim: adamw_bnb_8bit\n`;
    const { analyze } = pair(recipe, zero);
    const [a, b] = [await analyze('recipes/sft.yaml'), await analyze('ds/zero3.json')];
    assert.equal(a.resolved.values['optimizer.name'], 'lion');
    assert.equal(b.resolved.values['optimizer.name'], 'lion');
    assert.equal(a.estimate?.peak.processBytes, b.estimate?.peak.processBytes);
    const [found] = problems(a, 'replaced-optimizer');
    assert.equal(found?.range.start.line, at(recipe, 'optim: '));
    assert.equal(found?.related?.[0]?.uri, `${ROOT}/ds/zero3.json`);
  });
});

describe('places of files', () => {
  it('may be remote: nothing depends on the scheme', async () => {
    const remote = 'vscode-vfs://github/team/repo';
    const { analyze } = world(
      {
        'ds/zero3.json': ZERO,
        'recipes/sft.yaml': RECIPE,
        'oomlint.yaml': 'targets: {gpu: H100, gpus: 8}\n',
      },
      {},
      remote,
    );
    const zero = await analyze('ds/zero3.json');
    assert.equal(zero.run, `${remote}/recipes/sft.yaml`);
    assert.ok(zero.estimate);
  });

  it('may lie in several workspace folders: the one that holds the file counts', async () => {
    const host = new MemoryHost(
      {
        'file:///one/ds/zero3.json': ZERO,
        'file:///one/recipes/sft.yaml': RECIPE,
        'file:///two/ds/zero3.json': ZERO,
        'file:///two/recipes/sft.yaml': RECIPE.replace('batch_size: 2', 'batch_size: 3'),
      },
      { folders: ['file:///one', 'file:///two'] },
    );
    const workspace = new Workspace(host);
    for (const [folder, micro] of [
      ['one', 2],
      ['two', 3],
    ] as const) {
      const analysis = await workspace.analyze(`file:///${folder}/ds/zero3.json`);
      assert.equal(analysis?.resolved.values['batch.micro'], micro, folder);
      assert.equal(analysis?.runs?.length, 1);
    }
  });
});

describe('settings of FSDP in a file of their own', () => {
  const recipe = PLAIN.replace('output_dir: out', 'fsdp: full_shard auto_wrap\nfsdp_config: fsdp.json');
  const settings = (more = '') =>
    `{"fsdp_transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"], "backward_prefetch": "backward_pre"${more}}`;
  const project = 'targets: {gpu: H100, gpus: 8}\n';

  it('are read through the recipe, and the recipe through them', async () => {
    const { analyze } = world({
      'recipes/sft.yaml': recipe,
      'recipes/fsdp.json': settings(', "version": 2'),
      'oomlint.yaml': project,
    });
    const [a, b] = [await analyze('recipes/sft.yaml'), await analyze('recipes/fsdp.json')];
    assert.equal(a.resolved.values['parallel.data'], 'fsdp2');
    assert.equal(a.resolved.values['fsdp.backwardPrefetch'], 'pre');
    assert.equal(a.resolved.origins['fsdp.backwardPrefetch']?.location?.uri, `${ROOT}/recipes/fsdp.json`);
    assert.equal(b.dialect.id, 'fsdp-config');
    assert.equal(b.resolved.values['batch.micro'], 2);
    assert.ok(a.estimate);
    assert.equal(a.estimate.peak.processBytes, b.estimate?.peak.processBytes);
    assert.deepEqual(problems(a, 'cross-file-conflict'), []);
  });

  it('say the same as the block in the recipe', async () => {
    const inline = recipe.replace(
      'fsdp_config: fsdp.json',
      'fsdp_config: {transformer_layer_cls_to_wrap: [LlamaDecoderLayer], backward_prefetch: backward_pre}',
    );
    const { analyze } = world({
      'a.yaml': recipe,
      'b.yaml': inline,
      'fsdp.json': settings(),
      'oomlint.yaml': project,
    });
    const [a, b] = [await analyze('a.yaml'), await analyze('b.yaml')];
    assert.deepEqual(a.resolved.values, b.resolved.values);
  });
});

describe('settings of FSDP in a file of their own, beside words in the recipe', () => {
  const recipe = (words: string) =>
    PLAIN.replace('output_dir: out', `fsdp: ${words}\nfsdp_config: fsdp.json`);
  const settings = '{"min_num_params": 100000000, "cpu_offload": true, "backward_prefetch": "backward_pre"}';
  const values = async (words: string, transformers: string) => {
    const project = `targets: {gpu: H100, gpus: 8}\ndefaults: {version.transformers: "${transformers}"}\n`;
    const { analyze } = world({ 'a.yaml': recipe(words), 'fsdp.json': settings, 'oomlint.yaml': project });
    const { resolved } = await analyze('a.yaml');
    const wanted = ['parallel.data', 'fsdp.wrap', 'fsdp.minParameters', 'offload.parameters'] as const;
    return wanted.map((field) => resolved.values[field]);
  };

  it('say how layers are wrapped', async () => {
    assert.deepEqual(await values('full_shard auto_wrap', '5.0'), ['fsdp1', 'size', 100000000, 'none']);
  });

  it('offload from transformers 5.10, which takes FSDP 2 and wraps without being asked', async () => {
    assert.deepEqual(await values('true', '5.10'), ['fsdp2', 'size', 100000000, 'cpu']);
  });
});

describe('a file that is missing and may shard the run', () => {
  it('leaves no verdict that the run does not fit', async () => {
    const files = { 'a.yaml': RECIPE, 'oomlint.yaml': 'targets: {gpu: A100-SXM4-40GB, gpus: 1}\n' };
    const { analyze } = world(files);
    const [found] = problems(await analyze('a.yaml'), 'feature-not-modelled');
    assert.match(found?.message ?? '', /^Needs at most .*`\.\.\/ds\/zero3\.json` is not here/);
    const plain = world({ ...files, 'a.yaml': PLAIN });
    assert.equal(problems(await plain.analyze('a.yaml'), 'does-not-fit')[0]?.severity, 'error');
  });
});

describe('a defaults list', () => {
  const project = 'targets: {gpu: H100, gpus: 8}\n';

  it('lets a config start from another and override it, whichever is open', async () => {
    const child =
      'defaults:\n  - base\n  - _self_\nper_device_train_batch_size: 16\ngradient_checkpointing: true\nbf16: true\nmodel_name_or_path: meta-llama/Llama-3.1-8B\n';
    const part = PLAIN.replace(/^model_name_or_path.*\n/m, '');
    const { analyze } = world({ 'exp/child.yaml': child, 'exp/base.yaml': part, 'oomlint.yaml': project });
    const a = await analyze('exp/child.yaml');
    assert.equal(a.links[0]?.uri, `${ROOT}/exp/base.yaml`);
    assert.equal(a.resolved.values['batch.micro'], 16);
    assert.equal(a.resolved.values['model.id'], 'meta-llama/Llama-3.1-8B');
    assert.deepEqual(problems(a, 'cross-file-conflict'), []);
    const b = await analyze('exp/base.yaml');
    assert.equal(b.run, `${ROOT}/exp/child.yaml`);
    assert.equal(b.resolved.values['batch.micro'], 16);
    assert.equal(problems(b, 'overridden-value').length, 1);
    assert.equal(a.estimate?.peak.processBytes, b.estimate?.peak.processBytes);
  });

  it('gives the last of several bases the say', async () => {
    const child =
      'defaults: [one, two]\nbf16: true\ngradient_checkpointing: true\nper_device_eval_batch_size: 1\n';
    const { analyze } = world({
      'child.yaml': child,
      'one.yaml': PLAIN,
      'two.yaml': PLAIN.replace('batch_size: 2', 'batch_size: 5'),
      'oomlint.yaml': project,
    });
    assert.equal((await analyze('child.yaml')).resolved.values['batch.micro'], 5);
  });

  it('reports a base that is missing', async () => {
    const { analyze } = world({ 'a.yaml': `defaults: [gone]\n${PLAIN}`, 'oomlint.yaml': project });
    assert.equal(problems(await analyze('a.yaml'), 'missing-file')[0]?.range.start.line, 0);
  });
});

describe('several tools in one run', () => {
  const files = {
    'ds/zero3.json': ZERO,
    'configs/acc.yaml':
      'compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ../ds/zero3.json\nnum_machines: 1\nnum_processes: 8\n',
    'recipes/sft.yaml': PLAIN,
    'scripts/run.sh':
      '#!/bin/bash\nCONFIG=recipes/sft.yaml\naccelerate launch --config_file configs/acc.yaml --num_processes 4 scripts/sft.py --config $CONFIG\n',
    'oomlint.yaml': PROJECT,
  };

  it('are one run in every file: script, recipe, Accelerate and DeepSpeed', async () => {
    const { analyze } = world(files);
    const script = await analyze('scripts/run.sh');
    assert.ok(script.estimate);
    for (const path of ['recipes/sft.yaml', 'configs/acc.yaml', 'ds/zero3.json']) {
      const { estimate, resolved, run } = await analyze(path);
      assert.equal(estimate?.peak.processBytes, script.estimate.peak.processBytes, path);
      assert.equal(resolved.values['hardware.gpus'], 4, path);
      assert.equal(run, `${ROOT}/scripts/run.sh`, path);
    }
    const [found] = problems(await analyze('configs/acc.yaml'), 'overridden-value');
    assert.match(found?.message ?? '', /num_processes = 4, .* in the place of 8/);
  });

  it('say in the script what its files contradict each other in', async () => {
    const zero = ZERO.replace('"gradient_clipping": "auto"', '"gradient_clipping": 1.0');
    const { analyze } = world({ ...files, 'ds/zero3.json': zero });
    const [found, more] = problems(await analyze('scripts/run.sh'), 'cross-file-conflict');
    assert.equal(more, undefined);
    assert.match(
      found?.message ?? '',
      /max_grad_norm = 0\.5 in sft\.yaml, gradient_clipping = 1\.0 in zero3\.json/,
    );
    assert.deepEqual(
      found?.related?.map(({ uri }) => uri),
      [`${ROOT}/recipes/sft.yaml`, `${ROOT}/ds/zero3.json`],
    );
    assert.deepEqual(problems(await analyze('configs/acc.yaml'), 'cross-file-conflict'), []);
  });

  it('take command-line overrides of TOML and YAML configs', async () => {
    const { analyze } = world({
      'titan.toml':
        '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = 2048\nlocal_batch_size = 1\nsteps = 3\n[parallelism]\ntensor_parallel_degree = 1\n',
      'titan.sh':
        'torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file titan.toml --training.local_batch_size 3\n',
      'tune.yaml':
        'model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\nbatch_size: 2\noptimizer:\n  _component_: torch.optim.AdamW\n',
      'tune.sh': 'tune run --nproc_per_node 4 full_finetune_distributed --config tune.yaml batch_size=5\n',
      'oomlint.yaml': PROJECT,
    });
    for (const [path, gpus, micro] of [
      ['titan.toml', 8, 3],
      ['tune.yaml', 4, 5],
    ] as const) {
      const analysis = await analyze(path);
      assert.equal(analysis.resolved.values['hardware.gpus'], gpus, path);
      assert.equal(analysis.resolved.values['batch.micro'], micro, path);
      assert.equal(problems(analysis, 'overridden-value').length, 1, path);
    }
  });
});

describe('the length of a run', () => {
  it("is that of DeepSpeed's schedule, which the Trainer compares with its own", async () => {
    const zero = ZERO.replace('"total_num_steps": "auto"', '"total_num_steps": 500');
    const project = 'targets: {gpu: H100, gpus: 8}\n';
    const alone = await world({ 'zero3.json': zero, 'oomlint.yaml': project }).analyze('zero3.json');
    assert.equal(alone.resolved.values['schedule.steps'], 500);
    const { analyze } = world({ 'ds/zero3.json': zero, 'recipes/sft.yaml': RECIPE, 'oomlint.yaml': project });
    const found = problems(await analyze('recipes/sft.yaml'), 'cross-file-conflict');
    assert.deepEqual(
      found.map(({ range }) => range.start.line),
      [at(RECIPE, 'max_steps')],
    );
  });
});
