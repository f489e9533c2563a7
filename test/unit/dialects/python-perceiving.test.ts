import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { Reading } from '../../../server/src/dialects/dialect';
import { pythonRun } from '../../../server/src/dialects/python/python-run';
import { stated } from './reading';

/** What is reported of a notebook's text whose model has that `config.json`. */
function reading(text: string, config?: Readonly<Record<string, unknown>>): Reading {
  return pythonRun.read(parseConfig('file:///train.py', text), {
    known: {},
    ...(config ? { model: { config } } : {}),
  });
}

const found = ({ facts }: Reading, field: string) => facts.find((fact) => fact.field === field);
const value = (of: Reading, field: string) => found(of, field)?.value;
const refused = (of: Reading) => of.unread?.map(({ text }) => text) ?? [];

/** A training of a class of transformers, after what prepares its samples. */
const training = (name: string, before = '', args = '"out"') =>
  `from transformers import ${name}, AutoFeatureExtractor, AutoImageProcessor, AutoProcessor, Trainer, TrainingArguments
${before}
model = ${name}.from_pretrained("x")
Trainer(model=model, args=TrainingArguments(${args}), train_dataset=data).train()`;

describe('trainings of models that hear', () => {
  before(loadPython);

  const extracting = `extractor = AutoFeatureExtractor.from_pretrained("x")
def preprocess(examples):
    return extractor(examples["audio"], sampling_rate=extractor.sampling_rate, max_length=16000, truncation=True)
data = load().map(preprocess)`;

  it('cut waveforms to the length that their extractor is given', () => {
    const read = reading(training('AutoModelForAudioClassification', extracting), { model_type: 'wav2vec2' });
    assert.deepEqual(refused(read), []);
    assert.equal(value(read, 'method.objective'), 'classification');
    assert.equal(value(read, 'batch.sequence'), 16000);
    // Shorter ones stay as they are.
    assert.equal(found(read, 'batch.sequence')?.origin.guess, true);
  });

  it('are of types whose heads are read', () => {
    const of = (name: string, type: string) => refused(reading(training(name), { model_type: type }));
    assert.deepEqual(of('AutoModelForCTC', 'wav2vec2'), []);
    assert.deepEqual(of('Wav2Vec2ForCTC', 'wav2vec2'), []);
    assert.deepEqual(of('SpeechT5ForTextToSpeech', 'speecht5'), []);
    assert.deepEqual(of('SpeechT5ForSpeechToText', 'speecht5'), ['SpeechT5ForSpeechToText.from_pretrained']);
    assert.deepEqual(of('AutoModelForAudioClassification', 'whisper'), [
      'AutoModelForAudioClassification.from_pretrained',
    ]);
    assert.deepEqual(of('AutoModelForCTC', 'bert'), ['AutoModelForCTC.from_pretrained']);
  });

  it('checkpoint where the config of the checkpoint has that flag, whatever the Trainer is given', () => {
    const checkpointing = (more: object, args?: string) =>
      value(
        reading(training('AutoModelForCTC', '', args), { model_type: 'wav2vec2', ...more }),
        'activations.checkpointing',
      );
    assert.equal(checkpointing({}), 'none');
    assert.equal(checkpointing({ gradient_checkpointing: true }), 'full');
    assert.equal(
      checkpointing({ gradient_checkpointing: true }, '"out", gradient_checkpointing=False'),
      'full',
    );
  });
});

describe('trainings of models that see and read', () => {
  before(loadPython);

  it('fill texts up to the limit of the tokenizer, or of the positions', () => {
    const length = (name: string, model: object, how: string) => {
      const text = `processor = AutoProcessor.from_pretrained("x")
data = load().map(lambda batch: processor(images=batch["image"], text=batch["text"], ${how}))`;
      const fact = found(reading(training(name, text), { ...model }), 'batch.sequence');
      // The number is the tokenizer's: the model may have more positions.
      if (fact?.origin.guess !== true && fact) assert.match(fact.origin.note ?? '', /the tokenizer takes/);
      return [fact?.value, fact?.origin.guess === true];
    };
    // GIT has more positions than its tokenizer takes.
    const git = { model_type: 'git', max_position_embeddings: 1024 };
    assert.deepEqual(length('AutoModelForCausalLM', git, 'padding="max_length"'), [512, false]);
    assert.deepEqual(length('AutoModelForCausalLM', git, 'padding=True'), [1024, true]);
    const vilt = { model_type: 'vilt', max_position_embeddings: 40 };
    const both = 'padding="max_length", truncation=True';
    assert.deepEqual(length('ViltForQuestionAnswering', vilt, both), [40, false]);
    // A model without a table of positions may be given samples of any length.
    const llama = { model_type: 'llama', max_position_embeddings: 4096 };
    assert.deepEqual(length('AutoModelForCausalLM', llama, 'padding="max_length"'), [undefined, false]);
  });

  it('fill conversations up to the length that a processor is given for its text', () => {
    const length = (words: string) => {
      const text = `processor = AutoProcessor.from_pretrained("x")
def prepare(example):
    return processor.apply_chat_template(conversation, tokenize=True, ${words})
data = load().map(prepare)`;
      return value(
        reading(training('CsmForConditionalGeneration', text), { model_type: 'csm' }),
        'batch.sequence',
      );
    };
    const audio = 'audio_kwargs={"max_length": 240001, "padding": "max_length"}';
    assert.equal(length(`text_kwargs={"padding": "max_length", "max_length": 256}, ${audio}`), 256);
    assert.equal(length('max_length=512, truncation=True'), 512);
    // Longer ones stay as they are, and those of sound are no tokens.
    assert.equal(length(`text_kwargs={"padding": True, "max_length": 256}, ${audio}`), undefined);
  });

  it('have the length that a stream packs texts into', () => {
    const stream = (base: string, given: string) =>
      found(
        reading(
          `from torch.utils.data import Dataset, IterableDataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
class Packed(${base}):
    def __init__(self, tokenizer, seq_length=1024):
        self.seq_length = seq_length
data = Packed(tokenizer${given})
model = AutoModelForCausalLM.from_pretrained("x")
Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()`,
          { model_type: 'gpt_bigcode', n_positions: 8192 },
        ),
        'batch.sequence',
      );
    assert.equal(stream('IterableDataset', ', seq_length=2048')?.value, 2048);
    assert.equal(stream('IterableDataset', ', seq_length=2048')?.origin.guess, true);
    assert.equal(stream('IterableDataset', ', seq_length=ask()')?.value, undefined);
    assert.equal(stream('Dataset', ', seq_length=2048')?.value, undefined);
  });

  it('answer questions with a classifier', () => {
    const of = (name: string, type: string) => reading(training(name), { model_type: type });
    for (const name of ['ViltForQuestionAnswering', 'AutoModelForVisualQuestionAnswering'])
      assert.equal(value(of(name, 'vilt'), 'method.objective'), 'classification');
    assert.deepEqual(refused(of('AutoModelForVisualQuestionAnswering', 'blip-2')), [
      'AutoModelForVisualQuestionAnswering.from_pretrained',
    ]);
  });
});

describe('texts that bind the arguments of their trainer nowhere', () => {
  before(loadPython);

  const trains = (before: string, args: string) =>
    reading(
      `from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
${before}
model = AutoModelForSequenceClassification.from_pretrained("x")
Trainer(model=model, args=${args}).train()`,
    ).joinsOnly !== true;

  it('are parts of a run: as they stand they train nothing', () => {
    assert.equal(trains('', 'training_args'), false);
    assert.equal(trains('', 'None'), true);
    assert.equal(trains('training_args = TrainingArguments("out")', 'training_args'), true);
    assert.equal(trains('from settings import training_args', 'training_args'), true);
    assert.equal(trains('from settings import *', 'training_args'), true);
    assert.equal(trains('several = load()\nfor training_args in several:\n    pass', 'training_args'), true);
    assert.equal(
      trains('several = load()\ndef make(training_args):\n    return training_args', 'make(several)'),
      true,
    );
  });
});

describe('trainings that label pixels', () => {
  before(loadPython);

  const segmentation = (before: string, given: string) =>
    reading(
      `from transformers import AutoModelForSemanticSegmentation, Trainer, TrainingArguments
from huggingface_hub import hf_hub_download
${before}
model = AutoModelForSemanticSegmentation.from_pretrained("x"${given})
Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()`,
      { model_type: 'segformer' },
    );
  const labels = (before: string, given: string) => value(segmentation(before, given), 'model.labels');

  it('have as many labels as the model is given', () => {
    assert.equal(labels('', ', num_labels=7'), 7);
    assert.equal(labels('names = {0: "road", 1: "sky"}', ', id2label=names'), 2);
    // The checkpoint's own.
    assert.equal(labels('', ''), undefined);
    assert.deepEqual(refused(segmentation('', '')), []);
    assert.equal(value(segmentation('', ''), 'method.objective'), 'segmentation');
  });

  it('have those of a label file that is known, and else ask for them', () => {
    const file = (name: string) =>
      `names = json.load(open(hf_hub_download("huggingface/label-files", "${name}", repo_type="dataset")))`;
    const given = ', id2label={int(k): v for k, v in names.items()}';
    assert.equal(labels(file('ade20k-id2label.json'), given), 150);
    assert.equal(labels(file('mine.json'), given), undefined);
    assert.deepEqual(
      segmentation(file('mine.json'), given).unread?.map(({ fields }) => fields),
      [['model.labels']],
    );
  });
});

describe('trainings that classify', () => {
  before(loadPython);

  const labels = (name: string, type: string, before: string, given: string) =>
    value(
      reading(
        `from transformers import ${name}, AutoConfig, Trainer, TrainingArguments
${before}
model = ${name}.from_pretrained("x"${given})
Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()`,
        { model_type: type },
      ),
      'model.labels',
    );
  const HEADS = [
    ['AutoModelForSequenceClassification', 'bert'],
    ['AutoModelForTokenClassification', 'bert'],
    ['ViTForImageClassification', 'vit'],
    ['AutoModelForImageClassification', 'swin'],
    ['AutoModelForAudioClassification', 'wav2vec2'],
    ['AutoModelForVideoClassification', 'videomae'],
    ['AutoModelForObjectDetection', 'detr'],
  ] as const;

  for (const [name, type] of HEADS)
    it(`${name} has as many labels as it is given`, () => {
      assert.equal(labels(name, type, '', ', num_labels=5'), 5);
      assert.equal(labels(name, type, '', ', num_labels=1'), 1);
      assert.equal(labels(name, type, 'names = ["a", "b", "c"]', ', num_labels=len(names)'), 3);
      assert.equal(labels(name, type, 'names = {0: "a", 1: "b", 2: "c"}', ', id2label=names'), 3);
      assert.equal(
        labels(name, type, 'config = AutoConfig.from_pretrained("x", num_labels=7)', ', config=config'),
        7,
      );
      // The checkpoint's own, and as many as transformers has where nobody knows.
      assert.equal(labels(name, type, '', ''), undefined);
      assert.equal(labels(name, type, 'names = read()', ', num_labels=len(names)'), 2);
    });

  it('of other heads none is read', () => {
    assert.equal(labels('AutoModelForQuestionAnswering', 'bert', '', ', num_labels=5'), undefined);
    assert.equal(labels('AutoModelForCausalLM', 'llama', '', ', num_labels=5'), undefined);
  });
});

describe('trainings that answer questions on documents', () => {
  before(loadPython);
  const objective = (model: string, type = 'layoutlmv2') =>
    value(reading(training(model), { model_type: type }), 'method.objective');

  it('look for where the answer begins and ends, and label tokens', () => {
    assert.equal(objective('AutoModelForDocumentQuestionAnswering'), 'question-answering');
    assert.equal(objective('LayoutLMv2ForQuestionAnswering'), 'question-answering');
    assert.equal(objective('LayoutLMv2ForTokenClassification'), 'token-classification');
    const donut = reading(training('AutoModelForDocumentQuestionAnswering'), {
      model_type: 'vision-encoder-decoder',
    });
    assert.deepEqual(refused(donut), ['AutoModelForDocumentQuestionAnswering.from_pretrained']);
  });
});

describe('a second of sound', () => {
  before(loadPython);
  const length = (name: string, more = '') =>
    value(
      reading(
        `from transformers import AutoFeatureExtractor
extractor = AutoFeatureExtractor.from_pretrained("${name}"${more})
def prepare(rows):
    return extractor(rows["sound"], max_length=int(extractor.sampling_rate * 1.5), truncation=True)
data = data.map(prepare)
${training('AutoModelForAudioClassification')}`,
        { model_type: 'wav2vec2' },
      ),
      'batch.sequence',
    );

  it('has as many values as its extractor takes', () => {
    assert.equal(length('facebook/wav2vec2-base'), 24_000);
    assert.equal(length('somebody/own'), undefined);
    assert.equal(length('facebook/wav2vec2-base', ', sampling_rate=8000'), undefined);
  });
});

describe('images that a processor cuts into tiles', () => {
  before(loadPython);
  const tiles = (processor: string) =>
    value(
      reading(
        `from transformers import AutoProcessor\n${processor}\n${training('Idefics3ForConditionalGeneration')}`,
        { model_type: 'idefics3', vision_config: { image_size: 384 } },
      ),
      'batch.imageTiles',
    );
  const made = (more: string) => tiles(`processor = AutoProcessor.from_pretrained("m"${more})`);

  it('are as many as it is asked for', () => {
    assert.equal(made(', do_image_splitting=False'), 1);
    assert.equal(made(', size={"longest_edge": 2 * 384}'), 5);
    assert.equal(made(', size={"longest_edge": 1000}, max_image_size={"longest_edge": 500}'), 5);
  });

  it('are left to it otherwise', () => {
    assert.equal(made(''), undefined);
    assert.equal(made(', do_image_splitting=split'), undefined);
    assert.equal(made(', size={"longest_edge": edge}'), undefined);
  });
});

describe('trainings that find objects', () => {
  before(loadPython);

  it('see images of the size that they are resized to before the processor scales them', () => {
    const pixels = (resize: string) =>
      value(
        reading(training('AutoModelForObjectDetection', `import albumentations\n${resize}`), {
          model_type: 'detr',
        }),
        'batch.imagePixels',
      );
    assert.equal(pixels(''), undefined);
    assert.equal(pixels('t = albumentations.Compose([albumentations.Resize(480, 480)])'), 800 * 800);
    assert.equal(pixels('t = albumentations.Resize(height=400, width=4000)'), 1333 * 133);
    // All of one size, no image is filled up.
    const mask = (resizes: string) =>
      value(
        reading(training('AutoModelForObjectDetection', `import albumentations as A\n${resizes}`), {
          model_type: 'detr',
        }),
        'attention.mask',
      );
    assert.equal(mask('t = A.Resize(480, 480)'), false);
    assert.equal(mask('t = A.Resize(480, 480)\nu = A.Resize(400, 600)'), true);
    assert.deepEqual(refused(reading(training('AutoModelForObjectDetection'), { model_type: 'yolos' })), [
      'AutoModelForObjectDetection.from_pretrained',
    ]);
  });
});

describe('trainings that classify images and videos', () => {
  before(loadPython);

  const classifying = (type: string, before: string) =>
    reading(training('AutoModelForImageClassification', before), { model_type: type });
  const pixels = (type: string, before: string) => value(classifying(type, before), 'batch.imagePixels');

  it('are of types whose heads are read', () => {
    for (const type of ['vit', 'swin', 'convnext']) assert.deepEqual(refused(classifying(type, '')), []);
    assert.deepEqual(refused(classifying('resnet', '')), ['AutoModelForImageClassification.from_pretrained']);
    const video = reading(training('VideoMAEForVideoClassification'), { model_type: 'videomae' });
    assert.deepEqual(refused(video), []);
    assert.equal(value(video, 'method.objective'), 'classification');
  });

  it('see images of the size that they are cut to, where the model takes any', () => {
    const crop = `from torchvision.transforms import CenterCrop, RandomResizedCrop, Resize
both = [Resize(512), CenterCrop(384), RandomResizedCrop((384, 256))]`;
    assert.equal(pixels('swin', crop), 384 * 384);
    assert.equal(
      pixels('convnext', 'import albumentations as A\nsmall = A.Resize(height=320, width=160)'),
      320 * 160,
    );
    const kornia = 'import kornia as K\ncrop = K.augmentation.CenterCrop(size=224)';
    assert.equal(pixels('swin', kornia), 224 * 224);
    // ViT takes the size that its table of positions is for, and the processor's own is that of the model.
    assert.equal(pixels('vit', crop), undefined);
    const own = `from torchvision.transforms import CenterCrop
processor = AutoImageProcessor.from_pretrained("x")
crop = CenterCrop(processor.size["height"])`;
    assert.equal(pixels('swin', own), undefined);
  });
});

describe('trainings that hear or speak', () => {
  before(loadPython);

  it('have objectives of their own', () => {
    const objective = (load: string) =>
      stated(
        reading(
          `import transformers\nfrom transformers import Trainer, TrainingArguments\nmodel = transformers.${load}\nTrainer(model=model, args=TrainingArguments("o")).train()\n`,
        ),
        'method.objective',
      );
    for (const load of [
      'AutoModelForCTC.from_pretrained("facebook/wav2vec2-base")',
      'Wav2Vec2ForCTC.from_pretrained("facebook/wav2vec2-base")',
    ])
      assert.equal(objective(load), 'ctc inferred');
    assert.equal(
      objective('SpeechT5ForTextToSpeech.from_pretrained("microsoft/speecht5_tts")'),
      'text-to-speech inferred',
    );
  });
});
