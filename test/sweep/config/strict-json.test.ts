import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { readJson, readRelaxedJson } from '../../../server/src/config/json';
import { Lines } from '../../../server/src/config/lines';
import { strictJson } from '../../../server/src/config/strict-json';

const DEEPEST = 200;
/** What is read gives what the reader that forgives gives; whether it was read in one pass. */
const agrees = (text: string): boolean => {
  const lines = new Lines(text);
  assert.deepEqual(readJson(lines, 'a.json'), readRelaxedJson(lines, 'a.json'), text);
  return strictJson(text, DEEPEST) !== undefined;
};

describe('JSON read in one pass', () => {
  it('is read as by the reader that forgives, whatever it holds', () => {
    let plain = 0;
    const layout = fc.constantFrom(undefined, 1, '\t', '  ');
    const breaks = fc.constantFrom('\n', '\r\n', '\r', '\n \n');
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), layout, breaks, (value, space, end) => {
        const text = `${JSON.stringify(value, null, space).replaceAll('\n', end)}${end}`;
        plain += Number(agrees(text));
      }),
      { numRuns: 400, seed: 10 },
    );
    assert.ok(plain > 200, `only ${plain} in one pass`);
  });

  it('leaves to it what is broken or relaxed in any place', () => {
    const valid = '{"a": [1, -2.5e-3, "x y", true], "b": {"c": null, "d": []}}';
    for (let at = 0; at <= valid.length; at++) {
      for (const inserted of [
        '',
        ',',
        '"',
        '\\',
        '/',
        '#',
        ' // x\n',
        '{',
        ']',
        ':',
        '0',
        '-',
        'x',
        '\t',
        '\f',
      ]) {
        agrees(valid.slice(0, at) + inserted + valid.slice(at));
        agrees(valid.slice(0, at) + inserted + valid.slice(at + 1));
      }
    }
  });

  it('leaves to it what it alone reads', () => {
    const others = [
      '',
      ' ',
      '\ufeff{}',
      '{"a": 1, "a": 2}',
      '[01]',
      '[1.]',
      '[+1]',
      '["\\n"]',
      '["a\tb"]',
      '{} {}',
      '[,]',
    ];
    for (const text of [
      ...others,
      '{"a"}',
      '{"a":}',
      '[1 2]',
      'nul',
      'nulls',
      '"a',
      `${'['.repeat(201)}${']'.repeat(201)}`,
    ])
      assert.equal(agrees(text), false, text);
    assert.ok(agrees(`${'['.repeat(200)}${']'.repeat(200)}`));
    assert.ok(agrees('[1e999, -0, "\u2028", "é🙂", {"": {}, "constructor": null}]'));
  });

  it('is what most configs at hand are', () => {
    const files = ['examples', 'test/fixtures/configs'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.json'))
        .map((name) => path.join(folder, name)),
    );
    const plain = files.filter((file) => agrees(readFileSync(file, 'utf8')));
    assert.ok(plain.length > files.length / 2, `${plain.length} of ${files.length}`);
  });
});
