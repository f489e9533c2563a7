import assert from 'node:assert/strict';
import fc from 'fast-check';
import { interpolated } from '../../../server/src/config/interpolation';
import { nodeAt } from '../../../server/src/config/lookup';
import { parseConfig } from '../../../server/src/config/parse';
import { plainOf } from '../../../server/src/config/scalar';

const D = '$';

function filled(text: string): Record<string, unknown> {
  const root = interpolated(parseConfig('file:///w/a.yaml', text).root);
  assert.ok(root);
  return plainOf(root) as Record<string, unknown>;
}

describe('interpolation', () => {
  it('follows references from the root and from where they stand', () => {
    const text = `
batch: 4
model: {hidden: 512, inner: {same: "${D}{..hidden}", all: "${D}{batch}"}, seq: "${D}{.hidden}"}
copy: "${D}{model.inner}"
`;
    assert.deepEqual(filled(text), {
      batch: 4,
      model: { hidden: 512, inner: { same: 512, all: 4 }, seq: 512 },
      copy: { same: 512, all: 4 },
    });
  });

  it('calculates with what resolvers are given, and builds texts', () => {
    const text = `
n: 8
tokens: "${D}{mul:${D}{n}, 4096}"
half: "${D}{div:${D}{n},2}"
path: out/${D}{n}/x
home: "${D}{oc.env:HOME,/root}"
`;
    assert.deepEqual(filled(text), { n: 8, tokens: 32768, half: 4, path: 'out/8/x', home: '/root' });
  });

  it('leaves what the file does not settle', () => {
    const text = `a: "${D}{oc.env:USER}"\nb: "${D}{nowhere}"\nc: "x-${D}{d}"\ne: "${D}{e}"\n`;
    assert.deepEqual(filled(text), {
      a: `${D}{oc.env:USER}`,
      b: `${D}{nowhere}`,
      c: `x-${D}{d}`,
      e: `${D}{e}`,
    });
  });

  it('puts a reference where its value is written', () => {
    const root = interpolated(parseConfig('file:///w/a.yaml', `n: 16\nmicro: ${D}{n}\n`).root);
    assert.deepEqual(nodeAt(root, 'micro')?.range, {
      start: { line: 0, character: 3 },
      end: { line: 0, character: 5 },
    });
  });

  it('never throws and always ends', () => {
    const piece = fc.constantFrom(`${D}{`, '}', 'a', 'b', '.', ':', ',', 'mul:', '"', ' ', '1');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), fc.array(piece, { maxLength: 14 }), (x, y) => {
        const text = JSON.stringify({ a: x.join(''), b: { a: y.join(''), b: [x.join('')] } });
        interpolated(parseConfig('file:///w/a.json', text).root);
      }),
    );
  });
});
