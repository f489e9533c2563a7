import assert from 'node:assert/strict';
import { measuredOf } from '../../accuracy/measurement';
import { table } from '../../accuracy/report';
import type { MeasuredRow } from '../../accuracy/row';
import { kindOf, quantile, type Scored, score, summarize } from '../../accuracy/score';

const ROW: MeasuredRow = {
  id: 'made-up',
  framework: 'somewhere',
  model: 'some model',
  method: 'full',
  what: 'max_memory_allocated',
  measured_bytes: 100,
};

function scoredAs(error: number): Scored {
  return { row: ROW, kind: 'allocated', measured: 100, estimated: 100 * (1 + error), error };
}

describe('scoring estimates', () => {
  it('compares like with like', () => {
    assert.equal(kindOf('max_memory_allocated'), 'allocated');
    assert.equal(kindOf('active_bytes'), 'allocated');
    assert.equal(kindOf('max_memory_reserved'), 'reserved');
    assert.equal(kindOf('nvidia-smi'), 'process');
    assert.equal(kindOf('unknown ("peak GPU memory")'), undefined);
    const line = { id: 'made-up', allocated_bytes: 90, reserved_bytes: 110, process_bytes: 120 };
    assert.equal(score(ROW, line)?.estimated, 90);
    assert.equal(score({ ...ROW, what: 'max_memory_reserved' }, line)?.estimated, 110);
    assert.equal(score({ ...ROW, what: 'nvidia-smi' }, line)?.estimated, 120);
  });

  it('leaves out of what NVML has as used what the driver sets aside of the card', () => {
    const card = { totalBytes: 1000, usableBytes: 990 };
    assert.equal(kindOf('nvml'), 'process');
    assert.equal(measuredOf({ what: 'nvml', measuredBytes: 500 }, card), 490);
    assert.equal(measuredOf({ what: 'process', measuredBytes: 500 }, card), 500);
    assert.equal(measuredOf({ what: 'nvml' }, card), undefined);
  });

  it('scores no row without a measurement or an estimate', () => {
    assert.equal(score({ ...ROW, measured_bytes: null }, { id: 'made-up', allocated_bytes: 90 }), undefined);
    assert.equal(score({ ...ROW, oom: true }, { id: 'made-up', allocated_bytes: 90 }), undefined);
    assert.equal(score(ROW, { id: 'made-up', error: 'not expressed' }), undefined);
  });

  it('sums up absolute errors, and counts what is too low', () => {
    const summary = summarize([-0.06, -0.04, 0.02, 0.1].map(scoredAs));
    assert.equal(summary.count, 4);
    assert.ok(Math.abs(summary.mean - 0.055) < 1e-12);
    assert.ok(Math.abs(summary.median - 0.05) < 1e-12);
    assert.equal(summary.tooLow, 0.25);
    assert.equal(quantile([1, 2, 3, 4, 5], 0.9), 4.6);
  });

  it('prints a line per framework and method, and totals', () => {
    const text = table([scoredAs(0.1), scoredAs(-0.1)]);
    assert.match(text, /allocated: somewhere, full +2 +10\.0 % +10\.0 % +10\.0 % +50\.0 %/);
    assert.match(text, /allocated, all/);
  });

  it('tells where a measurement lies between the bounds', () => {
    const line = { id: 'a', allocated_bytes: 90, reserved_bytes: 100, process_bytes: 110 };
    const bounds = {
      allocated: { lower: 86, upper: 100 },
      reserved: { lower: 85, upper: 112 },
      process: { lower: 95, upper: 120 },
    };
    const placeOf = (what: string, measured: number) =>
      score({ ...ROW, what, measured_bytes: measured }, line, bounds)?.within;
    assert.equal(placeOf('max_memory_reserved', 84), 'below');
    assert.equal(placeOf('max_memory_reserved', 85), 'inside');
    assert.equal(placeOf('max_memory_allocated', 100), 'inside');
    assert.equal(placeOf('max_memory_allocated', 101), 'above');
    assert.equal(placeOf('nvidia-smi', 120), 'inside');
    assert.equal(placeOf('nvidia-smi', 121), 'above');
  });
});
