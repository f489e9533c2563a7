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
});
