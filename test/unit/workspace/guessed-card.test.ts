import assert from 'node:assert/strict';
import type { Unread } from '../../../server/src/run/unread';
import type { Problem } from '../../../server/src/text/problem';
import { doubted } from '../../../server/src/workspace/doubt';

const NOWHERE = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
const problem = (code: Problem['code'], severity: Problem['severity']): Problem => ({
  code,
  severity,
  message: 'Needs more.',
  range: NOWHERE,
});
const UNREAD: Unread = {
  kind: 'flag',
  text: 'dtype',
  message: '`dtype` is not known.',
  location: { uri: 'file:///a.ipynb', range: NOWHERE },
};

/** Of 398 published notebooks 70 were warned of on the GPU of their metadata, where they had run, or had not run at all. */
describe('a run on a GPU that nobody states', () => {
  it('is no finding where it nearly fills the card, or was not read whole', () => {
    assert.equal(doubted(problem('tight', 'warning'), [], true).severity, 'information');
    assert.equal(doubted(problem('does-not-fit', 'error'), [UNREAD], true).severity, 'information');
    assert.match(
      doubted(problem('does-not-fit', 'error'), [UNREAD], true).message,
      /Not understood: `dtype`/,
    );
  });

  it('is still judged where all of it was read and it cannot fit', () => {
    assert.equal(doubted(problem('does-not-fit', 'error'), [], true).severity, 'error');
  });

  it('is judged as ever on a GPU that somebody states', () => {
    assert.equal(doubted(problem('tight', 'warning'), [], false).severity, 'warning');
    assert.equal(doubted(problem('does-not-fit', 'error'), [UNREAD], false).severity, 'warning');
  });
});
