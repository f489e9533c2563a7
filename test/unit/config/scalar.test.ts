import assert from 'node:assert/strict';
import { entryAt, nodeAt, spotAt } from '../../../server/src/config/lookup';
import { parseConfig } from '../../../server/src/config/parse';
import {
  flagOf,
  integerOf,
  isAuto,
  isBlank,
  numberOf,
  textOf,
  textsOf,
} from '../../../server/src/config/scalar';

const text = `a: "5e8"
b: 8
c: "no"
d: no
e: auto
f:
g: [q, v]
h: q, v
i: 1e-5
j: True
k: 0
l: 2.5
m: .inf
n.o: 1
`;
const { root } = parseConfig('a.yaml', text);
const at = (key: string) => nodeAt(root, [key]);

describe('scalars', () => {
  it('reads numbers from text', () => {
    assert.equal(numberOf(at('a')), 5e8);
    assert.equal(integerOf(at('a')), 5e8);
    assert.equal(integerOf(at('b')), 8);
    assert.equal(numberOf(at('i')), 1e-5);
    assert.equal(integerOf(at('l')), undefined);
    assert.equal(numberOf(at('c')), undefined);
    assert.equal(numberOf(at('m')), undefined);
    assert.equal(numberOf(at('f')), undefined);
  });
  it('reads flags from words and digits', () => {
    assert.equal(flagOf(at('c')), false);
    assert.equal(flagOf(at('d')), false);
    assert.equal(flagOf(at('j')), true);
    assert.equal(flagOf(at('k')), false);
    assert.equal(flagOf(at('e')), undefined);
    assert.equal(flagOf(at('f')), undefined);
  });
  it('knows auto and blank, and reads words as written', () => {
    assert.equal(isAuto(at('e')), true);
    assert.equal(isBlank(at('f')), true);
    assert.equal(isBlank(at('zzz')), true);
    assert.equal(textOf(at('d')), 'no');
    assert.deepEqual(textsOf(at('g')), ['q', 'v']);
    assert.deepEqual(textsOf(at('h')), ['q', 'v']);
  });
});

describe('lookup', () => {
  it('finds keys that hold dots', () => {
    assert.equal(integerOf(nodeAt(root, ['n.o'])), 1);
    assert.equal(entryAt(root, ['a', 'x']), undefined);
  });
  it('reports what lies at a position', () => {
    const document = parseConfig('a.json', '{"a": {"b": [1, {"c": 2}]}}');
    const spot = (character: number) => spotAt(document.root, { line: 0, character });
    assert.deepEqual(spot(2)?.path, ['a']);
    assert.equal(spot(2)?.onKey, true);
    assert.deepEqual(spot(13)?.path, ['a', 'b', '[0]']);
    assert.deepEqual(spot(22)?.path, ['a', 'b', '[1]', 'c']);
    assert.deepEqual(spot(0)?.path, []);
    assert.equal(spotAt(null, { line: 0, character: 0 }), undefined);
  });
});
