import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { openQuestions } from '../../../server/src/workspace/open-questions';
import { assertStates, read } from './reading';

const python = (text: string, known: Parameters<typeof read>[3] = {}) =>
  read('python', 'file:///w/train.py', text, known);
const doubts = (text: string) => (python(text).unread ?? []).map(({ message }) => message).join('\n');

/** A script of a folder with more files, on one H100 where it names no GPU. */
async function judged(text: string, more: Record<string, string> = {}, gpus = 1) {
  const files = Object.fromEntries(Object.entries(more).map(([name, of]) => [`file:///w/${name}`, of]));
  const host = new MemoryHost({ ...files, 'file:///w/train.py': text }, { folders: ['file:///w'] });
  const settings = () => ({ 'hardware.gpu': 'H100', 'hardware.gpus': gpus });
  const analysis = await new Workspace(host, { settings }).analyze('file:///w/train.py');
  assert.ok(analysis);
  return analysis;
}

const IMPORTS = `import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
`;
const MODEL = 'model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.bfloat16)\n';
const TRAINER =
  'Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=2, bf16=True)).train()\n';
const LOOP = `optimizer = torch.optim.AdamW(model.parameters())
for batch in DataLoader(load(), batch_size=2):
    model(**batch).loss.backward()
    optimizer.step()
`;

describe('models that are taken out of what wraps them', () => {
  before(loadPython);

  const WRAPPED = [
    'model = DDP(model)\nmodel = model.module\n',
    'model = torch.nn.DataParallel(model.cuda())\nmodel = model.module\n',
    'model = torch.compile(model)\nmodel = model._orig_mod\n',
    'accelerator = Accelerator()\nmodel = accelerator.prepare(model)\nmodel = accelerator.unwrap_model(model)\n',
    'accelerator = Accelerator()\nmodel, rows = accelerator.prepare(model, rows())\nmodel = model.module\n',
    'model = DDP(model)\nmodel = model.module if hasattr(model, "module") else model\n',
    'from accelerate.utils import extract_model_from_parallel\nmodel = extract_model_from_parallel(DDP(model))\n',
  ];

  it('are those that were loaded, and nothing else is made of them', () => {
    for (const wrapped of WRAPPED) {
      const reading = python(IMPORTS + MODEL + wrapped + TRAINER);
      assertStates(reading, { 'model.id': 'gpt2 file', 'precision.weights': 'bf16 file' });
      assert.deepEqual([reading.problems, doubts(IMPORTS + MODEL + wrapped + TRAINER)], [[], ''], wrapped);
    }
  });

  it('keep what is called on them, in loops, too', () => {
    const called = `${IMPORTS}${MODEL}model = DDP(model)\nmodel.module.gradient_checkpointing_enable()\n${LOOP}`;
    assertStates(python(called), {
      'model.id': 'gpt2 file',
      'activations.checkpointing': 'full file',
      'parallel.data': 'ddp file',
    });
    const inner = `${IMPORTS}${MODEL}ddp = DDP(model)\nmodel = ddp.module\n${LOOP}`;
    assertStates(python(inner), { 'model.id': 'gpt2 file', 'parallel.data': 'ddp file' });
  });

  it('lie on one GPU as they are where `DataParallel` has no other', async () => {
    const text = `${IMPORTS}${MODEL}model = torch.nn.DataParallel(model)\n${LOOP.replace('for batch', 'tokenizer = AutoTokenizer.from_pretrained("gpt2")\nrows = tokenizer(texts, truncation=True, max_length=64)\nfor batch')}`;
    assert.deepEqual((await judged(text)).resolved.unknown, []);
    assert.match(
      ((await judged(text, {}, 2)).unread ?? []).map(({ message }) => message).join(),
      /DataParallel/,
    );
  });
});

describe('collators of a module beside the script', () => {
  before(loadPython);

  const COLLATOR = `class Collator:
    def __init__(self, pad, max_length=None):
        self.pad = pad
        self.max_length = max_length
    def __call__(self, rows):
        input_ids = torch.nn.utils.rnn.pad_sequence([row["input_ids"] for row in rows], batch_first=True)
        if self.max_length is not None:
            input_ids = input_ids[:, : self.max_length]
        return {"input_ids": input_ids}
`;
  const script = (collator: string, more = '') =>
    `${IMPORTS}from collating import Collator\n${more}${MODEL}args = TrainingArguments(per_device_train_batch_size=2)\nTrainer(model=model, args=args, data_collator=${collator}).train()\n`;
  const length = async (text: string, body = COLLATOR) => {
    const { resolved } = await judged(text, { 'collating.py': `import torch\n${body}` });
    const origin = resolved.origins['batch.sequence'];
    return [resolved.values['batch.sequence'], origin?.guess === true];
  };

  it('cut batches to the length that they are made with', async () => {
    assert.deepEqual(await length(script('Collator(0, max_length=256)')), [256, true]);
    assert.deepEqual(await length(script('Collator(0, max_length=LENGTH)', 'LENGTH = 2 ** 7\n')), [
      128,
      true,
    ]);
    const columns = COLLATOR.replace(/input_ids = (?=input_ids\[)/, 'batch["input_ids"] = ').replace(
      'input_ids[:, :',
      'batch["input_ids"][:, :',
    );
    assert.deepEqual(await length(script('Collator(0, max_length=256)'), columns), [256, true]);
    // From the left side.
    const left = COLLATOR.replace(': self.max_length]', '-self.max_length :]');
    assert.deepEqual(await length(script('Collator(0, max_length=256)'), left), [256, true]);
  });

  it('cut nothing without one, and call tokenizers like functions do', async () => {
    assert.equal((await length(script('Collator(0)')))[0], 1024);
    const body = `from transformers import AutoTokenizer
class Collator:
    def __init__(self, name):
        self.tokenizer = AutoTokenizer.from_pretrained(name)
    def __call__(self, rows):
        return self.tokenizer([row["text"] for row in rows], truncation=True, padding="max_length", max_length=96)
`;
    assert.deepEqual(await length(script('Collator("gpt2")'), body), [96, false]);
    const mapped = script('None', 'rows = load().map(Collator("gpt2"))\n');
    assert.deepEqual(await length(mapped, body), [96, false]);
    const made =
      'def collate(rows):\n    return tokenizer(rows, truncation=True, padding="max_length", max_length=80)\n';
    const own = script('collate', `tokenizer = AutoTokenizer.from_pretrained("gpt2")\n${made}`);
    assert.deepEqual(await length(own), [80, false]);
  });
});

describe('loops around the passes of one step', () => {
  before(loadPython);

  const START = `${IMPORTS}${MODEL}tokenizer = AutoTokenizer.from_pretrained("gpt2")
loader = DataLoader(load(), batch_size=2)
optimizer = torch.optim.AdamW(model.parameters())
`;
  const inner = (over: string, more = '') =>
    `${START}${more}for step in range(100):
    for i in ${over}:
        (model(**next(rows)).loss / 4).backward()
    optimizer.step()
`;

  it('add up the gradients of as many as they go through', () => {
    assertStates(python(inner('range(COUNT)', 'COUNT = 4\n')), { 'batch.accumulation': '4 file' });
    assertStates(python(inner('range(1, 4)')), { 'batch.accumulation': '3 file' });
    const tqdm = 'from tqdm import tqdm\n';
    assertStates(python(inner('tqdm(range(8))', tqdm)), { 'batch.accumulation': '8 file' });
    assertStates(python(inner('[1, 2, 3]')), { 'batch.accumulation': '3 file' });
    // Nobody knows how many there are: two at the least.
    assertStates(python(inner('loader')), { 'batch.accumulation': '2 inferred' });
    const called = `${START}def step():
    for _ in range(2):
        model(**next(rows)).loss.backward()
for _ in range(10):
    step()
    optimizer.step()
`;
    assertStates(python(called), { 'batch.accumulation': '2 file' });
    assertStates(python(inner('loader').replace('    optimizer', '        optimizer')), {
      'batch.accumulation': undefined,
    });
  });

  it('have the samples of the tensors that the code makes, where nothing loads them', () => {
    const micro = (given: string, more = '') =>
      python(`${START.replace(/^loader.*\n/m, '')}${more}for row in rows:
    loss = model(${given}).loss
    loss.backward()
    optimizer.step()
`);
    assertStates(micro('input_ids=row.unsqueeze(0).to("cuda")'), { 'batch.micro': '1 file' });
    assertStates(micro('row.ids.unsqueeze(0), labels=row'), { 'batch.micro': '1 file' });
    assertStates(micro('input_ids=torch.tensor([row["ids"]]).cuda()'), { 'batch.micro': '1 file' });
    assertStates(micro('input_ids=torch.stack([row.a, row.b, row.c])'), { 'batch.micro': '3 file' });
    const made = 'def made(x):\n    return x.clone().unsqueeze(0)\n';
    assertStates(micro('input_ids=made(row)', made), { 'batch.micro': '1 file' });
    const unknown = micro('input_ids=row');
    assertStates(unknown, { 'batch.micro': undefined });
    assert.match(JSON.stringify(unknown.unread), /Nothing that is read makes batches/);
    assert.doesNotMatch(JSON.stringify(unknown.unread), /batch_size/);
  });

  it('may pass over a step that was taken before: that starts no other run', () => {
    const skipped = `${START}for step, batch in enumerate(loader):
    if resumed is not None and step < resumed:
        continue
    if batch is not None:
        model(**batch).loss.backward()
    optimizer.step()
`;
    assert.doesNotMatch(doubts(skipped), /Whether this run is started/);
    const asked = `${START}if load():\n    for batch in loader:\n        model(**batch).loss.backward()\n        optimizer.step()\n`;
    assert.match(doubts(asked), /Whether this run is started/);
  });
});

describe('what a script refuses', () => {
  before(loadPython);

  const parsed = (checks: string) => `import argparse, sys
${IMPORTS}def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=None)
    parser.add_argument("--kind", default=None)
    parser.add_argument("--batch", type=int, default=8)
    args = parser.parse_args()
${checks.replace(/^/gm, '    ')}
    return args
args = parse()
${MODEL}Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=args.batch)).train()
`;

  it('is not the run that is started: what follows is read', () => {
    for (const checks of [
      'if args.data is None:\n    raise ValueError("data")\nelse:\n    end = args.data.split(".")',
      'if args.data is None:\n    raise ValueError("data")',
      'if args.data is None:\n    sys.exit(1)',
      'if args.data is not None:\n    pass\nelse:\n    raise ValueError("data")',
      'if args.data == "a":\n    pass\nelif args.data == "b":\n    pass\nelse:\n    raise ValueError(args.data)',
    ])
      assertStates(python(parsed(checks)), { 'batch.micro': '8 file' });
  });

  it('leaves open which of several ways is taken instead', () => {
    const checks =
      'if args.kind == "a":\n    args.batch = 1\nelif args.kind == "b":\n    args.batch = 2\nelse:\n    raise ValueError(args.kind)';
    assert.match(doubts(parsed(checks)), /1 or 2: that depends on a condition/);
  });

  it('is caught where the script handles it', () => {
    const text = `${IMPORTS}size = 4\ntry:\n    if size == 4:\n        raise ValueError()\n    size = 1\nexcept ValueError:\n    pass\n${MODEL}Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=size)).train()\n`;
    assertStates(python(text), { 'batch.micro': '4 file' });
  });
});

describe('loops around a model that is not known', () => {
  before(loadPython);

  it('say all else that they call', async () => {
    const text = `${IMPORTS}tokenizer = AutoTokenizer.from_pretrained("gpt2")
rows = tokenizer(texts, truncation=True, padding="max_length", max_length=64)
loader = DataLoader(rows, batch_size=2)
optimizer = torch.optim.SGD(net.parameters(), momentum=0.9)
for batch in loader:
    for _ in range(2):
        net(**batch).loss.backward()
    optimizer.step()
`;
    assertStates(python(`net = load()\n${text}`), {
      'optimizer.name': 'sgd-momentum file',
      'batch.micro': '2 file',
      'batch.sequence': '64 file',
      'batch.accumulation': '2 file',
      'precision.weights': undefined,
    });
    const { resolved } = await judged(`net = load()\n${text}`);
    assert.ok(!resolved.unknown.some(({ field }) => /^batch/.test(field)));
  });
});

describe('what is reported of a whole run', () => {
  before(loadPython);

  it('stands where it trains', async () => {
    const before =
      'from string import Template\nwords = Template("a")\nimport subprocess\nsubprocess.run(["git"])\n';
    const lineOf = async (text: string, words: string) => {
      const { problems } = await judged(before + text);
      const found = problems.find(({ code }) => code === 'unknown-fields');
      assert.ok(found?.range, JSON.stringify(problems));
      assert.ok((before + text).split('\n')[found.range.start.line]?.includes(words), words);
    };
    await lineOf(`${IMPORTS}model = load()\n${TRAINER}`, 'Trainer(');
    await lineOf(`${IMPORTS}model = load()\n${LOOP}`, '.backward()');
    await lineOf(
      'from tensorflow import keras\nmodel = keras.Sequential([])\nmodel.fit(x, y)\n',
      'model.fit',
    );
    await lineOf(
      `${IMPORTS}from trl import XPOTrainer\nt = XPOTrainer(model=load())\nt.train()\n`,
      'XPOTrainer(m',
    );
  });
});

describe('quantization by torchao', () => {
  before(loadPython);

  it('is read where it is of weights alone, in a type that is known', async () => {
    const of = async (type: string) => {
      const text = `import torch\nfrom torchao.quantization import Int8WeightOnlyConfig, Int4WeightOnlyConfig, Float8WeightOnlyConfig\nfrom transformers import AutoModelForCausalLM, TorchAoConfig, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained("gpt2", quantization_config=TorchAoConfig(${type}))\n${TRAINER}`;
      const { resolved, unread = [] } = await judged(text);
      const { values } = resolved;
      const open = unread.some(({ fields = [] }) => fields.includes('quantization.kind'));
      return [values['quantization.kind'], values['quantization.groupSize'], open];
    };
    assert.deepEqual(await of('quant_type=Int8WeightOnlyConfig()'), ['ao-int8', undefined, false]);
    assert.deepEqual(await of('Int4WeightOnlyConfig(group_size=64)'), ['ao-int4', 64, false]);
    assert.deepEqual(await of('"int8_weight_only"'), ['ao-int8', undefined, false]);
    assert.deepEqual((await of('Float8WeightOnlyConfig()')).at(-1), true);
    assert.deepEqual((await of('pick()')).at(-1), true);
  });
});

describe('what is asked for', () => {
  before(loadPython);

  const asked = async (text: string) => {
    const { resolved, problems } = await judged(text);
    const { message } = problems.find(({ code }) => code === 'unknown-fields') ?? {};
    return [resolved.unknown.map(({ field }) => field).join(), /oomlint: ([^"]*)/.exec(message ?? '')?.[1]];
  };
  const of = (kind: string, model = 'pick()') =>
    `from transformers import ${kind}, Trainer, TrainingArguments\nmodel = ${kind}.from_pretrained(${model})\n${TRAINER}`;

  it('goes with the classes of the text where nothing leads to the model', async () => {
    const distills = (student: string, more = '') =>
      `from transformers import MobileNetV2ForImageClassification, AutoModelForCTC, Trainer, TrainingArguments\n${more}student = ${student}(config())\nclass Distils(Trainer):\n    def __init__(self, student_model=None, **kwargs):\n        super().__init__(student_model, **kwargs)\nDistils(student_model=student, args=TrainingArguments()).train()\n`;
    const [, image] = await asked(distills('MobileNetV2ForImageClassification'));
    assert.equal(image, 'model=google/vit-base-patch16-224');
    const [, mixed] = await asked(
      distills('MobileNetV2ForImageClassification', 'AutoModelForCTC.from_pretrained(pick())\n'),
    );
    assert.match(String(mixed), /model=\.\.\./);
  });

  it('goes with the kind of the run', async () => {
    assert.deepEqual(await asked(of('AutoModelForObjectDetection')), [
      'model.id',
      'model=facebook/detr-resnet-50',
    ]);
    assert.deepEqual(await asked(of('AutoModelForImageClassification')), [
      'model.id',
      'model=google/vit-base-patch16-224',
    ]);
    assert.deepEqual(await asked(of('AutoModelForCTC', '"facebook/wav2vec2-base"')), [
      'batch.sequence',
      'sequence=160000',
    ]);
    assert.deepEqual(await asked(of('AutoModelForSequenceClassification')), [
      'model.id,batch.sequence',
      'model=google-bert/bert-base-uncased sequence=512',
    ]);
    // One that is named and not known is of any family.
    const { resolved } = await judged(of('AutoModelForSequenceClassification', '"me/protein-model"'));
    assert.deepEqual(
      resolved.unknown.map(({ example }) => example),
      ['...', '512'],
    );
    assert.deepEqual(await asked(of('AutoModelForCausalLM')), [
      'model.id,batch.sequence',
      'model=meta-llama/Llama-3.1-8B sequence=4096',
    ]);
    // A model that the file names is no other one, though nobody knows it.
    for (const kind of ['AutoModelForSequenceClassification', 'AutoModelForCausalLM']) {
      const { resolved } = await judged(of(kind, '"someone/of-their-own"'));
      assert.deepEqual(
        resolved.unknown.flatMap(({ field, example }) => (field === 'model.id' ? [example] : [])),
        ['...'],
      );
    }
  });

  it('is nothing where adapters are of a kind that is not estimated', async () => {
    for (const config of ['PeanutConfig', 'RandLoraConfig', 'BeftConfig']) {
      const text = `${IMPORTS}from peft import ${config}, get_peft_model\n${MODEL}model = get_peft_model(model, ${config}(r=8))\ntokenizer = AutoTokenizer.from_pretrained("gpt2")\nrows = tokenizer(texts, truncation=True)\n${TRAINER}`;
      assert.deepEqual(await asked(text), ['method.kind', undefined], config);
      assert.match(doubts(text), new RegExp(`Adapters of .${config}. are not estimated`));
    }
  });

  it('does not leave the run to a command line that decides nothing of it', () => {
    const flags = (names: string) =>
      doubts(
        `import argparse\n${IMPORTS}p = argparse.ArgumentParser()\n${names.replace(/\S+/g, 'p.add_argument("$&", default="x")\n')}args, rest = p.parse_known_args()\n${MODEL}${TRAINER}`,
      );
    assert.equal(flags('--env-url --port'), '');
    assert.match(flags('--env-url --model'), /command line may say otherwise/);
  });
});

describe('several trainings of one file', () => {
  before(loadPython);

  const others = (text: string) =>
    python(text).problems.flatMap(({ code, message, range }) =>
      code === 'another-launch' ? [`${text.split('\n')[range?.start.line ?? 0]?.trim()}: ${message}`] : [],
    );
  const START = `${IMPORTS}${MODEL}loader = DataLoader(load(), batch_size=2)\n`;
  const KERAS = 'from tensorflow import keras\nnet = keras.Sequential([])\nnet.fit(x, y)\n';

  it('are reported, whoever makes them', () => {
    assert.deepEqual(others(START + TRAINER + LOOP + KERAS), [
      'model(**batch).loss.backward(): The first training of this file is read; this one is not estimated.',
      'net.fit(x, y): The first training of this file is read; this one is not estimated.',
    ]);
    assert.deepEqual(others(`${START}${KERAS}${LOOP}`), [
      'net.fit(x, y): Another training of this file is read; this one is not estimated.',
    ]);
    assert.deepEqual(others(`${START}${LOOP}${MODEL}${LOOP}`), [
      'model(**batch).loss.backward(): Another training of this file is read; this one is not estimated.',
    ]);
    assert.deepEqual(others(`${START}model(**next(loader)).loss.backward()\n${LOOP}`), []);
  });

  it('are counted from the first that is a trainer, also where its import is not shown', () => {
    const bare = (START + TRAINER + LOOP).replace(' Trainer,', '');
    assert.equal(others(bare).length, 1);
    assertStates(python(bare), { framework: 'transformers default' });
    const other = bare.replace('args=TrainingArguments', 'args=Own');
    assertStates(python(other), { framework: 'pytorch default' });
  });
});

describe('images that a script makes smaller', () => {
  before(loadPython);

  const pixels = async (code: string, processor = '') => {
    const text = `from PIL import Image, ImageOps
import cv2, torch, torchvision
from transformers import AutoModelForImageTextToText, AutoProcessor, Trainer, TrainingArguments
processor = AutoProcessor.from_pretrained("Qwen/Qwen2.5-VL-3B-Instruct"${processor})
model = AutoModelForImageTextToText.from_pretrained("Qwen/Qwen2.5-VL-3B-Instruct")
def prepare(example):
    image = example["image"]
${code.replace(/^/gm, '    ')}
    return image
rows = load().map(prepare)
${TRAINER}`;
    const { values, origins } = (await judged(text)).resolved;
    return [values['batch.imagePixels'], origins['batch.imagePixels']?.guess === true];
  };

  it('are of the size that it brings them to', async () => {
    assert.deepEqual(await pixels('image = image.resize((512, 384))'), [512 * 384, false]);
    assert.deepEqual(await pixels('image = image.convert("RGB").resize(size=(64, 32))'), [64 * 32, false]);
    assert.deepEqual(await pixels('image = Image.open(image).resize((64, 32))'), [64 * 32, false]);
    assert.deepEqual(await pixels('image = ImageOps.fit(image, (300, 200))'), [300 * 200, false]);
    assert.deepEqual(await pixels('image = cv2.resize(image, (300, 200))'), [300 * 200, false]);
    assert.deepEqual(await pixels('image = torchvision.transforms.Resize((300, 200))(image)'), [
      300 * 200,
      false,
    ]);
    assert.deepEqual(await pixels('image = image.resize((int(image.width / 2), 64))'), [undefined, false]);
    assert.deepEqual(await pixels('image = image'), [undefined, false]);
  });

  it('are of the size that messages state of them, where that is read', async () => {
    const messages = (sizes: string, text = '') =>
      `from qwen_vl_utils import process_vision_info\nmessages = [{"role": "user", "content": [{"type": "image", "image": f"{image}"${sizes}}, {"type": "text", "text": "a"}]}]\nimages, videos = process_vision_info(messages)${text}`;
    const sides = ', "resized_height": 280, "resized_width": 140';
    assert.deepEqual(await pixels(messages(sides)), [280 * 140, false]);
    assert.deepEqual(await pixels(messages(', "max_pixels": 256 * 28 * 28')), [256 * 784, true]);
    assert.deepEqual(await pixels(messages('')), [undefined, false]);
    // Another list of messages, which is not read, may hold larger images.
    const more = '\nprocess_vision_info(example["messages"])';
    assert.deepEqual(await pixels(messages(sides, more)), [undefined, false]);
  });

  it('are of no other size where what makes them smaller is not followed', async () => {
    const method = (size: string) =>
      `pass\nclass Environment:\n    def decode(self, image, side):\n        image.thumbnail(${size})`;
    assert.deepEqual(await pixels(method('(256, 256)')), [256 ** 2, true]);
    assert.deepEqual(await pixels(method('(side, side)')), [672 ** 2, true]);
  });

  it('have no more than a bound leaves them', async () => {
    assert.deepEqual(await pixels('image.thumbnail((300, 200))'), [300 * 200, true]);
    assert.deepEqual(await pixels('image = ImageOps.contain(image, (300, 200))'), [300 * 200, true]);
    assert.deepEqual(await pixels('pass', ', max_pixels=256 * 28 * 28'), [256 * 784, true]);
    assert.deepEqual(await pixels('pass', ', size={"shortest_edge": 3136, "longest_edge": 100352}'), [
      100352,
      true,
    ]);
    assert.deepEqual(await pixels('image = image.resize((1024, 1024))', ', max_pixels=200704'), [
      200704,
      false,
    ]);
    assert.deepEqual(await pixels('image = image.resize((64, 64))', ', max_pixels=200704'), [4096, false]);
    const set = 'processor.image_processor.max_pixels = 50176\n';
    assert.deepEqual(await pixels(`pass\n${set}`), [50176, true]);
  });
});

describe('what a release makes of arguments', () => {
  before(loadPython);

  const grpo = (given: string) =>
    `import torch\nfrom transformers import AutoModelForCausalLM\nfrom trl import GRPOConfig, GRPOTrainer\n${MODEL}GRPOTrainer(model=model, reward_funcs=[score], args=GRPOConfig(${given})).train()\n`;

  it('limits no prompt where TRL has stopped to cut it', () => {
    const length = (version: string) => {
      const { facts } = python(grpo('max_prompt_length=128, max_completion_length=64'), {
        'version.trl': version,
      });
      const found = facts.find(({ field }) => field === 'batch.sequence');
      return [found?.value, found?.origin.kind, found?.origin.guess === true];
    };
    assert.deepEqual(length('0.25.1'), [192, 'file', false]);
    assert.deepEqual(length('0.26.0'), [192, 'inferred', true]);
  });

  it('refuses steps of GRPO that hold no whole groups of completions', () => {
    const refused = (given: string, known: Parameters<typeof read>[3]) =>
      python(grpo(given), known).problems.map(({ code }) => code);
    const small = 'per_device_train_batch_size=1, num_generations=2';
    const on = (gpus: number, trl = '1.16.0') => ({ 'hardware.gpus': gpus, 'version.trl': trl });
    assert.deepEqual(refused(small, on(1)), ['generation-groups']);
    assert.deepEqual(refused(small, on(2)), []);
    assert.deepEqual(refused(`${small}, gradient_accumulation_steps=2`, on(1)), []);
    assert.deepEqual(refused(`${small}, gradient_accumulation_steps=load()`, on(1)), []);
    assert.deepEqual(refused(`${small}, steps_per_generation=4`, on(1)), []);
    assert.deepEqual(refused(`${small}, steps_per_generation=3`, on(1)), ['generation-groups']);
    assert.deepEqual(refused(small, on(1, '0.14.0')), []);
    assert.deepEqual(refused(small, { 'version.trl': '1.16.0' }), []);
  });

  it('generates as the config of the model states, which is not read', async () => {
    const generating = async (model: string, given = '') => {
      const text = `from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments
model = AutoModelForSeq2SeqLM.from_pretrained("${model}")
args = Seq2SeqTrainingArguments(predict_with_generate=True, eval_strategy="epoch"${given})
Seq2SeqTrainer(model=model, args=args).train()
`;
      const { resolved, unread } = await judged(text);
      const open = (unread ?? []).some(({ message }) => message.includes('generation config'));
      return [resolved.values['evaluation.generatedTokens'], open];
    };
    assert.deepEqual(await generating('Helsinki-NLP/opus-mt-en-ro'), [512, true]);
    assert.deepEqual(await generating('google-t5/t5-small'), [20, false]);
    const stated = ', generation_max_length=64, generation_num_beams=2';
    assert.deepEqual(await generating('Helsinki-NLP/opus-mt-en-ro', stated), [64, false]);
  });

  it('names the release that the run has, not the one that brought a requirement', async () => {
    const text = `${IMPORTS}accelerator = Accelerator()\n${MODEL}model, loader = accelerator.prepare(model, DataLoader(load(), batch_size=2))\noptimizer = torch.optim.AdamW(model.parameters())\nfor batch in loader:\n    accelerator.backward(model(**batch).loss)\n    optimizer.step()\n`;
    const { origins } = (await judged(text)).resolved;
    assert.match(origins['version.torch']?.note ?? '', /^accelerate 1\.15 requires/);
    const pinned = (await judged(text, { 'requirements.txt': 'accelerate==1.6.0\n' })).resolved.origins;
    assert.match(pinned['version.torch']?.note ?? '', /^accelerate 1\.6\.0 requires/);
  });

  it('bounds versions by what vLLM requires, alone or as an extra', async () => {
    const of = async (install: string, lengths = 'max_completion_length=64') => {
      const { values } = (await judged(`# %%\n!pip install ${install}\n# %%\n${grpo(lengths)}`)).resolved;
      return [values['version.transformers'], values['version.torch']];
    };
    assert.deepEqual(await of('-U "trl[vllm]==1.16.0"'), ['5.17.0', '2.13.0']);
    assert.deepEqual(await of('"trl[vllm]==1.0.0"'), ['4.57.6', '2.10.0']);
    assert.deepEqual(await of('vllm==0.16.0'), ['4.57.6', '2.9.1']);
    assert.deepEqual(await of('vllm==0.16.0 transformers==4.56.2'), ['4.56.2', '2.9.1']);
    // The newest that goes with what stands beside it.
    assert.deepEqual(await of('vllm transformers==4.56.2'), ['4.56.2', '2.11.0']);
    assert.deepEqual(await of('vllm torch==2.9.1'), ['4.57.6', '2.9.1']);
    // Named in the same command, and named again where pip has it: it stays within what vLLM requires.
    assert.deepEqual(await of('-U "trl[vllm]==1.16.0" transformers'), ['5.17.0', '2.13.0']);
    assert.deepEqual(await of('vllm==0.16.0 "transformers>=4.50" torch'), ['4.57.6', '2.9.1']);
    assert.deepEqual(await of('vllm==0.16.0\n!pip install transformers'), ['4.57.6', '2.9.1']);
    assert.deepEqual(await of('vllm==0.16.0\n!pip install -U transformers'), ['5.24', '2.9.1']);
    // TRL is one that takes the arguments, and its extra asks for the vLLM of that time.
    assert.deepEqual(await of('-U "trl[vllm]" transformers', 'max_prompt_length=64'), ['4.57.6', '2.9.0']);
    assert.deepEqual(await of('-U "trl[vllm]"', 'max_prompt_length=64'), ['4.57.6', '2.9.0']);
    assert.deepEqual(await of('"trl[vllm]==1.16.0"', 'max_prompt_length=64'), ['5.17.0', '2.13.0']);
    // A condition chooses between two.
    const chosen = (versions: string) =>
      of(`placeholder\n_vllm, _triton = ${versions}\n!uv pip install {_vllm} {_triton}`);
    const two = `('vllm==0.11.2', 'triton') if is_t4 else ('vllm==0.17.1', 'triton')`;
    assert.equal((await chosen(two))[1], '2.10.0');
    assert.equal((await chosen(`'vllm==0.11.2', 'triton'`))[1], '2.9.0');
    assert.equal((await chosen(`pick(), 'triton'`))[1], '2.15');
    // Nothing that it requires comes with it.
    const bare = await of('trl==1.16.0');
    assert.deepEqual(await of('--no-deps vllm==0.16.0 trl==1.16.0'), bare);
  });

  it('asks for releases of no package that takes no part in the run', async () => {
    const packages = async (text: string) => {
      const analysis = await judged(text);
      const asked = openQuestions(
        [{ config: analysis }] as unknown as Parameters<typeof openQuestions>[0],
        analysis.resolved,
      ).find(({ reason }) => /^No file names the versions? of /.test(reason));
      return /of ([\w, ]+):/.exec(asked?.reason ?? '')?.[1] ?? '';
    };
    assert.match(await packages(grpo('max_completion_length=64')), /\btrl\b/);
    const trainer = `${IMPORTS}${MODEL}trainer = Trainer(model=model, args=TrainingArguments("o"))\ntrainer.train()\n`;
    assert.match(await packages(trainer), /^transformers/);
    assert.doesNotMatch(await packages(trainer), /\btrl\b/);
  });

  it('asks nothing of releases of a year ago that the code cannot run on', async () => {
    const reasons = async (text: string) => {
      const analysis = await judged(text);
      return openQuestions(
        [{ config: analysis }] as unknown as Parameters<typeof openQuestions>[0],
        analysis.resolved,
        analysis.model,
      ).flatMap(({ reason }) => (/^No file names the versions? of /.test(reason) ? reason : []));
    };
    const asked = async (text: string) => (await reasons(text)).length > 0;
    const plain = grpo('max_completion_length=64');
    assert.equal(await asked(plain), true);
    assert.equal(await asked(plain.replace('model=model,', 'model=model, environment_factory=Env,')), false);
    assert.equal(await asked(plain.replace('length=64', 'length=64, entropy_coef=0.1')), false);
    assert.equal(await asked(plain.replace('model=model,', 'model=model, quantization_config=None,')), false);
    // Names that a module had not, and modules that were not there.
    const rewards = 'from trl.rewards import reasoning_accuracy_reward\n';
    assert.equal(await asked(`${rewards}${plain}`), false);
    assert.equal(await asked(`from trl.rewards import think_format_reward\n${plain}`), true);
    assert.equal(await asked(`from trl.experimental.gkd import GKDConfig\n${plain}`), false);
    assert.equal(await asked(`from transformers import Gemma4Processor\n${plain}`), false);
    // A model that transformers did not have, and a release that the file installs.
    assert.equal(await asked(plain.replace('gpt2', 'google/gemma-4-E2B-it')), false);
    const installed = `# %%\n!pip install -U trl\n# %%\n${plain}`;
    assert.doesNotMatch((await reasons(installed)).join(), /\btrl\b/);
    // The Trainer of transformers alone does without TRL.
    const trainer = `import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n${MODEL}Trainer(model=model, args=TrainingArguments()).train()\n`;
    const [named] = await reasons(trainer);
    assert.match(named ?? '', /transformers/);
    assert.doesNotMatch(named ?? '', /\btrl\b/);
  });
});

describe('conditions about what a model has', () => {
  before(loadPython);

  const under = (condition: string, more = '') =>
    `${IMPORTS}${MODEL}${more}if ${condition}:\n    model.gradient_checkpointing_enable()\n    ${TRAINER}`;

  it('hold for what every model of transformers has', () => {
    for (const condition of [
      'hasattr(model, "config")',
      'hasattr(model, "gradient_checkpointing_enable")',
      'model is not None and hasattr(model, "named_parameters")',
    ]) {
      assert.equal(doubts(under(condition)), '', condition);
      assertStates(python(under(condition)), { 'activations.checkpointing': 'full file' });
    }
    const wrapped =
      'from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model.to("cuda"), LoraConfig(r=8))\n';
    assert.equal(doubts(under('hasattr(model, "config")', wrapped)), '');
  });

  it('are open for anything else', () => {
    for (const condition of ['hasattr(model, "own_method")', 'hasattr(other, "config")', 'bound_nowhere'])
      assert.match(doubts(under(condition)), /depends on a condition/, condition);
  });

  it('hold for settings that have an entry of the name', () => {
    const settings = 'from types import SimpleNamespace\ncfg = SimpleNamespace(rank=8)\n';
    assert.equal(doubts(under('hasattr(cfg, "rank")', settings)), '');
    assert.match(doubts(under('hasattr(cfg, "alpha")', settings)), /depends on a condition/);
  });
});
