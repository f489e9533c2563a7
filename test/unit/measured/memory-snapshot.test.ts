import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { DumpRefusal } from '../../../server/src/measured/byte-stream';
import { readSnapshot } from '../../../server/src/measured/memory-snapshot';
import { isDict, type Plain, readPlainPickle, type StandIn } from '../../../server/src/measured/plain-pickle';
import { readStreamedJson } from '../../../server/src/measured/streamed-json';

const MIB = 2 ** 20;
const FOLDER = 'test/fixtures/snapshots';
const bytesOf = (name: string) => new Uint8Array(readFileSync(`${FOLDER}/${name}`));
const reader = (bytes: Uint8Array) => (position: number, length: number) =>
  bytes.subarray(position, position + length);
const plain = (...bytes: number[]) => readPlainPickle(reader(Uint8Array.from(bytes)));

describe('memory snapshots', () => {
  for (const name of ['step-2.pickle', 'step-4.pickle', 'step-5.pickle', 'step.json']) {
    it(`${name}: the level over the record, and what was alive at its highest point`, () => {
      const [first, ...others] = readSnapshot(reader(bytesOf(name)));
      assert.deepEqual(others, []);
      assert.ok(first);
      // 300 MiB of weights from before the record, 8 layers of 64 MiB, two tensors of 512 MiB.
      assert.equal(first.peakAllocatedBytes, (300 + 8 * 64 + 2 * 512) * MIB);
      assert.equal(first.lastAllocatedBytes, 300 * MIB);
      assert.equal(first.peakReservedBytes, 2348 * MIB);
      assert.equal(first.olderBytes, 300 * MIB);
      assert.deepEqual(first.alive, [
        {
          call: 'loss/loss_utils.py:36 forward',
          phase: 'forward',
          bytes: 1024 * MIB,
          blocks: 2,
          blockBytes: 512 * MIB,
        },
        {
          call: 'llama/modeling_llama.py:312 forward',
          phase: 'forward',
          bytes: 512 * MIB,
          blocks: 8,
          blockBytes: 64 * MIB,
        },
      ]);
      for (const { allocatedBytes, phases } of first.course)
        assert.equal(
          Object.values(phases).reduce((sum, bytes) => sum + bytes, 0),
          allocatedBytes,
        );
      assert.equal(first.course.at(-1)?.phases.older, 300 * MIB);
      assert.deepEqual(first.failed, [{ bytes: 4096 * MIB, freeBytes: 100 * MIB }]);
      assert.equal(first.allocatorSettings?.expandable_segments, false);
      assert.equal(
        Math.max(...first.course.map(({ allocatedBytes }) => allocatedBytes)),
        first.peakAllocatedBytes,
      );
    });
  }

  it('are refused where they would run something', () => {
    assert.throws(() => readSnapshot(reader(bytesOf('evil.pickle'))), /more than plain data/);
    assert.equal(existsSync('/tmp/oomlint-ran-a-pickle'), false);
  });

  it('are refused where they are cut off, wherever that is', () => {
    const bytes = bytesOf('step-4.pickle');
    for (const end of [0, 1, 2, 40, 1000, bytes.length >> 1, bytes.length - 1])
      assert.throws(() => readSnapshot(reader(bytes.subarray(0, end))), DumpRefusal, `${end}`);
  });

  it('are refused where they are something else', () => {
    assert.throws(() => readSnapshot(reader(new TextEncoder().encode('{"a": 1}'))), /no memory snapshot/);
    assert.throws(() => readSnapshot(reader(new TextEncoder().encode('{'))), /ends in the middle/);
    assert.throws(() => readSnapshot(reader(new TextEncoder().encode('{x'))), /no JSON/);
    // A number.
    assert.throws(() => readSnapshot(reader(Uint8Array.of(0x80, 4, 0x4b, 1, 0x2e))), /no memory snapshot/);
  });
});

describe('JSON of any length', () => {
  const text = (json: string) => readStreamedJson(reader(new TextEncoder().encode(json)));

  it('holds what JSON.parse finds', () => {
    fc.assert(
      fc.property(fc.json(), fc.boolean(), (json, spaced) => {
        const written = spaced ? JSON.stringify(JSON.parse(json), null, 2) : json;
        // A dict without a prototype is as good as one with it.
        assert.equal(JSON.stringify(text(written)), JSON.stringify(JSON.parse(written)));
      }),
    );
    assert.deepEqual(text(' [1e3, -2.5, true, false, null, "\\u00e9\\n\u00e9"] '), [
      1000,
      -2.5,
      true,
      false,
      null,
      '\u00e9\n\u00e9',
    ]);
  });

  it('is refused where it is none, and ends', () => {
    for (const wrong of [
      '',
      '[1,',
      '[1 2]',
      '{"a" 1}',
      '{a: 1}',
      '"\\x"',
      'tru',
      '1 2',
      '-',
      '"a\nb"',
      '['.repeat(10_000),
    ])
      assert.throws(() => text(wrong), DumpRefusal, wrong.slice(0, 20));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          readStreamedJson(reader(bytes));
        } catch (error) {
          assert.ok(error instanceof DumpRefusal, String(error));
        }
      }),
    );
  });
});

describe('pickles of plain data', () => {
  it('hold numbers as Python wrote them', () => {
    assert.equal(plain(0x80, 2, 0x8a, 1, 0xff, 0x2e), -1);
    assert.equal(plain(0x80, 2, 0x8a, 6, 0, 0, 0, 0, 0, 0x7f, 0x2e), 0x7f0000000000);
    assert.equal(plain(0x80, 2, 0x4a, 0xfe, 0xff, 0xff, 0xff, 0x2e), -2);
    assert.equal(plain(0x80, 2, 0x47, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0x2e), 1.5);
    assert.deepEqual(plain(0x80, 2, 0x4b, 1, 0x88, 0x4e, 0x87, 0x2e), [1, true, null]);
  });

  it('have keys that mean nothing to the reader', () => {
    const key = new TextEncoder().encode('__proto__');
    const dict = plain(0x80, 4, 0x7d, 0x8c, key.length, ...key, 0x4b, 1, 0x73, 0x2e);
    assert.deepEqual(Object.keys(dict as object), ['__proto__']);
    assert.equal(({} as { x?: number }).x, undefined);
  });

  it('refuse every opcode that names or calls something', () => {
    // GLOBAL, STACK_GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ, NEWOBJ_EX, PERSID, BINPERSID, EXT1, EXT2, EXT4
    for (const code of [0x63, 0x93, 0x52, 0x62, 0x69, 0x6f, 0x81, 0x92, 0x50, 0x51, 0x82, 0x83, 0x84])
      assert.throws(() => plain(0x80, 4, 0x4b, 1, 0x4b, 1, code, 0x2e), /more than plain data/);
  });

  it('refuse sizes that are not there, without making room for them', () => {
    // A text of 2^60 bytes, one of 4 GiB, a number of 2 GiB, a memo of 2^31 places.
    assert.throws(() => plain(0x80, 4, 0x8d, 0, 0, 0, 0, 0, 0, 0, 16), DumpRefusal);
    assert.throws(() => plain(0x80, 4, 0x58, 255, 255, 255, 255), DumpRefusal);
    assert.throws(() => plain(0x80, 4, 0x8b, 255, 255, 255, 127), DumpRefusal);
    assert.throws(() => plain(0x80, 4, 0x4b, 1, 0x72, 255, 255, 255, 127, 0x2e), DumpRefusal);
  });

  it('lead to what stands in the place of a part of what was taken', () => {
    // [{'f': [7]}, {'f': the same list}]: the first dict is taken and its list replaced.
    const replaced = ['short'];
    const seen: unknown[] = [];
    const bytes = Uint8Array.of(
      ...[0x80, 4, 0x5d, 0x94],
      ...[0x7d, 0x94, 0x8c, 1, 0x66, 0x94, 0x5d, 0x94, 0x4b, 7, 0x61, 0x73, 0x61],
      ...[0x7d, 0x94, 0x68, 2, 0x68, 3, 0x73, 0x61],
      0x2e,
    );
    const takes = (item: Plain): StandIn[] | undefined => {
      if (!isDict(item)) return undefined;
      seen.push(item.f);
      return [[item.f ?? null, replaced]];
    };
    assert.deepEqual(readPlainPickle(reader(bytes), takes), []);
    assert.equal(seen.length, 2);
    assert.equal(seen[1], replaced);
  });

  it('end with a value or a refusal, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        try {
          readPlainPickle(reader(bytes));
        } catch (error) {
          assert.ok(error instanceof DumpRefusal, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
});
