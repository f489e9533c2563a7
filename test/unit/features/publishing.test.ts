import assert from 'node:assert/strict';
import { Publishing } from '../../../server/src/features/publishing';
import type { Problem } from '../../../server/src/text/problem';
import { ESTIMATE, sample } from './sample';

const at = (line: number) => ({ start: { line, character: 0 }, end: { line, character: 4 } });
const problem = (code: string, line = 0, message = code): Problem => ({
  code: code as Problem['code'],
  severity: 'warning',
  message,
  range: at(line),
});
const codes = (problems: readonly Problem[] | undefined) => problems?.map(({ code }) => code);
const estimated = sample('{}', { estimate: ESTIMATE });

describe('when problems are published', () => {
  it('follows every pause where that is asked for', () => {
    const publishing = new Publishing();
    assert.deepEqual(codes(publishing.due([problem('a')], estimated, 'onType')), ['a']);
    assert.deepEqual(codes(publishing.due([problem('a'), problem('b')], estimated, 'onType')), ['a', 'b']);
  });

  it('between saves shows no new problem, and takes away what is put right', () => {
    const publishing = new Publishing();
    assert.deepEqual(codes(publishing.due([problem('a'), problem('b')], estimated, 'onSave')), ['a', 'b']);
    assert.equal(
      publishing.due([problem('a', 3), problem('b'), problem('c')], estimated, 'onSave'),
      undefined,
    );
    assert.deepEqual(codes(publishing.due([problem('b'), problem('c')], estimated, 'onSave')), ['b']);
    publishing.ask();
    assert.deepEqual(codes(publishing.due([problem('b'), problem('c')], estimated, 'onSave')), ['b', 'c']);
  });

  it('takes nothing away while the syntax is broken, or the verdict is out of sight', () => {
    const publishing = new Publishing();
    publishing.due([problem('a'), problem('does-not-fit')], estimated, 'onSave');
    assert.equal(publishing.due([problem('syntax')], estimated, 'onSave'), undefined);
    assert.equal(publishing.due([problem('a')], { ...estimated, estimate: undefined }, 'onSave'), undefined);
    assert.deepEqual(codes(publishing.due([problem('tight', 0, 'other figures')], estimated, 'onSave')), [
      'tight',
    ]);
  });

  it('sends a list once, and again where it is renewed or cleared', () => {
    const publishing = new Publishing();
    assert.equal(publishing.clear(), false);
    publishing.ask();
    assert.ok(publishing.due([problem('a')], estimated, 'onSave'));
    assert.ok(publishing.hasDiagnostics);
    assert.ok(publishing.isNew(1, ['a']));
    assert.ok(!publishing.isNew(1, ['a']));
    assert.ok(publishing.isNew(2, ['a']));
    publishing.renew();
    assert.ok(publishing.isNew(2, ['a']));
    assert.equal(publishing.clear(), true);
    assert.ok(publishing.isNew(2, ['a']));
  });
});
