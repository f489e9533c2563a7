import assert from 'node:assert/strict';
import { documentedRuns } from '../../verdicts/all';
import { type Scored, scored, scoreOf } from '../../verdicts/documented';

describe('verdicts on documented runs', function () {
  this.timeout(120_000);
  const all: Scored[] = [];
  before(async () => {
    for (const run of Object.values(documentedRuns()).flat()) all.push(await scored(run));
  });
  const of = (score: Scored['score']) => all.filter((run) => run.score === score);

  it('are asked of at least 150 runs, some of which ran out of memory', () => {
    assert.ok(all.length >= 150);
    assert.equal(new Set(all.map(({ source }) => source)).size, all.length);
    assert.ok(all.filter(({ outcome }) => outcome === 'out-of-memory').length >= 19);
  });

  it('are right for 97 in 100 that are judged', () => {
    const [right, wrong] = [of('right').length, of('wrong').length];
    assert.ok(right >= 0.97 * (right + wrong), `${right} right, ${wrong} wrong`);
  });

  it('never promise that a run fits which ran out of memory', () => {
    const promised = of('wrong').filter(({ verdict }) => verdict === 'fits');
    assert.deepEqual(
      promised.map(({ source }) => source),
      [],
    );
  });

  it('are seldom withheld', () => {
    assert.ok(of('withheld').length <= 0.04 * all.length, `${of('withheld').length} of ${all.length}`);
    // Many are asked about the smallest card that was enough, verl publishes the least that a model ran on, changes of Automodel were
    // made at the edge, transformers 5.0 to 5.3 may read ahead of quantizing, and four runs of Automodel and Axolotl hang on packages of
    // kernels that nothing names.
    assert.ok(of('near').length <= 0.2 * all.length, `${of('near').length} of ${all.length}`);
  });
});

describe('the score of a verdict', () => {
  it('reports what was promised and what happened', () => {
    assert.equal(scoreOf('fits', false, 'ran'), 'right');
    assert.equal(scoreOf('fits', false, 'out-of-memory'), 'wrong');
    assert.equal(scoreOf('fits', false, 'out-of-memory', true), 'withheld');
    assert.equal(scoreOf('fits', false, 'ran', true), 'right');
    assert.equal(scoreOf('exceeds', true, 'out-of-memory'), 'right');
    assert.equal(scoreOf('exceeds', true, 'ran'), 'wrong');
    assert.equal(scoreOf('exceeds', false, 'ran'), 'withheld');
    assert.equal(scoreOf('tight', false, 'ran'), 'near');
    assert.equal(scoreOf('unknown', false, 'ran'), 'withheld');
  });
});
