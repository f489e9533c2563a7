import assert from 'node:assert/strict';
import { fact } from '../../../server/src/run/origin';
import { resolveRun } from '../../../server/src/run/resolve';
import { assumptionsOf } from '../../../server/src/workspace/assumptions';
import { smallWorkspace } from './small-workspace';

const HEADER = `# oomlint: gpu=A100-SXM4-80GB gpus=1
from transformers import AutoFeatureExtractor, AutoImageProcessor, AutoModelForCausalLM, AutoModelForCTC
from transformers import AutoModelForImageClassification, AutoModelForObjectDetection, AutoModelForSemanticSegmentation
from transformers import AutoModelForSequenceClassification, AutoModelForVideoClassification, Trainer, TrainingArguments
`;
const TRAIN = 'Trainer(model=model, args=TrainingArguments("out", per_device_train_batch_size=8)';

/** Whether a mask reaches the attention kernel, and why, as the run has it. */
async function mask(text: string): Promise<string> {
  const { resolved } = await smallWorkspace({ 'train.py': HEADER + text }).analyze('train.py');
  const note = resolved.origins['attention.mask']?.note ?? '';
  return `${resolved.values['attention.mask']}: ${note}`;
}

const DIFFER = 'true: samples of a batch differ in length: a mask reaches the kernel';
const ONE_SIZE = 'false: images of one size have no padding: no mask is made';

describe('whether a mask of padding reaches the attention', () => {
  const trained = (made: string, data = '') => `${data}model = ${made}\n${TRAIN}).train()\n`;

  it('of texts it does', async () => {
    const made = 'AutoModelForSequenceClassification.from_pretrained("google-bert/bert-base-uncased")';
    assert.equal(await mask(trained(made)), DIFFER);
  });

  it('of texts that are filled up to one length it does, and of random tokens it does not', async () => {
    const made = 'AutoModelForSequenceClassification.from_pretrained("google-bert/bert-base-uncased")';
    const filled =
      'from transformers import AutoTokenizer\nt = AutoTokenizer.from_pretrained("google-bert/bert-base-uncased")\ndata = data.map(lambda row: t(row["text"], padding="max_length", max_length=128))\n';
    const drawn = 'import numpy as np\nrows = np.random.randint(100, 30000, (512, 512))\n';
    const filledRows = 'true: rows are filled up to one length: a mask reaches the kernel';
    assert.equal(await mask(trained(made, filled)), filledRows);
    assert.equal(
      await mask(trained(made, drawn)),
      'false: rows of random tokens are of one length: no mask is made',
    );
    assert.equal(await mask(trained(made, filled + drawn)), filledRows);
  });

  it('of images it does not where it is not seen which of the models is trained', async () => {
    const student = 'from transformers import MobileNetV2Config, MobileNetV2ForImageClassification\n';
    const made = 'MobileNetV2ForImageClassification(MobileNetV2Config())';
    assert.equal(await mask(trained(made, student)), ONE_SIZE);
    const teacher = 'AutoModelForImageClassification.from_pretrained("google/vit-base-patch16-224")\n';
    assert.equal(await mask(trained('chosen(student, teacher)', `teacher = ${teacher}`)), ONE_SIZE);
  });

  it('of images and videos of one size it does not', async () => {
    for (const made of [
      'AutoModelForImageClassification.from_pretrained("google/vit-base-patch16-224")',
      'AutoModelForVideoClassification.from_pretrained("MCG-NJU/videomae-base")',
      'AutoModelForSemanticSegmentation.from_pretrained("nvidia/mit-b0")',
      // The model is not named.
      'AutoModelForImageClassification.from_pretrained(args.model)',
    ])
      assert.equal(await mask(trained(made)), ONE_SIZE, made);
  });

  it('of images that are filled up it may, unless they are of one size or the code takes it away', async () => {
    const made = 'AutoModelForObjectDetection.from_pretrained("facebook/detr-resnet-50")';
    assert.match(await mask(trained(made)), /^true: images of a batch may differ in size/);
    const sized = 'import albumentations\nt = albumentations.Compose([albumentations.Resize(480, 480)])\n';
    assert.equal(await mask(trained(made, sized)), ONE_SIZE);
    const dropped =
      'p = AutoImageProcessor.from_pretrained("facebook/detr-resnet-50")\nresult = p(images=data)\nresult.pop("pixel_mask", None)\n';
    assert.equal(await mask(trained(made, dropped)), 'false: the code takes the mask of pixels away');
  });

  it('of numbers over time nothing is stated', async () => {
    const series = 'from transformers import PatchTSMixerForPrediction\n';
    const made = 'PatchTSMixerForPrediction.from_pretrained("ibm-granite/granite-timeseries-patchtsmixer")';
    assert.equal(await mask(trained(made, series)), 'false: Oomlint default');
  });

  it('of waves it does only where the extractor makes one', async () => {
    const made = 'AutoModelForCTC.from_pretrained("facebook/wav2vec2-base")';
    assert.equal(await mask(trained(made)), 'false: the extractor of this model makes no mask');
    const asked =
      'e = AutoFeatureExtractor.from_pretrained("facebook/wav2vec2-base")\nx = e(data, return_attention_mask=True)\n';
    assert.equal(await mask(trained(made, asked)), DIFFER);
  });

  it('of texts that are joined and cut into blocks it does not', async () => {
    const made = 'AutoModelForCausalLM.from_pretrained("gpt2")';
    const chunks = `def group_texts(examples):
    joined = {k: sum(examples[k], []) for k in examples.keys()}
    total = (len(joined["input_ids"]) // 128) * 128
    return {k: [t[i : i + 128] for i in range(0, total, 128)] for k, t in joined.items()}
data = data.map(group_texts, batched=True)
`;
    assert.equal(await mask(trained(made, chunks)), 'false: packed rows have no padding');
    // How long the blocks are is not known: each is as long as the others.
    const unknown = chunks.replaceAll('128', 'block_size').replace('def', 'block_size = chosen()\ndef');
    assert.equal(await mask(trained(made, unknown)), 'false: packed rows have no padding');
  });

  it("of a model of the code's own nothing is stated", async () => {
    const head = `from torch import nn
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(768, 3)
`;
    const text = `${HEADER}${head}${trained('Head()')}`;
    const analysis = await smallWorkspace({ 'train.py': text }).analyze('train.py');
    assert.deepEqual(
      assumptionsOf(analysis).filter(({ field }) => /mask|objective/.test(field)),
      [],
    );
  });

  it('of packed rows it does not, whoever states them', () => {
    const padded = fact('attention.mask', true, { kind: 'inferred' });
    const values = (packed: boolean) =>
      resolveRun([padded, fact('batch.packed', packed, { kind: 'file' })]).values;
    assert.deepEqual(
      [true, false].map((packed) => values(packed)['attention.mask']),
      [false, true],
    );
    assert.equal(values(true)['attention.unmaskedBatches'], false);
    // What somebody states stays.
    const stated = [
      fact('attention.mask', true, { kind: 'file' }),
      fact('batch.packed', true, { kind: 'file' }),
    ];
    assert.equal(resolveRun(stated).values['attention.mask'], true);
  });
});
