import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { freeAtFirstLoss } from '../../../server/src/memory/free-at-loss';
import { emptyLedger, post } from '../../../server/src/memory/ledger';
import type { Point } from '../../../server/src/memory/step';
import { findModel } from '../../../server/src/model/catalog';
import { mostInOneChunk } from '../../../server/src/model/layers/sized-chunks';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

const GIB = 2 ** 30;

describe('what is free at the first loss', () => {
  const pointOf = (moment: Point['moment'], weights: number, states: number): Point => {
    const ledger = emptyLedger();
    post(ledger, 'weights', weights);
    post(ledger, 'optimizer-states', states);
    return { moment, label: '', ledger, bytes: weights + states };
  };

  it('is what the highest of the forward pass leaves, without optimizer states, which come later', () => {
    const points = [
      pointOf('forward', 2 * GIB, GIB),
      pointOf('forward', 3 * GIB, GIB),
      pointOf('backward', 9 * GIB, GIB),
    ];
    assert.equal(freeAtFirstLoss(points, 14 * GIB), 11 * GIB);
  });

  it('is never nothing: a run without room does not fit, whatever its chunks', () => {
    assert.equal(freeAtFirstLoss([pointOf('forward', 20 * GIB, 0)], 14 * GIB), 2 ** 20);
  });
});

describe('a loss whose chunks are sized by what is free', () => {
  const model = findModel('meta-llama/Llama-3.2-1B') ?? assert.fail();
  const accelerator = findAccelerator('T4') ?? assert.fail();
  const peak = (loss: RunValues['loss.implementation'], sequence: number, values: RunValues = {}) => {
    const run = aRun({
      'method.kind': 'lora',
      'lora.rank': 8,
      'activations.checkpointing': 'full',
      'precision.weights': 'fp16',
      'precision.compute': 'fp16',
      'loss.implementation': loss,
      'kernels.unsloth': true,
      'batch.micro': 4,
      'batch.sequence': sequence,
      'batch.packed': false,
      'attention.implementation': 'flash2',
      'hardware.gpu': 'T4',
      ...values,
    });
    return estimate({ run, model, accelerator }).peak;
  };
  const lengths = [1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192];

  it('takes no less where samples may be longer, though the longest are cut into more chunks', () => {
    for (const loss of ['free-chunks', 'half-free-chunks', 'budgeted-chunks'] as const) {
      const peaks = lengths.map((length) => peak(loss, length).allocatedBytes);
      for (const [at, bytes] of peaks.entries()) assert.ok(bytes >= (peaks[at - 1] ?? 0), `${loss} ${peaks}`);
    }
  });

  it('is that of the stated length where all rows are full, and where the run is too large whatever the data', () => {
    const cut = lengths.find((length) => {
      const full = peak('free-chunks', length, { 'batch.padded': true });
      return full.allocatedBytes < peak('free-chunks', length).allocatedBytes;
    });
    assert.ok(cut);
    const { lowerBytes } = peak('free-chunks', cut);
    assert.ok(lowerBytes <= peak('free-chunks', cut, { 'batch.padded': true }).lowerBytes);
  });

  it('is asked for where the count of chunks is not fixed', () => {
    const most = (loss: Parameters<typeof mostInOneChunk>[0]) => mostInOneChunk(loss, 2 ** 17, 2048, 8 * GIB);
    // All that is free, half of it, or 4 GiB at 16 bytes beside what is put in.
    assert.equal(most('free-chunks'), 2 ** 14);
    assert.equal(most('half-free-chunks'), 2 ** 13);
    assert.equal(most('budgeted-chunks'), Math.floor((4 * GIB) / (16 * 2 ** 17 + 2 * 2048)));
    for (const loss of ['liger', 'chunked', 'linear-chunked', 'head-chunks', 'fused-chunks'] as const)
      assert.equal(most(loss), undefined);
  });
});
