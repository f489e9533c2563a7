import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
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
    assert.match(((await judged(text, {}, 2)).unread ?? []).map(({ message }) => message).join(), /DataParallel/);
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
    assert.deepEqual(await length(script('Collator(0, max_length=LENGTH)', 'LENGTH = 2 ** 7\n')), [128, true]);
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
