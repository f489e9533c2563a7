import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

/** A script that takes all that it needs from a parser of dataclasses, in the usual shape of public training code. */
const script = (parse: string, more = '') => `import os, sys
import torch
from dataclasses import dataclass, field
from typing import Optional
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, Trainer, TrainingArguments
from trl import ModelConfig, SFTConfig, SFTTrainer, TrlParser, get_peft_config

@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="Qwen/Qwen2.5-0.5B")
    torch_dtype: str = field(default="float32")
    use_lora: bool = field(default=False)
    lora_rank: int = field(default=8)
    target_modules: Optional[str] = field(default="all")

@dataclass
class OwnArguments(TrainingArguments):
    optim: str = field(default="paged_adamw_32bit")
    per_device_train_batch_size: int = field(default=3)
    model_max_length: int = field(default=512)

def find_all_linear_names(model):
    names = set()
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            parts = name.split('.')
            names.add(parts[0] if len(parts) == 1 else parts[-1])
    if 'lm_head' in names:
        names.remove('lm_head')
    return list(names)

def main():
    ${parse}
    dtype = model_args.torch_dtype if model_args.torch_dtype in ["auto", None] else getattr(torch, model_args.torch_dtype)
    model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path, torch_dtype=dtype)
    if model_args.use_lora:
        targets = model_args.target_modules.split(',')
        if 'all' in targets:
            targets = find_all_linear_names(model)
        model = get_peft_model(model, LoraConfig(r=model_args.lora_rank, target_modules=targets))
    ${more}
    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path)
    rows = load_dataset("x")["train"].map(lambda row: tokenizer(row["text"], truncation=True, max_length=1024))
    Trainer(model=model, args=training_args, train_dataset=rows).train()

if __name__ == "__main__":
    main()
`;
const OF_TRANSFORMERS = `parser = HfArgumentParser((ModelArguments, TrainingArguments))
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        model_args, training_args = parser.parse_json_file(json_file=os.path.abspath(sys.argv[1]))
    else:
        model_args, training_args = parser.parse_args_into_dataclasses()`;

const started = async (code: string, command: string, files: Readonly<Record<string, string>> = {}) => {
  const run = `# oomlint: gpu=H100-SXM5-80GB\n${command}\n`;
  const { analyze } = smallWorkspace({ 'train.py': code, 'run.sh': run, ...files });
  return analyze('run.sh');
};
const FLAGS = '--per_device_train_batch_size 4 --bf16 True --gradient_checkpointing --output_dir o';

describe('a script that takes dataclasses from a parser of flags', () => {
  it('has what the command gives, and the defaults of its own classes', async () => {
    const command = `torchrun --nproc_per_node 2 train.py ${FLAGS} --use_lora true --lora_rank 16 --torch_dtype bfloat16`;
    const { resolved } = await started(script(OF_TRANSFORMERS), command);
    const { values } = resolved;
    assert.equal(values['model.id'], 'Qwen/Qwen2.5-0.5B');
    assert.equal(values['batch.micro'], 4);
    assert.equal(values['batch.sequence'], 1024);
    assert.equal(values['precision.compute'], 'bf16');
    assert.equal(values['precision.weights'], 'bf16');
    assert.equal(values['activations.checkpointing'], 'full');
    assert.equal(values['method.kind'], 'lora');
    assert.equal(values['lora.rank'], 16);
    assert.deepEqual(values['lora.targets'], ['all-linear']);
    assert.equal(values['hardware.gpus'], 2);
    assert.deepEqual(resolved.unknown, []);
  });

  it('has words that YAML takes for switches as texts, and switches as they are', async () => {
    for (const [word, on] of [
      ['no', 'none'],
      ['yes', 'full'],
    ]) {
      const flags = `--per_device_train_batch_size 4 --output_dir o --gradient_checkpointing ${word}`;
      const { analyze } = smallWorkspace({
        'train.py': script(OF_TRANSFORMERS),
        'run.sh': `# oomlint: gpu=H100-SXM5-80GB\npython train.py ${flags} --eval_strategy "no" --save_strategy no\n`,
      });
      const [launch, code] = [await analyze('run.sh'), await analyze('train.py')];
      assert.equal(launch.resolved.values['activations.checkpointing'], on);
      for (const { problems } of [launch, code])
        assert.deepEqual(
          problems.filter(({ code: rule }) => rule === 'wrong-type'),
          [],
        );
    }
  });

  it('is trained as its code states, not as the names of its flags would have it', async () => {
    const { resolved, unread, problems } = await started(
      script(OF_TRANSFORMERS),
      `python train.py ${FLAGS} --lora_rank 16 --qlora False`,
    );
    assert.equal(resolved.values['method.kind'], 'full');
    assert.equal(resolved.values['precision.weights'], 'fp32');
    assert.equal(unread, undefined);
    assert.deepEqual(
      problems.map(({ code }) => code).filter((code) => /key/.test(code)),
      [],
      'which flags there are the script states',
    );
  });

  it('takes the defaults of its own subclass of the arguments', async () => {
    const parse = `parser = HfArgumentParser((ModelArguments, OwnArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()`;
    const { resolved } = await started(script(parse), 'python train.py --output_dir o --learning_rate 1e-4');
    assert.equal(resolved.values['batch.micro'], 3);
    assert.equal(resolved.values['optimizer.name'], 'paged-adamw');
  });

  it('takes modules that a field makes anew for each object, whatever a branch would name instead', async () => {
    const own = script(OF_TRANSFORMERS)
      .replace(
        / {4}target_modules: .*/,
        "    target_modules: list = field(default_factory=lambda: ['q_proj', 'o_proj'])",
      )
      .replace(
        / {8}targets = model_args[\s\S]*?model\)\n/,
        '        if model_args.target_modules is None:\n            model_args.target_modules = find_all_linear_names(model)\n        targets = model_args.target_modules\n',
      );
    // A copy of a well-known script has targets of its own.
    const flags = `${FLAGS} --use_lora --data_path d --lazy_preprocess True`;
    const { analyze } = smallWorkspace({ 'finetune.py': own, 'run.sh': `python finetune.py ${flags}\n` });
    const { resolved } = await analyze('run.sh');
    assert.deepEqual(resolved.values['lora.targets'], ['q_proj', 'o_proj']);
    const asked = own.replace('model_args.target_modules is None', 'os.environ.get("ALL")');
    const unsettled = asked.replace(/field\(default_factory.*/, 'ask()');
    const { resolved: known } = await started(unsettled, `python train.py ${FLAGS} --use_lora`);
    assert.deepEqual(known.values['lora.targets'], ['all-linear']);
  });

  it('takes them from a file of JSON that the command names', async () => {
    const values = JSON.stringify({
      model_name_or_path: 'Qwen/Qwen2.5-1.5B',
      per_device_train_batch_size: 6,
      output_dir: 'o',
    });
    const { resolved } = await started(script(OF_TRANSFORMERS), 'python train.py args.json', {
      'args.json': values,
    });
    assert.equal(resolved.values['model.id'], 'Qwen/Qwen2.5-1.5B');
    assert.equal(resolved.values['batch.micro'], 6);
  });

  it('takes them from a recipe of YAML under the flags, as the parser of TRL does', async () => {
    const parse = `parser = TrlParser((ModelArguments, TrainingArguments))
    model_args, training_args = parser.parse_args_and_config()`;
    const { resolved } = await started(script(parse), 'python train.py --config c.yaml --lora_rank 4', {
      'c.yaml':
        'model_name_or_path: Qwen/Qwen2.5-1.5B\nper_device_train_batch_size: 6\nuse_lora: true\nlora_rank: 32\n',
    });
    assert.equal(resolved.values['model.id'], 'Qwen/Qwen2.5-1.5B');
    assert.equal(resolved.values['batch.micro'], 6);
    assert.equal(resolved.values['lora.rank'], 4);
  });

  it('is followed where it collects names of layers itself, and trains', async () => {
    const more = `names = set()
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and 'lm_head' not in name:
            names.add(name.split('.')[-1])`;
    const { resolved } = await started(script(OF_TRANSFORMERS, more), `python train.py ${FLAGS}`);
    assert.equal(resolved.values['model.id'], 'Qwen/Qwen2.5-0.5B');
    assert.equal(resolved.values['batch.sequence'], 1024);
  });

  it('is cut where a dataset of its own cuts its samples', async () => {
    const own = `rows = Rows("data.jsonl", AutoTokenizer.from_pretrained("x"), model_args.lora_rank * 100)
    Trainer(model=model, args=training_args, train_dataset=rows).train()
    return`;
    const dataset = `import json
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, file, tokenizer, longest):
        self.tokenizer = tokenizer
        self.longest = longest
        self.lines = open(file).readlines()

    def __getitem__(self, index):
        text = json.loads(self.lines[index])["text"]
        input_ids = self.tokenizer.encode(text)
        input_ids = input_ids[:self.longest]
        return {"input_ids": input_ids, "attention_mask": [1] * len(input_ids)}

${script(OF_TRANSFORMERS, own)}`;
    const { resolved } = await started(dataset, `python train.py ${FLAGS} --lora_rank 7`);
    assert.equal(resolved.values['batch.sequence'], 700);
  });

  it('knows the number of its processes from what launches it', async () => {
    const more = `if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        model.gradient_checkpointing_enable()`;
    const flags = '--per_device_train_batch_size 4 --output_dir o';
    const of = async (launcher: string) =>
      (await started(script(OF_TRANSFORMERS, more), `${launcher} train.py ${flags}`)).resolved.values[
        'activations.checkpointing'
      ];
    assert.equal(await of('torchrun --nproc_per_node 4'), 'full');
    assert.equal(await of('torchrun --nproc_per_node 1'), 'none');
  });
});

describe('a launched script whose training is not estimated', () => {
  const script = (model: string) => `from dataclasses import dataclass
from peft import LoraConfig, get_peft_model
from transformers import ${model}, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class ModelArguments:
    model_name_or_path: str = "Qwen/Qwen2.5-0.5B"
@dataclass
class LoraArguments:
    lora_r: int = 64
    lora_alpha: int = 64
parser = HfArgumentParser((ModelArguments, LoraArguments, TrainingArguments))
model_args, lora_args, args = parser.parse_args_into_dataclasses()
model = ${model}.from_pretrained(model_args.model_name_or_path)
model = get_peft_model(model, LoraConfig(r=lora_args.lora_r, lora_alpha=lora_args.lora_alpha))
Trainer(model=model, args=args, train_dataset=ds).train()
`;
  const launch =
    'torchrun --nproc_per_node 2 tune.py --model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 2 --model_max_length 512 --use_lora true --output_dir o --bf16 true\n';
  const runWith = (text: string) =>
    smallWorkspace({
      'oomlint.yaml': 'gpu: A100-SXM4-80GB\n',
      'run.sh': launch,
      ...(text && { 'tune.py': text }),
    }).analyze('run.sh');

  it('is not estimated by its flags alone', async () => {
    const followed = await runWith(script('AutoModelForCausalLM'));
    assert.equal(followed.resolved.values['lora.rank'], 64);
    const { estimate, unread, members } = await runWith(script('AutoModel'));
    assert.equal(estimate, undefined);
    assert.equal(
      members?.some(({ uri }) => uri.endsWith('/tune.py')),
      true,
    );
    assert.equal(
      unread?.some(({ kind }) => kind === 'refused'),
      true,
    );
  });

  it('has a rank of its own where it is not here', async () => {
    const analysis = await runWith('');
    assert.equal(analysis.estimate, undefined);
    assert.deepEqual(
      analysis.resolved.unknown.map(({ field }) => field),
      ['lora.rank'],
    );
  });
});

describe('a release that a word of the launch tells', () => {
  const pinned = (requirements: string) =>
    smallWorkspace({
      'requirements.txt': requirements,
      'run.sh':
        'python tune.py --output_dir out --per_device_train_batch_size 2 --evaluation_strategy steps\n',
      'tune.py': `from datasets import load_dataset
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
(given,) = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
Trainer(model=model, args=given, train_dataset=load_dataset("x")["train"]).train()
`,
    }).analyze('tune.py');

  it('is not taken for the one that the requirements name', async () => {
    const { resolved, problems } = await pinned('transformers==4.30.2\n');
    assert.equal(resolved.values['version.transformers'], '4.30.2');
    // Nor is a spelling advised that release does not have.
    assert.deepEqual(
      problems.filter(({ code }) => code === 'deprecated-key'),
      [],
    );
  });

  it('narrows a range of them', async () => {
    const { resolved } = await pinned('transformers>=4.28\n');
    assert.equal(resolved.values['version.transformers'], '4.50.3');
    assert.equal(resolved.origins['version.transformers']?.kind, 'inferred');
  });
});
