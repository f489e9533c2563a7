import assert from 'node:assert/strict';
import fc from 'fast-check';
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

  // `test_graph_memory_stats_and_use_result_after_destroy_graph` of PyTorch's `test/test_cuda.py`: bytes of a tensor, and
  // what `b = a.clone(); 5 x { b = b.clone() + 1 }` reserves in a pool of its own, then after all but `b` is given back.
  const cases = [
    [512, 2 * MIB, 2 * MIB],
    [MIB, 4 * MIB, 2 * MIB],
    [MIB + 512, 20 * MIB, 20 * MIB],
    [10 * MIB - 512, 40 * MIB, 20 * MIB],
    [10 * MIB + 512, 36 * MIB, 12 * MIB],
  ] as const;
  for (const [bytes, reserved, left] of cases) {
    it(`holds what PyTorch's own test expects for tensors of ${bytes} bytes`, () => {
      // The last request does not fit the card, so that the cache is emptied before it.
      const a = new CachingAllocator(reserved);
      let b = a.allocate(bytes);
      for (let i = 0; i < 5; i++) {
        const clone = a.allocate(bytes);
        const sum = a.allocate(bytes);
        a.release(clone);
        a.release(b);
        b = sum;
      }
      assert.equal(a.reserved, reserved);
      assert.equal(a.peakReserved, reserved);
      a.allocate(1000 * MIB);
      assert.equal(a.reserved - 1000 * MIB, left);
    });
  }

  it('takes the smallest block that is large enough, and splits it', () => {
    const a = allocator();
    const first = a.allocate(64 * MIB);
    const second = a.allocate(40 * MIB);
    a.release(first);
    a.release(second);
    a.allocate(30 * MIB);
    a.allocate(64 * MIB);
    a.allocate(10 * MIB);
    assert.equal(a.reserved, 104 * MIB);
  });

  it('merges neighbours that are free', () => {
    const a = allocator();
    a.release(a.allocate(60 * MIB));
    const parts = [20, 20, 20].map((size) => a.allocate(size * MIB));
    for (const part of parts) a.release(part);
    a.allocate(60 * MIB);
    assert.equal(a.reserved, 60 * MIB);
  });

  it('does not split off 1 MiB or less of a large segment', () => {
    const a = allocator();
    a.allocate(19 * MIB);
    assert.equal(a.reserved, 20 * MIB);
    const b = allocator();
    b.release(b.allocate(20 * MIB));
    b.allocate(19 * MIB);
    b.allocate(2 * MIB);
    assert.equal(b.reserved, 40 * MIB);
  });

  it('keeps a segment that a longer batch has no use for', () => {
    const a = allocator();
    for (const size of [40, 50, 60]) a.release(a.allocate(size * MIB));
    assert.equal(a.reserved, 150 * MIB);
  });

  it('grows one segment at its end where segments are expandable', () => {
    const a = new CachingAllocator(Number.POSITIVE_INFINITY, true);
    for (const size of [40, 60, 80]) a.release(a.allocate(size * MIB));
    assert.equal(a.reserved, 80 * MIB);
    a.allocate(30 * MIB);
    a.allocate(60 * MIB);
    assert.equal(a.reserved, 100 * MIB);
  });

  it('takes the end of an expandable segment last, as it may still grow', () => {
    const a = new CachingAllocator(Number.POSITIVE_INFINITY, true);
    const first = a.allocate(50 * MIB);
    a.allocate(10 * MIB);
    a.release(a.allocate(40 * MIB));
    a.release(first);
    a.allocate(30 * MIB);
    a.allocate(40 * MIB);
    assert.equal(a.reserved, 100 * MIB);
  });

  it('gives wholly free segments back when the card is full', () => {
    const a = new CachingAllocator(100 * MIB);
    a.release(a.allocate(60 * MIB));
    a.allocate(80 * MIB);
    assert.equal(a.reserved, 80 * MIB);
    assert.equal(a.peakReserved, 80 * MIB);
  });

  it('gives back the free pages of an expandable segment when the card is full', () => {
    const a = new CachingAllocator(200 * MIB, true);
    const first = a.allocate(100 * MIB);
    a.allocate(60 * MIB);
    a.release(first);
    a.allocate(120 * MIB);
    assert.equal(a.reserved, 180 * MIB);
  });

  // `get_free_block` and `should_split` of torch 2.13.
  it('hands blocks from the limit on out whole, and to requests of about their size alone', () => {
    const a = new CachingAllocator(Number.POSITIVE_INFINITY, false, 64 * MIB);
    a.release(a.allocate(100 * MIB));
    const small = a.allocate(10 * MIB);
    assert.equal(a.reserved, 110 * MIB, 'a small request takes nothing of it');
    const near = a.allocate(81 * MIB);
    assert.equal(a.reserved, 110 * MIB, 'one that leaves less than 20 MiB takes it');
    a.release(near);
    a.allocate(80 * MIB);
    assert.equal(a.reserved, 190 * MIB, 'one that would leave 20 MiB does not');
    a.release(small);
    a.allocate(19 * MIB);
    assert.equal(a.reserved, 210 * MIB);
  });

  it('splits below the limit as ever, and grows expandable segments past a free end', () => {
    const a = new CachingAllocator(Number.POSITIVE_INFINITY, false, 64 * MIB);
    a.release(a.allocate(60 * MIB));
    a.allocate(20 * MIB);
    a.allocate(40 * MIB);
    assert.equal(a.reserved, 60 * MIB);
    const grown = new CachingAllocator(Number.POSITIVE_INFINITY, true, 40 * MIB);
    grown.release(grown.allocate(100 * MIB));
    grown.allocate(20 * MIB);
    assert.equal(grown.reserved, 100 * MIB);
  });

  it('gives unsplit blocks back before a request fails', () => {
    const a = new CachingAllocator(120 * MIB, false, 64 * MIB);
    a.release(a.allocate(100 * MIB));
    a.allocate(40 * MIB);
    assert.equal(a.reserved, 40 * MIB);
  });

  it('reserves no less than is handed out, and all of it is one block again once all is back', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 200 * MIB }), fc.nat()), { maxLength: 200 });
    fc.assert(
      fc.property(
        steps,
        fc.boolean(),
        fc.constantFrom(undefined, 40 * MIB),
        (requests, expandable, maxSplit) => {
          const a = new CachingAllocator(Number.POSITIVE_INFINITY, expandable, maxSplit);
          const live: { block: number; bytes: number }[] = [];
          let handedOut = 0;
          for (const [bytes, choice] of requests) {
            if (choice % 3 === 0 && live.length > 0) {
              const [gone] = live.splice(choice % live.length, 1);
              if (gone) a.release(gone.block);
              handedOut -= gone?.bytes ?? 0;
            } else {
              live.push({ block: a.allocate(bytes), bytes });
              handedOut += bytes;
            }
            assert.ok(a.reserved >= handedOut && a.peakReserved >= a.reserved);
          }
          for (const { block } of live) a.release(block);
          const before = a.reserved;
          for (const [bytes] of requests) a.release(a.allocate(Math.min(bytes, 2 * MIB)));
          assert.ok(a.reserved <= before + 22 * MIB);
        },
      ),
    );
  });
});
