import assert from 'node:assert/strict';
import { journaled } from '../../../server/src/memory/ledger';
import { rememberedSegment, SEGMENT_FIELDS } from '../../../server/src/memory/remembered-segment';
import { segmentOf } from '../../../server/src/memory/segment';
import { traceRun } from '../../../server/src/memory/traced-run';
import type { RunValues, TrainingRun } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const RUNS: readonly RunValues[] = [
  {},
  { 'activations.checkpointing': 'full', 'activations.checkpointEvery': 2 },
  { 'activations.checkpointing': 'selective', 'kernels.compile': true },
  { 'activations.checkpointing': 'selective', 'model.code': 'megatron', 'precision.scheme': 'megatron' },
  { 'activations.checkpointing': 'elementwise' },
];

describe('segments that are remembered', () => {
  it('depend on no field that their key leaves out', () => {
    const known = new Set<string>([...SEGMENT_FIELDS, 'activations.checkpointEvery']);
    for (const values of RUNS) {
      const read = new Set<string>();
      const run = new Proxy(aRun(values), {
        get: (target, key) => {
          read.add(String(key));
          return Reflect.get(target, key);
        },
      }) as TrainingRun;
      for (const traced of traceRun(aModel(SMALL_LLAMA), aRun(values))) segmentOf(traced, run, 'keep');
      assert.ok(read.size > 0);
      assert.deepEqual(
        [...read].filter((path) => !known.has(path)),
        [],
      );
    }
  });

  it('are the same ones for the same layer, and others for another way to keep it', () => {
    for (const values of RUNS) {
      const run = aRun(values);
      for (const traced of traceRun(aModel(SMALL_LLAMA), run)) {
        const segment = rememberedSegment(traced, run, 'keep');
        assert.deepEqual(segment, segmentOf(traced, run, 'keep'));
        assert.equal(rememberedSegment(traced, aRun(values), 'keep'), segment);
        assert.notEqual(rememberedSegment(traced, run, 'pass'), segment);
        const offloaded = aRun({ ...values, 'activations.offload': true });
        assert.notEqual(rememberedSegment(traced, offloaded, 'keep'), segment);
        assert.notEqual(journaled(() => rememberedSegment(traced, run, 'keep')).result, segment);
      }
    }
  });
});
