import assert from 'node:assert/strict';
import { isFilledLater } from '../../../server/src/config/filled-later';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { readDocument } from '../../../server/src/dialects/templated-values';

const FILLED = [
  '${LENGTH}',
  '${oc.env:LENGTH}',
  '$LENGTH',
  '$(nproc)',
  '`nproc`',
  '{{ length }}',
  '{% if a %}8{% endif %}',
  'a/$1/b',
  '__LENGTH__',
  'a/__MODEL_2__',
  '@LENGTH@',
];
const VALUES = [
  '8',
  'auto',
  '^lm_head.weight$',
  'costs 5 $',
  '{"a": 1}',
  '100%',
  'a `word`',
  '__init__',
  'a@b',
];

/** Whether a value of Axolotl's `sequence_len` is reported as left open by the file. */
function isReported(text: string): boolean {
  const document = parseConfig(
    'file:///a.yaml',
    `base_model: gpt2\ndatasets: []\nmicro_batch_size: 1\nsequence_len: '${text}'\n`,
  );
  const dialect = detectDialect(document);
  assert.equal(dialect?.id, 'axolotl');
  const { unread = [] } = readDocument(dialect, document, { known: {} });
  return unread.some(({ message }) => message.endsWith('which the file leaves open.'));
}

describe('what is filled in when the tool runs', () => {
  it('is known by its signs', () => {
    assert.deepEqual(
      FILLED.filter((text) => !isFilledLater(text)),
      [],
    );
    assert.deepEqual(VALUES.filter(isFilledLater), []);
  });

  it('takes nothing away where it only may be: a file leaves open what is a template for sure', () => {
    const open = [...FILLED, ...VALUES].filter(isReported);
    assert.deepEqual(open, [
      '${LENGTH}',
      '${oc.env:LENGTH}',
      '$LENGTH',
      '{{ length }}',
      '{% if a %}8{% endif %}',
    ]);
    assert.ok(open.every(isFilledLater));
    // A person replaces it: no program does.
    assert.ok(isReported('<LENGTH>') && !isFilledLater('<LENGTH>'));
  });
});
