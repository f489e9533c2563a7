import assert from 'node:assert/strict';
import { growth, keepGlobalBatch } from '../../../client/webview/global-batch';
import type { Knob } from '../../../server/src/shared/protocol';

const number = (
  id: 'micro-batch' | 'accumulation' | 'gpus' | 'tensor' | 'sequence',
  value: number,
): Knob => ({
  id,
  kind: 'number',
  value,
  steps: [value],
});
const KNOBS = [
  number('micro-batch', 4),
  number('accumulation', 8),
  number('gpus', 8),
  number('tensor', 2),
  number('sequence', 2048),
];

describe('the global batch while knobs are turned', () => {
  it('is kept by accumulation, whatever changes the samples of a micro step', () => {
    assert.deepEqual(keepGlobalBatch(KNOBS, { 'micro-batch': 1 }, 'micro-batch'), {
      'micro-batch': 1,
      accumulation: 32,
    });
    assert.deepEqual(keepGlobalBatch(KNOBS, { gpus: 16 }, 'gpus'), { gpus: 16, accumulation: 4 });
    assert.deepEqual(keepGlobalBatch(KNOBS, { tensor: 4 }, 'tensor'), { tensor: 4, accumulation: 16 });
    assert.deepEqual(keepGlobalBatch(KNOBS, { gpus: 16, tensor: 4, accumulation: 4 }, 'tensor'), {
      gpus: 16,
      tensor: 4,
    });
    for (const turned of [{ 'micro-batch': 1 }, { gpus: 16 }, { tensor: 4 }])
      assert.equal(growth(KNOBS, keepGlobalBatch(KNOBS, turned, Object.keys(turned)[0] as 'gpus')), 1);
  });

  it('is kept by the micro batch where accumulation is turned', () => {
    assert.deepEqual(keepGlobalBatch(KNOBS, { accumulation: 32 }, 'accumulation'), {
      accumulation: 32,
      'micro-batch': 1,
    });
  });

  it('is kept as nearly as whole numbers do, whatever was turned before, and not touched by knobs that have no say in it', () => {
    const micro = (size: number) =>
      keepGlobalBatch(KNOBS, { 'micro-batch': size, accumulation: 32 }, 'micro-batch');
    assert.deepEqual(micro(3), { 'micro-batch': 3, accumulation: 11 });
    assert.deepEqual(micro(64), { 'micro-batch': 64, accumulation: 1 });
    assert.deepEqual(keepGlobalBatch(KNOBS, { sequence: 512 }, 'sequence'), { sequence: 512 });
  });
});
