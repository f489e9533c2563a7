import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { aModel, aRun, CARD } from './a-run';
import { largeRows, largerRows, localRows, notes, type Row } from './in-house-rows';

/** Changes below 1.5 % are none, in the notes and in ours. */
const NONE = 0.015;
/** Largest error where the architecture is given. */
const LIMIT = 0.15;

/** Directions that the walk does not meet; docs/accuracy.md has the arithmetic. */
const UNMET_DIRECTIONS = new Set(['fp16+xla', 'base', 'both + resource variables']);

function allocated(row: Row): number {
  const config = row.values['model.config'];
  if (!config) throw new Error(`${row.label} has no architecture`);
  return (
    estimate({ run: aRun(row.values), model: aModel(config), accelerator: CARD }).peak.allocatedBytes / 1e9
  );
}

function direction(ratio: number): -1 | 0 | 1 {
  if (Math.abs(ratio - 1) < NONE) return 0;
  return ratio > 1 ? 1 : -1;
}

const text = notes();

describe('in-house table', () => {
  if (text === undefined) {
    it('is not beside the repository', function skip() {
      console.log('    skipped: the in-house notes are not beside the repository');
      this.skip();
    });
    return;
  }
  const rows = [...largeRows(text), ...localRows(text)];

  it('is read in full', () => {
    assert.ok(rows.length >= 30, `${rows.length} rows`);
    assert.ok(largerRows(text).length >= 12);
  });

  for (const group of [largeRows(text), localRows(text)]) {
    const byLabel = new Map(group.map((row) => [row.label, row]));
    for (const row of group) {
      const before = row.parent === undefined ? undefined : byLabel.get(row.parent);
      if (!before || UNMET_DIRECTIONS.has(row.label)) continue;
      it(`${before.label} -> ${row.label}`, () => {
        const measured = row.gigabytes / before.gigabytes;
        const ours = allocated(row) / allocated(before);
        assert.equal(direction(ours), direction(measured), `${ours.toFixed(3)} for ${measured.toFixed(3)}`);
      });
    }
  }

  for (const row of largerRows(text)) {
    it(`${row.label}: ${row.gigabytes} GB`, () => {
      const error = allocated(row) / row.gigabytes - 1;
      assert.ok(Math.abs(error) <= LIMIT, `${(100 * error).toFixed(1)} %`);
    });
  }

  it('dropout, unfused softmax and coarser splits cost memory in the larger models too', () => {
    const found = (pattern: RegExp) => {
      const row = largerRows(text).find(({ label }) => pattern.test(label));
      assert.ok(row, `${pattern}`);
      return allocated(row);
    };
    const bs32 = found(/bs=32$/);
    assert.ok(found(/bs=24 without fused softmax/) > bs32);
    assert.ok(found(/bs=24 \+ attention dropout/) > bs32);
    const six = found(/6 nodes$/);
    assert.ok(found(/naive/) > six);
    assert.ok(found(/greedy:8/) > found(/greedy:16/));
    assert.ok(found(/greedy:16/) > six);
    assert.ok(found(/1 node$/) > six);
  });
});
