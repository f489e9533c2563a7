import assert from 'node:assert/strict';
import { CachingAllocator } from '../../../server/src/memory/allocator';

const MIB = 2 ** 20;

function allocator(): CachingAllocator {
  return new CachingAllocator(Number.POSITIVE_INFINITY);
}

describe('the caching allocator', () => {
  it('reserves segments by the size of the request', () => {
    const a = allocator();
    a.allocate(1);
    assert.equal(a.reserved, 2 * MIB);
    a.allocate(2 * MIB);
    assert.equal(a.reserved, 22 * MIB);
    a.allocate(33 * MIB + 1);
    assert.equal(a.reserved, 56 * MIB);
  });

  it('takes the smallest block that is large enough, and splits it', () => {
    const a = allocator();
    a.allocate(64 * MIB);
    a.allocate(40 * MIB);
    a.release(64 * MIB);
    a.release(40 * MIB);
    a.allocate(30 * MIB);
    a.allocate(64 * MIB);
    a.allocate(10 * MIB);
    assert.equal(a.reserved, 104 * MIB);
  });

  it('merges neighbours that are free', () => {
    const a = allocator();
    a.allocate(60 * MIB);
    a.release(60 * MIB);
    for (let i = 0; i < 3; i++) a.allocate(20 * MIB);
    for (let i = 0; i < 3; i++) a.release(20 * MIB);
    a.allocate(60 * MIB);
    assert.equal(a.reserved, 60 * MIB);
  });

  it('keeps a segment that a longer batch has no use for', () => {
    const a = allocator();
    for (const size of [40, 50, 60]) {
      a.allocate(size * MIB);
      a.release(size * MIB);
    }
    assert.equal(a.reserved, 150 * MIB);
  });

  it('grows one segment at its end where segments are expandable', () => {
    const a = new CachingAllocator(Number.POSITIVE_INFINITY, true);
    for (const size of [40, 60, 80]) {
      a.allocate(size * MIB);
      a.release(size * MIB);
    }
    assert.equal(a.reserved, 80 * MIB);
    a.allocate(30 * MIB);
    a.allocate(60 * MIB);
    assert.equal(a.reserved, 100 * MIB);
  });

  it('gives wholly free segments back when the card is full', () => {
    const a = new CachingAllocator(100 * MIB);
    a.allocate(60 * MIB);
    a.release(60 * MIB);
    a.allocate(80 * MIB);
    assert.equal(a.reserved, 80 * MIB);
    assert.equal(a.peakReserved, 80 * MIB);
  });
});
