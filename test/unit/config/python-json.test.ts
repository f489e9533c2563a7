import assert from 'node:assert/strict';
import { readPythonJson } from '../../../server/src/config/python-json';

describe('JSON as Python reads it', () => {
  it('has the infinities and NaN', () => {
    assert.deepEqual(readPythonJson('{"a": [0.0, Infinity, -Infinity, NaN], "b": -1e3}'), {
      a: [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN],
      b: -1000,
    });
    assert.equal(readPythonJson('NaN'), Number.NaN);
  });

  it('leaves what stands in strings', () => {
    const text = String.raw`{"Infinity": "-Infinity \" NaN", "NaN\\": "x"}`;
    assert.deepEqual(readPythonJson(text), JSON.parse(text));
  });

  it('accepts nothing else', () => {
    for (const text of [
      '{',
      '{"a": infinity}',
      '{"a": Infinity1}',
      '{"a": +Infinity}',
      '{"a": nan}',
      "{'a': NaN}",
      '[NaN,]',
    ]) {
      assert.throws(() => readPythonJson(text), SyntaxError, text);
    }
  });

  it('reads a large text in one pass', () => {
    const text = JSON.stringify({ a: '\\"Infinity'.repeat(200_000) });
    assert.deepEqual(readPythonJson(text), JSON.parse(text));
  });
});
