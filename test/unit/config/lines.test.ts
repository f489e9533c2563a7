import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Lines } from '../../../server/src/config/lines';

const text = fc
  .array(fc.constantFrom('a', 'bc', ' ', '\n', '\r\n', '\r', '\n\n', 'é', '😀'), { maxLength: 40 })
  .map((parts) => parts.join(''));

/** Every break ends a line, a CRLF is one. */
function positionIn(content: string, offset: number) {
  const before = content.slice(0, offset).split(/\r\n|\n|\r(?!\n)/);
  return { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
}

describe('lines of a text', () => {
  it('are found from any place to any other', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(80), { maxLength: 20 }), (content, offsets) => {
        const lines = new Lines(content);
        for (const asked of offsets) {
          const offset = Math.min(asked, content.length);
          const position = lines.position(asked);
          // Between the two characters of a break the line has not ended yet.
          const inBreak = content[offset - 1] === '\r' && content[offset] === '\n';
          if (!inBreak) assert.deepEqual(position, positionIn(content, offset));
          assert.equal(lines.offset(position), offset);
        }
        assert.equal(lines.count, content.split(/\r\n|\n|\r/).length);
      }),
    );
  });
});
