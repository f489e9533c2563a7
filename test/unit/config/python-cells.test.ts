import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseConfig } from '../../../server/src/config/parse';
import { cellsOf, gpuOfJoined, joinCells } from '../../../server/src/config/python/cells';
import { loadPython } from '../../../server/src/config/python/grammar';
import { withoutMagics } from '../../../server/src/config/python/magics';

const cell = fc.oneof(
  fc.string(),
  fc.constantFrom(
    '',
    'x = 1',
    '%%bash\nrm -rf x',
    '# %% part\ny = 2',
    '!pip install trl==0.22.2',
    'f(\n1)\r\n',
  ),
);

describe('cells as one text', () => {
  before(loadPython);

  it('keep each line of a cell where it stands in the notebook', () => {
    fc.assert(
      fc.property(fc.array(cell), (cells) => {
        const { text, firstLines } = joinCells(cells);
        const lines = text.split(/\r\n?|\n/);
        cells.forEach((one, index) => {
          const own = one.split(/\r\n?|\n/);
          const first = firstLines[index] ?? -1;
          assert.deepEqual(lines.slice(first, first + own.length), own);
        });
      }),
    );
  });

  it('are read at the offsets of the text, whatever is blanked', () => {
    fc.assert(
      fc.property(fc.array(cell), (cells) => {
        const { text } = joinCells(cells);
        assert.equal(cellsOf(text).join(''), text);
        assert.equal(withoutMagics(text).length, text.length);
      }),
    );
  });

  it('of a shell end with their cell: the next is Python again, in scripts too', () => {
    const script = '# %%\n%%bash\nmodel = broken(\n# %% train\nfrom lib import f\nf(x=1)\n';
    const { program, problems } = parseConfig('file:///train.py', script);
    assert.deepEqual(problems, []);
    assert.equal(program?.calls.find(({ callee }) => callee === 'lib.f')?.range.start.line, 5);
  });

  it('tell the GPU that their notebook asks for, and no other text does', () => {
    assert.equal(gpuOfJoined(joinCells(['x = 1'], 'T4').text), 'T4');
    assert.equal(gpuOfJoined(joinCells(['x = 1']).text), undefined);
    assert.equal(gpuOfJoined('# %% notebook {"gpu": broken\n'), undefined);
    assert.deepEqual(parseConfig('file:///a.ipynb', joinCells(['x = 1'], 'L4').text).asksFor?.name, 'L4');
    const { text } = joinCells(['x = 1'], { asked: 'T4', ran: 'NVIDIA L4' });
    const { asksFor, ranElsewhere } = parseConfig('file:///a.ipynb', text);
    assert.deepEqual([asksFor, ranElsewhere?.asked, ranElsewhere?.ran], [undefined, 'T4', 'NVIDIA L4']);
  });
});
