import assert from 'node:assert/strict';
import {
  formatBytes,
  formatBytesOf,
  formatCount,
  formatFlops,
  formatInteger,
} from '../../../server/src/wording/figures';

const GIB = 2 ** 30;

describe('numbers for people', () => {
  it('writes bytes in the unit that fits', () => {
    assert.equal(formatBytes(41.2 * GIB), '41.2 GiB');
    assert.equal(formatBytes(1023.6 * 2 ** 20), '1.0 GiB');
    assert.equal(formatBytes(1023.4 * 2 ** 20), '1023 MiB');
    assert.equal(formatBytes(2 ** 20), '1 MiB');
    assert.equal(formatBytes(1023.6 * 2 ** 10), '1 MiB');
    assert.equal(formatBytes(12_000), '12 KiB');
    assert.equal(formatBytes(12), '12 B');
    assert.equal(formatBytes(0), '0 B');
    assert.equal(formatBytes(-2 * GIB), '-2.0 GiB');
  });

  it('writes a share of a capacity', () => {
    assert.equal(formatBytesOf(61.3 * GIB, 79.2 * GIB), '61.3 of 79.2 GiB');
  });

  it('writes FLOPs with SI prefixes', () => {
    assert.equal(formatFlops(412e12), '412 TFLOP');
    assert.equal(formatFlops(3.2e15), '3.2 PFLOP');
    assert.equal(formatFlops(999.6e12), '1.0 PFLOP');
    assert.equal(formatFlops(99.96e12), '100 TFLOP');
    assert.equal(formatFlops(0), '0 FLOP');
    assert.equal(formatFlops(1e33), '1000 QFLOP');
  });

  it('writes parameter counts as they are said', () => {
    assert.equal(formatCount(8_030_261_248), '8.03B');
    assert.equal(formatCount(70_553_706_496), '70.6B');
    assert.equal(formatCount(671e9), '671B');
    assert.equal(formatCount(999.9e6), '1.00B');
    assert.equal(formatCount(12), '12');
  });

  it('groups digits', () => {
    assert.equal(formatInteger(0), '0');
    assert.equal(formatInteger(999), '999');
    assert.equal(formatInteger(1_234_567), '1,234,567');
    assert.equal(formatInteger(-1234), '-1,234');
  });
});
