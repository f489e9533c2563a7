import assert from 'node:assert/strict';
import { parseField } from '../../../server/src/run/parse-field';
import { speakLanguage } from '../../../server/src/wording/language';
import { plainNumber } from '../../../server/src/wording/typed-number';

describe('a number that a person types', () => {
  afterEach(() => speakLanguage(undefined));
  const all = (whole: boolean, cases: Readonly<Record<string, string>>) => {
    for (const [typed, plain] of Object.entries(cases)) assert.equal(plainNumber(typed, whole), plain, typed);
  };

  it('has groups of three digits in any of the usual marks', () =>
    all(true, {
      '4,096': '4096',
      '4 096': '4096',
      '4\u00a0096': '4096',
      '4\u202f096': '4096',
      '4.096': '4096',
      "4'096": '4096',
      '4’096': '4096',
      '131,072': '131072',
      '1,048,576': '1048576',
      '1.048.576': '1048576',
      '1 048 576': '1048576',
      '-1,000': '-1000',
    }));

  it('stays as it is where it is no such number, and is refused as before', () => {
    const others = ['4096', '4_096', '32k', '4Ki', '5e8', '1,04,576', '4,0966', '1,5', 'auto', ''];
    all(true, Object.fromEntries(others.map((text) => [text, text])));
    for (const text of ['1,5', '1,04,576', '4,0966', '0,096'])
      assert.ok('error' in parseField('batch.sequence', plainNumber(text, true)), text);
  });

  it('has a decimal comma where a fraction is meant', () =>
    all(false, {
      '0,9': '0.9',
      '0,125': '0.125',
      '0.125': '0.125',
      ',5': '.5',
      '1,5': '1.5',
      '1e-5': '1e-5',
    }));

  it('may be followed by a unit', () => {
    all(true, {
      '1,5 GiB': '1.5 GiB',
      '1.5GiB': '1.5GiB',
      '1,234.5 GiB': '1234.5 GiB',
      '1.234,5 GiB': '1234.5 GiB',
    });
    assert.deepEqual(parseField('hardware.gpuMemory', plainNumber('1,5 GiB', true)), {
      value: 1.5 * 2 ** 30,
    });
  });

  it('is read by the language where a comma may be either', async () => {
    all(true, { '1,500 GiB': '1500 GiB', '1.500 GiB': '1.500 GiB' });
    all(false, { '1,500': '1500', '1.500': '1.500' });
    await speakLanguage('ru');
    all(true, { '1,500 GiB': '1.500 GiB', '4,096': '4096' });
    all(false, { '1,500': '1.500' });
  });
});
