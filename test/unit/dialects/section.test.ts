import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { textOf } from '../../../server/src/config/scalar';
import { Draft } from '../../../server/src/dialects/draft';
import { block } from '../../../server/src/dialects/key-rows';
import { KeyTable } from '../../../server/src/dialects/key-table';
import { wordOf } from '../../../server/src/dialects/key-value';
import { Section } from '../../../server/src/dialects/section';
import type { FieldPath } from '../../../server/src/run/fields';

const ARGUMENTS = 'https://example.com/args.py';
const TABLE = new KeyTable(
  [
    ...block('', 'https://example.com/keys.md', [
      ['micro', 'integer', 'Samples.', { default: 1, sets: 'batch.micro', assumes: ARGUMENTS }],
      ['per_device', 'integer', 'The same.', { sets: 'batch.micro', deprecated: 'micro' }],
      ['batch', 'integer', 'Samples, too.', { sets: 'batch.micro' }],
      [
        'quantize',
        'string',
        'Quantization.',
        {
          sets: 'quantization.kind',
          spellings: { nf4: ['bnb.nf4', 'bnb.nf4-dq'], fp4: 'bnb.fp4' },
          fields: ['quantization.double'],
        },
      ],
      [
        'kernel',
        'string',
        'Attention.',
        {
          sets: 'attention.implementation',
          means: (node) => (textOf(node)?.startsWith('flash') ? 'flash2' : undefined),
          spellings: { flash2: 'flash_attention_2' },
        },
      ],
      ['liger', 'boolean', 'Kernels.', { default: null, sets: 'kernels.liger', assumes: true }],
      ['length', 'integer', 'Tokens.', { default: null, sets: 'batch.sequence', assumes: true }],
      [
        'steps',
        'integer',
        'Steps.',
        {
          default: 10,
          defaults: { of: 'version.trl', before: 5, since: '1.0', after: 10 },
          sets: 'batch.accumulation',
          assumes: ARGUMENTS,
        },
      ],
    ]),
    ...block('train', ARGUMENTS, [['ranks', 'integer', 'Rank.', { sets: 'lora.rank' }]]),
  ],
  'Example',
);

/** What a reading of a text states or assumes, by field, and its draft. */
function reading(text: string, read: (section: Section) => void) {
  const document = parseConfig('file:///a.yaml', text);
  const draft = new Draft(document);
  read(new Section(document.root, draft, '', TABLE));
  const found = (field: FieldPath) => {
    const fact = draft.facts.find((one) => one.field === field);
    return fact && [fact.value, fact.origin.kind, fact.origin.key, fact.origin.note, fact.origin.source];
  };
  return { found, draft };
}
const row = (path: string) => {
  const found = TABLE.find(path);
  assert.ok(found, path);
  return found;
};

describe('a row of a key table', () => {
  it('states the field that it sets, by the type of that field', () => {
    const { found } = reading("micro: '4'\nliger: 'yes'\n", (section) => section.take('micro', 'liger'));
    assert.deepEqual(found('batch.micro')?.slice(0, 3), [4, 'file', 'micro']);
    assert.deepEqual(found('kernels.liger')?.slice(0, 3), [true, 'file', 'liger']);
  });

  it('reads each spelling of a value, and writes the first', () => {
    for (const word of ['bnb.nf4', 'BNB.NF4-DQ'])
      assert.equal(
        reading(`quantize: ${word}\n`, (section) => section.take('quantize')).found('quantization.kind')?.[0],
        'nf4',
      );
    assert.deepEqual(
      [wordOf(row('quantize'), 'nf4'), wordOf(row('quantize'), 'int8')],
      ['bnb.nf4', undefined],
    );
  });

  it('reads by its meaning where it has both, and writes by its spellings', () => {
    const { found } = reading('kernel: flash_hub\n', (section) => section.take('kernel'));
    assert.equal(found('attention.implementation')?.[0], 'flash2');
    assert.equal(wordOf(row('kernel'), 'flash2'), 'flash_attention_2');
    const other = reading('kernel: sdpa_like\n', (section) => section.take('kernel'));
    assert.equal(other.found('attention.implementation'), undefined);
    assert.equal(other.draft.unread.length, 1);
  });

  it('assumes its default where the key is left out, with the name of the family and the source', () => {
    const { found } = reading('a: 1\n', (section) => section.take('micro'));
    assert.deepEqual(found('batch.micro'), [1, 'default', 'micro', 'Example default', ARGUMENTS]);
    const { found: known } = reading('a: 1\n', (section) =>
      section.withDefaultsOf('https://example.com/other.py').take('liger', 'length'),
    );
    // A null of a flag is false, any other assumes nothing.
    assert.deepEqual(known('kernels.liger'), [
      false,
      'default',
      'liger',
      'Example default',
      'https://example.com/other.py',
    ]);
    assert.equal(known('batch.sequence'), undefined);
    assert.equal(reading('a: 1\n', (section) => section.take('quantize')).draft.facts.length, 0);
  });

  it('has the default of the release in use', () => {
    const steps = (version: string) =>
      reading('a: 1\n', (section) => section.withVersions({ 'version.trl': version }).take('steps')).found(
        'batch.accumulation',
      );
    assert.deepEqual([steps('0.9')?.[0], steps('1.0')?.[0]], [5, 10]);
    assert.match(String(steps('0.9')?.[3]), /before 1\.0/);
  });

  it('shapes first what it sets', () => {
    assert.deepEqual(row('quantize').fields, ['quantization.kind', 'quantization.double']);
  });
});

describe('a section', () => {
  it('reads an old key where the new one states nothing', () => {
    const micro = (text: string) =>
      reading(text, (section) => section.take('micro')).found('batch.micro')?.[0];
    assert.deepEqual([micro('per_device: 3\n'), micro('per_device: 3\nmicro: 2\n')], [3, 2]);
  });

  it('counts the first of several statements about a field, in the order in which they are taken', () => {
    const text = 'micro: 2\nbatch: 5\n';
    const micro = (...keys: string[]) =>
      reading(text, (section) => section.take(...keys)).found('batch.micro')?.[0];
    assert.deepEqual([micro('micro', 'batch'), micro('batch', 'micro')], [2, 5]);
  });

  it('takes the first of two keys that stands in the file, whatever it holds', () => {
    const first = (text: string) =>
      reading(text, (section) => section.takeFirst('micro', 'batch')).found('batch.micro')?.[0];
    assert.deepEqual([first('batch: 5\n'), first('micro: 2\nbatch: 5\n'), first('a: 1\n')], [5, 2, 1]);
  });

  it('takes another default than that of the row where it is given one', () => {
    const { found } = reading('a: 1\n', (section) =>
      section.takeElse('length', { value: 512, note: 'as the data are', source: ARGUMENTS }),
    );
    assert.deepEqual(found('batch.sequence'), [512, 'default', 'length', 'as the data are', ARGUMENTS]);
  });

  it('is a block of the file, with the rows below it', () => {
    const { found } = reading('train:\n  ranks: 8\n', (section) => section.section('train').take('ranks'));
    assert.deepEqual(found('lora.rank')?.slice(0, 3), [8, 'file', 'train.ranks']);
  });
});
