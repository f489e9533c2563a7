import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { findRepackaged } from '../../../server/src/model/repackaged';
import { Workspace } from '../../../server/src/workspace/analyze';
import { assumptionsOf } from '../../../server/src/workspace/assumptions';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { assertStates, factOf, read } from './reading';

const python = (text: string) => read('python', 'file:///w/train.py', text);
const doubts = (text: string) => (python(text).unread ?? []).map(({ message }) => message).join('\n');

/** A script of a folder with more files, on one H100 where it names no GPU. */
async function judged(text: string, more: Record<string, string> = {}) {
  const files = Object.fromEntries(Object.entries(more).map(([name, of]) => [`file:///w/${name}`, of]));
  const host = new MemoryHost({ ...files, 'file:///w/train.py': text }, { folders: ['file:///w'] });
  const workspace = new Workspace(host, { settings: () => ({ 'hardware.gpu': 'H100', 'hardware.gpus': 1 }) });
  return workspace.analyze('file:///w/train.py');
}

const IMPORTS = `import os, torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from trl import SFTConfig, SFTTrainer
`;
const MODEL =
  'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16)\n';
const TRAIN =
  'args = TrainingArguments(per_device_train_batch_size=2, bf16=True)\nTrainer(model=model, args=args).train()\n';

/** Of scripts and notebooks that had not been read before, what was not so; see docs/python.md. */
describe('types of published weights', () => {
  before(loadPython);

  it('are those of a revision that is named after one', () => {
    const of = (load: string, transformers: string) =>
      factOf(
        read(
          'python',
          'file:///w/train.py',
          `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("EleutherAI/gpt-j-6b"${load})
Trainer(model=model, args=TrainingArguments("o")).train()
`,
          { 'version.transformers': transformers },
        ),
        'precision.weights',
      )?.value;
    assert.equal(of(', revision="float16"', '5.23.0'), 'fp16');
    assert.equal(of(', revision="float16", torch_dtype="auto"', '4.57.0'), 'fp16');
    assert.equal(of(', revision="float16"', '4.57.0'), 'fp32');
    assert.equal(of(', revision="float16", torch_dtype="float32"', '5.23.0'), 'fp32');
  });

  it('of PaliGemma are fp32, but for its revisions', async () => {
    const load = (more: string) => `# oomlint: version.transformers=5.23
from transformers import PaliGemmaForConditionalGeneration, Trainer, TrainingArguments
model = PaliGemmaForConditionalGeneration.from_pretrained("google/paligemma-3b-pt-224"${more})
Trainer(model=model, args=TrainingArguments("o")).train()
`;
    const weights = async (more: string) => (await judged(load(more)))?.resolved.values['precision.weights'];
    assert.deepEqual([await weights(''), await weights(', revision="bfloat16"')], ['fp32', 'bf16']);
  });
});

describe('statements about scripts that nobody had read before', () => {
  before(loadPython);

  it('take of a range of releases the newest that has the arguments of the file', async () => {
    const trained = `${IMPORTS}${MODEL}SFTTrainer(model=model, max_seq_length=512, args=SFTConfig(per_device_train_batch_size=2, warmup_ratio=0.1)).train()\n`;
    const shown = async (requirements: string, text = trained) => {
      const { values = {}, origins } =
        (await judged(text, { 'requirements.txt': requirements }))?.resolved ?? {};
      return [
        values['version.trl'],
        values['version.transformers'],
        origins?.['version.trl']?.kind,
        origins?.['version.trl']?.orElse,
      ];
    };
    assert.deepEqual(await shown('trl>=0.9\ntransformers>=4.45\n'), [
      '0.12.2',
      // The newest that this release of TRL takes.
      '4.46.3',
      'inferred',
      '0.9.6',
    ]);
    assert.deepEqual((await shown('trl>=0.9\n'))[1], '4.46.3');
    // What a release requires is no statement about the file's arguments either.
    assert.deepEqual((await shown('trl==1.2.0\n'))[1], '5.14.1');
    // A release that is named counts, whatever it makes of the arguments; so does a range that begins later.
    assert.deepEqual((await shown('trl==1.2.0\n'))[0], '1.2.0');
    assert.deepEqual((await shown('trl>=0.20\n'))[2], 'environment');
    const installed = `# %%\n!pip install "trl>=0.9"\n# %%\n${trained}`;
    assert.deepEqual((await shown('', installed))[0], '0.12.2');
  });

  it('do not take a folder for the part of another model that has its name', () => {
    assert.equal(findRepackaged('/models/own/LLM'), undefined);
    assert.equal(findRepackaged('LLM'), undefined);
    assert.notEqual(findRepackaged('/models/Spark-TTS-0.5B/LLM'), undefined);
  });

  it('take no switch for a list that stands behind `or`', () => {
    const lora = (modules: string, rank = '8') =>
      python(
        `${IMPORTS}${MODEL}lora = LoraConfig(r=${rank}, target_modules=${modules})\nmodel = get_peft_model(model, lora)\n${TRAIN}`,
      );
    const unknown = lora('load().modules or ["q_proj", "v_proj"]');
    assert.equal(factOf(unknown, 'lora.targets'), undefined);
    assert.match((unknown.unread ?? []).map(({ text }) => text).join(), /target_modules/);
    assert.deepEqual(factOf(lora('None or ["q_proj"]'), 'lora.targets')?.value, ['q_proj']);
    assert.equal(factOf(lora('["q_proj"]', 'load().rank and 0'), 'lora.rank'), undefined);
  });

  it('take no variable of the environment from a branch that may not be taken', () => {
    const set = (lines: string) => python(`${IMPORTS}${lines}${MODEL}${TRAIN}`);
    assert.equal(factOf(set('os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n'), 'hardware.gpus')?.value, 1);
    const branch =
      'if torch.cuda.device_count() > 1:\n    print("all")\nelse:\n    os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n';
    assert.equal(factOf(set(branch), 'hardware.gpus'), undefined);
    const updated = 'if load():\n    os.environ.update({"CUDA_VISIBLE_DEVICES": "0"})\n';
    assert.equal(factOf(set(updated), 'hardware.gpus'), undefined);
    const allocator =
      'if load():\n    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")\n';
    assert.equal(factOf(set(allocator), 'allocator.expandableSegments'), undefined);
  });

  it('see one model where a branch decides how it is loaded', () => {
    const load = (more: string) =>
      `    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", quantization_config=bnb, device_map="auto"${more})\n`;
    const text = `${IMPORTS}bnb = BitsAndBytesConfig(load_in_4bit=True)
if load():
${load(', local_files_only=True')}else:
${load('')}model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=8))
${TRAIN}`;
    const reading = python(text);
    assertStates(reading, { 'quantization.prepared': 'true file', 'activations.checkpointing': 'full file' });
    assert.doesNotMatch(doubts(text), /another model/);
    // Another one beside it is still one.
    assert.match(
      doubts(
        `${IMPORTS}judge = AutoModelForCausalLM.from_pretrained("acme/judge", device_map="auto")\n${MODEL}${TRAIN}`,
      ),
      /another model/,
    );
  });

  it('count no micro batch once where the loop goes on before the optimizer steps', () => {
    const loop = (body: string) =>
      python(`${IMPORTS}from torch.utils.data import DataLoader
${MODEL}loader = DataLoader(load(), batch_size=2)
optimizer = torch.optim.AdamW(model.parameters())
seen = 0
for batch in loader:
    if batch is None:
        continue
    loss = model(**batch).loss
    loss.backward()
    seen += 1
${body}    optimizer.step()
    optimizer.zero_grad()
`);
    assertStates(loop('    if seen % 8 != 0:\n        continue\n'), { 'batch.accumulation': '8 file' });
    assertStates(loop('    if not enough(seen):\n        continue\n'), {
      'batch.accumulation': '2 inferred',
    });
    assertStates(loop(''), { 'batch.accumulation': undefined });
    const prepared = (step: string) =>
      python(`${IMPORTS}from accelerate import Accelerator
from torch.utils.data import DataLoader
accelerator = Accelerator()
${MODEL}loader = DataLoader(load(), batch_size=2)
model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), loader)
for i, batch in enumerate(loader):
    accelerator.backward(model(**batch).loss)
${step}`);
    assertStates(prepared('    if i % 4 == 0:\n        optimizer.step()\n'), {
      'batch.accumulation': '4 file',
    });
    assertStates(prepared('    optimizer.step()\n'), { 'batch.accumulation': undefined });
  });

  it('do not say that nothing recomputes where a plugin is not read that may', () => {
    const reading = python(`${IMPORTS}from accelerate import Accelerator, FullyShardedDataParallelPlugin
from torch.utils.data import DataLoader
plugin = None
if load():
    plugin = FullyShardedDataParallelPlugin(fsdp_version=2, activation_checkpointing=True)
accelerator = Accelerator(fsdp_plugin=plugin)
${MODEL}loader = DataLoader(load(), batch_size=2)
optimizer = torch.optim.AdamW(model.parameters())
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
`);
    assertStates(reading, { 'activations.checkpointing': undefined });
    const left = (reading.unread ?? []).find(({ text }) => text === 'fsdp_plugin');
    assert.ok(left?.fields?.includes('activations.checkpointing'));
  });

  it('find no training where a trainer only evaluates', () => {
    const trained = `${IMPORTS}${MODEL}args = TrainingArguments(per_device_eval_batch_size=1)\ntrainer = Trainer(model=model, args=args)\n`;
    assert.equal(python(`${trained}print(trainer.evaluate())\n`).joinsOnly, true);
    assert.equal(python(`${trained}trainer.predict(load())\n`).joinsOnly, true);
    assert.notEqual(python(`${trained}trainer.train()\ntrainer.evaluate()\n`).joinsOnly, true);
    // Whoever is given the trainer may train.
    assert.notEqual(python(`${trained}run(trainer)\ntrainer.evaluate()\n`).joinsOnly, true);
  });

  it('know no type of the weights where `**` may pass one', () => {
    const weights = (passed: string) =>
      python(
        `${IMPORTS}key = load()\nmodel = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"${passed})\n${TRAIN}`,
      );
    const open = weights(', **{key: torch.bfloat16}');
    assert.equal(factOf(open, 'precision.weights'), undefined);
    assert.ok((open.unread ?? []).some(({ fields }) => fields?.includes('precision.weights')));
    assertStates(weights(', torch_dtype=torch.bfloat16, **{key: 1}'), { 'precision.weights': 'bf16 file' });
    assert.notEqual(factOf(weights(''), 'precision.weights'), undefined);
  });

  it('read adapters of PEFT on a model that Unsloth loads as those of PEFT', () => {
    const reading = python(`from unsloth import FastLanguageModel
${IMPORTS}model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen2.5-0.5B", max_seq_length=512)
model = get_peft_model(model, LoraConfig(r=4, lora_alpha=64, target_modules=["q_proj"]))
${TRAIN}`);
    assertStates(reading, {
      'lora.rank': '4 file',
      'lora.alpha': '64 file',
      'lora.targets': 'q_proj file',
    });
  });

  it('say of steps without a limit that they are the most', () => {
    const reading = python(
      `${IMPORTS}${MODEL}steps = -1\nif load():\n    steps = 40\nargs = TrainingArguments(max_steps=steps)\nTrainer(model=model, args=args).train()\n`,
    );
    assertStates(reading, { 'schedule.steps': undefined });
  });

  it('take the first of several trainings, also where a function hands its trainer on', () => {
    const reading = python(`from unsloth.chat_templates import train_on_responses_only
${IMPORTS}${MODEL}first = SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=3))
first = train_on_responses_only(first, instruction_part="u", response_part="a")
first.train()
second = Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=5))
second.train()
`);
    assertStates(reading, { 'batch.micro': '3 file', framework: 'trl default' });
    assert.deepEqual(
      reading.problems.map(({ code }) => code),
      ['another-launch'],
    );
  });

  it('know no micro batch where the code splits what the loader gives', () => {
    const loop = (parts: string) =>
      python(`${IMPORTS}from torch.utils.data import DataLoader
${MODEL}loader = DataLoader(load(), batch_size=256)
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    batch = Batch(batch)
    for part in ${parts}:
        loss = model(**part).loss
        loss.backward()
    optimizer.step()
`);
    assertStates(loop('[batch]'), { 'batch.micro': '256 file' });
    const parted = loop('batch.split(4)');
    assertStates(parted, { 'batch.micro': undefined });
    assert.match((parted.unread ?? []).map(({ message }) => message).join(), /splits batches/);
  });

  it('list no default of what the file states with something that is not known', async () => {
    const listed = async (text: string) => {
      const analysis = await judged(`${IMPORTS}${MODEL}${text}`);
      assert.ok(analysis);
      const reasons = analysis.resolved.unknown.map(({ field, reason }) => `${field}: ${reason}`).join('\n');
      return { fields: assumptionsOf(analysis).map(({ field }) => String(field)), reasons };
    };
    const counted = await listed(
      'Trainer(model=model, args=TrainingArguments(gradient_accumulation_steps=load(), per_device_train_batch_size=2)).train()\n',
    );
    assert.ok(!counted.fields.includes('batch.accumulation'));
    assert.match(counted.reasons, /batch\.sequence: Nothing that is read of the files says/);
    const handed = await listed('Trainer(model=model, args=make()).train()\n');
    assert.ok(
      !handed.fields.some((field) =>
        /^(batch\.accumulation|optimizer\.name|precision\.compute)$/.test(field),
      ),
    );
    assert.match(handed.reasons, /batch\.micro: What the trainer is told is known only when the script runs/);
    const open = await listed('Trainer(model=model, args=TrainingArguments(bf16=True, **load())).train()\n');
    assert.ok(!open.fields.includes('optimizer.name'));
    assert.match(open.reasons, /batch\.micro: What `\*\*` passes here is not known/);
    const whole = await listed('Trainer(model=model, args=TrainingArguments(bf16=True)).train()\n');
    assert.ok(whole.fields.includes('batch.accumulation'));
  });

  const TRL_IMPORTS =
    'import torch\nfrom transformers import AutoModelForCausalLM\nfrom trl import GRPOConfig, GRPOTrainer, ModelConfig, SFTConfig, SFTTrainer, get_peft_config, get_quantization_config\n';

  it("make adapters of what TRL's own `ModelConfig` asks for", () => {
    const asked = (settings: string) =>
      python(
        `${TRL_IMPORTS}asked = ModelConfig(model_name_or_path="Qwen/Qwen2.5-0.5B"${settings})
SFTTrainer(model=asked.model_name_or_path, args=SFTConfig(per_device_train_batch_size=2), peft_config=get_peft_config(asked)).train()\n`,
      );
    const adapted = asked(', use_peft=True, lora_r=8, lora_target_modules=["q_proj"]');
    assertStates(adapted, { 'method.kind': 'lora file', 'lora.rank': '8 file' });
    assert.deepEqual(factOf(adapted, 'lora.targets')?.value, ['q_proj']);
    assert.deepEqual(adapted.unread ?? [], []);
    // Its defaults are not those of PEFT.
    assertStates(asked(', use_peft=True'), {
      'lora.rank': '16 default',
      'lora.alpha': '32 default',
      'lora.dropout': '0.05 default',
    });
    const whole = asked(', lora_r=8');
    assertStates(whole, { 'method.kind': 'full default' });
    assert.equal(factOf(whole, 'lora.rank'), undefined);
    assert.equal(factOf(asked(', use_peft=decide()'), 'method.kind'), undefined);
    assert.equal(factOf(asked(', use_peft=True, lora_r=decide()'), 'lora.rank'), undefined);
    // What the config states of a model that it does not load changes nothing.
    assert.equal(factOf(asked(', use_peft=True, load_in_4bit=True'), 'quantization.kind'), undefined);
  });

  it("quantize what is loaded with what TRL's own `ModelConfig` asks for", () => {
    const asked = (settings: string) =>
      python(
        `${TRL_IMPORTS}asked = ModelConfig(${settings})
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", quantization_config=get_quantization_config(asked))
SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=2)).train()\n`,
      );
    assertStates(asked('load_in_4bit=True'), {
      'quantization.kind': 'nf4 file',
      'quantization.double': 'false default',
    });
    assertStates(asked('load_in_8bit=True'), { 'quantization.kind': 'int8 file' });
    // Its own type is what packed weights are multiplied in, where nothing is mixed.
    const typed = (settings: string) =>
      python(
        `${TRL_IMPORTS}asked = ModelConfig(${settings})
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", quantization_config=get_quantization_config(asked))
SFTTrainer(model=model, args=SFTConfig(bf16=False)).train()\n`,
      );
    assertStates(typed('dtype="bfloat16", load_in_4bit=True'), { 'precision.compute': 'bf16 file' });
    assertStates(typed('load_in_4bit=True'), { 'precision.compute': 'fp32 default' });
    const whole = asked('');
    assert.equal(factOf(whole, 'quantization.kind'), undefined);
    assert.deepEqual(whole.unread ?? [], []);
    assert.match(
      (asked('load_in_4bit=decide()').unread ?? []).map(({ message }) => message).join(),
      /known only when/,
    );
  });

  it('read the quantization among the arguments that a trainer loads its model with', () => {
    const reading =
      python(`${IMPORTS}quantized = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
words = dict(torch_dtype="auto", quantization_config=quantized)
SFTTrainer(model="Qwen/Qwen2.5-0.5B", model_init_kwargs=words, args=SFTConfig(per_device_train_batch_size=2), peft_config=LoraConfig(r=8)).train()\n`);
    assertStates(reading, { 'quantization.kind': 'nf4 file' });
    assert.deepEqual(reading.unread ?? [], []);
  });

  it('name what gives the samples of a batch, or say that nobody knows how many they are', () => {
    const loop = (loader: string) => {
      const { unread = [] } = python(`import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
optimizer = torch.optim.AdamW(model.parameters())
for batch in ${loader}:
    model(**batch).loss.backward()
    optimizer.step()\n`);
      return unread.map(({ message }) => message).join('\n');
    };
    const named = loop('DataLoader(data(), batch_size=config.get("size"))');
    assert.match(named, /`batch_size` takes `config\.get\("size"\)`, which is known only when/);
    assert.match(loop('loaders()'), /Nothing that is read makes batches/);
  });

  it('read the optimizer that a trainer is given by its class', () => {
    const given = (pair: string) =>
      python(
        `${IMPORTS}${MODEL}args = TrainingArguments(per_device_train_batch_size=2, bf16=True)\nTrainer(model=model, args=args, optimizer_cls_and_kwargs=${pair}).train()\n`,
      );
    const sgd = given('(torch.optim.SGD, {"lr": 0.1})');
    assertStates(sgd, { 'optimizer.name': 'sgd file', 'optimizer.implementation': 'foreach default' });
    assert.deepEqual(sgd.unread ?? [], []);
    const moving = given('(torch.optim.SGD, {"lr": 0.1, "momentum": 0.9})');
    assertStates(moving, { 'optimizer.name': 'sgd-momentum file' });
    const unknown = given('(own.optimizer(), {})');
    assertStates(unknown, { 'optimizer.name': undefined, 'optimizer.implementation': undefined });
    assert.match((unknown.unread ?? []).map(({ message }) => message).join(), /optimizer_cls_and_kwargs/);
  });
});
