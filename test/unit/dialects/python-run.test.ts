import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { ReadContext } from '../../../server/src/dialects/dialect';
import { pythonRun } from '../../../server/src/dialects/python/python-run';
import { mightBeTrainingConfig } from '../../../server/src/dialects/registry';
import { linearPattern } from '../../../server/src/run/linear-pattern';
import { assertStates, factOf, read, refused } from './reading';

const python = (text: string, known: ReadContext['known'] = {}) =>
  read('python', 'file:///train.py', text, known);

const IMPORTS = `import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer
`;
const MODEL =
  'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", torch_dtype=torch.bfloat16)\n';
const QUANTIZED = `bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", quantization_config=bnb)
`;
const LORA = 'lora = LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"])\n';
const SFT = 'SFTTrainer(model, args=SFTConfig(max_length=2048, per_device_train_batch_size=4)).train()\n';

/** What is not understood, by kind and text. */
const unread = (text: string, known?: ReadContext['known']) =>
  (python(text, known).unread ?? []).map(({ kind, text: words }) => `${kind} ${words}`);

describe('models of a class that the file defines', () => {
  before(loadPython);

  it('are refused by its name where it loads them', () => {
    const text = `${IMPORTS}from transformers.models.llama.modeling_llama import LlamaModel, LlamaPreTrainedModel
class TokenTagger(LlamaPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = LlamaModel(config)
model = TokenTagger.from_pretrained(
    "meta-llama/Llama-2-7b-hf", num_labels=9
).bfloat16()
model = get_peft_model(model, LoraConfig(r=8))
Trainer(model, TrainingArguments("out")).train()
`;
    assert.deepEqual(unread(text), ['refused TokenTagger']);
    assert.ok(!python(text).problems.some(({ code }) => code === 'python-model-unknown'));
    // What another module defines is not known to be the code's own.
    const other = text.replace(
      /class TokenTagger[\s\S]*?LlamaModel\(config\)\n/,
      'from tagger import TokenTagger\n',
    );
    assert.ok(!unread(other).includes('refused TokenTagger'));
  });
});

describe('mixed precision that hangs on the type of the weights', () => {
  before(loadPython);
  const script = (dtype: string) => `${IMPORTS}
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", dtype=${dtype})
SFTTrainer(model, args=SFTConfig(max_length=2048, fp16=True if model.dtype == torch.float16 else False, bf16=model.dtype == torch.bfloat16)).train()
`;

  it('is that of the load, where it names a type', () => {
    assertStates(python(script('torch.bfloat16')), { 'precision.compute': 'bf16 file' });
    assert.deepEqual(unread(script('torch.bfloat16')), []);
    assertStates(python(script('torch.float16')), { 'precision.compute': 'fp16 file' });
    const cast = script('torch.bfloat16').replace('SFTTrainer(', 'model.float()\nSFTTrainer(');
    assert.equal(unread(cast).length, 2);
  });

  it('is not reported to need more where nobody knows that', () => {
    const [first] = python(script('"auto"')).unread ?? [];
    assert.match(
      first?.message ?? '',
      /`fp16` is false or true: .* taken to be off, which may need more or less/,
    );
  });
});

describe('runs that are written in Python', () => {
  before(loadPython);

  it('state what calls are passed, at its place', () => {
    const reading = python(`${IMPORTS}BATCH = 4\n${MODEL}${LORA}
args = SFTConfig(per_device_train_batch_size=BATCH, gradient_accumulation_steps=8 // BATCH, max_length=2048, bf16=True)
SFTTrainer(model=model, args=args, peft_config=lora).train()`);
    assertStates(reading, {
      'model.id': 'meta-llama/Llama-2-7b-hf file',
      'precision.weights': 'bf16 file',
      'precision.compute': 'bf16 file',
      'batch.micro': '4 file',
      'batch.accumulation': '2 file',
      'batch.sequence': '2048 file',
      'method.kind': 'lora file',
      'lora.rank': '16 file',
      'lora.targets': 'q_proj,v_proj file',
      'activations.checkpointing': 'full default',
      framework: 'trl default',
    });
    const batch = factOf(reading, 'batch.micro')?.origin;
    assert.equal(batch?.key, 'SFTConfig.per_device_train_batch_size');
    // The number stands where the name is bound.
    assert.deepEqual(batch?.location?.range.start, { line: 4, character: 8 });
    assert.deepEqual([reading.unread, reading.problems], [undefined, []]);
  });

  describe('settings of DeepSpeed', () => {
    const DS =
      '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": True}}';
    const trained = (before: string, deepspeed: string) =>
      python(`${IMPORTS}import json, yaml\nfrom pathlib import Path\n${MODEL}${before}
Trainer(model, TrainingArguments("o", bf16=True, deepspeed=${deepspeed})).train()`);
    const STATED = {
      'parallel.data': 'zero file',
      'zero.stage': '3 file',
      'offload.optimizer': 'cpu file',
      'precision.weights': 'bf16 file',
    } as const;

    for (const [what, before, deepspeed] of [
      ['in a dictionary', `ds = ${DS}\n`, 'ds'],
      ['in the call itself', '', DS],
      [
        'written to a file',
        `ds = ${DS}\nwith open("d/ds.json", "w") as f:\n    json.dump(ds, f)\n`,
        '"./d/ds.json"',
      ],
      [
        'written as text',
        `with open("ds.json", "w") as f:\n    f.write(json.dumps(${DS}, indent=2))\n    f.write("\\n")\n`,
        '"ds.json"',
      ],
      ['written to a path', `Path("ds.json").write_text(json.dumps(${DS}))\n`, '"ds.json"'],
      [
        'written by a function',
        `def make(path="ds.json"):\n    yaml.safe_dump(${DS}, open(path, "w"))\n\nmake()\n`,
        '"ds.json" if flag else None',
      ],
    ] as const)
      it(`that stand ${what} are those of the run`, () => {
        const reading = trained(before, deepspeed);
        assertStates(reading, STATED);
        assert.deepEqual(reading.links, []);
      });

    it('that a file holds which several places write are known to nobody', () => {
      const twice = trained(
        `json.dump(${DS}, open("ds.json", "w"))\njson.dump({"a": 1}, open("ds.json", "w"))\n`,
        '"ds.json"',
      );
      assert.equal(factOf(twice, 'zero.stage'), undefined);
      assert.deepEqual(twice.links, []);
      assert.deepEqual(twice.unread?.flatMap(({ fields = [] }) => fields).includes('zero.stage'), true);
      const text = trained('open("ds.json", "w").write(render())\n', '"ds.json"');
      assert.deepEqual(
        text.unread?.map(({ text: words }) => words),
        ['deepspeed="ds.json"'],
      );
    });

    it('that are known only when the script runs leave the stage open', () => {
      const reading = trained('ds = {"zero_optimization": {"stage": choose()}}\n', 'ds');
      assert.equal(factOf(reading, 'zero.stage'), undefined);
      assert.deepEqual(
        reading.unread?.map(({ text: words, fields }) => [words, fields?.[0]]),
        [['zero_optimization.stage=choose()', 'zero.stage']],
      );
      const open = trained('ds = {"zero_optimization": {"stage": 2}}\nds.update(more())\n', 'ds');
      assert.ok(open.unread?.some(({ fields }) => fields?.includes('zero.stage')));
    });

    it('that a cell of a notebook writes are those of the run, at their place', () => {
      const json = '{\n  "zero_optimization": {\n    "stage": 3\n  }\n}';
      for (const cell of [
        `%%writefile ds.json\n${json}\n`,
        `%%bash\nmkdir -p x\ncat <<'EOT' > ds.json\n${json}\nEOT\n`,
        `%%bash\ncat > ds.json << EOT\n${json}\nEOT\n`,
      ]) {
        const cells = [
          '# %%',
          cell,
          '# %%',
          `${IMPORTS}${MODEL}Trainer(model, TrainingArguments("o", deepspeed="ds.json")).train()\n`,
        ];
        const reading = python(cells.join('\n'));
        assertStates(reading, { 'zero.stage': '3 file' });
        const line = factOf(reading, 'zero.stage')?.origin.location?.range.start.line;
        assert.equal(cells.join('\n').split('\n')[line ?? 0], '    "stage": 3');
        assert.deepEqual(reading.links, []);
      }
    });
  });

  describe('models that a trainer is given beside the one that it trains', () => {
    const given = (trainer: string, config: string, more: string, before = '') =>
      python(`from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, BitsAndBytesConfig
from trl import ${trainer}, ${config}
import torch
${before}${trainer}("Qwen/Qwen2.5-0.5B", args=${config}(per_device_train_batch_size=2), ${more}).train()\n`);

    it('are the teacher of a distillation, by its name or loaded before', () => {
      const teacher = {
        'method.objective': 'distillation inferred',
        'method.teacher': 'Qwen/Qwen2.5-7B file',
        'method.frozenParameters': '7615616512 file',
      };
      const loaded =
        'big = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16)\n';
      for (const [trainer, config] of [
        ['GKDTrainer', 'GKDConfig'],
        ['DistillationTrainer', 'DistillationConfig'],
      ] as const) {
        assertStates(given(trainer, config, 'teacher_model="Qwen/Qwen2.5-7B"'), teacher);
        assertStates(given(trainer, config, 'teacher_model=big', loaded), {
          ...teacher,
          'method.frozenDtype': 'bf16 file',
        });
      }
    });

    it('are not known where only the running script knows them, or how they are held', () => {
      const fields = (more: string, before = '') =>
        given('GKDTrainer', 'GKDConfig', more, before).unread?.flatMap((one) => one.fields ?? []);
      assert.deepEqual(fields('teacher_model=pick()'), ['method.teacher', 'method.frozenParameters']);
      const packed =
        'big = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", quantization_config=BitsAndBytesConfig(load_in_4bit=True))\n';
      assert.deepEqual(fields('teacher_model=big', packed), ['method.frozenDtype']);
    });

    it('are the reference, in the type that it is loaded in', () => {
      const reference = (load: string) =>
        python(`${IMPORTS}${MODEL}ref = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf"${load})
DPOTrainer(model, ref, DPOConfig("o")).train()\n`);
      assertStates(reference(', torch_dtype=torch.float32'), { 'method.frozenDtype': 'fp32 file' });
      assertStates(reference(''), {
        'method.frozenDtype': 'fp16 inferred',
        'method.referenceModel': 'true file',
      });
    });

    it('are reward models among the functions that score', () => {
      const scored = (functions: string, before = '') =>
        given('GRPOTrainer', 'GRPOConfig', `reward_funcs=${functions}`, before);
      const sized = { 'method.frozenParameters': '7615616512 file' };
      assertStates(scored('"Qwen/Qwen2.5-7B"'), sized);
      assertStates(scored('[length, "Qwen/Qwen2.5-7B"]'), sized);
      assertStates(
        scored(
          '[judge]',
          'judge = AutoModelForSequenceClassification.from_pretrained("Qwen/Qwen2.5-7B", num_labels=1)\n',
        ),
        sized,
      );
      assertStates(scored('[len, make_reward(2)]'), { 'method.frozenParameters': undefined });
    });
  });

  it('take the length that a sample is cut to where its tokens are too many', () => {
    const lengthOf = (cut: string) =>
      factOf(
        python(`${IMPORTS}tokenizer = AutoTokenizer.from_pretrained("gpt2")
def process(row):
    LENGTH = 384
    input_ids = tokenizer(row["a"])["input_ids"] + tokenizer(row["b"])["input_ids"]
${cut}
    return {"input_ids": input_ids}
data = load().map(process)
${MODEL}Trainer(model, TrainingArguments("o"), train_dataset=data).train()\n`),
        'batch.sequence',
      )?.value;
    assert.equal(lengthOf('    if len(input_ids) > LENGTH:\n        input_ids = input_ids[:LENGTH]'), 384);
    // A batch of two samples, a beginning, and a question about something else.
    assert.equal(lengthOf('    input_ids = input_ids[:2]'), undefined);
    assert.equal(lengthOf('    if len(input_ids) > LENGTH:\n        input_ids = input_ids[2:]'), undefined);
    assert.equal(lengthOf('    if len(row) > 2:\n        input_ids = input_ids[:2]'), undefined);
  });

  it('take the length of the longest samples that a filter keeps', () => {
    const lengthOf = (keeps: string, filter: string) =>
      factOf(
        python(`${IMPORTS}${keeps}
data = load().map(tokenize)
${filter}
${MODEL}Trainer(model, TrainingArguments("o"), train_dataset=data).train()\n`),
        'batch.sequence',
      );
    const short = `def is_short(input_ids):
    input_length = len(input_ids)
    return input_length < 200`;
    const kept = lengthOf(short, 'data = data.filter(is_short, input_columns=["input_ids"])');
    assert.equal(kept?.value, 199);
    assert.equal(kept?.origin.guess, true);
    const inline = (condition: string) => lengthOf('', `data = data.filter(lambda row: ${condition})`)?.value;
    assert.equal(inline('len(row["input_ids"]) <= 1_024'), 1024);
    // Longer ones, a question about something else, and samples that are counted beside those that are trained on.
    assert.equal(inline('len(row["input_ids"]) > 200'), undefined);
    assert.equal(inline('len(row["input_ids"]) < 200 or row["keep"]'), undefined);
    assert.equal(inline('len(row["text"]) < 200'), undefined);
    assert.equal(lengthOf(short, 'data = data.filter(is_short, input_columns=["labels"])')?.value, undefined);
    assert.equal(
      lengthOf(short, 'few = data.filter(is_short, input_columns=["input_ids"])')?.value,
      undefined,
    );
    // A column that holds the length, and a bound that is worked out.
    const counted = (column: string, filter: string, more = '') =>
      lengthOf(
        `${more}seconds = 5.0
hears = Wav2Vec2FeatureExtractor(feature_size=1, sampling_rate=16_000)
processor = Wav2Vec2Processor(feature_extractor=hears, tokenizer=tokenizer)
def prepare(batch):
    batch["input_length"] = ${column}
    return batch`,
        `data["train"] = data["train"].filter(${filter}, input_columns=["input_length"])`,
      )?.value;
    const below = 'lambda x: x < seconds * processor.feature_extractor.sampling_rate';
    assert.equal(counted('len(batch["input_values"])', below), 79_999);
    assert.equal(counted('len(batch["input_values"])  # values', below), 79_999);
    assert.equal(counted('len(batch["input_values"])', 'lambda x: x < longest()'), undefined);
    assert.equal(counted('batch["seconds"]', below), undefined);
    const own = 'def short(x):\n    limit = 3\n    return x < limit\nlimit = 9\n';
    assert.equal(counted('len(batch["input_values"])', 'short', own), undefined);
  });

  it('take the length of the longest rows that a table of pandas keeps', () => {
    const kept = (filter: string, more: { column?: string; transformers?: string } = {}) =>
      factOf(
        python(
          `${IMPORTS}from datasets import Dataset
limit = 4096
rows["N"] = ${more.column ?? 'rows["Messages"].apply(lambda x: len(tokenizer.apply_chat_template(x)))'}
${filter}
data = Dataset.from_pandas(rows)
${MODEL}SFTTrainer(model, args=SFTConfig("o", max_length=4096), train_dataset=data).train()\n`,
          { 'version.transformers': more.transformers ?? '4.57.6' },
        ),
        'batch.sequence',
      )?.value;
    assert.equal(kept('rows = rows.loc[rows["N"] <= limit/2].copy()'), 2048);
    assert.equal(kept('rows = rows[rows["N"] < 1000]'), 999);
    assert.equal(kept('rows = rows[(rows.N > 3) & (rows.N <= 1_000)].reset_index(drop=True)'), 1000);
    assert.equal(kept('rows = rows.query("N <= 1500")'), 1500);
    assert.equal(
      kept('rows = rows[rows["N"] <= 900]', {
        column: 'rows["text"].map(lambda x: len(tokenizer(x)["input_ids"]))',
        transformers: '5.23.0',
      }),
      900,
    );
    // Of a chat template `len` counts the names of a dictionary there.
    assert.equal(kept('rows = rows[rows["N"] <= 900]', { transformers: '5.23.0' }), 4096);
    // Characters, an alternative, a bound that is not known, and rows that are counted beside those that are trained on.
    const characters = 'rows["text"].apply(lambda x: len(tokenizer.apply_chat_template(x, tokenize=False)))';
    assert.equal(kept('rows = rows[rows["N"] <= 900]', { column: characters }), 4096);
    assert.equal(kept('rows = rows[(rows["N"] <= 900) | rows["keep"]]'), 4096);
    assert.equal(kept('rows = rows[rows["N"] <= longest()]'), 4096);
    assert.equal(kept('few = rows[rows["N"] <= 900]'), 4096);
  });

  it('are seen to freeze weights, however the text reaches them', () => {
    const fields = (text: string) =>
      python(`${IMPORTS}${MODEL}${text}${SFT}`).unread?.flatMap((one) => one.fields ?? []);
    for (const text of [
      'for n, p in model.named_parameters():\n    if "layers.2" not in n:\n        p.requires_grad = False\n',
      'for layer in model.model.layers[:-4]:\n    for p in layer.parameters():\n        p.requires_grad = False\n',
      'for i, (n, p) in enumerate(model.named_parameters()):\n    p.requires_grad = i > 20\n',
      'for p in list(model.parameters())[:10]:\n    p.requires_grad = False\n',
      'model.model.embed_tokens.requires_grad_(False)\n',
      'def freeze(m):\n    for p in m.parameters():\n        p.requires_grad = False\nfreeze(model.model.layers[0])\n',
    ])
      assert.deepEqual(fields(text), ['method.kind'], text);
    assert.equal(fields('for p in model.parameters():\n    p.requires_grad = True\n'), undefined);
    assert.equal(fields('model.requires_grad_(True)\n'), undefined);
    const other =
      'ref = AutoModelForCausalLM.from_pretrained("gpt2")\nfor p in ref.parameters():\n    p.requires_grad = False\n';
    assert.equal(fields(other), undefined);
  });

  it('take kernels of Liger that the code puts in itself', () => {
    const patched = (call: string, model = MODEL) =>
      python(`${IMPORTS}from liger_kernel.transformers import apply_liger_kernel_to_llama, AutoLigerKernelForCausalLM
${call}${model}${SFT}`);
    assertStates(patched('apply_liger_kernel_to_llama()\n'), { 'kernels.liger': 'true file' });
    assertStates(patched('apply_liger_kernel_to_llama(rms_norm=True, cross_entropy=False)\n'), {
      'kernels.liger': 'true file',
    });
    const auto = patched(
      '',
      'model = AutoLigerKernelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")\n',
    );
    assertStates(auto, { 'kernels.liger': 'true file', 'model.id': 'meta-llama/Llama-2-7b-hf file' });
    const some = patched('apply_liger_kernel_to_llama(fused_linear_cross_entropy=False)\n');
    assert.deepEqual(
      some.unread?.flatMap((one) => one.fields),
      ['kernels.liger'],
    );
    const asked = patched('if fast():\n    apply_liger_kernel_to_llama()\n');
    assert.deepEqual(
      asked.unread?.map(({ kind }) => kind),
      ['branch'],
    );
  });

  it('on several GPUs that a process sees spread a model over them, which is not estimated', () => {
    const spread = `${IMPORTS}model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", device_map="auto")\n${SFT}`;
    const fields = (known: ReadContext['known']) =>
      python(spread, known).unread?.flatMap((one) => one.fields);
    assert.deepEqual(fields({ 'hardware.gpus': 2 }), ['parallel.pipeline']);
    assert.equal(fields({ 'hardware.gpus': 1 }), undefined);
    assert.equal(fields({}), undefined);
    const seen = python(`import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n${spread}`);
    assert.deepEqual(
      seen.unread?.flatMap((one) => one.fields),
      ['parallel.pipeline'],
    );
  });

  it('that a map of devices spreads are no replicas, whoever loads them and however many GPUs there are', () => {
    const plain = (map: string) =>
      `${IMPORTS}model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf"${map})\n${SFT}`;
    const unsloth = (map: string) =>
      `from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Llama-3.1-8B", max_seq_length=1024${map})\nmodel = FastLanguageModel.get_peft_model(model, r=8)\nSFTTrainer(model=model, args=SFTConfig()).train()`;
    for (const text of [plain, unsloth]) {
      for (const map of ['auto', 'balanced']) {
        const spread = text(`, device_map="${map}"`);
        assertStates(python(spread), { 'parallel.data': 'none inferred' });
        const two = python(spread, { 'hardware.gpus': 2 });
        // Unsloth gives each of several processes a GPU: which of both it is the launch decides.
        const isOpen = text === unsloth;
        if (!isOpen) assertStates(two, { 'parallel.data': 'none inferred' });
        assert.deepEqual(
          two.unread?.flatMap((one) => one.fields),
          isOpen ? ['parallel.data', 'parallel.pipeline'] : ['parallel.pipeline'],
        );
        assert.equal(python(spread, { 'hardware.gpus': 1 }).unread, undefined);
      }
      for (const whole of ['', ', device_map={"": 0}', ', device_map="cuda:0"'])
        assertStates(python(text(whole)), { 'parallel.data': 'ddp default' });
    }
  });

  it('by a class of the file without the word in its name are found', () => {
    const own = `${IMPORTS}class Mine(SFTTrainer):\n    pass\n${MODEL}Mine(model, args=SFTConfig(max_length=8)).train()\n`;
    assert.ok(mightBeTrainingConfig(own, 'train.py'));
  });

  it('on TPUs are not estimated', () => {
    const words = ['PyTorch/XLA trains here: that is not estimated.'];
    const messages = (text: string) => python(text).unread?.map(({ message }) => message);
    assert.deepEqual(
      messages(`import torch_xla.core.xla_model as xm\n${IMPORTS}${MODEL}d = xm.xla_device()\n${SFT}`),
      words,
    );
    assert.deepEqual(
      messages(
        `${IMPORTS}${MODEL}Trainer(model, TrainingArguments("o", fsdp="full_shard", fsdp_config={"xla": True})).train()`,
      ),
      words,
    );
    const asked = `import torch_xla.core.xla_model as xm\n${IMPORTS}${MODEL}if on_tpu():\n    d = xm.xla_device()\n${SFT}`;
    assert.equal(messages(asked), undefined);
    for (const when of ['', 'if args.with_ap:\n    '])
      assert.deepEqual(
        messages(
          `import torch\n${IMPORTS}${when}torch.moreh.option.enable_advanced_parallelization()\n${MODEL}${SFT}`,
        ),
        ['MoAI trains here: that is not estimated.'],
        when,
      );
  });

  describe('models that are made of a config', () => {
    const made = (model: string) =>
      python(`import torch
from transformers import AutoConfig, AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments
${model}
Trainer(model, TrainingArguments("o", bf16=True)).train()\n`);
    const config =
      'config = LlamaConfig(vocab_size=32000, hidden_size=2048, num_hidden_layers=22, use_cache=False)\n';

    it('have its shapes, and new weights in fp32', () => {
      const reading = made(`${config}config.num_key_value_heads = 4\nmodel = LlamaForCausalLM(config)`);
      assert.deepEqual(factOf(reading, 'model.config')?.value, {
        model_type: 'llama',
        vocab_size: 32000,
        hidden_size: 2048,
        num_hidden_layers: 22,
        num_key_value_heads: 4,
      });
      assert.equal(factOf(reading, 'precision.weights')?.value, 'fp32');
      assert.equal(factOf(reading, 'loading.newWeights')?.value, true);
      assert.equal(reading.unread, undefined);
    });

    it('in the type that `from_config` is asked for, moved or not', () => {
      const asked = made(
        `${config}model = AutoModelForCausalLM.from_config(config, torch_dtype=torch.bfloat16).cuda()`,
      );
      assert.equal(factOf(asked, 'precision.weights')?.value, 'bf16');
      assert.ok(factOf(asked, 'model.config'));
    });

    it('keep learned positions, whose number counts', () => {
      const reading = made(
        'model = GPT2LMHeadModel(GPT2Config(n_positions=2048, n_layer=4, pad_token_id=tok.pad))',
      );
      assert.deepEqual(factOf(reading, 'model.config')?.value, {
        model_type: 'gpt2',
        n_positions: 2048,
        n_layer: 4,
      });
    });

    it('are that of a name where its config is taken unchanged', () => {
      const same = made(
        'model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2", use_cache=False))',
      );
      assert.equal(factOf(same, 'model.id')?.value, 'gpt2');
      const typed = made(
        'model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2", trust_remote_code=True, torch_dtype=torch.float32))',
      );
      assertStates(typed, { 'precision.weights': 'fp32 file', 'model.ownCode': undefined });
    });

    it('have the other sizes that its config is given; those that are not known make another model', () => {
      const config = (given: string, before = '') =>
        made(
          `${before}config = AutoConfig.from_pretrained("gpt2", ${given})\nmodel = GPT2LMHeadModel(config)`,
        );
      const changed = config('n_layer=3, n_ctx=128, bos_token_id=tok.bos_token_id');
      assert.equal(factOf(changed, 'model.id')?.value, 'gpt2');
      assert.deepEqual(factOf(changed, 'model.changes')?.value, { n_layer: 3 });
      assert.equal(changed.unread, undefined);
      const set = made(
        'config = AutoConfig.from_pretrained("gpt2")\nconfig.n_layer = 2\nmodel = GPT2LMHeadModel(config)',
      );
      assert.deepEqual(factOf(set, 'model.changes')?.value, { n_layer: 2 });
      const unknown = config('vocab_size=len(tok)');
      assert.equal(factOf(unknown, 'model.changes'), undefined);
      assert.deepEqual(
        unknown.unread?.map(({ text, fields }) => [text, fields?.[0]]),
        [['vocab_size', 'model.config']],
      );
      const refused = config('scale_attn_weights=False');
      assert.ok(refused.unread?.some(({ kind }) => kind === 'refused'));
    });

    it('have as many tokens as a published tokenizer, unless it was given more', () => {
      const vocabulary = (after: string) =>
        factOf(
          made(`from transformers import AutoTokenizer
tok = AutoTokenizer.from_pretrained("huggingface-course/code-search-net-tokenizer")
${after}
model = GPT2LMHeadModel(AutoConfig.from_pretrained("gpt2", vocab_size=len(tok)))`),
          'model.changes',
        )?.value;
      assert.deepEqual(vocabulary('tok.pad_token = tok.eos_token'), { vocab_size: 50000 });
      assert.equal(vocabulary('tok.pad_token = "[PAD]"'), undefined);
      assert.equal(vocabulary('tok.add_tokens(["<sound>"])'), undefined);
    });

    it('take the attention that their config is given by its own name', () => {
      const reading = made(
        'model = AutoModelForCausalLM.from_pretrained("gpt2", _attn_implementation="flash_attention_2")',
      );
      assert.equal(factOf(reading, 'attention.implementation')?.value, 'flash2');
      assert.equal(reading.unread, undefined);
    });

    it('load fewer layers of a checkpoint', () => {
      const reading = made('model = AutoModelForCausalLM.from_pretrained("gpt2", num_hidden_layers=2)');
      assert.deepEqual(factOf(reading, 'model.changes')?.value, { num_hidden_layers: 2 });
      assert.equal(reading.unread, undefined);
    });

    it('are open where a size is known only when the script runs', () => {
      const reading = made('model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tok), hidden_size=512))');
      assert.equal(factOf(reading, 'model.config'), undefined);
      assert.deepEqual(
        reading.unread?.map(({ text, fields }) => [text, fields?.[0]]),
        [['vocab_size=len(tok)', 'model.config']],
      );
    });
  });

  it('states no model whose sizes are known only when the script runs', () => {
    const trained = (more: string) =>
      python(
        `${IMPORTS}model = AutoModelForCausalLM.from_pretrained("gpt2"${more})\nTrainer(model, TrainingArguments("o")).train()\n`,
      );
    const other = trained(', vocab_size=len(tokenizer)');
    assert.deepEqual(
      other.unread?.map(({ text }) => text),
      ['vocab_size'],
    );
    assertStates(other, { 'features.unmodelled': 'model-of-the-script file' });
    assert.equal(trained(', num_labels=6, use_cache=False').unread, undefined);
  });

  it('are of the class that Unsloth is given to make the model', () => {
    const reading = (made: string, more = '') =>
      python(`from transformers import ${made}, Trainer, TrainingArguments
from unsloth import FastModel
model, tokenizer = FastModel.from_pretrained("unsloth/Qwen3-4B", auto_model=${made}, load_in_4bit=False${more})
Trainer(model=model, args=TrainingArguments("o")).train()\n`);
    const labels = reading('AutoModelForSequenceClassification');
    assert.equal(factOf(labels, 'method.objective')?.value, 'classification');
    assert.equal(factOf(labels, 'quantization.kind')?.value, 'none');
    assert.equal(factOf(reading('AutoModelForCausalLM'), 'method.objective'), undefined);
    assert.ok(reading('AutoModel').unread?.some(({ kind }) => kind === 'refused'));
  });

  it('name adapters that are not estimated', () => {
    const reading = python(`${IMPORTS}from peft import WaveFTConfig, get_peft_model
${MODEL}model = get_peft_model(model, WaveFTConfig(n_frequency=8))
Trainer(model, TrainingArguments("o")).train()\n`);
    assert.ok(
      reading.unread?.some(({ message }) => message === 'Adapters of `WaveFTConfig` are not estimated.'),
    );
  });

  it('are read whole where nothing but how long they go on is known only when they run', () => {
    const reading = python(
      `${IMPORTS}${MODEL}Trainer(model, TrainingArguments("o", max_steps=len(data) * 3)).train()\n`,
    );
    assert.equal(reading.unread, undefined);
    assert.equal(factOf(reading, 'schedule.steps'), undefined);
  });

  describe('arguments that a trainer does not take', () => {
    const found = (trainer: string, more: string, made = 'Trainer') =>
      python(
        `${IMPORTS}${MODEL}${trainer}\n${made}(model=model, args=TrainingArguments("o")${more}).train()\n`,
      )
        .problems.filter(({ code }) => code === 'trainer-argument')
        .map(({ severity, data }) => [severity, data?.replacement ?? data?.key]);
    const own = (parameters: string, body: string) =>
      `class Own(Trainer):\n    def __init__(self${parameters}):\n        ${body}\n`;

    it('stop the call', () => {
      assert.deepEqual(found('', ', train_datasets=d'), [['error', 'train_dataset']]);
      assert.deepEqual(found('', ', batch_size=4'), [['error', 'batch_size']]);
      assert.deepEqual(found('', ', train_dataset=d, tokenizer=t, processing_class=p, **more'), []);
    });

    it('are taken by a class of the file, or handed on by it', () => {
      const handsOn = own(', *args, weight=1.0, **kwargs', 'super().__init__(*args, **kwargs)');
      assert.deepEqual(found(handsOn, ', weight=2.0, callbacks=[]', 'Own'), []);
      const typed = own(', weight: float, *args: Any, **kwargs: Any', 'super(Own, self).__init__(**kwargs)');
      assert.deepEqual(found(typed, ', weight=2.0, callbacks=[]', 'Own'), []);
      assert.deepEqual(found(handsOn, ', weights=2.0', 'Own'), [['error', 'weight']]);
      assert.deepEqual(found('class Own(Trainer):\n    pass\n', ', weights=2.0', 'Own'), [
        ['error', 'weights'],
      ]);
      const named = own(', model, args', 'super().__init__(model, args)');
      assert.deepEqual(found(named, ', callbacks=[]', 'Own'), [['error', 'callbacks']]);
    });

    it('are read through a function that passes on what it takes, whatever its types', () => {
      const made = (parameters: string) =>
        python(
          `${IMPORTS}${MODEL}def make(rate, ${parameters}):\n    return TrainingArguments("o", learning_rate=rate, **more)\nTrainer(model=model, args=make(1e-5, per_device_train_batch_size=3)).train()\n`,
        ).facts.find(({ field }) => field === 'batch.micro')?.value;
      assert.equal(made('**more'), 3);
      assert.equal(made('**more: Any'), 3);
    });

    it('may be taken where it does more with them', () => {
      const pops = own(
        ', *args, **kwargs',
        'w = kwargs.pop("weights")\n        super().__init__(*args, **kwargs)',
      );
      assert.deepEqual(found(pops, ', weights=2.0', 'Own'), []);
      const keeps = own(', model, args, **kwargs', 'super().__init__(model, args)');
      assert.deepEqual(found(keeps, ', weights=2.0', 'Own'), []);
      const base = `${own(', *args, w=1, **kwargs', 'super().__init__(*args, **kwargs)')}class More(Own):\n    pass\n`;
      assert.deepEqual(found(base, ', w=2.0', 'More'), []);
    });
  });

  describe('what a trainer is given beside its arguments', () => {
    const trained = (before: string, more: string, trainer = 'Trainer') =>
      python(`${IMPORTS}import bitsandbytes as bnb\n${MODEL}${before}
args = TrainingArguments("o", optim="adamw_torch")\n${trainer}(model, args${more}).train()\n`);

    it('an optimizer counts, whatever the arguments ask for', () => {
      const eight = trained('opt = bnb.optim.AdamW8bit(model.parameters())\n', ', optimizers=(opt, None)');
      assert.equal(factOf(eight, 'optimizer.name')?.value, 'adamw-8bit');
      assert.equal(factOf(trained('', ', optimizers=(None, None)'), 'optimizer.name')?.value, 'adamw');
      const own = trained('', ', optimizers=make(model)');
      assert.deepEqual(
        own.unread?.flatMap(({ fields = [] }) => fields),
        ['optimizer.name'],
      );
      assertStates(own, { 'optimizer.name': undefined, 'optimizer.implementation': undefined });
      const made = trained(
        'class Mine(Trainer):\n    def create_optimizer(self):\n        self.optimizer = SGD(1)\n',
        '',
        'Mine',
      );
      assert.ok(made.unread?.some(({ text }) => text === 'create_optimizer'));
    });

    it('an optimizer that PEFT makes counts, with what it freezes', () => {
      const by = (made: string, more = ', optimizers=(opt, None)') =>
        trained(
          `from peft.optimizers import create_lorafa_optimizer, create_loraplus_optimizer, create_riemannian_optimizer
import mine\nmodel = get_peft_model(model, LoraConfig(r=8))\nopt = ${made}\n`,
          more,
        );
      const frozen = by('create_lorafa_optimizer(model=model, r=8, lora_alpha=16, lr=1e-4)');
      assertStates(frozen, {
        'lora.frozenFirst': 'true file',
        'optimizer.name': 'adamw file',
        'optimizer.implementation': 'for-loop default',
      });
      assert.equal(frozen.unread, undefined);
      for (const name of ['loraplus', 'riemannian']) {
        const of = (kind: string) => by(`create_${name}_optimizer(model, optimizer_cls=${kind}, lr=1e-4)`);
        const eight = of('bnb.optim.AdamW8bit');
        assertStates(eight, { 'optimizer.name': 'adamw-8bit file', 'lora.frozenFirst': undefined });
        assert.equal(eight.unread, undefined);
        const other = of('mine.Own').unread?.flatMap(({ fields = [] }) => fields);
        assert.deepEqual(other, ['optimizer.name']);
      }
      // What freezes a part, and trains by another optimizer, is no optimizer of this run.
      const unused = by('create_lorafa_optimizer(model=model, r=8, lora_alpha=16, lr=1e-4)', '');
      assertStates(unused, { 'lora.frozenFirst': undefined });
      assert.deepEqual(
        unused.unread?.map(({ text }) => text),
        ['optimizers.create_lorafa_optimizer'],
      );
    });

    it('another model of unknown size on the GPU is reported, one on the host or given to the trainer is not', () => {
      const beside = (load: string, more = '') =>
        trained(`other = AutoModelForCausalLM.from_pretrained("acme/mine"${load}\n`, more).unread?.map(
          ({ text }) => text,
        );
      assert.deepEqual(beside(').eval().cuda()'), ['AutoModelForCausalLM.from_pretrained']);
      assert.deepEqual(beside(', device_map="auto")'), ['AutoModelForCausalLM.from_pretrained']);
      assert.equal(beside(')'), undefined);
      assert.equal(beside(', device_map="auto")', ', ref_model=other'), undefined);
      // What came back from the GPU is gone, but for where a condition decides about it.
      assert.equal(beside(').cuda()\nother.to("cpu")'), undefined);
      assert.equal(beside(').cuda()\nother.to("cpu")\nother.to("cuda")')?.length, 1);
      assert.equal(beside(').cuda()\nif who():\n    other.to("cpu")')?.length, 1);
      // Its name, or that of what it was handed to, means something else by then.
      assert.equal(beside(').cuda()\nother = 1'), undefined);
      assert.equal(beside(').to("cuda")\nkept = other.eval()\nother = 1')?.length, 1);
      assert.equal(beside(').cuda()\nother = pipeline(other)\nother = 1'), undefined);
    });

    it('a model that goes right onto the GPU leaves no copy in host memory', () => {
      const placed = (map: string) =>
        python(`${IMPORTS}model = AutoModelForCausalLM.from_pretrained("gpt2"${map})\n${SFT}`);
      for (const map of ['"auto"', '"cuda"', '"cuda:0"', '0', '{"": 0}', '{"": "cuda"}'])
        assertStates(placed(`, device_map=${map}`), { 'loading.placement': 'gpu inferred' });
      for (const map of [
        '',
        ', device_map="cpu"',
        ', device_map=None',
        ', device_map={"": "cpu"}',
        ', device_map=mine()',
      ])
        assertStates(placed(map), { 'loading.placement': undefined });
      // TRL loads by name itself: onto its one GPU since 0.26.
      const named = (known: ReadContext['known'], version?: string) =>
        read(
          'python',
          'file:///train.py',
          `${IMPORTS}SFTTrainer("gpt2", args=SFTConfig("o")).train()`,
          known,
          version ? { trl: { version, source: 'stated' } } : {},
        );
      assertStates(named({ 'hardware.gpus': 1 }), { 'loading.placement': 'gpu inferred' });
      assertStates(named({ 'hardware.gpus': 1 }, '0.25.0'), { 'loading.placement': undefined });
      assertStates(named({ 'hardware.gpus': 8 }), { 'loading.placement': undefined });
    });

    describe('a model of unknown size that is put on the GPU beside it', () => {
      const LOADS = 'from transformers import pipeline, TextClassificationPipeline\n';
      const notes = (before: string, after = '', transformers?: string) =>
        (
          read(
            'python',
            'file:///train.py',
            `${IMPORTS}${LOADS}${MODEL}${before}
trainer = Trainer(model, TrainingArguments("o"))\n${after}\ntrainer.train()\n`,
            {},
            transformers ? { transformers: { version: transformers, source: 'stated' } } : {},
          ).unread ?? []
        ).map(({ message }) => /puts|may put/.exec(message)?.[0]);

      it('is reported where a pipeline holds it, by the release', () => {
        const pipe = 'pipe = pipeline("text-to-speech", model="acme/speaks"';
        assert.deepEqual(notes(`${pipe})`), ['puts']);
        assert.deepEqual(notes('pipe = pipeline("table-question-answering")'), ['puts']);
        assert.deepEqual(notes(`${pipe})`, '', '4.47.0'), ['puts']);
        // Older ones leave it on the host, unless a device is stated.
        assert.deepEqual(notes(`${pipe})`, '', '4.46.3'), []);
        assert.deepEqual(notes(`${pipe}, device=0)`, '', '4.46.3'), ['puts']);
        assert.deepEqual(notes(`${pipe}, device_map="auto")`, '', '4.46.3'), ['puts']);
        for (const device of ['-1', '"cpu"', 'torch.device("cpu")'])
          assert.deepEqual(notes(`${pipe}, device=${device})`), [], device);
        assert.deepEqual(notes(`${pipe}, device=pick())`), ['may put']);
        // After the training, or gone before it.
        assert.deepEqual(notes('', `trainer.train()\n${pipe})`), []);
        assert.deepEqual(notes(`${pipe})\ntext = pipe("Hello")\ndel pipe`), []);
        assert.deepEqual(notes(`${pipe})\npipe = pipeline("ner", device=-1)`), []);
        assert.deepEqual(notes('', `${pipe})`), ['puts']);
      });

      it('is none where a pipeline holds the model that is trained', () => {
        for (const made of [
          'pipeline("text-generation", model=model)',
          'pipeline("text-generation", model)',
          'TextClassificationPipeline(model, tokenizer=t)',
        ])
          assert.deepEqual(notes(`pipe = ${made}`), [], made);
        const other = 'other = AutoModelForCausalLM.from_pretrained("acme/mine")\n';
        assert.deepEqual(notes(other), []);
        assert.deepEqual(notes(`${other}pipe = pipeline("text-generation", model=other)`), ['puts']);
        assert.deepEqual(notes(`${other}pipe = TextClassificationPipeline(other, tokenizer=t)`), ['puts']);
      });

      it('is reported whatever its device is spelled as', () => {
        const other = (more: string) =>
          notes(
            `from accelerate import Accelerator\nother = AutoModelForCausalLM.from_pretrained("acme/mine"${more}`,
          );
        for (const more of [
          ').to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))',
          ').to(device=torch.device("cuda:0"), dtype=torch.float16)',
          ').to(0)',
          ').to(Accelerator().device)',
          ', device_map={"": 0})',
          ', load_in_4bit=True)',
          ')\nother = Accelerator().prepare(other)',
        ])
          assert.deepEqual(other(more), ['puts'], more);
        assert.deepEqual(other(').to(pick())'), ['may put']);
        for (const more of [
          ').to(torch.bfloat16)',
          ').cuda().cpu()',
          ', device_map={"": "cpu"})',
          ', device_map=None)',
        ])
          assert.deepEqual(other(more), [], more);
        // What a model answers moves without it.
        assert.deepEqual(other(').cuda()\nx = other.generate(y).to("cpu")'), ['puts']);
      });

      it('is reported of libraries that place what they load', () => {
        const made = (what: string, more = '') =>
          notes(
            `from sentence_transformers import CrossEncoder, SentenceTransformer\nfrom speechbrain.inference import EncoderClassifier\nfrom unsloth import FastLanguageModel\nfrom vllm import LLM\nother = ${what}\n${more}`,
          );
        assert.deepEqual(made('SentenceTransformer("acme/mine")'), ['puts']);
        assert.deepEqual(made('SentenceTransformer("acme/mine", device="cpu")'), []);
        const encodes = 'vectors = other.encode(["a"])\n';
        assert.deepEqual(made('SentenceTransformer("acme/mine")', `${encodes}del other`), []);
        assert.deepEqual(made('CrossEncoder("acme/ranks")'), ['puts']);
        assert.deepEqual(made('LLM(model="gpt2")'), ['puts']);
        const speaker = 'EncoderClassifier.from_hparams(source="acme/xvect"';
        assert.deepEqual(made(`${speaker})`), []);
        assert.deepEqual(made(`${speaker}, run_opts={"device": "cuda"})`), ['puts']);
        assert.deepEqual(made('FastLanguageModel.from_pretrained("unsloth/Qwen3-4B")[0]'), ['puts']);
      });
    });

    it('a reference that is another model is reported', () => {
      const preferring = (name: string) =>
        python(`${IMPORTS}${MODEL}ref = AutoModelForCausalLM.from_pretrained("${name}", device_map="auto")
DPOTrainer(model, ref, args=DPOConfig("o")).train()\n`).unread?.map(({ text }) => text);
      assert.deepEqual(preferring('meta-llama/Llama-2-13b-hf'), ['ref_model']);
      assert.equal(preferring('meta-llama/Llama-2-7b-hf'), undefined);
    });

    it('a reference that the file loads itself stands as it was loaded', () => {
      const preferring = (policy: string, load: string, release = '4.46.3', more = '') =>
        python(
          `from transformers import BitsAndBytesConfig\n${IMPORTS}bits = BitsAndBytesConfig(load_in_4bit=True)
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf"${policy})
ref = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf"${load}
DPOTrainer(model, ref, args=DPOConfig("o")${more}).train()\n`,
          { 'version.transformers': release },
        );
      const bf16 = ', torch_dtype=torch.bfloat16';
      // Fp32 where nothing is stated before transformers 5, the type that is published since.
      assertStates(preferring(bf16, ')'), {
        'precision.weights': 'bf16 file',
        'method.referenceModel': 'true file',
        'method.frozenDtype': 'fp32 inferred',
      });
      assertStates(preferring(bf16, ')', '5.0.0'), { 'method.frozenDtype': 'fp16 inferred' });
      assertStates(preferring('', `${bf16})`), { 'method.frozenDtype': 'bf16 file' });
      assertStates(preferring(bf16, ').half()'), { 'method.frozenDtype': 'fp16 inferred' });
      const note = preferring(bf16, ')').facts.find(({ field }) => field === 'method.referenceModel')?.origin
        .note;
      assert.equal(note, 'the file passes its own reference model');
      // It stands there beside adapters, too.
      const adapters = ', peft_config=LoraConfig(r=8), force_use_ref_model=True';
      assertStates(preferring(bf16, ')', '4.46.3', adapters), { 'method.referenceModel': 'true file' });
      // Packed alike it is as large as a copy; else nobody counts it.
      const packed = ', quantization_config=bits';
      const unread = (policy: string, load: string) =>
        preferring(policy, load).unread?.map(({ text }) => text);
      assert.equal(unread(packed, `${packed})`), undefined);
      assert.deepEqual(unread(packed, ')'), ['ref_model']);
      assert.deepEqual(unread(bf16, `${packed})`), ['ref_model']);
      // The same object, and none, are no models of their own.
      const same = python(`${IMPORTS}${MODEL}DPOTrainer(model, None, args=DPOConfig("o")).train()\n`);
      assertStates(same, { 'method.referenceModel': 'true default', 'method.frozenDtype': undefined });
    });

    it('a function that makes the model is followed', () => {
      const reading = python(`${IMPORTS}def make(trial=None):
    return AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.bfloat16)

Trainer(model_init=make, args=TrainingArguments("o")).train()\n`);
      assertStates(reading, { 'model.id': 'gpt2 file', 'precision.weights': 'bf16 file' });
      assert.equal(reading.unread, undefined);
    });

    it('a loss of its own is reported', () => {
      assert.deepEqual(
        trained('', ', compute_loss_func=mine').unread?.flatMap(({ fields = [] }) => fields),
        ['loss.implementation'],
      );
      assert.equal(trained('', ', compute_loss_func=None').unread, undefined);
    });

    it('layers that the code replaces are reported', () => {
      assert.deepEqual(
        trained('model.model.layers = model.model.layers[:12]\n', '').unread?.flatMap(
          ({ fields = [] }) => fields,
        ),
        ['model.id'],
      );
      assert.equal(trained('model.config.use_cache = False\n', '').unread, undefined);
    });
  });

  it('adapters that are loaded make no refusal of quantized weights', () => {
    const trained = (before: string) =>
      python(`${IMPORTS}from peft import PeftModel\n${QUANTIZED}${before}${SFT}`);
    assert.deepEqual(refused(trained('')), ['quantized-without-adapter']);
    const loaded = trained('model = PeftModel.from_pretrained(model, "out/sft", is_trainable=True)\n');
    assert.deepEqual(refused(loaded), []);
    assert.deepEqual(loaded.unread?.[0]?.fields, ['method.kind', 'lora.rank']);
  });

  it('hold what a loop binds before it is left', () => {
    const after = (leaves: string) =>
      python(`${IMPORTS}${MODEL}size = 4
for module in model.modules():
    if who(module):
        size = 8
        ${leaves}
Trainer(model, TrainingArguments("o", per_device_train_batch_size=size)).train()
`);
    for (const leaves of ['pass', 'break', 'continue'])
      assert.equal(factOf(after(leaves), 'batch.micro')?.value, 8, leaves);
  });

  it('count what is called: preparation of quantized weights and checkpointing', () => {
    const trainer = 'Trainer(model, TrainingArguments("out")).train()\n';
    const adapted = 'model = get_peft_model(model, lora)\n';
    const plain = python(`${IMPORTS}${QUANTIZED}${LORA}${adapted}${trainer}`);
    assertStates(plain, {
      'quantization.kind': 'nf4 file',
      'quantization.double': 'true file',
      'quantization.prepared': 'false default',
      'activations.checkpointing': 'none default',
      'precision.weights': 'fp16 default',
    });
    const prepared = python(
      `${IMPORTS}${QUANTIZED}${LORA}model = prepare_model_for_kbit_training(model)\n${adapted}${trainer}`,
    );
    assertStates(prepared, {
      'quantization.prepared': 'true file',
      'activations.checkpointing': 'full file',
    });
    const without = python(
      `${IMPORTS}${QUANTIZED}${LORA}model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)\n${adapted}${trainer}`,
    );
    assertStates(without, {
      'quantization.prepared': 'true file',
      'activations.checkpointing': 'none default',
    });
    const enabled = python(
      `${IMPORTS}${MODEL}model.gradient_checkpointing_enable({"use_reentrant": False})\n${trainer}`,
    );
    assertStates(enabled, {
      'activations.checkpointing': 'full file',
      'activations.reentrant': 'false file',
    });
    assertStates(python(`${IMPORTS}${MODEL}model = torch.compile(model.to(torch.float32))\n${trainer}`), {
      'kernels.compile': 'true file',
      'precision.weights': 'fp32 file',
      'method.kind': 'full default',
    });
  });

  it('take the kind of the trainer from its class', () => {
    const reading = python(
      `${IMPORTS}${MODEL}DPOTrainer(model, None, DPOConfig(max_length=512, beta=0.1)).train()`,
    );
    assertStates(reading, { 'method.objective': 'dpo inferred', 'method.referenceModel': 'true default' });
    const adapters = python(
      `${IMPORTS}${MODEL}${LORA}DPOTrainer(model, args=DPOConfig(), peft_config=lora).train()`,
    );
    assertStates(adapters, { 'method.referenceModel': 'false default' });
  });

  it('compare with a copy of adapters that the model has already, by trainer and release', () => {
    const put = `${IMPORTS}${MODEL}${LORA}model = get_peft_model(model, lora)\n`;
    const copied = (text: string, version: string) =>
      factOf(python(text, { 'version.trl': version }), 'method.referenceAdapter')?.value;
    const dpo = `${put}DPOTrainer(model, args=DPOConfig()).train()`;
    assert.deepEqual(
      [copied(dpo, '1.16'), copied(dpo, '0.29'), copied(dpo, '0.28')],
      [true, true, undefined],
    );
    const trainer = (name: string, given = '') =>
      `from trl import ${name}Trainer, ${name}Config\n${put}${name}Trainer(model=model, args=${name}Config(${given})).train()`;
    assert.deepEqual([copied(trainer('KTO'), '1.2'), copied(trainer('KTO'), '1.1')], [true, undefined]);
    assert.deepEqual([copied(trainer('RLOO'), '0.27'), copied(trainer('RLOO'), '0.26')], [true, undefined]);
    assert.deepEqual(
      [copied(trainer('GRPO', 'beta=0.1'), '1.16'), copied(trainer('GRPO'), '1.16')],
      [true, undefined],
    );
    assert.equal(copied(trainer('SFT'), '1.16'), undefined);
    const byTrainer = `${IMPORTS}${MODEL}${LORA}DPOTrainer(model, args=DPOConfig(), peft_config=lora).train()`;
    assert.equal(copied(byTrainer, '1.16'), undefined);
    const own = `${put}ref = AutoModelForCausalLM.from_pretrained("x")\nDPOTrainer(model, ref, args=DPOConfig()).train()`;
    assert.equal(copied(own, '1.16'), undefined);
  });

  it('take lengths of the Trainer from the tokenizer', () => {
    const reading = python(`${IMPORTS}${MODEL}
tokenizer = AutoTokenizer.from_pretrained("x")
def tokenize(batch):
    return tokenizer(batch["text"], truncation=True, max_length=256)
data = load().map(tokenize)
Trainer(model=model, args=TrainingArguments(output_dir="out"), train_dataset=data).train()`);
    assertStates(reading, { 'batch.sequence': '256 inferred', 'batch.targetSequence': undefined });
    assert.equal(factOf(reading, 'batch.sequence')?.origin.guess, true);
    const both = python(`${IMPORTS}${MODEL}
tokenizer = AutoTokenizer.from_pretrained("x")
def tokenize(batch):
    inputs = tokenizer(batch["text"], truncation=True, max_length=512, padding="max_length")
    labels = tokenizer(text_target=batch["summary"], truncation=True, max_length=30)
    return inputs
data = load().map(tokenize)
Trainer(model=model, args=TrainingArguments(output_dir="out"), train_dataset=data).train()`);
    assertStates(both, { 'batch.sequence': '512 file', 'batch.targetSequence': '30 file' });
    const switched = python(`${IMPORTS}${MODEL}
tokenizer = AutoTokenizer.from_pretrained("x")
def tokenize(batch):
    inputs = tokenizer(batch["text"], truncation=True, max_length=128)
    with tokenizer.as_target_tokenizer():
        labels = tokenizer(batch["summary"], truncation=True, max_length=128)
    inputs["labels"] = labels["input_ids"]
    return inputs
data = load().map(tokenize)
Trainer(model=model, args=TrainingArguments(output_dir="out"), train_dataset=data).train()`);
    assertStates(switched, { 'batch.sequence': '128 inferred', 'batch.targetSequence': '128 file' });
  });

  it('take the length of pieces that texts are cut into, and of tokens that are cut away', () => {
    const reading = (cut: string) =>
      python(`${IMPORTS}${MODEL}
tokenizer = AutoTokenizer.from_pretrained("x")
size = 128
def group(examples):
    whole = {k: sum(examples[k], []) for k in examples.keys()}
    total = len(whole["input_ids"])
    result = ${cut}
    return result
data = load().map(group, batched=True)
Trainer(model=model, args=TrainingArguments(output_dir="out"), train_dataset=data).train()`);
    const lengthOf = (cut: string) => factOf(reading(cut), 'batch.sequence')?.value;
    assert.equal(
      lengthOf('{k: [t[i : i + size] for i in range(0, total, size)] for k, t in whole.items()}'),
      128,
    );
    assert.equal(lengthOf('[whole["input_ids"][i : i + 64] for i in range(0, total, 64)]'), 64);
    const limited = 'min(tokenizer.model_max_length, size)';
    assert.equal(
      lengthOf(`{k: [t[i : i + ${limited}] for i in range(0, total, ${limited})] for k, t in whole.items()}`),
      128,
    );
    const rows = (...lines: readonly string[]) => `[]\n    ${lines.join('\n        ')}`;
    const packed = rows(
      'for i in range(total // (size + 1)):',
      'start = i * (size + 1)',
      'end = start + (size + 1)',
      'row = all_tokens[start:end]',
      'result.append(row[:-1])',
      'labels.append(row[1:])',
    );
    assert.equal(lengthOf(packed), 128, 'the last token of a row is only asked for');
    assertStates(reading(packed), { 'batch.packed': 'true inferred' });
    const stepped = (kept: string, length = '64') =>
      rows(`for i in range(0, total, ${length}):`, `result.append(${kept})`);
    assert.equal(lengthOf(stepped('all_tokens[i : i + 64]')), 64);
    assert.equal(lengthOf(stepped('texts[i : i + 64]')), undefined, 'no tokens');
    assert.equal(lengthOf(stepped('all_tokens[i : i + batch]', 'batch')), undefined);
    assert.equal(lengthOf(stepped('ask(all_tokens[i : i + 64])')), undefined, 'what is kept is an answer');
    assert.equal(lengthOf(stepped('all_tokens[i : i + 32]')), undefined, 'windows apart');
    const inPlace = '0\n    whole["input_ids"][i] = ';
    assert.equal(lengthOf(`${inPlace}torch.tensor(whole["input_ids"][i][:size])`), 128);
    assert.equal(lengthOf(`${inPlace}whole["input_ids"][i][:64]`), 64);
    // What is shown of a sample or of a list of them, and lists of anything else, say nothing of lengths.
    assert.equal(lengthOf('whole["input_ids"][:size]'), undefined);
    assert.equal(lengthOf('0\n    print(whole["input_ids"][0][:10])'), undefined);
    assert.equal(lengthOf('[texts[i : i + 64] for i in range(0, total, 64)]'), undefined);
    // Windows that overlap, parts of other lists, and lengths that nobody knows.
    assert.equal(lengthOf('[t[i : i + size] for i in range(0, total, 32)]'), undefined);
    assert.equal(lengthOf('whole["labels"][:size]'), undefined);
    assert.equal(lengthOf('whole["input_ids"][size:]'), undefined);
    assert.equal(lengthOf('[t[i : i + n] for i in range(0, total, n)]'), undefined);
  });

  it('count the answers of a question by the pieces that their list is cut into', () => {
    const reading = (cut: string) =>
      python(`from transformers import AutoModelForMultipleChoice, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("x")
def preprocess(examples):
    tokenized = tokenizer(examples["first"], examples["second"], truncation=True, max_length=128)
    return {k: [v[i : i + ${cut}] for i in range(0, len(v), ${cut})] for k, v in tokenized.items()}
data = load().map(preprocess, batched=True)
labels = {}
for name in names():
    labels[name] = 1
model = AutoModelForMultipleChoice.from_pretrained("google-bert/bert-base-uncased", label2id=labels)
Trainer(model, TrainingArguments("out"), train_dataset=data).train()`);
    assertStates(reading('4'), { 'batch.choices': '4 file', 'batch.sequence': '128 inferred' });
    assert.equal(reading('4').unread, undefined);
    assertStates(reading('many()'), { 'batch.choices': undefined });
    assert.deepEqual(
      reading('many()').unread?.map(({ text }) => text),
      ['choices'],
    );
  });

  it('read what tokens are scored for off the class of the model', () => {
    const objective = (name: string) =>
      factOf(
        python(
          `from transformers import ${name}, Trainer, TrainingArguments
model = ${name}.from_pretrained("google-bert/bert-base-uncased")
Trainer(model=model, args=TrainingArguments("out")).train()`,
        ),
        'method.objective',
      )?.value;
    assert.equal(objective('AutoModelForTokenClassification'), 'token-classification');
    assert.equal(objective('BertForQuestionAnswering'), 'question-answering');
    assert.equal(objective('AutoModelForMultipleChoice'), 'multiple-choice');
    assert.equal(objective('AutoModelForImageClassification'), 'classification');
    assert.equal(objective('AutoModelForMaskedLM'), undefined);
  });

  it('refuse models of diffusion by their name', () => {
    const reading = python(`import torch
from diffusers import UNet2DModel
model = UNet2DModel(sample_size=128)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for batch in loader:
    loss = torch.nn.functional.mse_loss(model(batch), batch)
    loss.backward()
    optimizer.step()`);
    assert.deepEqual(
      reading.unread?.map(({ kind, text }) => `${kind} ${text}`),
      ['refused UNet2DModel'],
    );
    assert.deepEqual(reading.problems, []);
  });

  it('classify images with the models that are read so', () => {
    const reading = (type: string) =>
      pythonRun
        .read(
          parseConfig(
            'file:///train.py',
            `from transformers import AutoModelForImageClassification, Trainer, TrainingArguments
model = AutoModelForImageClassification.from_pretrained("x")
Trainer(model=model, args=TrainingArguments("out")).train()`,
          ),
          { known: {}, model: { config: { model_type: type } } },
        )
        .unread?.map(({ kind }) => kind) ?? [];
    assert.deepEqual(reading('vit'), []);
    // CLIP's class for images is another than the one that is trained on texts and images.
    assert.deepEqual(reading('clip'), ['refused']);
  });

  it('know a model that was tried before as gone once its name is given to the one that is trained', () => {
    const beside = (after: string) =>
      python(
        `${IMPORTS}model = AutoModelForCausalLM.from_pretrained("acme/tried-13b", device_map="auto")\n${after}\n${MODEL}${SFT}`,
      ).unread?.some(({ text }) => text === 'AutoModelForCausalLM.from_pretrained') ?? false;
    assert.equal(beside(''), false);
    assert.equal(beside('model.generate(x)\ndel model'), false);
    // Something holds it, or a condition decides.
    assert.equal(beside('teacher = model'), true);
    assert.equal(beside('kept = [model]'), true);
    assert.equal(beside('pipe = pipeline("text-generation", model=model)'), true);
    assert.equal(beside('class Box: pass\nbox = Box()\nbox.model = model'), true);
  });

  it('leave the first training as it is where arguments of a later one are set', () => {
    const micro = (between: string) =>
      factOf(
        python(
          `${IMPORTS}${MODEL}args = TrainingArguments("out", per_device_train_batch_size=16)
trainer = Trainer(model=model, args=args)
${between}for name, value in best.hyperparameters.items():
    setattr(trainer.args, name, value)
trainer.train()`,
        ),
        'batch.micro',
      )?.value;
    assert.equal(micro('trainer.train()\n'), 16);
    assert.equal(micro(''), undefined);
  });

  it('take the positions of a model as the length where its tokenizer cuts to its own', () => {
    const reading = (type: string, positions: number, how: string) =>
      pythonRun.read(
        parseConfig(
          'file:///train.py',
          `from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("x")
data = load().map(lambda batch: tokenizer(batch["text"], ${how}))
model = AutoModelForSequenceClassification.from_pretrained("x")
Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()`,
        ),
        { known: {}, model: { config: { model_type: type, max_position_embeddings: positions } } },
      );
    const length = (type: string, positions: number, how: string) => {
      const found = factOf(reading(type, positions, how), 'batch.sequence');
      return [found?.value, found?.origin.guess === true];
    };
    const filled = 'padding="max_length", truncation=True';
    assert.deepEqual(length('bert', 512, filled), [512, false]);
    assert.deepEqual(length('bert', 512, 'truncation=True'), [512, true]);
    assert.deepEqual(length('roberta', 514, 'truncation=True'), [512, true]);
    assert.deepEqual(length('roberta', 514, 'truncation=True, max_length=None'), [512, true]);
    const either = 'truncation="only_second" if asked() else "only_first"';
    assert.deepEqual(length('bert', 512, `${either}, max_length=384`), [384, true]);
    assert.deepEqual(length('bert', 512, `${either}, max_length=384, padding="max_length"`), [384, false]);
    assert.deepEqual(length('bert', 512, 'truncation=True if asked() else False, max_length=384'), [
      512,
      true,
    ]);
    // Nothing cuts, or to a length that is not known: the table of positions bounds it all the same, where there is one.
    assert.deepEqual(length('bert', 512, 'padding=True'), [512, true]);
    assert.deepEqual(length('bert', 512, 'truncation=True, max_length=args.length'), [512, true]);
    assert.deepEqual(length('opt', 2048, 'padding=True'), [2048, true]);
    // No note has data shorter where something fills samples up, or cuts them to pieces.
    const noteOf = (how: string) => factOf(reading('opt', 2048, how), 'batch.sequence')?.origin.note ?? '';
    assert.match(noteOf('padding=True'), /where they are shorter/);
    const unknown = 'truncation=True, max_length=args.length, padding="max_length"';
    assert.match(noteOf(unknown), /filled up to a length that is not read$/);
    // What stands under a condition may not be called, and what states its length is no length of the others.
    const perhaps = `padding=True))
if ask():
    data = data.map(lambda row: tokenizer(row["text"], padding="max_length", max_length=args.length)`;
    assert.match(noteOf(perhaps), /where they are shorter/);
    assert.match(noteOf('padding="max_length", max_length=128'), /where they are shorter/);
    const pieces = `padding=True))
def group(batch):
    return {k: [t[i : i + args.size] for i in range(0, 9, args.size)] for k, t in batch.items()}
data = (data.map(group, batched=True`;
    assert.match(noteOf(pieces), /^texts are cut into pieces of a length that is not read/);
    assert.deepEqual(length('llama', 131_072, 'padding=True'), [undefined, false]);
    assert.deepEqual(length('llama', 131_072, 'truncation=True'), [undefined, false]);
  });

  it('follow the defaults of the version that a cell installs', () => {
    const old = python(`${IMPORTS}${MODEL}${SFT}`, { 'version.trl': '0.15.2' });
    assertStates(old, { 'activations.checkpointing': 'none default', 'precision.scheme': 'native default' });
    const fresh = python(`${IMPORTS}${MODEL}${SFT}`);
    assertStates(fresh, { 'activations.checkpointing': 'full default', 'precision.compute': 'bf16 default' });
    // Arguments of the Trainer keep its defaults.
    const plain = python(
      `${IMPORTS}${MODEL}SFTTrainer(model, TrainingArguments("out"), max_seq_length=512).train()`,
    );
    assertStates(plain, { 'activations.checkpointing': 'none default', 'batch.sequence': '512 file' });
  });

  it('ask the GPU what only it knows', () => {
    const text = `${IMPORTS}${MODEL}bf16 = torch.cuda.is_bf16_supported()\nSFTTrainer(model, args=SFTConfig(bf16=bf16, fp16=not bf16)).train()`;
    const old = { 'hardware.gpu': 'T4', 'version.torch': '2.2.2' };
    assertStates(python(text, old), { 'precision.compute': 'fp16 file' });
    assertStates(python(text, { 'hardware.gpu': 'A100-80GB' }), { 'precision.compute': 'bf16 file' });
  });

  it('take the one that needs more of what a branch decides, and say so', () => {
    const text = `${IMPORTS}${MODEL}
if ask():
    n, g = 4, True
else:
    n, g = 2, False
SFTTrainer(model, args=SFTConfig(per_device_train_batch_size=n, gradient_checkpointing=g)).train()`;
    assertStates(python(text), { 'batch.micro': '4 file', 'activations.checkpointing': 'none file' });
    assert.deepEqual(unread(text), [
      'branch per_device_train_batch_size=n',
      'branch gradient_checkpointing=g',
    ]);
  });

  it('state nothing in the place of what is not known', () => {
    const text = `${IMPORTS}${MODEL}SFTTrainer(model, args=SFTConfig(per_device_train_batch_size=ask(), **more())).train()`;
    assertStates(python(text), { 'batch.micro': undefined });
    assert.deepEqual(unread(text), ['words **', 'value per_device_train_batch_size=ask()']);
  });

  it('assume nothing of a call that may be passed more than can be read', () => {
    const open = `${IMPORTS}${MODEL}SFTTrainer(model, args=SFTConfig(max_length=512, **more())).train()`;
    assertStates(python(open), {
      'batch.sequence': '512 file',
      'batch.micro': undefined,
      'activations.checkpointing': undefined,
      'precision.compute': undefined,
      'method.kind': 'full default',
    });
    const words = (given: string) =>
      python(`${IMPORTS}${MODEL}SFTTrainer(model, args=SFTConfig(${given})).train()`).unread?.map(
        ({ message }) => message,
      );
    assert.deepEqual(words('**more()'), ['What `**` passes here is not known: it may be any argument.']);
    assert.deepEqual(words('*more()'), ['What `*` passes here is not known: it may be any argument.']);
    const invalid = 'The arguments here are no valid Python: what could not be read may be any argument.';
    assert.equal(words('max_length=)more')?.[0], invalid);
    const broken = `${IMPORTS}${MODEL}${LORA.replace('r=16', 'r=')}SFTTrainer(model, args=SFTConfig(), peft_config=lora).train()`;
    assertStates(python(broken), { 'lora.rank': undefined, 'batch.micro': '8 default' });
    const others = `${IMPORTS}${MODEL}from helpers import make\nTrainer(model, make()).train()`;
    assertStates(python(others), { 'batch.micro': undefined, 'optimizer.name': undefined });
    assert.deepEqual(unread(others), ['words args']);
  });

  it('hold the model that a loop puts adapters on, as it is in its first round', () => {
    const before = `${IMPORTS}${MODEL}${LORA}base = model\nfor task in tasks():\n`;
    const round = '    Trainer(model, TrainingArguments("out", per_device_train_batch_size=4)).train()\n';
    for (const bound of ['model = get_peft_model(model, lora)', 'model = get_peft_model(base, lora)'])
      assertStates(python(`${before}    ${bound}\n${round}`), {
        'model.id': 'meta-llama/Llama-2-7b-hf file',
        'lora.rank': '16 file',
      });
    const changed = python(`${before}    model = change(model)\n${round}`);
    assertStates(changed, { 'model.id': undefined });
  });

  it('say nothing of weights and adapters of a model that they lose', () => {
    const lost = `${IMPORTS}from helpers import modify\nmodel = modify(get_peft_model(load(), lora))\n`;
    assertStates(python(`${lost}Trainer(model, TrainingArguments("out")).train()`), {
      'method.kind': undefined,
      'precision.weights': undefined,
      'batch.micro': '8 default',
    });
    const prepared = `${IMPORTS}${MODEL}${LORA}from accelerate import Accelerator
model = Accelerator().prepare_model(get_peft_model(model, lora))
Trainer(model, TrainingArguments("out")).train()`;
    assertStates(python(prepared), { 'model.id': 'meta-llama/Llama-2-7b-hf file', 'lora.rank': '16 file' });
  });

  it('take the larger of two types, and tell that one of two values is not known', () => {
    const types = `${IMPORTS}model = AutoModelForCausalLM.from_pretrained("x", dtype=torch.bfloat16 if ask() else torch.float32)\n${SFT}`;
    assertStates(python(types), { 'precision.weights': 'fp32 file' });
    const text = `${IMPORTS}${MODEL}n = 32\nif ask():\n    n = n // ask()\nSFTTrainer(model, args=SFTConfig(per_device_train_batch_size=n)).train()`;
    assertStates(python(text), { 'batch.micro': '32 file' });
    assert.match(python(text).unread?.[0]?.message ?? '', /\? or 32.*What is known of it is taken/);
  });

  it("ask the GPU for bf16 by PyTorch's module of the device, however that is found", () => {
    for (const module of [
      'getattr(torch, torch.device(pick()).type, torch.cuda)',
      'torch.get_device_module(pick())',
    ]) {
      const text = `${IMPORTS}module = ${module}\nok = module.is_available() and module.is_bf16_supported()\nmodel = AutoModelForCausalLM.from_pretrained("x", dtype=torch.bfloat16 if ok else torch.float32)\n${SFT}`;
      assertStates(python(text, { 'hardware.gpu': 'A100-80GB' }), { 'precision.weights': 'bf16 file' });
      const old = { 'hardware.gpu': 'T4', 'version.torch': '2.2.2' };
      assertStates(python(text, old), { 'precision.weights': 'fp32 file' });
    }
  });

  it('advise no limit that would cut images', () => {
    const capped = (head: string) =>
      python(
        `${IMPORTS}from transformers import ${head}\nmodel = ${head}.from_pretrained("x")\nSFTTrainer(model, args=SFTConfig(max_length=None)).train()`,
      ).problems.map(({ code }) => code);
    assert.deepEqual(capped('AutoModelForImageTextToText'), []);
    assert.deepEqual(capped('AutoModelForCausalLM'), ['missing-length-cap']);
  });

  it('know no length where samples reach the collator as they are', () => {
    const text = `${IMPORTS}${MODEL}SFTTrainer(model, args=SFTConfig(dataset_kwargs={"skip_prepare_dataset": True})).train()`;
    assertStates(python(text), { 'batch.sequence': undefined });
  });

  it('tell the release that arguments are for, where later ones dropped them', () => {
    const spelled = `${IMPORTS}${MODEL}Trainer(model, TrainingArguments("out", evaluation_strategy="no")).train()`;
    assertStates(python(spelled), { 'version.transformers': '4.50.3 inferred' });
    const own = `${IMPORTS}${MODEL}SFTTrainer(model, args=TrainingArguments("out"), max_seq_length=512).train()`;
    assertStates(python(own), { 'version.trl': '0.12.2 inferred' });
    const config = `${IMPORTS}${MODEL}SFTTrainer(model, args=SFTConfig(max_seq_length=512)).train()`;
    assertStates(python(config), { 'version.trl': '0.19.1 inferred', 'version.transformers': undefined });
    assertStates(python(`${IMPORTS}${MODEL}${SFT}`), { 'version.trl': undefined });
    // What the class had of its own in one release it inherits in the next.
    const inherits = `${IMPORTS}from trl import GRPOConfig, GRPOTrainer\n${MODEL}GRPOTrainer(model, [f], GRPOConfig(per_device_train_batch_size=2)).train()`;
    assertStates(python(inherits), { 'version.trl': undefined });
    assert.deepEqual(
      python(`!pip install "trl>=0.20,<0.22"\n${own}`).facts.flatMap(({ field, value, origin }) =>
        field === 'version.trl' ? [`${value} ${origin.kind} ${origin.orElse ?? ''}`] : [],
      ),
      ['0.21.0 file 0.20.0', '0.12.2 inferred '],
    );
  });

  it('take the optimizer that the release takes where nothing is stated', () => {
    const text = `${IMPORTS}${MODEL}Trainer(model, TrainingArguments("out")).train()`;
    const stepped = (transformers?: string) =>
      factOf(
        python(text, { 'version.torch': '2.8', 'version.transformers': transformers }),
        'optimizer.implementation',
      )?.value;
    assert.deepEqual(['4.25.1', '4.32', '4.53', '4.54', undefined].map(stepped), [
      'for-loop',
      'foreach',
      'foreach',
      'fused',
      'fused',
    ]);
  });

  it('take the defaults of a command line, and doubt them', () => {
    const text = `${IMPORTS}${MODEL}import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--fp16", default=True)
a = parser.parse_args()
SFTTrainer(model, args=SFTConfig(bf16=True, fp16=a.fp16)).train()`;
    assert.deepEqual(unread(text), ['words parse_args']);
    assert.deepEqual(
      python(text).problems.map(({ code, severity }) => `${code} ${severity}`),
      ['two-precisions warning'],
    );
  });

  it('have the newest PyTorch of the index that a cell asks alone', () => {
    const torch = (words: string) =>
      factOf(
        python(`!pip install ${words}\n${IMPORTS}${MODEL}SFTTrainer(model, args=SFTConfig()).train()`),
        'version.torch',
      );
    const rocm = 'https://download.pytorch.org/whl/rocm6.2';
    assert.match(String(torch(`torch torchvision --index-url ${rocm}`)?.value), /^2\.5/);
    assert.match(String(torch(`-U torch -i ${rocm}/`)?.value), /^2\.5/);
    assert.match(String(torch(`torch==2.4.0 --index-url ${rocm}`)?.value), /^2\.4/);
    // pip takes the newest of both, and newer platforms have the newest.
    for (const words of [
      `torch --extra-index-url ${rocm}`,
      `torch --index-url ${rocm.replace('6.2', '9.9')}`,
    ])
      assert.doesNotMatch(String(torch(words)?.value), /^2\.5/, words);
  });

  it('say which model, adapters and quantization they do not see', () => {
    const trained = 'Trainer(model, TrainingArguments("out")).train()';
    const codes = (text: string) => python(`${IMPORTS}${text}`).problems.map(({ code }) => code);
    assert.deepEqual(codes(`model = Net()\n${trained}`), ['python-model-unknown']);
    assert.deepEqual(codes(`model = AutoModelForCausalLM.from_pretrained(ask())\n${trained}`), [
      'python-model-unknown',
    ]);
    assert.equal(
      python(
        `${IMPORTS}from transformers import BlipForQuestionAnswering as A\nmodel = A.from_pretrained("x")\n${trained}`,
      ).unread?.[0]?.kind,
      'refused',
    );
    const gptq =
      'from transformers import GPTQConfig\nmodel = AutoModelForCausalLM.from_pretrained("x", quantization_config=GPTQConfig())\n';
    assert.deepEqual(unread(`${IMPORTS}${gptq}${trained}`), ['value quantization_config=GPTQConfig']);
    const frozen = 'for p in model.parameters():\n    p.requires_grad = False\n';
    assert.deepEqual(unread(`${IMPORTS}${MODEL}${frozen}${trained}`), ['value requires_grad']);
    assert.deepEqual(
      unread(`${IMPORTS}${MODEL}class T(Trainer):\n    pass\nT(model, TrainingArguments("out")).train()`),
      ['script T'],
    );
  });

  it('report modules that stay in 16 bits beside quantized ones, but for towers, which are counted', () => {
    const skipping = (names: string) =>
      python(
        `${IMPORTS}${QUANTIZED.replace(/load_in_4bit=True/, `$&, llm_int8_skip_modules=${names}`)}${LORA}${SFT}`,
      );
    assertStates(skipping('["lm_head"]'), {
      'features.unmodelled': undefined,
      'quantization.skippedParts': undefined,
    });
    assertStates(skipping('["lm_head", "model.visual"]'), { 'quantization.skippedParts': 'visual file' });
    assertStates(skipping('["mlp"]'), { 'features.unmodelled': 'partial-quantization file' });
  });

  it('read how a trainer of TRL loads a model that it is given by name', () => {
    const text = `${IMPORTS}bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
args = SFTConfig(model_init_kwargs={"dtype": "float16", "attn_implementation": "eager"})
${LORA}SFTTrainer("Qwen/Qwen2-7B", args=args, quantization_config=bnb, peft_config=lora).train()`;
    assertStates(python(text), {
      'model.id': 'Qwen/Qwen2-7B file',
      'precision.weights': 'fp16 file',
      'attention.implementation': 'eager file',
      'quantization.kind': 'nf4 file',
    });
    const unstated = `${IMPORTS}SFTTrainer("Qwen/Qwen2-7B", args=SFTConfig(model_init_kwargs=ask())).train()`;
    assert.deepEqual(unread(unstated), ['value model_init_kwargs']);
  });

  it('refuse what the framework refuses', () => {
    const both = `${IMPORTS}${MODEL}SFTTrainer(model, args=SFTConfig(bf16=True, fp16=True)).train()`;
    assert.deepEqual(refused(python(both)), ['two-precisions']);
    assert.deepEqual(refused(python(`${IMPORTS}${QUANTIZED}${SFT}`)), ['quantized-without-adapter']);
  });

  it('are none where the launch gives the arguments, or nothing trains', () => {
    const parsed = `${IMPORTS}from transformers import HfArgumentParser
args, = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
${MODEL}Trainer(model, args).train()`;
    const document = parseConfig('file:///train.py', parsed);
    assert.equal(pythonRun.read(document, { known: {} }).joinsOnly, true);
    const other = parseConfig('file:///train.py', 'from others import Trainer\nTrainer().fit(model)');
    assert.equal(other.root && pythonRun.read(other, { known: {} }).joinsOnly, true);
    assert.equal(mightBeTrainingConfig('import os\nprint("trl")', 'a.py'), false);
    assert.equal(mightBeTrainingConfig(`${IMPORTS}${SFT}`, 'a.py'), true);
  });

  it('do not take the name of another module for a model', () => {
    const reading = python(
      `${IMPORTS}from config import MODEL_ID\nmodel = AutoModelForCausalLM.from_pretrained(MODEL_ID)\n${SFT}`,
    );
    assertStates(reading, { 'model.id': undefined });
    assert.deepEqual(
      reading.problems.map(({ code }) => code),
      ['python-model-unknown'],
    );
  });

  it('do not know values of other modules, and assume no defaults in their place', () => {
    const reading = python(
      `${IMPORTS}from config import BATCH, RANK\n${MODEL}SFTTrainer(model, peft_config=LoraConfig(r=RANK), args=SFTConfig(per_device_train_batch_size=BATCH)).train()`,
    );
    assertStates(reading, { 'batch.micro': undefined, 'lora.rank': undefined });
    assert.deepEqual(
      reading.unread?.flatMap(({ fields }) => fields ?? []).filter((field) => /micro|rank/.test(field)),
      ['lora.rank', 'batch.micro'],
    );
    assert.equal(
      reading.problems.some(({ code }) => code === 'wrong-type'),
      false,
    );
  });

  it('count the first of several trainings, and say so of the others', () => {
    const reading = python(`${IMPORTS}${MODEL}${SFT}${SFT.replace('2048', '512')}`);
    assertStates(reading, { 'batch.sequence': '2048 file' });
    assert.deepEqual(
      reading.problems.map(({ code }) => code),
      ['another-launch'],
    );
  });

  describe('with Unsloth', () => {
    const unsloth = (
      load: string,
      adapt: string,
      trainer = 'max_length=1024',
    ) => `from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
model, tokenizer = FastLanguageModel.from_pretrained(model_name="unsloth/Meta-Llama-3.1-8B", ${load})
model = FastLanguageModel.get_peft_model(model, ${adapt})
SFTTrainer(model=model, tokenizer=tokenizer, args=SFTConfig(${trainer})).train()`;

    it('take what it does where nothing is stated', () => {
      assertStates(python(unsloth('', '', ''), { 'hardware.gpu': 'T4' }), {
        'quantization.kind': 'nf4 default',
        'quantization.double': 'true default',
        'quantization.prepared': 'false default',
        'precision.weights': 'fp16 default',
        'precision.compute': 'fp16 default',
        'method.kind': 'lora file',
        'lora.rank': '16 default',
        'lora.targets': 'q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj default',
        'lora.dtype': 'fp32 default',
        'activations.checkpointing': 'full default',
        'activations.offload': 'true default',
        'batch.micro': '4 default',
        'batch.accumulation': '2 default',
        'kernels.unsloth': 'true default',
      });
    });

    it('take what is stated', () => {
      const text = unsloth(
        'max_seq_length=4096, load_in_4bit=False, dtype=None',
        'r=8, target_modules=["q_proj", "lm_head"], use_gradient_checkpointing=True',
        'per_device_train_batch_size=2, packing=True',
      );
      const reading = python(text, { 'hardware.gpu': 'L4' });
      assertStates(reading, {
        'quantization.kind': 'none default',
        'precision.weights': 'bf16 default',
        'lora.rank': '8 file',
        'lora.targets': 'q_proj file',
        'lora.modulesToSave': 'lm_head file',
        'activations.checkpointing': 'full file',
        'activations.offload': 'false default',
        'batch.sequence': '4096 file',
        'batch.micro': '2 file',
      });
    });

    it('train embedding and head that are named as targets in full, and as one where they are tied', () => {
      const named = 'target_modules=["q_proj", "embed_tokens", "lm_head"]';
      const of = (more = '', version?: string) =>
        pythonRun.read(parseConfig('file:///train.py', unsloth('', `${named}${more}`)), {
          known: {},
          ...(version ? { versions: { unsloth: { version, source: 'stated' as const } } } : {}),
        });
      assertStates(of(), {
        'lora.targets': 'q_proj file',
        'lora.modulesToSave': 'embed_tokens,lm_head file',
        'lora.tiesCopies': 'true default',
      });
      assertStates(of(', ensure_weight_tying=False'), { 'lora.tiesCopies': 'false file' });
      // Before, of Unsloth's own layers the embedding alone, and nothing was tied.
      const before = of('', '2026.8.19');
      assertStates(before, {
        'lora.targets': 'q_proj,lm_head file',
        'lora.modulesToSave': 'embed_tokens file',
      });
      assert.equal(factOf(before, 'lora.tiesCopies'), undefined);
    });

    it('tell a length that is only the most as a guess, and short ones without offloading', () => {
      const guessed = factOf(python(unsloth('max_seq_length=256', '')), 'batch.sequence');
      assert.deepEqual(
        [guessed?.value, guessed?.origin.kind, guessed?.origin.guess],
        [256, 'inferred', true],
      );
      assertStates(python(unsloth('max_seq_length=256', '')), { 'activations.offload': 'false default' });
    });

    it('set the precision that `TrainingArguments` leave open, and say so', () => {
      const text = unsloth('', '').replace('SFTConfig(max_length=1024)', 'TrainingArguments("out")');
      const reading = python(
        text.replace('trl import', 'transformers import TrainingArguments\nfrom trl import'),
      );
      const notes = (['precision.compute', 'precision.scheme', 'batch.micro'] as const).map(
        (field) => factOf(reading, field)?.origin.note,
      );
      assert.deepEqual(notes, ['Unsloth default', 'Unsloth default', 'default of the Hugging Face Trainer']);
    });

    it('name a length by the call that it stands in', () => {
      const text = unsloth('', '', '').replace('args=', 'max_seq_length=512, args=');
      const origin = factOf(python(text), 'batch.sequence')?.origin;
      assert.equal(origin?.key, 'SFTTrainer.max_seq_length');
      assert.match(origin?.note ?? '', /^`SFTTrainer\.max_seq_length` is the longest/);
      const inConfig = factOf(python(unsloth('', '', 'max_length=1000')), 'batch.sequence')?.origin;
      assert.equal(inConfig?.key, 'SFTConfig.max_length');
    });

    it('load checkpoints of its own, of which some layers are in 16 bits, as the release does', () => {
      const stored = (name: string, version?: string, more = '') => {
        const reading = pythonRun.read(
          parseConfig('file:///train.py', unsloth(more, 'r=8').replace('unsloth/Meta-Llama-3.1-8B', name)),
          {
            known: {},
            ...(version ? { versions: { unsloth: { version, source: 'stated' as const } } } : {}),
          },
        );
        const fields = ['quantization.partial', 'quantization.checkpointBytes'] as const;
        return fields.map((field) => factOf(reading, field)?.value);
      };
      const none = [undefined, undefined];
      assert.deepEqual(stored('unsloth/Qwen3-14B'), [true, 11_120_000_000]);
      assert.deepEqual(stored('Qwen/Qwen3-14B', '2025.5.9'), [true, 11_120_000_000]);
      assert.deepEqual(stored('unsloth/Qwen3-8B'), [true, undefined]);
      // Before there were any, and before this one.
      assert.deepEqual(stored('unsloth/Qwen2.5-7B', '2024.9'), none);
      assert.deepEqual(stored('unsloth/Qwen2.5-7B', '2025.2.5'), [true, 7_540_000_000]);
      assert.deepEqual(stored('unsloth/Llama-3.2-3B-Instruct', '2024.11.9'), none);
      // Too large for Unsloth, which loads the one that is quantized as a whole; its first releases did not.
      assert.deepEqual(stored('unsloth/Qwen3-32B'), none);
      assert.deepEqual(stored('unsloth/Qwen3-32B', '2025.4.4'), [true, undefined]);
      assert.deepEqual(stored('unsloth/Qwen3-32B-unsloth-bnb-4bit'), [false, undefined]);
      assert.deepEqual(stored('unsloth/phi-4-bnb-4bit'), none);
      assert.deepEqual(stored('unsloth/phi-4', undefined, 'use_exact_model_name=True'), none);
      assert.deepEqual(stored('unsloth/phi-4', undefined, 'load_in_4bit=False'), none);
      assert.deepEqual(stored('me/my-own'), none);
    });

    it('have segments that grow, where the release and PyTorch let them', () => {
      const segments = (before = '', unslothRelease?: string, known: ReadContext['known'] = {}) =>
        factOf(
          pythonRun.read(
            parseConfig('file:///train.py', `import os\n${before}\n${unsloth('max_seq_length=1024', 'r=8')}`),
            {
              known: { 'hardware.gpu': 'T4', ...known },
              ...(unslothRelease
                ? { versions: { unsloth: { version: unslothRelease, source: 'stated' as const } } }
                : {}),
            },
          ),
          'allocator.expandableSegments',
        )?.value;
      assert.equal(segments(), true);
      assert.equal(segments('', '2024.4'), true);
      assert.equal(segments('', '2024.1'), undefined);
      assert.equal(segments('', undefined, { 'version.torch': '2.1' }), undefined);
      // Unified settings are read from PyTorch 2.10 on; these releases set them for 2.9 already.
      assert.equal(segments('', '2026.3.1', { 'version.torch': '2.9' }), undefined);
      assert.equal(segments('', '2026.3.1', { 'version.torch': '2.10' }), true);
      assert.equal(segments('', '2026.2.1', { 'version.torch': '2.9' }), true);
      assert.equal(segments('', '2026.7.6', { 'version.torch': '2.9' }), true);
      assert.equal(segments('', undefined, { 'hardware.gpu': 'MI300X' }), undefined);
      assert.equal(segments('os.environ["UNSLOTH_VLLM_STANDBY"] = "1"'), undefined);
      assert.equal(segments('os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:False"'), false);
    });

    it('make the experts of gpt-oss of linear layers in 4 bits, and attend flexibly', () => {
      const TILES = 'import os\nos.environ["UNSLOTH_TILED_MLP"] = "target:1"\n';
      const reading = (more: string, before = '') =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `${before}from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/gpt-oss-120b", ${more})\nmodel = FastLanguageModel.get_peft_model(model, r=8)\nSFTTrainer(model=model, args=SFTConfig()).train()`,
          ),
          { known: { 'hardware.gpu': 'A100-80GB' }, model: { config: { model_type: 'gpt_oss' } } },
        );
      const four = reading('load_in_4bit=True');
      assertStates(four, {
        'attention.implementation': 'flex default',
        'model.linearExperts': 'true default',
        'kernels.compileParts': 'true default',
      });
      assert.equal(four.unread, undefined);
      assert.equal(reading('load_in_4bit=False').unread?.[0]?.text, 'unsloth/gpt-oss-120b');
      const tiled = reading('load_in_4bit=True, unsloth_tiled_mlp=True');
      assert.equal(tiled.unread, undefined);
      assertStates(tiled, { 'kernels.tiledMlp': 'true file' });
      // Tiles that a variable sets need less than is estimated: the verdict is never that it does not fit.
      const chosen = reading('load_in_4bit=True, unsloth_tiled_mlp=True', TILES);
      assert.deepEqual(
        chosen.unread?.map(({ text }) => text),
        ['unsloth_tiled_mlp'],
      );
      assertStates(chosen, { 'features.unmodelled': 'tiled-mlp default' });
      assertStates(reading('load_in_4bit=True, unsloth_tiled_mlp=False'), {
        'features.unmodelled': undefined,
      });
    });

    it('say where the embedding stays while the model is trained', () => {
      const reading = (more: string, version?: string, after = '') =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Llama-3.1-8B", max_seq_length=1024${more})\nmodel = FastLanguageModel.get_peft_model(model, r=8)\ntrainer = SFTTrainer(model=model, args=SFTConfig())\n${after}trainer.train()`,
          ),
          {
            known: { 'hardware.gpu': 'L4' },
            ...(version ? { versions: { unsloth: { version, source: 'stated' as const } } } : {}),
          },
        );
      const place = (more: string, version?: string) => factOf(reading(more, version), 'loading.embedding');
      const asked = ', offload_embedding=True';
      assertStates(reading(asked), { 'loading.embedding': 'host file' });
      assert.deepEqual([reading(asked).unread, reading(asked).problems], [undefined, []]);
      assertStates(reading(''), { 'loading.embedding': 'spare-to-host-if-tight default' });
      assert.equal(place(', offload_embedding=False')?.value, undefined);
      assert.equal(place(`${asked}, fast_inference=True`)?.value, undefined);
      // The trainer of releases before 2026.10.4 moves the whole model to the GPU.
      assertStates(reading(asked, '2026.10.3'), { 'loading.embedding': 'gpu inferred' });
      assert.equal(place('', '2026.10.3'), undefined);
      assert.equal(place(asked, '2026.10.4')?.value, 'host');
      const kept = reading(asked, '2026.10.3', 'trainer.add_callback(KeepEmbeddingOffloaded())\n');
      assert.deepEqual(
        kept.unread?.map(({ text }) => text),
        ['offload_embedding'],
      );
      assert.deepEqual(
        reading(', offload_embedding=choose()').unread?.flatMap(({ fields = [] }) => fields),
        ['loading.embedding'],
      );
    });

    it('tell that batches of GRPO are split by what is free', () => {
      const text = `from unsloth import FastLanguageModel\nfrom trl import GRPOConfig, GRPOTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B")\nmodel = FastLanguageModel.get_peft_model(model, r=8)\nGRPOTrainer(model=model, args=GRPOConfig()).train()`;
      assert.deepEqual(unread(text), []);
      assertStates(python(text), {
        'batch.inParts': 'true default',
        'loss.implementation': 'log-probabilities-chunked default',
        'features.unmodelled': undefined,
      });
      // Releases before keep the logits of chunks, of which what is free decides.
      const before = pythonRun.read(parseConfig('file:///train.py', text), {
        known: {},
        versions: { unsloth: { version: '2026.9.9', source: 'stated' } },
      });
      assert.deepEqual(
        before.unread?.map(({ kind, text: word }) => `${kind} ${word}`),
        ['script GRPO'],
      );
      assertStates(before, { 'features.unmodelled': 'split-scores default', 'batch.inParts': undefined });
    });

    it('give completions of GRPO what prompts leave of a length, whatever that is', () => {
      const grpo = (before: string, more = 'max_prompt_length=p, max_completion_length=c') =>
        `from unsloth import FastLanguageModel\nfrom trl import GRPOConfig, GRPOTrainer\nL = 1024\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B", max_seq_length=L)\nmodel = FastLanguageModel.get_peft_model(model, r=8)\n${before}\nGRPOTrainer(model=model, args=GRPOConfig(${more})).train()`;
      const text = grpo('p = longest(data) + 1\nc = L - p');
      assertStates(python(text), {
        'batch.sequence': '1024 inferred',
        'rollout.completion': '1024 inferred',
      });
      assert.deepEqual(unread(text), []);
      // What prompts are cut to is another number than what completions leave them.
      for (const other of [
        'p = longest(data) + 1\nq = p\np = shortest(data)\nc = L - q',
        'p = f(1)\nc = g(1)',
      ])
        assert.deepEqual(
          unread(grpo(other)),
          ['value max_prompt_length=p', 'value max_completion_length=c'],
          other,
        );
    });

    it('cut samples to the length of the model where its own layers run, whatever trains it', () => {
      const trainer = (cls: string, more = '') =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `from unsloth import ${cls}\nfrom transformers import Trainer, TrainingArguments, AutoTokenizer\nmodel, t = ${cls}.from_pretrained("unsloth/orpheus-3b", max_seq_length=1536)\nmodel = ${cls}.get_peft_model(model, r=8)\n${more}Trainer(model=model, args=TrainingArguments(output_dir="o")).train()`,
          ),
          { known: {}, model: { config: { model_type: 'llama' } } },
        );
      assertStates(trainer('FastLanguageModel'), {
        'batch.sequence': '1536 inferred',
        'loss.implementation': 'fused-chunks default',
      });
      assertStates(trainer('FastModel'), { 'batch.sequence': undefined });
      const cut =
        'tokenizer = AutoTokenizer.from_pretrained("x")\ntokenizer("a", max_length=256, truncation=True)\n';
      assertStates(trainer('FastLanguageModel', cut), { 'batch.sequence': '256 inferred' });
    });

    it('cut prompts of GRPO where the trainer takes a limit of them', () => {
      const grpo = (more: string) =>
        python(
          `from unsloth import FastLanguageModel\nfrom trl import GRPOConfig, GRPOTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B", max_seq_length=4096)\nmodel = FastLanguageModel.get_peft_model(model, r=8)\nGRPOTrainer(model=model, args=GRPOConfig(${more})).train()`,
        );
      const length = (more: string) =>
        grpo(more).facts.find(({ field }) => field === 'batch.sequence')?.value;
      assert.equal(length('max_prompt_length=256, max_completion_length=768'), 1024);
      assert.equal(length('max_completion_length=768'), 4096);
      assert.equal(length('max_prompt_length=4000, max_completion_length=768'), 4096);
    });

    it('share the weights with vLLM, whose share is stated, or standby mode takes', () => {
      const text = (more: string, trainer = 'GRPO', before = '') =>
        `import os\n${before}\nfrom unsloth import FastLanguageModel\nfrom trl import ${trainer}Config, ${trainer}Trainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Llama-3.1-8B", max_seq_length=1024, fast_inference=True${more})\nmodel = FastLanguageModel.get_peft_model(model, r=8)\n${trainer}Trainer(model=model, args=${trainer}Config()).train()`;
      const config = {
        model_type: 'llama',
        hidden_size: 4096,
        intermediate_size: 14336,
        num_attention_heads: 32,
        num_key_value_heads: 8,
      };
      const on = (source: string, gpu = 'T4', more: Record<string, unknown> = {}) =>
        pythonRun.read(parseConfig('file:///train.py', source), {
          known: { 'hardware.gpu': gpu },
          model: { config: { ...config, ...more } },
        });
      const plain = on(text(', gpu_memory_utilization=0.9'));
      assert.equal(plain.unread, undefined);
      assertStates(plain, {
        'rollout.engine': 'vllm-colocate file',
        'rollout.sharesWeights': 'true default',
        'rollout.sleep': 'false default',
        'hardware.reservedFraction': '0.9 file',
      });
      assertStates(on(text('')), { 'hardware.reservedFraction': '0.5 default' });
      // On a card that nobody knows, too.
      assertStates(python(text(', gpu_memory_utilization=0.9')), { 'hardware.reservedFraction': '0.9 file' });
      assertStates(python(text('')), { 'hardware.reservedFraction': '0.5 default' });
      const standby = 'os.environ["UNSLOTH_VLLM_STANDBY"] = "1"';
      const sleeping = text(', gpu_memory_utilization=0.9', 'GRPO', standby);
      assertStates(on(sleeping), {
        'rollout.sleep': 'true file',
        'hardware.reservedFraction': `${0.8 * 0.95} inferred`,
      });
      assertStates(on(sleeping, 'A100-80GB'), { 'hardware.reservedFraction': `${0.925 * 0.95} inferred` });
      // Models with a tower do not sleep; nor is there anything to wake up for in SFT.
      assertStates(on(sleeping, 'T4', { vision_config: {} }), {
        'rollout.sleep': 'false default',
        'hardware.reservedFraction': '0.9 file',
      });
      assertStates(on(text('', 'SFT', standby)), { 'rollout.sleep': 'false default' });
      // But code may put it to sleep before it trains.
      const behind = (lines: string, set = standby) =>
        on(text('', 'SFT', set).replace(/^(?=.*SFTTrainer\()/m, `${lines}\n`));
      const sleeps = 'model.vllm_engine.sleep()';
      assertStates(behind(sleeps), { 'rollout.sleep': 'true file' });
      for (const awake of [
        behind(`${sleeps}\nmodel.vllm_engine.wake_up()`),
        behind(`if asked():\n    ${sleeps}`),
        behind(sleeps, ''),
      ])
        assertStates(awake, { 'rollout.sleep': 'false default' });
      // Activations of 16384 tokens are spared: a T4 printed 76.93 %, of which it was asked for 80.
      const long = on(text(', gpu_memory_utilization=0.8').replace('1024', '16384'), 'T4', {
        hidden_size: 3584,
        intermediate_size: 18944,
        num_attention_heads: 28,
        num_key_value_heads: 4,
      });
      const share = long.facts.find(({ field }) => field === 'hardware.reservedFraction')?.value;
      assert.ok(typeof share === 'number' && Math.abs(share - 0.7693) < 0.005, String(share));
      // Releases and engines before have other tables.
      assert.deepEqual(
        on(`# %%\n!pip install vllm==0.10.2\n# %%\n${text('')}`).unread?.map(
          ({ kind, text: word }) => `${kind} ${word}`,
        ),
        ['refused fast_inference'],
      );
      assertStates(on(text(', load_in_4bit=False, load_in_fp8=True')), { 'quantization.kind': 'fp8 file' });
    });

    it('run the experts of gpt-oss as transformers before 5 does in 16 bits, by kernels of their own otherwise', () => {
      const reading = (name: string, version: string) =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/${name}", load_in_4bit=False)\nmodel = FastLanguageModel.get_peft_model(model, r=4, target_modules=["q_proj", "gate_proj", "down_proj"])\nSFTTrainer(model=model, args=SFTConfig()).train()`,
          ),
          {
            known: { 'hardware.gpu': 'A100-80GB', 'version.transformers': version },
            model: { config: { model_type: 'gpt_oss', num_local_experts: 32 } },
            versions: { transformers: { version, source: 'stated' } },
          },
        );
      const stacked = reading('gpt-oss-20b-BF16', '4.56.2');
      assert.equal(stacked.unread, undefined);
      assertStates(stacked, {
        'attention.implementation': 'flex default',
        'model.linearExperts': undefined,
        'lora.targetParameters': 'experts.gate_up_proj,experts.down_proj default',
      });
      for (const own of [reading('gpt-oss-20b-BF16', '5.2.0'), reading('gpt-oss-20b', '4.56.2')])
        assert.match(own.unread?.[0]?.message ?? '', /kernels of its own/);
    });

    it('train without autocast what fp16 cannot hold, and all weights in bf16', () => {
      const gemma = (more: string, gpu: string) =>
        python(
          `from unsloth import FastModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastModel.from_pretrained("unsloth/gemma-3-270m-it", load_in_4bit=False${more})\nSFTTrainer(model=model, args=SFTConfig(bf16=True)).train()`,
          { 'hardware.gpu': gpu },
        );
      assertStates(gemma('', 'T4'), { 'precision.scheme': 'native default', 'precision.compute': undefined });
      assertStates(gemma('', 'T4'), { 'precision.wideActivations': 'true default' });
      assertStates(gemma('', 'A100-80GB'), { 'precision.wideActivations': undefined });
      assertStates(gemma(', full_finetuning=True', 'T4'), { 'precision.wideActivations': undefined });
      assertStates(gemma('', 'A100-80GB'), { 'precision.compute': 'bf16 file' });
      const full = ', full_finetuning=True';
      assertStates(gemma(full, 'T4'), { 'precision.weights': 'fp32 default' });
      assertStates(gemma(full, 'A100-80GB'), {
        'precision.weights': 'bf16 default',
        'precision.scheme': 'native default',
      });
      assertStates(gemma(`${full}, float32_mixed_precision=True`, 'A100-80GB'), {
        'precision.weights': 'fp32 default',
        'precision.compute': 'bf16 file',
      });
    });

    it('train under autocast what is loaded in fp32, and what the arguments leave without mixed precision', () => {
      const run = (load: string, gpu: string, flags = 'fp16=False, bf16=False', version?: string) =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `import torch\nfrom unsloth import FastModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastModel.from_pretrained("unsloth/Qwen3-0.6B"${load})\nSFTTrainer(model=model, args=SFTConfig(${flags})).train()`,
          ),
          {
            known: { 'hardware.gpu': gpu },
            ...(version ? { versions: { unsloth: { version, source: 'stated' as const } } } : {}),
          },
        );
      const amp = (compute: string) => ({
        'precision.scheme': 'autocast default',
        'precision.compute': `${compute} default`,
      });
      const native = { 'precision.scheme': 'native default', 'precision.compute': undefined };
      const wide = ', dtype=torch.float32, full_finetuning=True';
      assertStates(run(wide, 'A100-80GB'), { ...amp('bf16'), 'precision.weights': 'fp32 file' });
      assertStates(run(wide, 'A100-80GB', ''), amp('bf16'));
      assertStates(run(', dtype=torch.float16, full_finetuning=True', 'A100-80GB'), {
        ...amp('bf16'),
        'precision.weights': 'fp32 default',
      });
      assertStates(run(', full_finetuning=True', 'A100-80GB'), native);
      // Where the GPU has no bf16, releases differ.
      assertStates(run(wide, 'T4'), native);
      assertStates(run(wide, 'T4', '', '2026.4.8'), amp('fp16'));
      assertStates(run('', 'A100-80GB'), amp('bf16'));
      assertStates(run(', dtype=torch.float16', 'A100-80GB'), amp('fp16'));
    });

    it('compile the layers of models that it has no kernels for, whatever class loads them', () => {
      const reading = (cls: string, type: Record<string, unknown>, more = '', gpu = 'A100-80GB') =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `from unsloth import ${cls}\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = ${cls}.from_pretrained("unsloth/some-model")\nmodel = ${cls}.get_peft_model(model, r=8, finetune_vision_layers=False)\nSFTTrainer(model=model, args=SFTConfig(${more})).train()`,
          ),
          { known: { 'hardware.gpu': gpu }, model: { config: type } },
        );
      const compiled = 'kernels.compile';
      const plain = reading('FastLanguageModel', { model_type: 'llama' });
      assertStates(plain, { [compiled]: 'false default' });
      assert.equal(plain.unread, undefined);
      const other = reading('FastLanguageModel', { model_type: 'lfm2' });
      assertStates(other, { [compiled]: 'true default' });
      assert.equal(other.unread, undefined);
      // Whether layers that keep a state have their kernels is not known here: the estimate has both ends.
      assert.equal(reading('FastLanguageModel', { model_type: 'falcon_h1' }).unread, undefined);
      const parts = 'kernels.compileParts';
      const gemma = { model_type: 'gemma3', vision_config: {} };
      assertStates(reading('FastModel', gemma), { [compiled]: 'false default', [parts]: 'true default' });
      assert.equal(reading('FastModel', gemma).unread, undefined);
      assert.equal(reading('FastModel', { ...gemma, audio_config: {} }).unread?.length, 1);
      const texts = reading('FastModel', gemma, 'dataset_text_field="text"');
      assertStates(texts, {
        [compiled]: 'true default',
        'batch.images': '0 inferred',
        'attention.implementation': 'flex default',
      });
      assert.equal(texts.unread, undefined);
      // An empty name leaves what the samples hold to a collator, of sound as of images.
      assertStates(reading('FastModel', gemma, 'dataset_text_field=""'), { 'batch.images': undefined });
      assertStates(reading('FastModel', gemma, '', 'T4'), { 'attention.implementation': 'eager default' });
      assertStates(reading('FastVisionModel', gemma, 'dataset_text_field=""'), { [parts]: 'true default' });
    });

    it('show the sound that a text builds its samples of, which is played for Gemma', () => {
      const reading = (type: string, part: string, rows = 'data.map(f)') =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `from datasets import load_dataset
from unsloth import FastModel
from unsloth.trainer import UnslothVisionDataCollator
from trl import SFTConfig, SFTTrainer
model, t = FastModel.from_pretrained("unsloth/some-model")
model = FastModel.get_peft_model(model, r=8, finetune_vision_layers=False)
data = load_dataset("some/data")
def f(row):
    return {"messages": [{"role": "user", "content": [${part}]}]}
SFTTrainer(model=model, train_dataset=${rows}, data_collator=UnslothVisionDataCollator(model, t), args=SFTConfig(dataset_text_field="", max_length=1024)).train()`,
          ),
          {
            known: { 'hardware.gpu': 'L4' },
            model: { config: { model_type: type, vision_config: {}, audio_config: {} } },
          },
        );
      const sound = '{"type": "audio", "audio": row["audio"]}';
      const image = '{"type": "image", "image": row["image"]}';
      const plain = reading('gemma4_unified', sound);
      assertStates(plain, { 'batch.sound': 'true inferred', 'batch.images': '0 inferred' });
      assert.equal(plain.unread, undefined);
      const both = reading('gemma4_unified', `${sound}, ${image}`);
      assertStates(both, { 'batch.sound': 'true inferred', 'batch.images': undefined });
      assertStates(reading('gemma4_unified', image), { 'batch.sound': undefined });
      // Rows that come as they were loaded may hold anything; not all towers are played.
      assertStates(reading('gemma4_unified', sound, 'data'), { 'batch.images': undefined });
      for (const [type, unread] of [
        ['gemma3n', undefined],
        ['gemma4', undefined],
        ['qwen2_5_omni', 1],
      ] as const) {
        const tower = reading(type, sound);
        assertStates(tower, { 'batch.sound': 'true inferred', 'batch.images': '0 inferred' });
        assert.equal(tower.unread?.length, unread, type);
      }
    });

    it('adapt linear layers by their paths, as the switches take them', () => {
      const reading = (
        load: string,
        more: string,
        version?: string,
        config: object = { model_type: 'gemma3' },
      ) =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `from unsloth import FastModel, FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = ${load}.from_pretrained("unsloth/some-model", max_seq_length=1024)\nmodel = ${load}.get_peft_model(model, r=8${more})\nSFTTrainer(model=model, args=SFTConfig(dataset_text_field="text")).train()`,
          ),
          {
            known: { 'hardware.gpu': 'L4' },
            model: { config: { ...config } },
            ...(version ? { versions: { unsloth: { version, source: 'stated' as const } } } : {}),
          },
        );
      const pattern = (...of: Parameters<typeof reading>) => {
        const value = factOf(reading(...of), 'lora.targetPattern')?.value;
        const found = typeof value === 'string' ? linearPattern(value, true) : undefined;
        return (path: string) => found?.test(path);
      };
      const all = pattern('FastModel', ', finetune_vision_layers=True');
      const NAMES = [
        'layers.0.self_attn.q_proj',
        'layers.0.mlp.down_proj',
        'vision_tower.encoder.layers.0.self_attn.out_proj',
        'vision_tower.encoder.layers.0.mlp.fc1',
        'multi_modal_projector.linear_1',
        'layers.0.mlp.gate',
        'lm_head',
      ];
      assert.deepEqual(NAMES.map(all), [true, true, true, true, false, false, false]);
      const text = pattern('FastModel', ', finetune_vision_layers=False');
      assert.deepEqual(NAMES.map(text), [true, true, false, false, false, false, false]);
      const mlp = pattern('FastModel', ', finetune_attention_modules=False');
      assert.deepEqual(NAMES.map(mlp), [false, true, false, true, false, false, false]);
      // Names that are given are those of the text where `FastLanguageModel` leaves towers out, since 2026.6.8.
      const named = ', target_modules=["q_proj", "shared_mlp.input_linear", "in_proj"]';
      const scoped = pattern('FastLanguageModel', named);
      assert.deepEqual(
        [
          'layers.0.self_attn.q_proj',
          'vision_tower.layers.0.attention.q_proj',
          'layers.0.shared_mlp.input_linear',
          'layers.0.conv.in_proj',
        ].map(scoped),
        [true, false, false, false],
      );
      assertStates(reading('FastLanguageModel', named, '2026.6.7'), { 'lora.targetPattern': undefined });
      assertStates(reading('FastModel', named), { 'lora.targetPattern': undefined });
      // Towers for sound have patterns of their own, Gemma's alone.
      const SOUND = [
        'audio_tower.layers.0.self_attn.q_proj.linear',
        'audio_tower.layers.0.feed_forward1.ffw_layer_1.linear',
        'audio_tower.layers.0.lconv1d.depthwise_conv1d',
        'embed_audio.embedding_projection',
        'embed_vision.embedding_projection',
        'layers.0.mlp.down_proj',
      ];
      const gemma4 = { model_type: 'gemma4' };
      const heard = (more: string, version?: string, config: object = gemma4) =>
        SOUND.map(pattern('FastModel', `, finetune_vision_layers=False${more}`, version, config));
      const on = ', finetune_audio_layers=True';
      assert.deepEqual(heard(on), [true, true, false, true, false, true]);
      assert.deepEqual(heard(`${on}, finetune_mlp_modules=False`), [true, false, false, false, false, false]);
      assert.deepEqual(heard(on, '2026.6.8'), [false, false, false, false, false, true]);
      assert.deepEqual(heard(on, undefined, { model_type: 'gemma3' }), [
        false,
        false,
        false,
        false,
        false,
        true,
      ]);
      const linear = pattern('FastModel', ', target_modules="all-linear"', undefined, gemma4);
      assert.deepEqual(SOUND.map(linear), [true, true, false, true, true, true]);
      const projections = pattern('FastModel', `${on}, target_modules=["q_proj"]`, undefined, gemma4);
      assert.deepEqual(SOUND.map(projections), [true, false, false, false, false, false]);
      // Of a model that nobody knows, neither switches nor paths are.
      const unknown = python(
        'from unsloth import FastVisionModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastVisionModel.from_pretrained("me/mine")\nmodel = FastVisionModel.get_peft_model(model, r=8, finetune_attention_modules=False)\nSFTTrainer(model=model, args=SFTConfig()).train()',
      );
      assert.ok(unknown.unread?.some(({ text: word }) => word === 'finetune_vision_layers'));
      // Stacked experts whose layers are named.
      const experts = { model_type: 'qwen3_5_moe', text_config: { num_experts: 8 } };
      const both = { 'lora.targetParameters': 'experts.gate_up_proj,experts.down_proj default' };
      assertStates(reading('FastModel', '', undefined, experts), both);
      assertStates(reading('FastLanguageModel', '', undefined, experts), both);
      const only = reading('FastModel', ', target_modules=["q_proj", "down_proj"]', undefined, experts);
      assertStates(only, { 'lora.targetParameters': 'experts.down_proj default' });
      for (const none of [
        reading('FastModel', ', target_modules=["q_proj"]', undefined, experts),
        reading('FastModel', ', finetune_mlp_modules=False', undefined, experts),
        reading('FastModel', ''),
      ])
        assertStates(none, { 'lora.targetParameters': undefined });
    });

    it('with adapters whose scale only the script knows have no default of it', () => {
      const of = (more: string) =>
        python(
          `from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Llama-3.1-8B", max_seq_length=1024)\nmodel = FastLanguageModel.get_peft_model(model, r=8${more})\nSFTTrainer(model=model, args=SFTConfig()).train()`,
        );
      assertStates(of(''), { 'lora.alpha': '16 default' });
      assertStates(of(', lora_alpha=32'), { 'lora.alpha': '32 file' });
      const open = of(', lora_alpha=choose()');
      assertStates(open, { 'lora.alpha': undefined });
      assert.deepEqual(
        open.unread?.map(({ text: word, fields }) => [word, fields]),
        [['lora_alpha', ['lora.alpha']]],
      );
      assertStates(of(', lora_dropout=choose()'), { 'lora.dropout': undefined });
    });

    it('take what a script asks of the memory of the GPU from the GPU', () => {
      const text = `import torch
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
big = torch.cuda.get_device_properties(0).total_memory / 2**30 >= 39
model, t = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B", max_seq_length=2048 if big else 512)
model = FastLanguageModel.get_peft_model(model, r=8)
SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=8 if big else 2)).train()`;
      const on = (known: Record<string, string>) =>
        pythonRun.read(parseConfig('file:///train.py', text), { known });
      assertStates(on({ 'hardware.gpu': 'T4' }), { 'batch.micro': '2 file' });
      assertStates(on({ 'hardware.gpu': 'A100-80GB' }), { 'batch.micro': '8 file' });
      assert.equal(on({ 'hardware.gpu': 'T4' }).unread, undefined);
      // Without a GPU it is what a condition decides, and that is reported.
      assertStates(on({}), { 'batch.micro': '8 file' });
      assert.ok(on({}).unread?.some(({ kind }) => kind === 'branch'));
    });

    it('count layers that keep a state by the kernels that cells install', () => {
      const read = (before: string, more = '', version = '2026.10.9', type = 'granitemoehybrid') =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `${before}\nfrom unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/some-model"${more})\nmodel = FastLanguageModel.get_peft_model(model, r=8)\nSFTTrainer(model=model, args=SFTConfig()).train()`,
          ),
          {
            known: {},
            model: { config: { model_type: type } },
            versions: { unsloth: { version, source: 'stated' } },
          },
        );
      const unread = (...given: Parameters<typeof read>) =>
        read(...given).unread?.map(({ message }) => message) ?? [];
      const both = '!pip install mamba_ssm==2.2.5 causal_conv1d==1.5.2';
      assert.deepEqual(unread(both), []);
      const kernels = (before: string) => {
        const found = read(before).facts.find(({ field }) => field === 'kernels.states');
        return found && `${found.value} ${found.origin.kind}`;
      };
      assert.equal(kernels(both), 'mamba-ssm,causal-conv1d,unknown file');
      assert.equal(kernels('!pip install -q mamba_ssm==2.2.5'), 'mamba-ssm,unknown file');
      assert.equal(kernels('!pip install fla-core peft'), 'flash-linear-attention,unknown file');
      assert.equal(kernels('!pip install peft'), undefined);
      const commented = '# get_ipython().system(\'uv pip install fla-core "causal_conv1d==1.6.0"\')';
      assert.equal(kernels(commented), 'flash-linear-attention,causal-conv1d,unknown default');
      const mixed = `get_ipython().system('pip install fla-core')\n${commented}`;
      assert.equal(kernels(mixed), 'flash-linear-attention,causal-conv1d,unknown file');
      assert.deepEqual(unread(''), []);
      // A script that was a notebook has them in comments.
      assert.deepEqual(unread(`# get_ipython().run_cell_magic('capture', '', '${both}\\n')`), []);
      for (const release of ['2026.9.9', '2026.10.3']) assert.deepEqual(unread(both, '', release), []);
      assert.match(unread(both, ', trust_remote_code=True').join(), /comes with the model/);
      // That of Nemotron-H runs the same kernels.
      const own = ', trust_remote_code=True';
      assert.deepEqual(unread(both, own, undefined, 'nemotron_h'), []);
      assert.deepEqual(unread('', own, undefined, 'nemotron_h'), []);
      // It takes its loss over all logits, whatever the release of Unsloth, which has the loss of transformers' own class.
      const lossOf = (...given: Parameters<typeof read>) =>
        read(...given).facts.find(({ field }) => field === 'loss.implementation')?.value;
      for (const version of ['2025.12.5', '2026.10.9'])
        assert.equal(lossOf(both, own, version, 'nemotron_h'), 'full-upcast');
      assert.equal(lossOf(both, '', '2025.12.5', 'nemotron_h'), 'free-chunks');
      // Releases that did not find the head of this class left it all logits, and the loss to a kernel.
      assert.equal(lossOf(both, '', '2026.9.9'), 'in-place');
      assert.equal(lossOf(both, '', '2026.10.3'), 'budgeted-chunks');
    });

    it('tell samples of images, and of texts that are written here, from those that may hold sound', () => {
      const heard = { model_type: 'qwen2_5_omni', vision_config: {}, audio_config: {} };
      const reading = (before: string, trainer: string) =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `from unsloth import FastVisionModel\nfrom unsloth.trainer import UnslothVisionDataCollator\nfrom datasets import Dataset, load_dataset\nfrom trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer\nmodel, t = FastVisionModel.from_pretrained("unsloth/some-model", max_seq_length=2048)\nmodel = FastVisionModel.get_peft_model(model, r=8)\n${before}\n${trainer}`,
          ),
          { known: {}, model: { config: heard } },
        );
      const unread = (before: string, rows = 'rows') =>
        reading(
          before,
          `SFTTrainer(model=model, train_dataset=${rows}, data_collator=UnslothVisionDataCollator(model, t), args=SFTConfig()).train()`,
        ).unread?.length ?? 0;
      const loaded = 'data = load_dataset("some/data")\n';
      const image = '{"role": "user", "content": [{"type": "image", "image": x["image"]}]}';
      const made = (part: string) => `${loaded}rows = [{"messages": [${part}]} for x in data]`;
      assert.equal(unread(made(image)), 0);
      assert.equal(unread(made(image.replaceAll('image', 'audio'))), 1);
      assert.equal(unread(`${made(image)}\nshow(data[0]["audio"])`), 1);
      // Rows that nothing here builds.
      assert.equal(unread(`${loaded}${image.replace('x[', 'data[')}`, 'data'), 1);
      const grpo = (row: string) =>
        reading(
          `rows = Dataset.from_list([${row}] * 100)`,
          'GRPOTrainer(model=model, train_dataset=rows, args=GRPOConfig(max_completion_length=2048 - len(t(text)))).train()',
        );
      const texts = grpo('{"prompt": [{"role": "user", "content": "add"}], "answer": 0}');
      assertStates(texts, { 'batch.images': '0 inferred', 'rollout.completion': '2048 inferred' });
      assert.equal(texts.unread, undefined);
      for (const row of [
        '{"prompt": [{"role": "user", "content": "add"}], "image": picture}',
        '{"prompt": [{"role": "user", "content": [{"type": "image"}]}]}',
        '{"prompt": [{"role": "user", "content": written()}]}',
        '{**more, "prompt": "add"}',
      ])
        assertStates(grpo(row), { 'batch.images': undefined });
    });

    it('scale images down to the size of the model, or to a width of their own', () => {
      const vision = (collator: string, tower: Record<string, unknown>) =>
        pythonRun.read(
          parseConfig(
            'file:///train.py',
            `from unsloth import FastVisionModel\nfrom unsloth.trainer import UnslothVisionDataCollator\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastVisionModel.from_pretrained("unsloth/some-model")\nmodel = FastVisionModel.get_peft_model(model, r=8)\nSFTTrainer(model=model, data_collator=${collator}, args=SFTConfig()).train()`,
          ),
          { known: {}, model: { config: { model_type: 'qwen2_5_vl', vision_config: tower } } },
        );
      const own = 'UnslothVisionDataCollator(model, t)';
      assertStates(vision(own, {}), { 'batch.imagePixels': '262144 default' });
      assertStates(vision(own, { image_size: 896 }), { 'batch.imagePixels': '802816 default' });
      const left = vision('UnslothVisionDataCollator(model, t, resize="max")', {});
      assertStates(left, { 'batch.imagePixels': undefined });
    });

    it('count what a model forced to fp32 keeps as parts of layers', () => {
      const text = `from unsloth import FastModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastModel.from_pretrained("unsloth/gemma-3-1b-it")\nmodel = FastModel.get_peft_model(model, r=8)\nSFTTrainer(model=model, args=SFTConfig(dataset_text_field="text")).train()`;
      const on = (gpu: string) =>
        pythonRun.read(parseConfig('file:///train.py', text), {
          known: { 'hardware.gpu': gpu },
          model: { config: { model_type: 'gemma3_text' } },
        });
      assertStates(on('T4'), { 'kernels.compile': 'false default', 'kernels.compileParts': 'true default' });
      assertStates(on('A100-80GB'), { 'kernels.compile': 'true default' });
    });

    it('raise the micro batch to a group of completions where a step would hold no whole ones', () => {
      const grpo = (more: string) =>
        python(
          `from unsloth import FastLanguageModel\nfrom trl import GRPOConfig, GRPOTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B", max_seq_length=1024)\nmodel = FastLanguageModel.get_peft_model(model, r=8)\nGRPOTrainer(model=model, args=GRPOConfig(per_device_train_batch_size=1, ${more})).train()`,
        );
      assertStates(grpo('gradient_accumulation_steps=1, num_generations=4'), { 'batch.micro': '4 inferred' });
      assertStates(grpo('gradient_accumulation_steps=4, num_generations=4'), { 'batch.micro': '1 file' });
      assertStates(grpo('gradient_accumulation_steps=3'), { 'batch.micro': '8 inferred' });
      assertStates(grpo('num_generations=4, steps_per_generation=8'), { 'batch.micro': '1 file' });
    });

    it('count what of its adapters is not read', () => {
      const text = `from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B")\nmodel = FastLanguageModel.get_peft_model(model, r=8, qat_scheme="int4", loftq_config=None)\nSFTTrainer(model=model, args=SFTConfig()).train()`;
      assert.deepEqual(unread(text), ['value qat_scheme']);
      const more = (field: string) => unread(text.replace('qat_scheme="int4"', field));
      for (const field of ['use_qalora=True', 'bias="all"', 'finetune_last_n_layers=4', 'offload_layers=8'])
        assert.deepEqual(more(field), [`value ${field.split('=')[0]}`]);
      for (const field of ['bias="none"', 'use_rslora=True', 'init_lora_weights=True', 'layers_pattern=None'])
        assert.deepEqual(more(field), []);
      const loaded = text.replace('"unsloth/Qwen3-4B"', '"unsloth/Qwen3-4B", qat_scheme="int4"');
      assert.deepEqual(unread(loaded), ['value qat_scheme', 'value qat_scheme']);
    });

    it('train all weights where that is stated', () => {
      const full = `from unsloth import FastLanguageModel
from trl import SFTTrainer
model, _ = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B", full_finetuning=True)
SFTTrainer(model=model).train()`;
      assertStates(python(full), { 'method.kind': 'full default', 'quantization.kind': undefined });
    });
  });
});
