import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { smallWorkspace } from '../workspace/small-workspace';
import { assertStates, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);
const left = (text: string) => python(text).unread?.map(({ text: words }) => words) ?? [];

const HEAD = `import argparse
import deepspeed
import torch
from deepspeed.ops.adam import DeepSpeedCPUAdam, FusedAdam
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
def config_of(stage, offload):
    device = "cpu" if offload else "none"
    return {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": stage, "offload_optimizer": {"device": device}}, "optimizer": {"type": "Adam"}}
parser = argparse.ArgumentParser()
parser.add_argument("--offload", action="store_true")
parser.add_argument("--stage", type=int, default=2)
parser.add_argument("--batch", type=int, default=16)
parser = deepspeed.add_config_arguments(parser)
args = parser.parse_args()
config = config_of(args.stage, args.offload)
model = AutoModelForCausalLM.from_pretrained("gpt2")
loader = DataLoader(rows, batch_size=args.batch, shuffle=True)
`;
const LOOP = `for batch in loader:
    loss = engine(**batch).loss
    engine.backward(loss)
    engine.step()
`;

describe('loops of DeepSpeed', () => {
  before(loadPython);

  it('step the optimizer that they hand over, not the one of the settings', () => {
    const made = (optimizer: string) =>
      python(
        `${HEAD}optimizer = ${optimizer}\nengine, *_ = deepspeed.initialize(args=args, model=model, optimizer=optimizer, config=config)\n${LOOP}`,
      );
    assertStates(made('torch.optim.SGD(model.parameters(), lr=0.1)'), {
      'optimizer.name': 'sgd file',
      'optimizer.implementation': 'foreach default',
      'batch.micro': '4 file',
      'zero.stage': '2 file',
    });
    assertStates(made('FusedAdam(model.parameters())'), {
      'optimizer.name': 'adamw file',
      'optimizer.implementation': 'fused file',
    });
    assertStates(made('FusedAdam(model.parameters(), adam_w_mode=False)'), { 'optimizer.name': 'adam file' });
    assertStates(made('(DeepSpeedCPUAdam if args.offload else FusedAdam)(model.parameters())'), {
      'optimizer.name': 'adamw file',
      'optimizer.implementation': 'fused file',
    });
    const unclear = made('make(model)');
    assert.ok(unclear.unread?.some(({ fields }) => fields?.includes('optimizer.name')));
    assert.equal(
      unclear.facts.some(({ field }) => field === 'optimizer.name'),
      false,
    );
  });

  it('step it beside a file of settings that names another', async () => {
    const train = `${HEAD}optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config="ds.json")\n${LOOP}`;
    const settings =
      '{"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW"}, "zero_optimization": {"stage": 1}}';
    const { analyze } = smallWorkspace({ 'train.py': train, 'ds.json': settings });
    const { values } = (await analyze('train.py')).resolved;
    assert.deepEqual(
      [values['optimizer.name'], values['optimizer.implementation'], values['batch.micro']],
      ['sgd', 'foreach', 16],
    );
  });

  it('take what a file holds that the code looks into as well', async () => {
    const train = (config: string) => `import argparse
import json
import deepspeed
from transformers import AutoModelForCausalLM
parser = argparse.ArgumentParser()
parser.add_argument("--deepspeed_config")
args = parser.parse_args()
with open(args.deepspeed_config) as file:
    settings = json.load(file)
settings["zero_optimization"] = {"stage": 1}
model = AutoModelForCausalLM.from_pretrained("gpt2")
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=${config})
${LOOP}`;
    const values = async (config: string, at: string) => {
      const { analyze } = smallWorkspace({
        'train.py': train(config),
        'conf/ds.json':
          '{"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}}',
        'run.sh': 'torchrun --nproc_per_node 4 train.py --deepspeed_config ./conf/ds.json\n',
      });
      const { values: all } = (await analyze(at)).resolved;
      return [all['zero.stage'], all['precision.compute'], all['batch.micro']];
    };
    for (const at of ['run.sh', 'train.py', 'conf/ds.json']) {
      assert.deepEqual(await values('args.deepspeed_config', at), [3, 'bf16', 2], `the path, seen at ${at}`);
      assert.deepEqual(
        await values('settings', at),
        [1, 'bf16', 2],
        `what the code makes of it, seen at ${at}`,
      );
    }
  });

  it('have the settings that their dictionary is changed to', () => {
    const changed = `config["train_micro_batch_size_per_gpu"] = args.batch\nengine, *_ = deepspeed.initialize(model=model, config=config)\n`;
    assertStates(python(HEAD + changed + LOOP), { 'batch.micro': '16 file', 'optimizer.name': 'adamw file' });
  });

  it('take batches of their own loader where DeepSpeed is given no data', () => {
    const engine = 'engine, *_ = deepspeed.initialize(args=args, model=model)\n';
    assertStates(python(HEAD + engine + LOOP), { 'batch.micro': '16 file' });
    const given = 'engine, *_ = deepspeed.initialize(args=args, model=model, training_data=rows)\n';
    assert.equal(
      python(HEAD + given + LOOP).facts.some(({ field }) => field === 'batch.micro'),
      false,
    );
  });

  it('whose settings a condition decides contradict no number of GPUs, wherever the condition stands', async () => {
    const sets = (name: string) => `if 'RANK' in os.environ:
        ${name}.world_size = int(os.environ['WORLD_SIZE'])
    else:
        ${name}.world_size = 1
`;
    const settings = `config["gradient_accumulation_steps"] = 1
config["train_micro_batch_size_per_gpu"] = args.batch
config["train_batch_size"] = args.batch * args.world_size
engine, *_ = deepspeed.initialize(model=model, config=config)
`;
    const own = `import os\n${HEAD}if True:\n    ${sets('args')}${settings}${LOOP}`;
    const imported = `import os\nfrom ranks import join\n${HEAD}join(args)\n${settings}${LOOP}`;
    const ranks = `import os\ndef join(given):\n    ${sets('given')}`;
    for (const text of [own, imported]) {
      const { analyze } = smallWorkspace({
        'train.py': text,
        'ranks.py': ranks,
        'run.sh': 'deepspeed --num_gpus 4 train.py --batch 2\n',
        'oomlint.yaml': 'targets: {gpu: A100-SXM4-80GB}\ndefaults: {sequence: 512}\n',
      });
      const { problems, unread = [] } = await analyze('train.py');
      assert.deepEqual(
        problems.filter(({ code }) => code === 'batch-triangle'),
        [],
      );
      assert.deepEqual(
        unread.flatMap(({ kind, fields = [] }) => (kind === 'branch' ? fields : [])),
        ['batch.global'],
      );
    }
  });

  it('whose settings a condition decides are what needs more, whoever hands them over', () => {
    const settings = `offload = {"device": "cpu"} if small() else None
config = {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, "zero_optimization": {"stage": 2, "offload_optimizer": offload}}
`;
    const trainer = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
${settings}args = TrainingArguments(output_dir="out", deepspeed=config)
Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), args=args).train()
`;
    const engine = `${HEAD}${settings}engine, *_ = deepspeed.initialize(model=model, config=config)\n${LOOP}`;
    for (const text of [trainer, engine]) {
      const { facts, unread = [] } = python(text);
      assert.equal(
        facts.some(({ field, value }) => field === 'offload.optimizer' && value !== 'none'),
        false,
        text,
      );
      assert.ok(
        unread.some(({ kind, text: words }) => kind === 'branch' && /offload_optimizer/.test(words)),
        text,
      );
    }
  });

  it('that hold a second model have no loss that is known', () => {
    const both = `other = AutoModelForCausalLM.from_pretrained("gpt2")
engine, *_ = deepspeed.initialize(model=model, config=config)
reference, *_ = deepspeed.initialize(model=other, config=config)
`;
    const run = python(HEAD + both + LOOP);
    assert.ok(left(HEAD + both + LOOP).includes('deepspeed.initialize'));
    assert.equal(
      run.facts.some(({ field }) => field === 'method.objective'),
      false,
    );
  });
});
