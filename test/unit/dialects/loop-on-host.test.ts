import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const loop = (more: string, load = '') => `import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased"${load})
${more}batch = tokenizer(["one text", "another"], padding=True, truncation=True, return_tensors="pt")
batch["labels"] = torch.tensor([1, 1])
optimizer = torch.optim.AdamW(model.parameters())
loss = model(**batch).loss
loss.backward()
optimizer.step()
`;
/** A loop that steps a model which the text before it makes. */
const steps = (before: string) => `import torch
${before}from torch.utils.data import DataLoader
optimizer = torch.optim.AdamW(model.parameters())
for batch in DataLoader(rows, batch_size=4):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
`;
const reported = async (text: string, gpu = 'H100') => {
  const {
    answers = [],
    problems,
    resolved,
  } = await smallWorkspace({
    'oomlint.yaml': `targets: {gpu: ${gpu}}\n`,
    'train.py': text,
  }).analyze('train.py');
  const verdict = problems.find(({ code }) => code === 'does-not-fit');
  const asks = answers.some(({ reason }) => /runs on the CPU/.test(reason));
  assert.equal(/puts the model/.test(resolved.origins['hardware.gpus']?.note ?? ''), asks);
  return { asks, verdict: verdict?.severity };
};

describe('a loop whose model reaches no GPU', () => {
  it('is reported to run on the CPU as it stands', async () => {
    assert.deepEqual(await reported(loop('')), { asks: true, verdict: undefined });
    // One that is read whole otherwise, and would be refused on such a GPU.
    const large = (place: string) => `import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16)
${place}def tokenize(row):
    return tokenizer(row["text"], truncation=True, padding="max_length", max_length=512)
loader = DataLoader(load().map(tokenize), batch_size=8, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for batch in loader:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
`;
    assert.deepEqual(await reported(large(''), 'T4'), { asks: true, verdict: 'warning' });
    assert.deepEqual(await reported(large('model.cuda()\n'), 'T4'), { asks: false, verdict: 'error' });
  });

  it('is not, where anything puts it or may put it on one', async () => {
    for (const text of [
      loop('model.cuda()\n'),
      loop('model.to("cuda")\n'),
      loop(
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\nmodel = model.to(device)\n',
      ),
      loop('torch.set_default_device("cuda")\n'),
      loop('', ', device_map={"": 0}'),
      loop('', ', **options'),
    ])
      assert.equal((await reported(text)).asks, false, text);
  });

  it('is not, where the model goes onto one as it is loaded', async () => {
    for (const [library, load] of [
      ['import whisper', 'whisper.load_model("base")'],
      ['from sentence_transformers import SentenceTransformer', 'SentenceTransformer("BAAI/bge-small-en")'],
      ...['unsloth/Qwen2.5-0.5B-bnb-4bit', 'Qwen/Qwen2.5-7B-Instruct-AWQ', 'someone/a-model-GPTQ-Int4'].map(
        (name) => [
          'from transformers import AutoModelForCausalLM',
          `AutoModelForCausalLM.from_pretrained("${name}")`,
        ],
      ),
    ])
      assert.equal((await reported(steps(`${library}\nmodel = ${load}\n`))).asks, false, load);
  });
});

describe('a loop of one process', () => {
  it('has one GPU only where nothing shares and no other GPU is named', async () => {
    const gpus = async (before: string, place = '.cuda()') => {
      const text = steps(
        `${before}from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")${place}\n`,
      );
      const { resolved } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
      return resolved.values['hardware.gpus'];
    };
    assert.equal(await gpus(''), 1);
    for (const place of ['.cuda(0)', '.to(0)', '.to(torch.device("cuda", 0))'])
      assert.equal(await gpus('', place), 1, place);
    for (const before of [
      'torch.distributed.init_process_group()\n',
      'def start():\n    torch.distributed.init_process_group("nccl")\n',
      'from torch import distributed as dist\n',
      'import bagua.torch_api as bagua\n',
      'import os\nrank = int(os.environ["LOCAL_RANK"])\n',
    ])
      assert.equal(await gpus(before), undefined, before);
    for (const place of ['.cuda(1)', '.to(1)', '.to(device=2)', '.to(torch.device("cuda", 1))'])
      assert.equal(await gpus('', place), undefined, place);
  });
});
