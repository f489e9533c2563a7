import assert from 'node:assert/strict';
import { isPart } from '../../../server/src/workspace/analysis';
import { ROOT, smallWorkspace } from './small-workspace';

const PROJECT = 'targets: {gpu: A100-SXM4-80GB}\n';
const RECIPE = `model_name_or_path: Qwen/Qwen2.5-0.5B
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 1.0e-5
bf16: true
gradient_checkpointing: true
max_length: 2048
output_dir: out
`;
const FULL = 'accelerate launch --num_processes 4 train.py --config recipes/full.yaml';
const fenced = (info: string, ...lines: readonly string[]) => `\`\`\`${info}\n${lines.join('\n')}\n\`\`\`\n`;

const gpusOf = ({ resolved }: { readonly resolved: { readonly values: object } }) =>
  (resolved.values as Record<string, unknown>)['hardware.gpus'];

/** The run of a recipe in a repository with this README. */
async function recipeUnder(readme: string, more: Readonly<Record<string, string>> = {}) {
  const { analyze } = smallWorkspace({
    'oomlint.yaml': PROJECT,
    'recipes/full.yaml': RECIPE,
    'README.md': readme,
    ...more,
  });
  const analysis = await analyze('recipes/full.yaml');
  return { gpus: gpusOf(analysis), runs: analysis.runs?.map(({ name }) => name) ?? [], analysis };
}

describe('launches that texts show', () => {
  it('tell how a recipe is started, at the line where they stand', async () => {
    const { gpus, runs, analysis } = await recipeUnder(`# Training\n\nRun\n\n${fenced('bash', FULL)}`);
    assert.equal(gpus, 4);
    assert.deepEqual(runs, ['README.md:6']);
    const origin = analysis.resolved.origins['hardware.gpus'];
    assert.equal(origin?.location?.uri.endsWith('/README.md'), true);
    assert.deepEqual(origin?.location?.range.start, { line: 5, character: FULL.indexOf('4 train.py') });
    assert.equal(isPart(analysis), false, 'a text is not listed as a config, so its recipe is');
  });

  it('count in blocks of a shell alone, without their prompts and what was printed', async () => {
    for (const info of ['sh', 'shell', 'console', 'zsh', '', '{.bash}'])
      assert.equal((await recipeUnder(fenced(info, FULL))).gpus, 4, info);
    for (const info of ['python', 'yaml', 'text', 'diff'])
      assert.equal((await recipeUnder(fenced(info, FULL))).gpus, undefined, info);
    const typed = [
      '$ accelerate launch --num_processes 4 \\',
      '    train.py --config recipes/full.yaml',
      'loss: 1.2 (a',
    ];
    assert.equal((await recipeUnder(fenced('console', ...typed))).gpus, 4);
    assert.equal((await recipeUnder(`> ${FULL}\n\n    ${FULL}\n`)).gpus, undefined, 'no fenced block');
    assert.equal((await recipeUnder(`- so:\n\n  ~~~~bash\n  ${FULL}\n  ~~~~\n`)).gpus, 4);
  });

  it('are no runs where they leave the model of a script that names one to whoever fills it in', async () => {
    const code = (model: string) => `import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--base_model", default="${model}")
parser.add_argument("--batch", type=int, default=4)
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.base_model)
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=args.batch)).train()
`;
    const shown = async (model: string, given: string) => {
      const readme = fenced('bash', `python tune.py --base_model "${given}" --batch 16`);
      const { analyze } = smallWorkspace({ 'tune.py': code(model), 'README.md': readme });
      const { values } = (await analyze('tune.py')).resolved;
      return [values['model.id'], values['batch.micro']];
    };
    assert.deepEqual(await shown('gpt2', 'PATH_TO_MODEL'), ['gpt2', 4]);
    assert.deepEqual(await shown('gpt2', 'gpt2-large'), ['gpt2-large', 16]);
    assert.deepEqual(await shown('PATH_TO_MODEL', 'YOUR_MODEL'), ['YOUR_MODEL', 16]);
  });

  it('override in the text of a program the config that they name', async () => {
    const code = `"""Usage:

\`\`\`sh
accelerate launch --config_file zero.yaml --num_processes 2 train.py
\`\`\`
"""
from trl import SFTConfig, SFTTrainer
SFTTrainer(model="gpt2", args=SFTConfig(per_device_train_batch_size=1)).train()
`;
    const zero =
      'compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 2}\nnum_machines: 1\nnum_processes: 8\n';
    const { analyze } = smallWorkspace({ 'train.py': code, 'zero.yaml': zero });
    const { resolved, problems } = await analyze('train.py');
    assert.equal(resolved.values['hardware.gpus'], 2);
    assert.equal(resolved.values['zero.stage'], 2);
    assert.deepEqual(
      problems.filter(({ code }) => code === 'cross-file-conflict'),
      [],
    );
  });

  it('are left alone where words are left out', async () => {
    for (const word of ['--model <model>', '...', '[OPTIONS]', '{args}', '--help'])
      assert.deepEqual((await recipeUnder(fenced('bash', `${FULL} ${word}`))).runs, [], word);
  });

  it('are left alone where the reader chooses a value, however that is written', async () => {
    const FLAG = '--attn_implementation';
    for (const word of [
      '[eager | sdpa]',
      '[eager|sdpa]',
      '{eager|sdpa}',
      '<eager|sdpa>',
      'eager|sdpa',
      '<attention> --seed 1',
      '<your attention> --seed 1',
      '"<attention>"',
      'out/<name>',
    ])
      assert.deepEqual((await recipeUnder(fenced('bash', `${FULL} ${FLAG} ${word}`))).runs, [], word);
    assert.deepEqual((await recipeUnder(fenced('bash', `${FULL} [--seed SEED]`))).runs, []);
    const beside = fenced('bash', `${FULL.replace('4', '8')} ${FLAG} <attention>`, FULL);
    assert.equal((await recipeUnder(beside)).gpus, 4, 'the command beside it is whole');
    for (const end of [
      '--seed 1 | tee log.txt',
      '--seed 1|tee log.txt',
      '< /dev/null > log.txt',
      '--run_name "a|b"',
    ])
      assert.equal((await recipeUnder(fenced('bash', `${FULL} ${end}`))).gpus, 4, end);
  });

  it('are whole with tokens, lists and dictionaries that look like words to fill in', async () => {
    for (const given of [
      '--eos_token "<|im_end|>"',
      "--pad_token '<|endoftext|>'",
      '--eos_token "</s>" --pad_token "<pad>"',
      '--pad_token "[PAD]"',
      '--prompt "<s>[INST] question [/INST]"',
      "--lora_target_modules '[q_proj,v_proj]'",
      `--lora_target_modules '["q_proj"]'`,
      `--fsdp_config '{"activation_checkpointing": true}'`,
    ])
      assert.equal((await recipeUnder(fenced('bash', `${FULL} ${given}`))).gpus, 4, given);
    for (const given of ['--eos_token "<your token>"', '--pad_token "[TOKEN]"', '--prompt "{prompt}"'])
      assert.deepEqual((await recipeUnder(fenced('bash', `${FULL} ${given}`))).runs, [], given);
  });

  it('are each a run of its own', async () => {
    const two = fenced('bash', FULL, '# or, smaller', FULL.replace('4', '2'));
    const { runs } = await recipeUnder(`${two}\n${fenced('bash', FULL.replace('full', 'lora'))}`);
    assert.deepEqual([...runs].sort(), ['README.md:2', 'README.md:4']);
  });

  it('come after scripts, which people start', async () => {
    const script = FULL.replace('4', '8');
    const { gpus, runs } = await recipeUnder(fenced('bash', FULL), { 'scripts/run.sh': `${script}\n` });
    assert.equal(gpus, 8);
    assert.deepEqual(runs, ['scripts/run.sh']);
  });

  it('are variants where they give another value to what a file states', async () => {
    const trl = 'trl sft --config recipes/full.yaml';
    assert.deepEqual((await recipeUnder(fenced('bash', trl))).runs, ['README.md:2']);
    const other = `${trl} --per_device_train_batch_size 16`;
    assert.deepEqual((await recipeUnder(fenced('bash', other))).runs, []);
  });

  it('raise no error: they show how a run may be started', async () => {
    const large = RECIPE.replace('Qwen/Qwen2.5-0.5B', 'Qwen/Qwen2.5-72B');
    const trl = 'trl sft --config recipes/full.yaml --num_processes 2';
    const { analysis } = await recipeUnder(fenced('bash', trl), { 'recipes/full.yaml': large });
    const [verdict] = analysis.problems.filter(({ code }) => code === 'does-not-fit');
    assert.equal(verdict?.severity, 'warning');
    assert.match(verdict?.message ?? '', /It is started here as README\.md shows\.$/);
    const script = await recipeUnder('', { 'recipes/full.yaml': large, 'run.sh': `${trl}\n` });
    assert.equal(script.analysis.problems.find(({ code }) => code === 'does-not-fit')?.severity, 'error');
  });

  it('are no finding where the script is not known either', async () => {
    const large = RECIPE.replace('Qwen/Qwen2.5-0.5B', 'Qwen/Qwen2.5-72B');
    const { analysis } = await recipeUnder(fenced('bash', FULL), { 'recipes/full.yaml': large });
    assert.equal(analysis.problems.find(({ code }) => code === 'does-not-fit')?.severity, 'information');
  });

  it('give a program its flags, and none under which it trains nothing', async () => {
    const program = `import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
p = argparse.ArgumentParser()
p.add_argument("--model", default="gpt2")
p.add_argument("--batch", type=int, default=1)
p.add_argument("--show", action="store_true")
args = p.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.model)
if args.show:
    raise SystemExit(0)
Trainer(model, TrainingArguments("out", per_device_train_batch_size=args.batch)).train()
`;
    const under = async (...commands: readonly string[]) => {
      const { analyze } = smallWorkspace({ 'train.py': program, 'README.md': fenced('bash', ...commands) });
      const { resolved, runs } = await analyze('train.py');
      const values = resolved.values as Record<string, unknown>;
      return { model: values['model.id'], batch: values['batch.micro'], runs: runs?.length ?? 0 };
    };
    assert.deepEqual(await under('python train.py --model Qwen/Qwen2.5-0.5B --batch 8'), {
      model: 'Qwen/Qwen2.5-0.5B',
      batch: 8,
      runs: 1,
    });
    assert.deepEqual(await under('python train.py --show'), { model: 'gpt2', batch: 1, runs: 0 });
  });

  it('give a program no value that its choices forbid', async () => {
    const program = `import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
p = argparse.ArgumentParser()
p.add_argument("--batch", type=int, default=1, choices=[1, 2])
args = p.parse_args()
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model, TrainingArguments("out", per_device_train_batch_size=args.batch)).train()
`;
    const batchUnder = async (command: string) => {
      const { analyze } = smallWorkspace({ 'train.py': program, 'README.md': fenced('bash', command) });
      const { resolved } = await analyze('train.py');
      return (resolved.values as Record<string, unknown>)['batch.micro'];
    };
    assert.equal(await batchUnder('python train.py --batch 2'), 2);
    assert.notEqual(await batchUnder('python train.py --batch 8'), 8);
  });

  it('start a program that makes its own of a flag: what it means there the program tells', async () => {
    const program = (length: string) => `import argparse
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
p = argparse.ArgumentParser()
p.add_argument("--model", default="gpt2")
p.add_argument("--max_source_length", type=int, default=64)
p.add_argument("--max-target-length", type=int, default=64)
args = p.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.model)
tokenizer = AutoTokenizer.from_pretrained(args.model)
rows = data.map(lambda row: tokenizer(row["text"], truncation=True, max_length=${length}))
Trainer(model, TrainingArguments("out"), train_dataset=rows).train()
`;
    const lengthUnder = async (length: string) => {
      const launch =
        'python train.py --model Qwen/Qwen2.5-0.5B --max_source_length 128 --max_target_length 256';
      const { analyze } = smallWorkspace({
        'train.py': program(length),
        'README.md': fenced('bash', launch),
      });
      const { resolved, runs } = await analyze('train.py');
      return [resolved.values['batch.sequence'], resolved.values['model.id'], runs?.length ?? 0];
    };
    const joined = await lengthUnder('args.max_source_length + args.max_target_length');
    assert.deepEqual(joined, [384, 'Qwen/Qwen2.5-0.5B', 1]);
    assert.deepEqual(await lengthUnder('args.max_source_length'), [128, 'Qwen/Qwen2.5-0.5B', 1]);
  });

  it('bring the versions that the text installs, where nothing nearer holds them', async () => {
    const under = async (install: string, more: Readonly<Record<string, string>> = {}, launch = FULL) => {
      const { analysis } = await recipeUnder(
        `${fenced('shell', ...install.split('\n'))}\n${fenced('bash', launch)}`,
        more,
      );
      const { values, origins } = analysis.resolved;
      const { kind, location, note } = origins['version.transformers'] ?? {};
      return { version: values['version.transformers'], kind, note, line: location?.range.start.line };
    };
    const stated = {
      version: '4.43.1',
      kind: 'environment',
      note: 'transformers 4.43.1 in README.md',
      line: 2,
    };
    assert.deepEqual(
      await under('# Once\npip install transformers==4.43.1\npip install peft==0.11.1'),
      stated,
    );
    assert.deepEqual(await under('$ cd x\n$ python -m pip install -q "transformers==4.43.1" peft'), stated);
    const other = (found: { readonly version?: unknown }) => assert.notEqual(found.version, '4.43.1');
    other(await under('# pip install transformers==4.43.1'));
    other(await under('pip install transformers==4.43.1', {}, `${FULL} <flags>`));
    other(await under('pip install transformers==4.43.1\n# or\npip install transformers==4.44.0'));
    const list = { 'requirements.txt': 'transformers==4.45.2\n' };
    assert.equal((await under('pip install transformers==4.43.1', list)).version, '4.45.2');
  });

  it('follow an edit of the text', async () => {
    const { analyze, workspace, host } = smallWorkspace({
      'oomlint.yaml': PROJECT,
      'recipes/full.yaml': RECIPE,
      'README.md': fenced('bash', FULL),
    });
    assert.equal(gpusOf(await analyze('recipes/full.yaml')), 4);
    host.write(`${ROOT}/README.md`, fenced('bash', FULL.replace('4', '2')));
    workspace.invalidate(`${ROOT}/README.md`);
    assert.equal(gpusOf(await analyze('recipes/full.yaml')), 2);
  });
});

describe('a script that starts several runs', () => {
  const SCRIPT = `#!/bin/bash
accelerate launch --num_processes 4 train.py --config recipes/full.yaml
accelerate launch --num_processes 2 train.py --config recipes/small.yaml
`;

  it('starts each of its recipes, also the second', async () => {
    const { analyze } = smallWorkspace({
      'oomlint.yaml': PROJECT,
      'run.sh': SCRIPT,
      'recipes/full.yaml': RECIPE,
      'recipes/small.yaml': RECIPE.replace('2048', '512'),
    });
    const [full, small] = [await analyze('recipes/full.yaml'), await analyze('recipes/small.yaml')];
    assert.deepEqual([gpusOf(full), gpusOf(small)], [4, 2]);
    assert.deepEqual(
      [full, small].map(({ runs }) => runs?.map(({ name, line }) => [name, line])),
      [[['run.sh:2', 2]], [['run.sh:3', 3]]],
    );
    // The script is shown with its first run alone: the second would be listed nowhere.
    assert.equal(isPart(small), false);
  });
});

describe('recipes of a makefile', () => {
  /** The run of a recipe in a repository with this makefile. */
  const under = async (makefile: string, name = 'Makefile') => {
    const { analyze } = smallWorkspace({
      'oomlint.yaml': PROJECT,
      'recipes/full.yaml': RECIPE,
      [name]: makefile,
    });
    const analysis = await analyze('recipes/full.yaml');
    return { gpus: gpusOf(analysis), runs: analysis.runs?.map((run) => run.name) ?? [], analysis };
  };
  const launch = (gpus: string, config = 'recipes/full.yaml') =>
    `accelerate launch --num_processes ${gpus} train.py --config ${config}`;

  it('start a recipe with the variables of the file', async () => {
    const makefile = `# Training
CONFIG = recipes/$(SIZE).yaml
GPUS ?= 4   # of the machine
SIZE := full

.PHONY: train lint
lint: ; ruff check
train: data
\t@echo "training on $(GPUS)"
\t@${launch('$(GPUS)', '$(CONFIG)')} \\
\t  --output_dir out
`;
    const { gpus, runs, analysis } = await under(makefile);
    assert.equal(gpus, 4);
    assert.deepEqual(runs, ['Makefile:10']);
    const { start } = analysis.resolved.origins['hardware.gpus']?.location?.range ?? {};
    assert.deepEqual(start, { line: 2, character: 'GPUS ?= '.length }, 'where the variable is set');
  });

  it('take what is set for their target, what is added, and what is set first', async () => {
    assert.equal((await under(`GPUS = 4\ntrain: GPUS = 2\ntrain:\n\t${launch('$(GPUS)')}\n`)).gpus, 2);
    assert.equal((await under(`GPUS := 8\nGPUS ?= 2\ntrain:\n\t${launch('${GPUS}')}\n`)).gpus, 8);
    const added = `ARGS = --num_processes 8\nARGS += --num_machines 2\ntrain:\n\t-accelerate launch $(ARGS) train.py --config recipes/full.yaml\n`;
    const { analysis } = await under(added, 'mk/train.mk').catch(() => under(added));
    assert.equal((analysis.resolved.values as Record<string, unknown>)['hardware.nodes'], 2);
  });

  it('know neither what a condition decides nor what a function gives', async () => {
    const open = `ifdef BIG\nGPUS = 8\nendif\ntrain:\n\t${launch('$(GPUS)')}\n`;
    assert.equal((await under(open)).gpus, undefined);
    assert.equal((await under(`train:\n\t${launch('$(shell nproc)')}\n`)).gpus, undefined);
    assert.equal((await under(`train:\n\tGPUS=2; ${launch('$$GPUS')}\n`)).gpus, 2);
    assert.deepEqual((await under(`train:\n\t${launch('4', '$(FILE)')}\n`)).runs, []);
  });
});

describe('flags beside the recipe of a script that nobody knows', () => {
  it('name the DeepSpeed config that the script takes', async () => {
    const { analyze } = smallWorkspace({
      'oomlint.yaml': PROJECT,
      'recipes/full.yaml': RECIPE,
      'ds.json': '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}',
      'run.sh': 'torchrun --nproc_per_node=8 train.py recipes/full.yaml --deepspeed=ds.json --use_lora\n',
    });
    const { resolved, unread } = await analyze('recipes/full.yaml');
    assert.equal((resolved.values as Record<string, unknown>)['zero.stage'], 3);
    assert.deepEqual(unread?.map(({ text }) => text).sort(), ['--use_lora', 'train.py']);
  });
});

describe('a script whose model a launch names', () => {
  it('leaves the kernel of attention to transformers, which it loads that model with', async () => {
    const script = `import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--model")
model = AutoModelForCausalLM.from_pretrained(parser.parse_args().model)
Trainer(model=model, args=TrainingArguments("o"), train_dataset=rows).train()
`;
    const readme = fenced('bash', 'python train.py --model Qwen/Qwen2.5-0.5B');
    const { analyze } = smallWorkspace({ 'oomlint.yaml': PROJECT, 'train.py': script, 'README.md': readme });
    const { resolved } = await analyze('train.py');
    assert.equal(resolved.values['model.id'], 'Qwen/Qwen2.5-0.5B');
    assert.equal(resolved.origins['attention.implementation']?.kind, 'inferred');
  });
});
