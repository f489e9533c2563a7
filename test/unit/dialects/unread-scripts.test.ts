import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const world = (files: Record<string, string>) =>
  smallWorkspace({ 'oomlint.yaml': 'targets: {gpu: H100, gpus: 1}\n', ...files });
const runOf = (line: string, files: Record<string, string> = {}) =>
  world({ 'run.sh': `${line}\n`, ...files }).analyze('run.sh');
type Found = Awaited<ReturnType<typeof runOf>>;
const noteOf = ({ resolved }: Found, field: keyof Found['resolved']['origins']) =>
  resolved.origins[field]?.note ?? '';

const ALPACA = `import transformers
from dataclasses import dataclass, field
from typing import Optional
from transformers import Trainer

@dataclass
class ModelArguments:
    model_name_or_path: Optional[str] = field(default="facebook/opt-125m")

@dataclass
class DataArguments:
    data_path: str = field(default=None)

@dataclass
class TrainingArguments(transformers.TrainingArguments):
    optim: str = field(default="adamw_torch")
    model_max_length: int = field(default=640)

def train():
    parser = transformers.HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    model = transformers.AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        model_args.model_name_or_path, model_max_length=training_args.model_max_length)
    data = load(data_args.data_path).map(lambda x: tokenizer(x["text"], truncation=True, max_length=tokenizer.model_max_length))
    trainer = Trainer(model=model, tokenizer=tokenizer, args=training_args, train_dataset=data)
    trainer.train()

train()
`;

describe('a script that is not read', () => {
  const LIGHTNING =
    'python finetune.py --learning_rate=3e-5 --fp16 --do_train --val_check_interval=0.25 --num_train_epochs 6 --train_batch_size=4 --gpus 1 --model_name_or_path=facebook/bart-large --max_source_length 512 --max_target_length 56';

  it('has no default of the Trainer where its flags are those of Lightning', async () => {
    const run = await runOf(LIGHTNING);
    for (const field of ['batch.micro', 'optimizer.name', 'batch.accumulation', 'precision.weights'] as const)
      assert.doesNotMatch(noteOf(run, field), /Trainer|most are published/, field);
    assert.equal(run.resolved.values['model.id'], 'facebook/bart-large');
    assert.equal(run.resolved.values['batch.micro'], undefined);
    assert.equal(run.estimate?.verdict ?? 'unknown', 'unknown');
  });

  it('has none where it is given a batch by a flag of its own', async () => {
    const run = await runOf(
      'python train.py --learning_rate 3e-5 --model_name_or_path gpt2 --train_batch_size 4 --max_length 512',
    );
    assert.equal(run.resolved.values['batch.micro'], undefined);
    assert.doesNotMatch(noteOf(run, 'optimizer.name'), /Trainer/);
  });

  it('has them where its flags are those of the Trainer', async () => {
    const run = await runOf(
      'python train.py --learning_rate 3e-5 --model_name_or_path gpt2 --output_dir x --save_strategy no --max_length 512',
    );
    assert.equal(run.resolved.values['batch.micro'], 8);
    assert.match(noteOf(run, 'batch.micro'), /Trainer/);
  });

  it('trains all weights as far as its flags go, which is assumed', async () => {
    const run = await runOf(
      'python train.py --model_name_or_path gpt2 --per_device_train_batch_size 2 --output_dir x --max_length 512',
    );
    assert.equal(run.resolved.values['method.kind'], 'full');
    assert.match(
      noteOf(run, 'method.kind'),
      /no flag freezes weights or makes adapters: all are assumed to be trained/,
    );
  });
});

describe('train.py with a path of data', () => {
  const LINE =
    'torchrun --nproc_per_node=1 train.py --model_name_or_path gpt2 --data_path x.json --bf16 True --output_dir x --per_device_train_batch_size 2';

  it('is nobody known by that name alone', async () => {
    const run = await runOf(LINE);
    for (const field of ['model.class', 'batch.sequence', 'optimizer.name'] as const)
      assert.doesNotMatch(noteOf(run, field), /FastChat|Alpaca/, field);
  });

  it('is followed where it is here', async () => {
    const run = await runOf(LINE, { 'train.py': ALPACA });
    assert.equal(run.resolved.values['batch.sequence'], 640);
    assert.equal(run.resolved.values['optimizer.implementation'], 'foreach');
  });

  it('of FastChat and of Stanford Alpaca has the optimizer that they ask for', async () => {
    for (const [script, name] of [
      ['fastchat/train/train_mem.py', 'FastChat'],
      ['stanford_alpaca/train.py', 'Stanford Alpaca'],
    ] as const) {
      const run = await runOf(LINE.replace('train.py', script));
      assert.equal(run.resolved.values['batch.sequence'], 512);
      assert.match(noteOf(run, 'batch.sequence'), new RegExp(name));
      assert.equal(run.resolved.values['optimizer.implementation'], 'foreach');
      assert.match(noteOf(run, 'optimizer.implementation'), new RegExp(name));
    }
  });

  it('that asks for samples one by one is FastChat', async () => {
    const run = await runOf(`${LINE} --lazy_preprocess True`.replace('train.py', 'train_mem.py'));
    assert.match(noteOf(run, 'batch.sequence'), /FastChat/);
  });
});
