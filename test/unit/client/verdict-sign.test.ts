import assert from 'node:assert/strict';
import { signVerdicts, verdictSign } from '../../../client/src/verdict-sign';

describe('the sign of a verdict', () => {
  it('is that of its problem: an error only where all that decides it is certain', () => {
    assert.equal(verdictSign({ verdict: 'exceeds', severity: 'error' }), 'error');
    assert.equal(verdictSign({ verdict: 'exceeds', severity: 'warning' }), 'warning');
    assert.equal(verdictSign({ verdict: 'tight', severity: 'warning' }), 'warning');
    // The host's memory is too small for a run that fits on its GPUs.
    assert.equal(verdictSign({ verdict: 'fits', severity: 'error' }), 'error');
  });

  it('follows what a project makes of the rule, and the verdict where it has none', () => {
    assert.equal(verdictSign({ verdict: 'tight', severity: 'information' }), 'info');
    assert.equal(verdictSign({ verdict: 'tight', severity: 'hint' }), 'info');
    assert.equal(verdictSign({ verdict: 'tight' }), 'warning');
    assert.equal(verdictSign({ verdict: 'exceeds' }), 'error');
    assert.equal(verdictSign({ verdict: 'fits' }), 'pass');
    assert.equal(verdictSign({ verdict: 'unknown', severity: 'information' }), 'question');
  });

  it('stands before the verdict of a lens, and before no other lens', () => {
    const lenses = [
      { title: 'Does not fit: 175.8 of 79.3 GiB', data: { verdict: 'exceeds', severity: 'error' } },
      { title: 'in the run of train.sh' },
      { title: 'largest micro batch that fits: 4', data: 'file:///ds_config.json' },
    ].map(({ title, data }) => ({ command: { title, command: '' }, data }));
    signVerdicts(lenses);
    assert.deepEqual(
      lenses.map(({ command }) => command.title),
      [
        '$(error)\u00a0Does not fit: 175.8 of 79.3 GiB',
        'in the run of train.sh',
        'largest micro batch that fits: 4',
      ],
    );
  });
});
