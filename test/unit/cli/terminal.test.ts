import assert from 'node:assert/strict';
import { paintFor, shown } from '../../../server/src/cli/output';

describe('what a terminal is given', () => {
  it('shows control characters of a file instead of obeying them', () => {
    assert.equal(shown('\u001b]52;c;cm0gLXJmIH4=\u0007'), '\\x1b]52;c;cm0gLXJmIH4=\\x07');
    assert.equal(shown('n\u001b[31m.json\u009b2J\u007f\r'), 'n\\x1b[31m.json\\x9b2J\\x7f\\x0d');
    assert.equal(shown('a\tb\nż中🙂'), 'a\tb\nż中🙂');
  });

  it('keeps its own colours', () => {
    const paint = paintFor(true, {});
    assert.equal(shown(paint('red', 'a\u001b[32mb')), '\u001b[31ma\\x1b[32mb\u001b[39m');
    assert.equal(shown(paintFor(true, { NO_COLOR: '1' })('red', 'a')), 'a');
  });
});
