import assert from 'node:assert/strict';
import { type ClassedFinding, changesOf, findingsOf, hashOf, tableOf } from '../../precision/findings';
import repositories from '../../precision/repositories.json';

const diagnostic = (severity: string, message: string) => ({ code: 'unknown-key', severity, message });
const report = {
  files: [
    {
      file: 'configs\\a.json',
      diagnostics: [
        diagnostic('error', 'one'),
        diagnostic('warning', 'two'),
        diagnostic('information', 'no finding'),
      ],
    },
  ],
};

describe('findings on public repositories', () => {
  it('are errors and warnings, by path, code and a hash of the message', () => {
    const path = 'configs/a.json';
    assert.deepEqual(findingsOf(report), [
      { path, code: 'unknown-key', severity: 'error', hash: hashOf('one') },
      { path, code: 'unknown-key', severity: 'warning', hash: hashOf('two') },
    ]);
    assert.match(hashOf('one'), /^[0-9a-f]{12}$/);
  });

  it('appear and vanish, each as often as it occurs', () => {
    const [one, two] = findingsOf(report);
    assert.ok(one && two);
    const classed: ClassedFinding = { ...one, class: 'true', reason: 'it is so' };
    assert.deepEqual(changesOf([classed], [one]), { appeared: [], vanished: [] });
    assert.deepEqual(changesOf([classed], [one, one, two]), { appeared: [one, two], vanished: [] });
    assert.deepEqual(changesOf([classed, classed], [one]), { appeared: [], vanished: [classed] });
    const warned = { ...one, severity: 'warning' as const };
    assert.deepEqual(changesOf([classed], [warned]), { appeared: [warned], vanished: [classed] });
  });

  it('are counted by severity and class', () => {
    const [one, two] = findingsOf(report);
    assert.ok(one && two);
    const findings: ClassedFinding[] = [
      { ...one, class: 'true', reason: '' },
      { ...one, class: 'false', reason: '' },
      { ...two, class: 'defensible', reason: '' },
    ];
    const table = tableOf([{ name: 'a/b', commit: '', configs: 3, findings }]);
    assert.match(table, /\| a\/b \| 3 \| 1 \| 0 \| 1 \| 0 \| 1 \| 0 \|/);
    assert.match(table, /errors 50\.0 %, warnings 100\.0 %/);
  });

  it('are each classed with a reason, at a commit', () => {
    for (const { name, commit, findings } of repositories) {
      assert.match(name, /^[\w.-]+\/[\w.-]+$/);
      assert.match(commit, /^[0-9a-f]{40}$/, name);
      for (const { path, reason, hash } of findings) {
        assert.ok(reason.length > 10, `${name} ${path}`);
        assert.match(hash, /^[0-9a-f]{12}$/);
      }
    }
  });
});
