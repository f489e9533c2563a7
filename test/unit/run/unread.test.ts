import assert from 'node:assert/strict';
import { type Unread, unreadSentence } from '../../../server/src/run/unread';

const location = {
  uri: 'file:///a.sh',
  range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } },
};
const unread = (kind: Unread['kind'], text: string): Unread => ({
  kind,
  text,
  location,
  message: `About ${text}.`,
});

describe('what was not understood, in one sentence', () => {
  it('names the first few, each once', () => {
    const flags = ['--a', '--b', '--a', '--c', '--d'].map((text) => unread('flag', text));
    assert.equal(unreadSentence(flags), 'Not understood: `--a`, `--b`, `--c` and 1 more.');
    assert.equal(unreadSentence([]), '');
  });

  it('is not what is understood, and not estimated', () => {
    assert.equal(unreadSentence([unread('refused', '--cpu'), unread('refused', '--cpu')]), 'About --cpu.');
    assert.equal(
      unreadSentence([unread('flag', '--a'), unread('refused', '--cpu')]),
      'About --cpu. Not understood: `--a`.',
    );
  });
});
