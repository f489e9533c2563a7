import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { outsideAllocator } from '../../../server/src/memory/device';
import { userBufferBand } from '../../../server/src/memory/user-buffers';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { assertStates, read } from '../dialects/reading';
import { aRun } from './a-run';

const MIB = 2 ** 20;
const model = findModel('meta-llama/Llama-3.1-70B') ?? assert.fail();
const accelerator = findAccelerator('H100-SXM5-80GB') ?? assert.fail();

const OVERLAP: RunValues = {
  'hardware.gpus': 8,
  'parallel.tensor': 4,
  'parallel.context': 2,
  'batch.micro': 1,
  'batch.sequence': 8192,
  'parallel.userBuffers': true,
};
/** MiB of the buffers of a run, at a width of 8,192. */
const mib = (values: RunValues) =>
  userBufferBand(aRun({ ...OVERLAP, ...values }), model.hiddenSize).map(({ lower, likely, upper }) => [
    lower / MIB,
    likely / MIB,
    upper / MIB,
  ]);

describe("Transformer Engine's user buffers", () => {
  it('are twelve of the tokens of a micro batch, ten before 2.7', () => {
    // 4,096 tokens on a context-parallel rank × 8,192 × 2 bytes.
    assert.deepEqual(mib({}), [[640, 768, 768]]);
    assert.deepEqual(mib({ 'batch.micro': 2 }), [[1280, 1536, 1536]]);
  });

  it('that are gathered take a byte each under fp8, and a second set where some layers are in 16 bits', () => {
    assert.deepEqual(mib({ 'precision.fp8': 'transformer-engine' }), [
      [6 * 32 + 4 * 64, 8 * 32 + 4 * 64, 8 * 32 + 4 * 64 + 12 * 64],
    ]);
  });

  it('come in pages of 2 MiB', () => {
    assert.deepEqual(mib({ 'batch.sequence': 130, 'parallel.context': 1 }), [[40, 48, 48]]);
  });

  it('are none without tensor parallelism, or where transfers do not overlap', () => {
    assert.deepEqual(mib({ 'parallel.tensor': 1 }), []);
    assert.deepEqual(mib({ 'parallel.userBuffers': false }), []);
  });

  it('lie outside the allocator, and are reported there', () => {
    const [without, within] = [false, true].map((on) => aRun({ ...OVERLAP, 'parallel.userBuffers': on }));
    assert.ok(without && within);
    const [a, b] = [without, within].map((run) => outsideAllocator(run, accelerator, model.hiddenSize));
    assert.ok(a && b);
    assert.equal(b.likely - a.likely, 768 * MIB);
    const [plain, overlapped] = [without, within].map((run) => estimate({ run, model, accelerator }));
    assert.ok(plain && overlapped);
    assert.equal(overlapped.peak.allocatedBytes, plain.peak.allocatedBytes);
    assert.equal(overlapped.peak.processBytes - plain.peak.processBytes, 768 * MIB);
    const part = overlapped.parts.find(({ category }) => category === 'cuda-context');
    assert.match(part?.formula ?? '', /user buffers of Transformer Engine/);
  });

  it('are read where each framework asks for them', () => {
    const flag = { 'parallel.userBuffers': 'true file' } as const;
    assertStates(
      read(
        'megatron',
        'file:///tests/gpt/case/model_config.yaml',
        'MODEL_ARGS:\n  --num-layers: 2\n  --tp-comm-overlap: true\n',
      ),
      flag,
    );
    assertStates(
      read(
        'nemo',
        'file:///gpt.yaml',
        'trainer:\n  devices: 8\nmodel:\n  micro_batch_size: 1\n  tensor_model_parallel_size: 4\n  ub_tp_comm_overlap: true\n',
      ),
      flag,
    );
    assertStates(
      read(
        'megatron-bridge',
        'file:///conf/llama3_70b_pretrain_override.yaml',
        'model:\n  tensor_model_parallel_size: 4\ntrain:\n  micro_batch_size: 1\ncomm_overlap:\n  tp_comm_overlap: true\n',
      ),
      flag,
    );
  });
});
