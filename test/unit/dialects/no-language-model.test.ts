import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const NET = `import argparse
import torch
import torch.nn as nn
import torch.optim as optim
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)
    def forward(self, x):
        return self.layer(x)
def train(loader, model, criterion, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
parser = argparse.ArgumentParser()
parser.add_argument("--world", type=int, required=True)
args = parser.parse_args()
`;
const TRAIN = `optimizer = optim.SGD(model.parameters(), lr=0.1)
train(loader, model, nn.CrossEntropyLoss(), optimizer)
`;

const analysisOf = (text: string) => smallWorkspace({ 'train.py': text }).analyze('train.py');
const unreadOf = async (text: string) =>
  ((await analysisOf(text)).unread ?? []).flatMap(({ kind, text: words }) =>
    kind === 'refused' ? [words] : [],
  );
const wordsOf = async (text: string) =>
  (await analysisOf(text)).problems.map(({ message }) => message).join('\n');

describe("a model of the code's own", () => {
  it('is the same where a condition wraps it, or a function makes it', async () => {
    const wraps =
      'if args.world > 1:\n    model = nn.parallel.DistributedDataParallel(model, device_ids=[0])\n';
    for (const made of [
      'model = Net().to("cuda")\n',
      `model = Net().to("cuda")\n${wraps}`,
      `def build():\n    model = Net()\n    return model.cuda()\nmodel = build()\n${wraps}`,
      `model = Net()\nif args.world > 1:\n    model = nn.DataParallel(model)\nmodel = model.cuda()\n`,
    ]) {
      const text = NET + made + TRAIN;
      assert.deepEqual(await unreadOf(text), ['Net'], made);
      assert.doesNotMatch(await wordsOf(text), /Llama/);
    }
  });
});

describe('code that shows no language model', () => {
  it('is asked for none by example', async () => {
    const text = `${NET}import zoo\nmodel = zoo.make(3)\n${TRAIN}`;
    assert.doesNotMatch(await wordsOf(text), /Llama|4096/);
    assert.match(await wordsOf(text), /model=\.\.\./);
    const texts = `from transformers import AutoTokenizer\n${text}`;
    assert.match(await wordsOf(texts), /Llama/);
  });

  it('trains a diffusion model where parts of one are all that is loaded', async () => {
    const text = `import itertools
import torch
from diffusers import AutoencoderKL, UNet2DConditionModel
from transformers import CLIPTextModel, CLIPTokenizer
from lora import inject
text_encoder = CLIPTextModel.from_pretrained("stabilityai/stable-diffusion-2-1-base", subfolder="text_encoder")
vae = AutoencoderKL.from_pretrained("stabilityai/stable-diffusion-2-1-base", subfolder="vae")
unet = UNet2DConditionModel.from_pretrained("stabilityai/stable-diffusion-2-1-base", subfolder="unet")
params, names = inject(unet)
optimizer = torch.optim.AdamW([{"params": itertools.chain(*params)}], lr=1e-4)
for batch in loader:
    loss = loss_of(batch)
    loss.backward()
    optimizer.step()
`;
    assert.deepEqual(await unreadOf(text), ['UNet2DConditionModel']);
    assert.doesNotMatch(await wordsOf(text), /Llama|4096/);
    const frozen = text.replace(
      'params, names = inject(unet)',
      'unet.requires_grad_(False)\nparams, names = inject(text_encoder)',
    );
    assert.deepEqual(await unreadOf(frozen), ['UNet2DConditionModel']);
    assert.doesNotMatch(await wordsOf(frozen), /model trains here/);
  });
});
