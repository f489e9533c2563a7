import assert from 'node:assert/strict';
import { onDemand } from '../../../server/src/memo/on-demand';
import { FIELDS } from '../../../server/src/run/fields';
import { fieldError } from '../../../server/src/run/parse-field';
import { estimateOf, inputOf, readMeasurements } from '../../accuracy/measurement';
import { score, summarize } from '../../accuracy/score';
import { boundsOf, contradicted, decisionsOf } from '../../accuracy/verdicts';

const MEASUREMENTS = readMeasurements('test/accuracy/measurements.jsonl');

describe('published measurements', () => {
  // Each row is estimated once, by the first test that asks.
  const estimated = onDemand(() =>
    MEASUREMENTS.flatMap((measurement) => {
      const input = inputOf(measurement);
      return 'error' in input ? [] : [{ measurement, input, estimate: estimateOf(measurement, input) }];
    }),
  );
  it('are stated in fields of the vocabulary, or say what keeps them from it', () => {
    assert.ok(MEASUREMENTS.length > 300);
    for (const { id, source, run, scored, notExpressed } of MEASUREMENTS) {
      assert.ok(source !== '', id);
      assert.equal(run === undefined, notExpressed !== undefined, id);
      for (const [field, value] of Object.entries(run ?? {})) {
        assert.ok(Object.hasOwn(FIELDS, field), `${id}: ${field}`);
        if (scored)
          assert.equal(fieldError(field as never, value), undefined, `${id}: ${field} ${String(value)}`);
      }
    }
  });

  for (const [name, mean, count, own] of [
    ["of Megatron-LM's functional tests", 0.03, 170, true],
    ['of the allocator', 0.02, 39, false],
  ] as const)
    it(`${name} are met within ${100 * mean} % in the mean, none 5 % too low`, () => {
      const scored = estimated().flatMap(({ measurement: row, estimate: { peak } }) => {
        if (!row.scored || row.what !== 'allocated' || row.measuredBytes === undefined) return [];
        if ((row.framework === 'Megatron-LM') !== own) return [];
        const { id, framework, method, what, measuredBytes } = row;
        return (
          score(
            { id, framework, method, what, measured_bytes: measuredBytes },
            { id, allocated_bytes: peak.allocatedBytes },
          ) ?? []
        );
      });
      const found = summarize(scored);
      assert.ok(found.count >= count, `${found.count} rows`);
      assert.ok(found.mean < mean, `${(found.mean * 100).toFixed(1)} %`);
      assert.equal(found.tooLow, 0);
    });

  it('of the Trainer on an H100 are met within 0.5 % in the mean, none 3 % too low', () => {
    const steps = estimated().flatMap(({ measurement: row, estimate: { peak } }) =>
      row.scored && row.what === 'allocated' && row.id.startsWith('h100-trainer')
        ? [peak.allocatedBytes / (row.measuredBytes ?? 0) - 1]
        : [],
    );
    assert.ok(steps.length >= 47, `${steps.length} rows`);
    assert.ok(steps.reduce((sum, error) => sum + Math.abs(error), 0) / steps.length < 0.005);
    assert.ok(Math.min(...steps) > -0.03);
  });

  it("are met within 10 % in the mean where Unsloth's notebooks saved them, and their data's lengths are published", () => {
    const saved = estimated().flatMap(({ measurement: row, estimate: { peak } }) => {
      if (!row.source.includes('unslothai/notebooks') || row.doubtful !== undefined) return [];
      const { id, framework, method, what, measuredBytes, lengths } = row;
      const line = { id, reserved_bytes: peak.reservedBytes };
      const scored = score({ id, framework, method, what, measured_bytes: measuredBytes }, line);
      return scored ? [{ ...scored, published: lengths !== undefined }] : [];
    });
    const published = summarize(saved.filter((row) => row.published));
    assert.ok(published.count >= 26, `${published.count} rows`);
    assert.ok(published.mean < 0.1, `${(published.mean * 100).toFixed(1)} %`);
    const all = summarize(saved);
    assert.ok(all.count >= 63, `${all.count} rows`);
    assert.ok(all.median < 0.1, `${(all.median * 100).toFixed(1)} %`);
    // Samples as long as the trainer keeps need the most that the others may: an estimate may be above what was measured, not below.
    const most = saved.filter((row) => !row.published);
    const short = most.reduce((sum, { error }) => sum + Math.max(0, -error), 0) / most.length;
    assert.ok(short < 0.1, `${(short * 100).toFixed(1)} % too low`);
  });

  it("lie inside the band of their run where Unsloth's notebooks saved them, four in five, and all whose data's lengths are published", () => {
    const places = estimated().flatMap((row) => {
      const { source, doubtful, measuredBytes, lengths } = row.measurement;
      if (!source.includes('unslothai/notebooks') || doubtful !== undefined || !measuredBytes) return [];
      const { lower, upper } = boundsOf(row).reserved;
      return [{ inside: lower <= measuredBytes && measuredBytes <= upper, published: lengths !== undefined }];
    });
    const inside = places.filter((row) => row.inside);
    assert.ok(places.length >= 64, `${places.length} rows`);
    // Measured: 51 of 64, 27 of 27.
    assert.ok(inside.length >= 51, `${inside.length} of ${places.length}`);
    assert.ok(places.filter(({ published }) => published).length >= 27);
    assert.ok(places.every((row) => row.inside || !row.published));
  });

  it('train as many weights as the runs printed, each one', () => {
    const printed = estimated().filter(({ measurement }) => measurement.trainedWeights !== undefined);
    assert.ok(printed.length >= 40);
    for (const { measurement, estimate } of printed)
      assert.equal(estimate.model.trainableParameters, measurement.trainedWeights, measurement.id);
  });

  it('that are not met say why', () => {
    const unmet = MEASUREMENTS.filter((row) => row.unmet !== undefined);
    assert.ok(unmet.length > 10);
    assert.ok(unmet.every(({ scored }) => !scored));
  });

  it('lie inside the bands of their kind: 90 % of them and more, each meter', () => {
    for (const what of ['allocated', 'reserved', 'process']) {
      const own = estimated().filter(({ measurement }) => measurement.scored && measurement.what === what);
      const inside = own.filter((row) => {
        const { lower, upper } = boundsOf(row)[what as 'allocated'];
        const measured = row.measurement.measuredBytes ?? 0;
        return lower <= measured && measured <= upper;
      });
      assert.ok(own.length >= 9, what);
      assert.ok(inside.length >= 0.9 * own.length, `${what}: ${inside.length} of ${own.length}`);
    }
  });

  it('contradict no verdict: what ran is not called a misfit, what ran out of memory is not reported to fit', () => {
    assert.ok(estimated().length > 250);
    assert.deepEqual(
      contradicted(estimated()).map(({ measurement }) => measurement.id),
      [],
    );
  });

  it('leave at most a quarter of the decisions near their need open, and call no run fit that is not', () => {
    const decisions = decisionsOf(estimated().filter(({ measurement }) => measurement.scored));
    const tight = decisions.filter(({ verdict }) => verdict === 'tight').length;
    assert.ok(decisions.length > 200);
    assert.ok(tight <= 0.25 * decisions.length, `${tight} of ${decisions.length}`);
    const wrong = decisions.filter(
      ({ truth, verdict }) =>
        (truth === 'does not fit' && verdict === 'fits') || (truth === 'fits' && verdict === 'exceeds'),
    );
    assert.deepEqual(wrong, []);
  });
});
