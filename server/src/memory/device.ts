import type { Accelerator } from '../hardware/accelerator';
import type { TrainingRun } from '../run/fields';
import { type Band, sumOfBands } from './band';
import { communicatorBands } from './communicators';
import { contextBand } from './cuda-context';
import { emptyLedger, type Ledger, post } from './ledger';

const MIB = 2 ** 20;

/**
 * Handles of cuBLAS that a training process has: every thread takes one of its own (`CublasHandlePool.cpp`, a
 * `thread_local` window of the pool), and autograd runs backward in a thread of the device (`engine.cpp`). A workspace
 * belongs to a handle and a stream, is made at the first product, and stays.
 */
export const HANDLES = 2;

/**
 * Workspace of cuBLAS for one handle and stream, inside PyTorch's allocator: 32 MiB on Hopper, 8 MiB and 128 KiB on other
 * NVIDIA cards, 128 MiB on MI300 and its successors, 32 MiB on other AMD cards (`CublasHandlePool.cpp`,
 * `parseChosenWorkspaceSize`).
 */
export function workspaceBytes(accelerator: Accelerator): number {
  if (accelerator.vendor === 'NVIDIA')
    return accelerator.computeCapability?.startsWith('9.') ? 32 * MIB : 8_519_680;
  if (accelerator.vendor === 'AMD') return (/mi3\d\d/i.test(accelerator.name) ? 128 : 32) * MIB;
  return 0;
}

/** Memory of the process outside PyTorch's allocator: context, kernels, buffers of communicators. */
export function outsideAllocator(run: TrainingRun, accelerator: Accelerator): Band {
  return sumOfBands([contextBand(run, accelerator), ...communicatorBands(run, accelerator)]);
}

/** Allocations that last the whole run whatever the scheme. */
export function constants(run: TrainingRun, accelerator: Accelerator, capacityBytes: number): Ledger {
  const ledger = emptyLedger();
  post(ledger, 'workspaces', HANDLES * workspaceBytes(accelerator));
  // An engine that sleeps gives its memory back while the model trains.
  const sleeps = run['rollout.engine'] === 'vllm-colocate' && run['rollout.sleep'];
  const share = sleeps ? 0 : run['hardware.reservedFraction'];
  post(ledger, 'reserved-for-others', share * capacityBytes);
  return ledger;
}
