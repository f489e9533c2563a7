import assert from 'node:assert/strict';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { constants } from '../../../server/src/memory/device';
import { bytesOf } from '../../../server/src/memory/ledger';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

const MIB = 2 ** 20;

/** Bytes of all workspaces of a run on a card. */
function workspaces(gpu: string, values: RunValues): number {
  const card = findAccelerator(gpu) ?? assert.fail(gpu);
  return bytesOf(constants(aRun(values), card, card.usableBytes), 'workspaces');
}

/*
 * Held to Megatron-LM's functional tests at d98e8a64 (`mem-max-allocated-bytes`): gpt3_mcore_te_tp1_pp1_dist_optimizer_no_mmap_bin_files
 * is met within 4.2 MiB, the mask of its data loader, on A100, H100 and GB200 alike.
 */
describe('workspaces inside the allocator', () => {
  it("are those of two cuBLAS handles, in PyTorch's sizes", () => {
    assert.equal(workspaces('H100-SXM5-80GB', {}), 64 * MIB);
    assert.equal(workspaces('A100-SXM4-80GB', {}), 2 * 8_519_680);
    assert.equal(workspaces('GB200', { 'version.torch': '2.11' }), 2 * 8_519_680);
    assert.equal(workspaces('GB200', { 'version.torch': '2.12' }), 64 * MIB);
  });

  it('take the size that `CUBLAS_WORKSPACE_CONFIG` states', () => {
    const stated = { 'allocator.cublasWorkspace': 8 * 4096 * 1024 };
    for (const gpu of ['A100-SXM4-80GB', 'H100-SXM5-80GB', 'GB200'])
      assert.equal(workspaces(gpu, stated), 64 * MIB);
    // It is CUDA's word.
    assert.equal(workspaces('MI300X', stated), workspaces('MI300X', {}));
  });

  it('have one of Transformer Engine beside them: 32 MiB and 1 KiB since Hopper, 4 MiB before', () => {
    const run = { 'kernels.transformerEngine': true };
    assert.equal(workspaces('H100-SXM5-80GB', run), 96 * MIB + 1024);
    assert.equal(workspaces('GB200', run), 96 * MIB + 1024);
    assert.equal(workspaces('A100-SXM4-80GB', run), 2 * 8_519_680 + 4 * MIB);
    assert.equal(workspaces('H100-SXM5-80GB', { 'precision.fp8': 'transformer-engine' }), 96 * MIB + 1024);
    assert.equal(
      workspaces('H100-SXM5-80GB', {
        ...run,
        'kernels.transformerEngine': false,
        'precision.fp8': 'transformer-engine',
      }),
      64 * MIB,
    );
  });

  it('have four more for the streams of grouped products', () => {
    const run = { 'kernels.transformerEngine': true, 'kernels.groupedExperts': true };
    assert.equal(workspaces('H100-SXM5-80GB', run), 64 * MIB + 5 * (32 * MIB + 1024));
    assert.equal(workspaces('A100-SXM4-80GB', run), 2 * 8_519_680 + 20 * MIB);
    assert.equal(workspaces('H100-SXM5-80GB', { 'kernels.groupedExperts': true }), 64 * MIB);
  });
});
