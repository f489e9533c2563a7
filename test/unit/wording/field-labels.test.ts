import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { FIELD_LABELS, fieldLabel } from '../../../server/src/run/field-labels';
import { FIELD_PATHS } from '../../../server/src/run/fields';
import { speak } from '../../../server/src/wording/say';

const RUSSIAN: Readonly<Record<string, string>> = JSON.parse(
  readFileSync('l10n/bundle.l10n.ru.json', 'utf8'),
);

/** Names that both languages write alike. */
const NAMES = ['DoRA', 'GPU', 'XLA', 'prepare_model_for_kbit_training', 'torch.compile', 'z-loss'];

describe('labels of run fields', () => {
  afterEach(() => speak('en', undefined));

  it('say every field in words, in English and in Russian', () => {
    assert.deepEqual(Object.keys(FIELD_LABELS).sort(), [...FIELD_PATHS].sort());
    for (const field of FIELD_PATHS) {
      speak('en', undefined);
      const english = fieldLabel(field);
      if (field !== 'framework') assert.notEqual(english, field);
      speak('ru', RUSSIAN);
      const russian = fieldLabel(field);
      if (NAMES.includes(english)) assert.equal(russian, english);
      else assert.match(russian, /[а-яё]/, `${field}: ${russian}`);
    }
  });

  it('tell fields apart, but for the three ways to name a model', () => {
    for (const bundle of [undefined, RUSSIAN]) {
      speak(bundle ? 'ru' : 'en', bundle);
      const fields = FIELD_PATHS.filter((field) => !/^model\.(?:path|config)$/.test(field));
      const labels = fields.map(fieldLabel);
      assert.deepEqual(
        labels.filter((label, i) => labels.indexOf(label) !== i),
        [],
      );
    }
  });

  it('leave what is no field as it is', () => {
    assert.equal(fieldLabel('toString'), 'toString');
    assert.equal(fieldLabel('batch.micro'), 'micro batch size');
  });
});
