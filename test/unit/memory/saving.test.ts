import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { Estimate, Sample } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const model = aModel(SMALL_LLAMA);
const P = model.parameters.total;
const N = 8;
/** cuBLAS workspaces of compute capability 8.0, 2 x 4 MiB + 8 x 16 KiB each: of the forward thread's handle and of autograd's. */
const WORKSPACE = 2 * 8_519_680;
const VOCABULARY = 32000 * 2048;
const ROOT = 2 * VOCABULARY + 2048;

function of(values: RunValues): Estimate {
  return estimate({
    run: aRun({ 'hardware.gpus': N, 'batch.sequence': 128, ...values }),
    model,
    accelerator: CARD,
  });
}

function saving(e: Estimate): Sample | undefined {
  return e.timeline.find((s) => s.moment === 'saving');
}

const fsdp = (data: 'fsdp1' | 'fsdp2', more: RunValues): Estimate =>
  of({ 'precision.compute': 'bf16', 'precision.scheme': 'fsdp', 'parallel.data': data, ...more });
/** Weights and both moments of Adam in fp32, split. */
const SHARDS = (12 * P) / N + WORKSPACE;

describe('what a GPU holds while a checkpoint is saved', () => {
  it('is looked at only where the run states how it saves', () => {
    assert.equal(saving(fsdp('fsdp1', {})), undefined);
    assert.equal(saving(of({ 'parallel.data': 'ddp', 'saving.weights': 'full' }))?.bytes, 16 * P + WORKSPACE);
  });

  it('a full FSDP state without offload is the whole model on every GPU, and the peak', () => {
    for (const data of ['fsdp1', 'fsdp2'] as const) {
      const e = fsdp(data, { 'saving.weights': 'full', 'saving.hostOffload': false });
      assert.equal(saving(e)?.bytes, SHARDS + 4 * P);
      assert.equal(e.peak.moment, 'saving');
      assert.equal(e.peak.allocatedBytes, SHARDS + 4 * P);
    }
  });

  it('offloaded, FSDP1 gathers a unit at a time and FSDP2 a weight', () => {
    assert.equal(saving(fsdp('fsdp1', { 'saving.weights': 'full' }))?.bytes, SHARDS + 4 * ROOT);
    assert.equal(saving(fsdp('fsdp2', { 'saving.weights': 'full' }))?.bytes, SHARDS + 4 * VOCABULARY);
  });

  it('sharded, FSDP1 makes new shards of its units and FSDP2 nothing', () => {
    assert.equal(
      saving(fsdp('fsdp1', { 'saving.weights': 'sharded' }))?.bytes,
      SHARDS + 4 * ROOT + (4 * P) / N,
    );
    assert.equal(saving(fsdp('fsdp2', { 'saving.weights': 'sharded' }))?.bytes, SHARDS);
  });

  it('ZeRO 3 gathers a module at a time for rank 0', () => {
    const zero3: RunValues = {
      'precision.compute': 'bf16',
      'precision.weights': 'bf16',
      'precision.scheme': 'deepspeed',
      'parallel.data': 'zero',
      'zero.stage': 3,
      'zero.persistenceThreshold': 0,
      'zero.reduceBucket': 1_000_000,
    };
    const rest = saving(of({ ...zero3, 'saving.weights': 'sharded' }))?.bytes ?? 0;
    assert.equal(saving(of({ ...zero3, 'saving.weights': 'full' }))?.bytes, rest + 2 * VOCABULARY);
  });
});
