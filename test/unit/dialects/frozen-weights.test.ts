import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

async function judged(text: string) {
  const host = new MemoryHost({ 'file:///w/train.py': text }, { folders: ['file:///w'] });
  const settings = () => ({ 'hardware.gpu': 'H100', 'hardware.gpus': 1 });
  const analysis = await new Workspace(host, { settings }).analyze('file:///w/train.py');
  assert.ok(analysis);
  return analysis;
}

const script = (length: number, load: string, middle: string) => `# oomlint: sequence=${length}
import transformers
from transformers import Trainer, TrainingArguments
from tools import freeze_layers
model = transformers.${load}
${middle}
Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=8, fp16=True)).train()
`;
const CTC = 'AutoModelForCTC.from_pretrained("facebook/wav2vec2-base")';
const MMS = 'AutoModelForCTC.from_pretrained("facebook/mms-1b-all")';
const LANGUAGE =
  'model.init_adapter_layers()\nmodel.freeze_base_model()\nfor p in model._get_adapters().values():\n    p.requires_grad = True';
const CLASSES = 'AutoModelForAudioClassification.from_pretrained("facebook/wav2vec2-base", num_labels=2)';
const WHISPER = 'WhisperForConditionalGeneration.from_pretrained("openai/whisper-small")';
const DETR = 'AutoModelForObjectDetection.from_pretrained("facebook/detr-resnet-50")';

/** Parameters that are trained after the call, counted on PyTorch's meta device (transformers 5.23). */
const COUNTS: readonly (readonly [length: number, load: string, middle: string, trained: number])[] = [
  [160_000, CTC, 'model.freeze_feature_encoder()', 90_195_872],
  [160_000, CTC, 'model.wav2vec2.freeze_feature_encoder()', 90_195_872],
  [160_000, CTC, 'model.freeze_base_model()', 24_608],
  [160_000, MMS, LANGUAGE, 2_348_442],
  [
    160_000,
    MMS,
    LANGUAGE.replace('in model._get_adapters()', 'in weights').replace(
      'for',
      'weights = model._get_adapters()\nfor',
    ),
    2_348_442,
  ],
  [160_000, MMS, 'model.freeze_base_model()', 197_274],
  [160_000, CLASSES, 'model.freeze_feature_encoder()', 90_368_642],
  [160_000, CLASSES, 'model.freeze_feature_encoder()\nmodel.freeze_base_model()', 197_378],
  [448, WHISPER, 'model.freeze_encoder()', 153_580_800],
  [448, WHISPER, 'model.model.freeze_encoder()', 153_580_800],
];

describe('methods of models that freeze a part', () => {
  before(loadPython);

  for (const [length, load, middle, trained] of COUNTS)
    it(`train what they leave: ${middle.replace('\n', ', ')} of ${load.split('.')[0]}`, async () => {
      const { estimate, unread } = await judged(script(length, load, middle));
      assert.deepEqual([estimate?.model.trainableParameters, unread ?? []], [trained, []]);
    });

  it('of DETR freeze its backbone', async () => {
    const all = await judged(script(1, DETR, ''));
    const { estimate } = await judged(script(1, DETR, 'model.model.freeze_backbone()'));
    // Of ResNet-50 its classifier is gone and its batch norms are frozen in any case.
    const backbone =
      (all.estimate?.model.trainableParameters ?? 0) - (estimate?.model.trainableParameters ?? 0);
    assert.equal(backbone, 23_454_912);
  });

  it('keep what the waveform needs unless its own encoder is frozen', async () => {
    const peak = async (middle: string) =>
      (await judged(script(160_000, CTC, middle))).estimate?.peak.processBytes ?? 0;
    const head = await peak('model.freeze_base_model()');
    const both = await peak('model.freeze_base_model()\nmodel.freeze_feature_encoder()');
    assert.ok(both < 0.8 * head, `${both} of ${head}`);
  });

  for (const middle of [
    'model.wav2vec2.feature_extractor._freeze_parameters()',
    'if asked():\n    model.freeze_feature_encoder()',
    'model.freeze_feature_encoder()\nfor p in model.wav2vec2.encoder.parameters():\n    p.requires_grad = False',
    'model.freeze_base_model()\nfor p in model.wav2vec2.encoder.layers.parameters():\n    p.requires_grad = True',
    'model.freeze_base_model()\nmodel.wav2vec2.encoder.requires_grad_(True)',
    'model.freeze()',
    'model.wav2vec2.encoder.freeze_layers()',
    'freeze_layers(model)',
  ])
    it(`are not known: ${middle}`, async () => {
      const { estimate, unread } = await judged(script(160_000, CTC, middle));
      assert.equal(estimate, undefined);
      assert.ok(unread?.some(({ fields }) => fields?.includes('method.kind')));
    });
});
