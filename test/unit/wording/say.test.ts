import assert from 'node:assert/strict';
import { fill, say, speak } from '../../../server/src/wording/say';

describe('what `say` makes', () => {
  afterEach(() => speak('en', undefined));

  it('is English without a bundle, with its places filled', () => {
    assert.equal(say('needs {0} of {1}', '41.2 GiB', 1234567), 'needs 41.2 GiB of 1,234,567');
  });

  it('groups whole numbers by thousands', () => {
    const stated = [0, 999, 1000, -1234, 1e6].map((n) => say('{0}', n));
    assert.deepEqual(stated, ['0', '999', '1,000', '-1,234', '1,000,000']);
  });

  it('leaves a place without an argument as it stands', () => {
    assert.equal(say('{0} and {1}', 'a'), 'a and {1}');
  });

  it('does not fill places that an argument brings along', () => {
    assert.equal(say('{0} {1}', '{1}', 'b'), '{1} b');
  });

  it('takes the word that goes with the number', () => {
    const english = (n: number) => fill('{0} {0|layer|layers}', [n], 'en');
    assert.deepEqual([1, 2, 5].map(english), ['1 layer', '2 layers', '5 layers']);
    const russian = (n: number) => fill('{0} {0|слой|слоя|слоёв}', [n], 'ru');
    assert.deepEqual([0, 1, 2, 5, 11, 21, 22, 25, 111].map(russian), [
      '0 слоёв',
      '1 слой',
      '2 слоя',
      '5 слоёв',
      '11 слоёв',
      '21 слой',
      '22 слоя',
      '25 слоёв',
      '111 слоёв',
    ]);
    assert.equal(fill('{0|слой|слоя|слоёв}', [1.5], 'ru'), 'слоя');
  });

  it('is translated where the bundle knows the text, and English where it does not', () => {
    speak('ru', { 'needs {0}': 'нужно: {0}' });
    assert.equal(say('needs {0}', 'GPU'), 'нужно: GPU');
    assert.equal(say('{0} {0|layer|layers}', 1), '1 layer');
  });
});
