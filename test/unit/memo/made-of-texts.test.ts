import assert from 'node:assert/strict';
import { MadeOfTexts } from '../../../server/src/memo/made-of-texts';

describe('what is made of texts', () => {
  const made: string[] = [];
  const ask = (kept: MadeOfTexts<string>, key: string, text: string, holds?: (made: string) => boolean) =>
    kept.of(
      key,
      text,
      () => {
        made.push(text);
        return text.toUpperCase();
      },
      holds,
    );

  beforeEach(() => made.splice(0));

  it('is made once while the text stays, and what it was made with holds', () => {
    const kept = new MadeOfTexts<string>(100);
    assert.equal(ask(kept, 'a', 'one'), 'ONE');
    assert.equal(ask(kept, 'a', 'one'), 'ONE');
    assert.deepEqual(made, ['one']);
    assert.equal(ask(kept, 'a', 'two'), 'TWO');
    assert.equal(
      ask(kept, 'a', 'two', () => false),
      'TWO',
    );
    assert.deepEqual(made, ['one', 'two', 'two']);
    kept.delete('a');
    ask(kept, 'a', 'two');
    assert.equal(made.length, 4);
  });

  it('is kept of the latest, as far as their texts have so many characters together', () => {
    const kept = new MadeOfTexts<string>(6);
    for (const text of ['aaa', 'bbb', 'aaa', 'ccc', 'aaa']) ask(kept, text, text);
    assert.deepEqual(made, ['aaa', 'bbb', 'ccc']);
    ask(kept, 'bbb', 'bbb');
    assert.deepEqual(made, ['aaa', 'bbb', 'ccc', 'bbb']);
    // One alone may be larger.
    for (const _ of [1, 2]) ask(kept, 'long', 'longer than six');
    assert.equal(made.length, 5);
  });

  it('is kept of so many at most, however small they are', () => {
    const kept = new MadeOfTexts<string>(1_000_000);
    for (let i = 0; i <= 1024; i += 1) ask(kept, `k${i}`, String(i));
    ask(kept, 'k1024', '1024');
    ask(kept, 'k1', '1');
    assert.equal(made.length, 1025);
    ask(kept, 'k0', '0');
    assert.equal(made.length, 1026);
  });
});
