import assert from 'node:assert/strict';
import fc from 'fast-check';
import { loadPython, parsePython, parseWhole } from '../../../server/src/config/python/grammar';

const PIECES = [
  'import os\n',
  'def f(a, b=1):\n    return a\n',
  '@wraps(f)\n@other\ndef g():\n    pass\n\n',
  'class A(B):\n    """text\ndef inside: no\n"""\n    x = 1\n',
  'async def h():\n    await x\n',
  '# a comment\n',
  '# %%\n',
  '# %% [markdown]\n    # more\n',
  'x = """\n',
  'y = [\n',
  ']\n',
  'if x:\n    z = 2\n',
  'else:\n    z = 3\n',
  'def broken(\n',
  '    indented = 1\n',
  'classes = 3\n',
  'é = "ü𝄞"\r\n',
  '\\\n',
  'definition = 1\n',
];

describe('Python parsed part by part', () => {
  before(loadPython);

  it('has the tree of the whole text, through any edits', () => {
    const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        for (const one of texts) {
          const [parts, whole] = [parsePython(one), parseWhole(one)];
          // The module's own ends leave out blanks around it in one way and not in the other.
          assert.deepEqual(parts?.children, whole?.children, one);
        }
      }),
      { numRuns: 300 },
    );
  });
});
