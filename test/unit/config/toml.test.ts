import assert from 'node:assert/strict';
import fc from 'fast-check';
import { nodeAt } from '../../../server/src/config/lookup';
import { parseConfig } from '../../../server/src/config/parse';
import { plainOf } from '../../../server/src/config/scalar';

const URI = 'file:///w/run.toml';

function plain(text: string): unknown {
  const { root } = parseConfig(URI, text);
  return root && plainOf(root);
}

describe('TOML', () => {
  it('joins tables, dotted keys and inline tables', () => {
    const text =
      '[training]\nseq_len = 8_192\nopt.fused = true\n[model]\nflavor = "8B"\nextra = { a = 1, b.c = [1, 2.5] }\n';
    assert.deepEqual(plain(text), {
      training: { seq_len: 8192, opt: { fused: true } },
      model: { flavor: '8B', extra: { a: 1, b: { c: [1, 2.5] } } },
    });
  });

  it('reads arrays of tables, and tables below their last', () => {
    assert.deepEqual(plain('[[stage]]\nn = 1\n[[stage]]\nn = 2\n[stage.more]\nx = "y"\n'), {
      stage: [{ n: 1 }, { n: 2, more: { x: 'y' } }],
    });
  });

  it('keeps the place of keys and values', () => {
    const { root } = parseConfig(URI, '# head\n[training]\nlocal_batch_size = 4 # per GPU\n');
    const node = nodeAt(root, 'training.local_batch_size');
    assert.deepEqual(node?.range, { start: { line: 2, character: 19 }, end: { line: 2, character: 20 } });
  });

  it('reads the rest while one line is broken, and reports where', () => {
    const document = parseConfig(
      URI,
      '[training]\nseq_len = \nlocal_batch_size = 2\n[model]\nname = "llama3"\n',
    );
    assert.deepEqual(document.root && plainOf(document.root), {
      training: { local_batch_size: 2 },
      model: { name: 'llama3' },
    });
    assert.deepEqual(
      document.problems.map(({ code, range }) => [code, range.start.line]),
      [['syntax', 1]],
    );
  });

  it('never throws, whatever the text', () => {
    const piece = fc.constantFrom(
      '[a]',
      '[[a]]',
      'x = 1',
      'x.y = "s',
      '"""',
      '=',
      '{',
      '}',
      '\n',
      '# c',
      '[',
      'é',
      "'",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        parseConfig(URI, pieces.join(' '));
        parseConfig(URI, pieces.join('\n'));
      }),
    );
  });
});
