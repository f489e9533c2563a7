import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { Versions } from '../../../server/src/run/versions';
import { smallWorkspace } from '../workspace/small-workspace';
import { read, statedVersions } from './reading';

const script = (
  config: string,
  trainer = 'Trainer',
) => `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("gpt2")
${trainer}(model=model, args=${config}).train()
`;

function found(
  text: string,
  known: Readonly<Record<string, string>>,
  versions: Versions = statedVersions(known),
) {
  const { problems } = read('python', 'file:///w/train.py', text, known, versions);
  return problems
    .filter(({ code }) => /^(argument-release|deprecated-key)$/.test(code))
    .map(({ code, severity, data }) => `${code} ${severity} ${String(data?.replacement)}`);
}

const TRANSFORMERS = (version: string) => ({ 'version.transformers': version });
const TRL = (version: string) => ({ 'version.trl': version, 'version.transformers': '4.57.6' });

describe('arguments that a release does not take', () => {
  before(loadPython);

  it('are none where a condition decides which of two is passed', () => {
    const asking = (condition: string) => `import inspect
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
more = dict(output_dir="o")
if ${condition}:
    more["eval_strategy"] = "steps"
else:
    more["evaluation_strategy"] = "steps"
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model=model, args=TrainingArguments(**more)).train()
`;
    const signature = '"eval_strategy" in inspect.signature(TrainingArguments.__init__).parameters';
    assert.deepEqual(found(asking(signature), TRANSFORMERS('4.30.0')), []);
    assert.deepEqual(found(asking('True'), TRANSFORMERS('4.30.0')), [
      'argument-release error evaluation_strategy',
    ]);
    const { facts } = read('python', 'file:///w/train.py', asking(signature), {}, {});
    assert.deepEqual(
      facts.filter(({ field, origin }) => field === 'version.transformers' && origin.kind === 'inferred'),
      [],
    );
  });

  it('are none of a trainer where a condition decides which one is made, or whether they are passed', () => {
    const stops = (chosen: string, more: string) => {
      const text = `import os
from viz import VizTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
viz = os.environ.get("VIZ") == "1"
more = {}
${more}
trains = ${chosen}
model = AutoModelForCausalLM.from_pretrained("gpt2")
trains(model=model, args=TrainingArguments("o"), **more).train()
`;
      const { problems } = read('python', 'file:///w/train.py', text, {}, {});
      return problems.flatMap(({ code }) => (code === 'trainer-argument' ? [code] : []));
    };
    const put = 'more["visualize"] = True';
    assert.deepEqual(stops('Trainer', put), ['trainer-argument']);
    assert.deepEqual(stops('Trainer', `if viz:\n    ${put}`), []);
    assert.deepEqual(stops('VizTrainer if viz else Trainer', put), []);
    assert.deepEqual(stops('VizTrainer if viz else Trainer', `if viz:\n    ${put}`), []);
  });

  it('may be values: optimizers and schedulers that came later, and their classes', () => {
    const refusals = (text: string, versions: Readonly<Record<string, string>>) =>
      read('python', 'file:///w/train.py', text, {}, statedVersions(versions)).problems.flatMap(
        ({ code, severity, message }) =>
          code === 'unknown-optimizer' || code === 'argument-release' ? [`${severity} ${message}`] : [],
      );
    const named = script('SFTConfig("o", optim="apollo_adamw", lr_scheduler_type="greedy")', 'SFTTrainer');
    assert.deepEqual(refusals(named, { 'version.transformers': '4.46.3' }), [
      'error transformers knows the optimizer "apollo_adamw" since version 4.49.',
      'error transformers knows the scheduler "greedy" since version 5.4.',
    ]);
    assert.deepEqual(refusals(named, { 'version.transformers': '5.4.0' }), []);
    assert.deepEqual(refusals(named, {}), []);
    const arguments_ = 'TrainingArguments("o", optim="paged_ademamix_8bit")';
    const old = { 'version.bitsandbytes': '0.43.3' };
    const needs = 'error bitsandbytes has what the optimizer "paged_ademamix_8bit" needs since version 0.44.';
    assert.deepEqual(refusals(script(arguments_), old), [needs]);
    // The Trainer makes none where it is handed one.
    const handed = script(arguments_).replace(
      ').train()',
      ', optimizers=(torch.optim.Adafactor(model.parameters()), None)).train()',
    );
    assert.deepEqual(refusals(`import torch\n${handed}`, old), []);
    assert.deepEqual(refusals(`import torch\n${handed}`, { 'version.torch': '2.4.1' }), [
      'error PyTorch has the optimizer "Adafactor" since version 2.5.',
    ]);
  });

  it('stop the call where that release is named', () => {
    const eval_strategy = script('TrainingArguments("o", eval_strategy="steps")');
    const evaluation_strategy = script('TrainingArguments("o", evaluation_strategy="steps")');
    const renamed = 'argument-release error evaluation_strategy';
    for (const version of ['4.10.0', '4.30.2', '4.40.2'])
      assert.deepEqual(found(eval_strategy, TRANSFORMERS(version)), [renamed], version);
    for (const version of ['4.41.0', '4.57.6', '5.23.0'])
      assert.deepEqual(found(eval_strategy, TRANSFORMERS(version)), [], version);
    // The other name is none there.
    assert.deepEqual(found(evaluation_strategy, TRANSFORMERS('4.30.2')), []);
    assert.deepEqual(found(evaluation_strategy, TRANSFORMERS('4.45.2')), [
      'deprecated-key hint eval_strategy',
    ]);
    assert.deepEqual(found(evaluation_strategy, TRANSFORMERS('5.23.0')), [
      // That it is an old spelling stands in the error.
      'argument-release error eval_strategy',
    ]);
  });

  it('name what takes their place there', () => {
    const text = script('TrainingArguments("o", evaluation_strategy="steps")');
    const known = TRANSFORMERS('5.23.0');
    const { problems } = read('python', 'file:///w/train.py', text, known, statedVersions(known));
    const [problem] = problems.filter(({ code }) => code === 'argument-release');
    assert.match(
      problem?.message ?? '',
      /takes no `evaluation_strategy`.* It is called `eval_strategy` there\.$/,
    );
  });

  it('are TRL’s own, too', () => {
    const length = script('SFTConfig("o", max_seq_length=512)', 'SFTTrainer');
    assert.match(found(length, TRL('1.16.0')).join(), /argument-release error/);
    assert.doesNotMatch(found(length, TRL('0.15.2')).join(), /argument-release/);
    const packing = script('SFTConfig("o", packing_strategy="bfd")', 'SFTTrainer');
    assert.match(found(packing, TRL('0.15.2')).join(), /argument-release error/);
  });

  it('tell nothing of a release that nobody names', () => {
    const assumed = { transformers: { version: '5.23.0', source: 'assumed' } } as const;
    assert.doesNotMatch(
      found(script('TrainingArguments("o", evaluation_strategy="no")'), {}, assumed).join(),
      /argument-release/,
    );
    const ranged = { transformers: { version: '4.57.6', oldest: '4.30.0', source: 'range' } } as const;
    // Of a range, whoever wrote the file has one that takes it.
    assert.deepEqual(found(script('TrainingArguments("o", eval_strategy="no")'), {}, ranged), []);
  });
});

describe('arguments that a parser is given and a release does not take', () => {
  const RECIPE = 'per_device_train_batch_size: 1\noutput_dir: o\nlearning_rate: 1e-5\n';
  const LAUNCH = '--model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 True --output_dir o';
  const ASSUMED: Versions = { transformers: { version: '5.23.0', source: 'assumed' } };
  const of = (dialect: string, file: string, text: string, version?: string) => {
    const known = version === undefined ? {} : TRANSFORMERS(version);
    const versions = version === undefined ? ASSUMED : statedVersions(known);
    const { problems } = read(dialect, `file:///w/${file}`, text, known, versions);
    return problems.flatMap(({ code, severity, data }) =>
      code === 'argument-release' ? [`${severity} ${String(data?.replacement)}`] : [],
    );
  };

  it('stop it in a recipe, unless the script that reads it has one of the name', () => {
    const old = `${RECIPE}evaluation_strategy: steps\n`;
    const recipe = (text: string, version?: string) => of('hf-training-arguments', 'sft.yaml', text, version);
    assert.deepEqual(recipe(old, '4.51.2'), ['warning eval_strategy']);
    assert.deepEqual(recipe(old, '4.50.3'), []);
    assert.deepEqual(recipe(old), []);
    assert.deepEqual(recipe(`defaults: [_self_]\n${old}`, '4.51.2'), [], 'Hydra composes it');
    assert.deepEqual(recipe(`${old}data: {_target_: a.B}\n`, '4.51.2'), [], 'Hydra composes it');
    const ranged = { transformers: { version: '5.23.0', oldest: '4.31.0', source: 'range' } } as const;
    const { problems } = read('hf-training-arguments', 'file:///w/sft.yaml', old, {}, ranged);
    assert.deepEqual(
      problems.filter(({ code }) => code === 'argument-release'),
      [],
      'a release of the range takes it',
    );
    assert.deepEqual(recipe(`${RECIPE}eval_strategy: steps\n`, '4.40.0'), ['warning evaluation_strategy']);
    const trl = `model_name_or_path: gpt2\ndataset_name: x\n${old}`;
    assert.deepEqual(of('trl', 'sft.yaml', trl, '4.51.2'), ['warning eval_strategy']);
    const factory = `stage: sft\ndo_train: true\nmodel_name_or_path: gpt2\n${old}`;
    assert.deepEqual(of('llama-factory', 'sft.yaml', factory, '4.51.2'), ['warning eval_strategy']);
  });

  it('are none of a config where the parser fills another class, too', async () => {
    const text = `from trl import ModelConfig, SFTConfig, SFTTrainer, TrlParser
parser = TrlParser((SFTConfig, ModelConfig))
args, model_args = parser.parse_args_and_config()
SFTTrainer(model=model_args.model_name_or_path, args=args).train()
`;
    const launch = 'python train.py --model_name_or_path gpt2 --output_dir o --trust_remote_code';
    const { analyze } = smallWorkspace({
      'train.py': text,
      'run.sh': `${launch}\n`,
      'requirements.txt': 'trl==0.9.6\ntransformers==4.42.0\n',
    });
    for (const file of ['train.py', 'run.sh'])
      assert.deepEqual(
        (await analyze(file)).problems.filter(({ code }) => code === 'argument-release'),
        [],
      );
  });

  it('are no matter of a call, which has a rule of its own', () => {
    const call = (name: string, kind: string) => `import trl
trl.${name}(model="gpt2", args=trl.${kind}(output_dir="o", warmup_ratio=0.1), train_dataset=rows, reward_funcs=[f]).train()
`;
    for (const [name, kind] of [
      ['GRPOTrainer', 'GRPOConfig'],
      ['SFTTrainer', 'SFTConfig'],
    ] as const) {
      const known = TRANSFORMERS('5.23.0');
      const { problems } = read('python', 'file:///w/a.py', call(name, kind), known, statedVersions(known));
      assert.deepEqual(
        problems.filter(({ message }) => /parser/.test(message)),
        [],
      );
    }
  });

  it('stop it on a command line, which a script of the project may read otherwise', () => {
    const launch = (script: string, version: string) =>
      of('launch-script', 'run.sh', `torchrun ${script} ${LAUNCH} --evaluation_strategy steps\n`, version);
    assert.deepEqual(launch('tune.py', '4.51.2'), ['warning eval_strategy']);
    assert.deepEqual(launch('tune.py', '4.50.3'), []);
    const example = 'examples/pytorch/language-modeling/run_clm.py';
    assert.deepEqual(launch(example, '4.51.2'), ['error eval_strategy']);
  });

  it('tell which releases a known script runs with, and a copy of one', () => {
    for (const script of [
      'examples/pytorch/language-modeling/run_clm.py',
      'run_clm.py',
      'fastchat/train/train_mem.py',
      'llava/train/train_mem.py',
      'train.py',
    ]) {
      const newest = (flags: string) =>
        read('launch-script', 'file:///w/run.sh', `torchrun ${script} ${LAUNCH} ${flags}\n`).facts.find(
          ({ field }) => field === 'version.transformers',
        )?.value;
      assert.equal(newest('--evaluation_strategy no'), '4.50.3', script);
      assert.equal(newest(''), undefined, script);
    }
  });
});
