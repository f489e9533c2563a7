import assert from 'node:assert/strict';
import { verdictSign } from '../../../client/src/verdict-sign';

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
});
