import assert from 'node:assert/strict';
import {
  formatBytes,
  formatBytesOf,
  formatCount,
  formatFlops,
  formatInteger,
  significant,
} from '../../../server/src/wording/figures';
import { factor, say, speak } from '../../../server/src/wording/say';

const GIB = 2 ** 30;

describe('numbers for people', () => {
  afterEach(() => speak('en', undefined));

  it('writes bytes in the unit that fits', () => {
    assert.equal(formatBytes(41.2 * GIB), '41.2 GiB');
    assert.equal(formatBytes(1023.6 * 2 ** 20), '1.0 GiB');
    assert.equal(formatBytes(1011 * 2 ** 20), '1.0 GiB');
    assert.equal(formatBytes(999.4 * 2 ** 20), '999 MiB');
    assert.equal(formatBytes(2 ** 20), '1 MiB');
    assert.equal(formatBytes(1023.6 * 2 ** 10), '1 MiB');
    assert.equal(formatBytes(12_000), '12 KiB');
    assert.equal(formatBytes(12), '12 B');
    assert.equal(formatBytes(4001.2 * GIB), '4,001.2 GiB');
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
    assert.equal(formatFlops(1e33), '1,000 QFLOP');
  });

  it('writes parameter counts as people say them', () => {
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

  it('writes numbers as Russian does where Russian is spoken, with its units', () => {
    speak('ru-RU', { GiB: 'ГиБ', '{0} of {1} GiB': '{0} из {1} ГиБ', '{0}B': '{0}\u00a0млрд' });
    assert.equal(formatBytes(1.5 * GIB), '1,5 ГиБ');
    assert.equal(formatBytesOf(4001.2 * GIB, 79.2 * GIB), '4\u202f001,2 из 79,2 ГиБ');
    assert.equal(formatInteger(128_256), '128\u202f256');
    assert.equal(formatCount(8.03e9), '8,03\u00a0млрд');
    assert.equal(significant(0.1234, 2), '0,12');
    assert.equal(factor('14336.5'), '14336,5');
    assert.equal(say('{0} of {1} GiB', 1234.5, 3), '1\u202f234,5 из 3 ГиБ');
    speak('en', undefined);
    assert.equal(factor('14336.5'), '14336.5');
    assert.equal(significant(12345, 3), '12,300');
  });
});
