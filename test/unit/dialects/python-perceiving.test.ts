import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { Reading } from '../../../server/src/dialects/dialect';
import { pythonRun } from '../../../server/src/dialects/python/python-run';

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
