import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const script = (parser = '') => `import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
parser = argparse.ArgumentParser(${parser})
parser.add_argument("--model_name", default="gpt2")
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--batch-order", default="random")
a = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(a.model_name)
args = TrainingArguments(output_dir="out", per_device_train_batch_size=a.batch_size)
Trainer(model=model, args=args, train_dataset=None).train()
`;

async function read(flags: string, parser?: string) {
  const { resolved } = await smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100, gpus: 1}\n',
    'run.sh': `python train.py ${flags}\n`,
    'train.py': script(parser),
  }).analyze('run.sh');
  return [resolved.values['model.id'], resolved.values['batch.micro']];
}

describe('flags of argparse that a command only begins to write', () => {
  it('are those that begin so, where it is one alone', async () => {
    assert.deepEqual(await read('--model Qwen/Qwen2.5-0.5B --batch-s 8'), ['Qwen/Qwen2.5-0.5B', 8]);
    assert.deepEqual(await read('--model_name Qwen/Qwen2.5-0.5B --batch 8'), ['Qwen/Qwen2.5-0.5B', 4]);
  });

  it('are none where the parser takes whole flags alone', async () => {
    assert.deepEqual(await read('--batch-s 8', 'allow_abbrev=False'), ['gpt2', 4]);
  });
});

const OWN = `from dataclasses import dataclass, field
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="gpt2")
    max_grad: int = 3
    data: str = ""
parser = HfArgumentParser((ModelArguments, TrainingArguments))
model_args, args = parser.parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)
Trainer(model=model, args=args, train_dataset=None).train()
`;
const FIELDS = [
  'model.id',
  'batch.micro',
  'batch.sequence',
  'batch.accumulation',
  'method.kind',
  'lora.rank',
];

async function valuesOf(command: string, files: Readonly<Record<string, string>> = {}) {
  const all = { 'oomlint.yaml': 'targets: {gpu: H100, gpus: 1}\n', ...files, 'run.sh': `${command}\n` };
  const { resolved, unread = [] } = await smallWorkspace(all).analyze('run.sh');
  const values: Readonly<Record<string, unknown>> = resolved.values;
  return { of: FIELDS.map((field) => values[field]), unread: unread.map(({ text }) => text) };
}

describe('flags of a parser of dataclasses that a command only begins to write', () => {
  it('are those that begin so, in known programs', async () => {
    const model = 'Qwen/Qwen2.5-0.5B';
    for (const [whole, begun] of [
      [
        `trl sft --model_name_or_path ${model} --per_device_train_batch_size 2 --max_length 512 --use_peft --lora_r 4`,
        `trl sft --model_name ${model} --per_device_train 2 --max_len 512 --use_p --lora_r 4`,
      ],
      [
        `torchrun trl/scripts/dpo.py --model_name_or_path ${model} --per_device_train_batch_size 2 --gradient_accumulation_steps 2`,
        `torchrun trl/scripts/dpo.py --model-name ${model} --per-device-train 2 --gradient_acc=2`,
      ],
      [
        `llamafactory-cli train --stage sft --do_train --model_name_or_path ${model} --finetuning_type lora --lora_rank 4 --cutoff_len 512 --per_device_train_batch_size 2`,
        `llamafactory-cli train --stage sft --do_train --model_name_o ${model} --finetuning_t lora --lora_rank 4 --cutoff_l 512 --per_device_train_b 2`,
      ],
      [
        `python run_clm.py --model_name_or_path ${model} --block_size 512 --per_device_train_batch_size 2 --do_train --output_dir o`,
        `python run_clm.py --model_name ${model} --block_s 512 --per_device_train 2 --do_train --output_dir o`,
      ],
      [
        `swift sft --model ${model} --max_length 512 --per_device_train_batch_size 2 --lora_rank 4`,
        `swift sft --model ${model} --max_len 512 --per_device_train 2 --lora_ra 4`,
      ],
      [
        `deepspeed --module openrlhf.cli.train_sft --pretrain ${model} --micro_train_batch_size 2 --max_len 512 --lora_rank 4`,
        `deepspeed --module openrlhf.cli.train_sft --pretrain ${model} --micro_t 2 --max_len 512 --lora_r 4`,
      ],
    ] as const) {
      const expected = await valuesOf(whole);
      assert.equal(expected.of[1], 2, whole);
      assert.deepEqual(await valuesOf(begun), expected, begun);
    }
  });

  it('are not understood where several begin so, or the release has none', async () => {
    const begun = async (flags: string) =>
      valuesOf(`trl sft --model_name_or_path gpt2 --dataset_name a --output_dir o ${flags}`);
    assert.deepEqual((await begun('--per_device 2')).unread, ['--per_device']);
    // A name with underscores is one with dashes, too.
    const factory = await valuesOf('llamafactory-cli train --stage sft --model_name_or_path gpt2 --cutoff 9');
    assert.deepEqual([factory.of[2] === 9, factory.unread], [false, ['--cutoff']]);
    // Behind a file of YAML are no flags of argparse.
    const beside = await valuesOf('llamafactory-cli train a.yaml per_device_train=2', {
      'a.yaml':
        'model_name_or_path: gpt2\nstage: sft\nfinetuning_type: full\nper_device_train_batch_size: 1\n',
    });
    assert.equal(beside.of[1], 1);
    const swift = (release: string) =>
      valuesOf('swift sft --model Qwen/Qwen2.5-0.5B --train_t full', {
        'requirements.txt': `ms-swift==${release}\n`,
      });
    assert.equal((await swift('3.7.0')).of[4], 'full');
    assert.deepEqual((await swift('4.6.0')).unread, ['--train_t']);
  });

  it('are those of the classes that a script gives its parser', async () => {
    const read = async (flags: string) =>
      (await valuesOf(`python train.py --output_dir o ${flags}`, { 'train.py': OWN })).of.slice(0, 4);
    const whole = await read(
      '--model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --learning_rate 1e-4',
    );
    assert.deepEqual([whole[0], whole[1], whole[3]], ['Qwen/Qwen2.5-0.5B', 2, 4]);
    const rest = '--learning_rate 1e-4';
    assert.deepEqual(
      await read(`--model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train 2 --gradient_acc 4 ${rest}`),
      whole,
    );
    // Several begin so: which is given is not known.
    assert.equal((await read(`--model_name_or_path Qwen/Qwen2.5-0.5B --per_device 2 ${rest}`))[1], undefined);
    // A field of its own is no beginning of another: `data` is none of `dataloader_...`.
    assert.deepEqual(
      await read(
        `--model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --data x ${rest}`,
      ),
      whole,
    );
  });
});
